"""`tidegate payment`: the payments of a business, with the filters and records of the API."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, BinaryIO

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, out, plain, print_record, reports_errors, show_table
from tidegate.cli.operator import ago, any_or_only_business, business_and, limit_option, with_payment_deps
from tidegate.core.clock import Clock
from tidegate.core.money import CHECKOUT_OFFERS, Money
from tidegate.infra.http import csv_text
from tidegate.infra.http.read import read
from tidegate.merchant import commands as merchants
from tidegate.payment import commands, list_wire, search, wire
from tidegate.payment.batching import PaymentBatching
from tidegate.payment.list_store import PaymentFilter
from tidegate.payment.model import PaymentStatus
from tidegate.payment.row import PaymentRow
from tidegate.payment.variance import Variance
from tidegate.rail.deps import PaymentDeps

_COLOURS = {PaymentStatus.SUCCESS: "green", PaymentStatus.FAILED: "red", PaymentStatus.EXPIRED: "dim"}


@click.group()
def payment() -> None:
    """Checkout payments: find them, look at one."""


@payment.command(name="list")
@any_or_only_business
@click.option("--status", type=click.Choice([status.value for status in PaymentStatus]))
@click.option("--variance", "varianceType", type=click.Choice([variance.value for variance in Variance]))
@click.option("--method", "paymentMethod", metavar="METHOD", help="Paid by this method.")
@click.option("--currency", type=click.Choice([currency.value for currency in CHECKOUT_OFFERS]))
@click.option("--email", metavar="ADDRESS", help="The customer's, in any letter case.")
@click.option("--reference", "referencePrefix", metavar="TEXT", help="How the merchant's reference begins.")
@click.option("--min", "amountMin", metavar="NUMBER", help="At least this amount; needs --currency.")
@click.option("--max", "amountMax", metavar="NUMBER", help="At most this amount; needs --currency.")
@click.option("--from", "dateFrom", metavar="DATE", help="Created from this day or time, in UTC.")
@click.option("--to", "dateTo", metavar="DATE", help="Created up to and including this day, or before this time.")
@click.option("--csv", "csv_file", type=click.File("wb"), metavar="FILE", help="Write all of them as CSV; - prints it.")
@limit_option
@as_json_option
@reports_errors
def list_(business_id: str | None, csv_file: BinaryIO | None, limit: int, as_json: bool, **query: str | None) -> None:
    """List payments of a business, the newest first. Filters combine. BUSINESS may be left out where there is one."""

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[PaymentDeps, list[PaymentRow], search.PaymentCount, Any]:
        business = await merchants.get_or_only(deps.db, business_id)
        given = {name: value for name, value in query.items() if value is not None}
        check = partial(list_wire.problems_between, names=deps.names)
        wanted = list_wire.filter_from(read(given, list_wire.ListPayments, check), deps.names)
        if csv_file:
            await _write_csv(deps, business.id, wanted, csv_file)
        page = await search.list_page(deps.db, business.id, wanted, before_id=None, limit=limit)
        return deps, page.rows, await search.count(deps.db, business.id, wanted), clock.now_of(business.id)

    deps, rows, count, now = with_payment_deps(run)
    if as_json:
        print_record([wire.record_of(row, deps.names, deps.public_ids) for row in rows])
    elif not csv_file:
        _show_rows(rows, count, now)


async def _write_csv(deps: PaymentDeps, business_id: str, wanted: PaymentFilter, file: BinaryIO) -> None:
    file.write(csv_text.row(list_wire.CSV_COLUMNS))
    async for rows in search.batches(deps.db, business_id, wanted):
        file.write(b"".join(csv_text.row(list_wire.csv_row(row, deps.names, deps.public_ids)) for row in rows))


def _show_rows(rows: list[PaymentRow], count: search.PaymentCount, now: datetime) -> None:
    table = Table()
    for heading in ("Created", "Reference", "Customer", "Status", "Expected", "Received"):
        table.add_column(heading, overflow="fold", justify="right" if heading in ("Expected", "Received") else "left")
    for row in rows:
        expected, received = (Money(minor, row.currency) for minor in (row.expected_minor, row.received_minor))
        status = _status(row)
        table.add_row(
            ago(row.created_at, now), row.reference, plain(row.customer_email), status, str(expected), str(received)
        )
    show_table(table, "No payment fits.")
    if len(rows) < count.number:
        out.print(f"[yellow]The newest {len(rows)} of {count}; --limit shows more, --csv writes all of them.[/]")


@payment.command()
@click.argument("words", metavar="[BUSINESS] REFERENCE", nargs=-1, required=True)
@as_json_option
@reports_errors
def show(words: tuple[str, ...], as_json: bool) -> None:
    """Show a payment. REFERENCE is the merchant's reference or the pay code."""
    business_id, reference = business_and(words)

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[PaymentDeps, PaymentRow, datetime]:
        business = await merchants.get_or_only(deps.db, business_id)
        row = await commands.verify(PaymentBatching(deps.db).find, business, reference)
        return deps, row, clock.now_of(business.id)

    deps, row, now = with_payment_deps(run)
    record = wire.record_of(row, deps.names, deps.public_ids)
    if as_json:
        print_record(record)
        return
    out.print(f"{row.pay_code}  {_status(row)}  {Money(row.expected_minor, row.currency)}")
    lines = (
        ("reference", row.reference),
        ("customer", f"{row.customer_name} <{row.customer_email}>"),
        ("created", f"{record.created_at}, {ago(row.created_at, now)}"),
        ("received", str(Money(row.received_minor, row.currency)) if row.received_minor else ""),
        ("settled", str(Money(row.settled_minor, row.currency)) if row.settled_minor else ""),
        ("refunded", str(Money(row.refunded_minor, row.currency)) if row.refunded_minor else ""),
        ("to do", record.action_required or ""),
    )
    for label, text in lines:
        if text:
            out.print(f"[dim]{label:<9}[/] {plain(text)}", soft_wrap=True)


def _status(row: PaymentRow) -> str:
    variance = f" ({row.variance.value})" if row.variance else ""
    return f"[{_COLOURS.get(row.status, 'yellow')}]{row.status.value}[/]{variance}"
