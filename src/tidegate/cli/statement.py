"""`tidegate statement`: every movement of a wallet, as a table, JSON, CSV or PDF."""

from __future__ import annotations

from datetime import datetime
from typing import BinaryIO

import click
from rich.table import Table

from tidegate import settings as settings_module
from tidegate.cli.console import as_json_option, fail, out, plain, print_record, reports_errors, show_table
from tidegate.cli.database import run_on_database
from tidegate.cli.merchant_webhooks import clock_of
from tidegate.cli.operator import limit_option
from tidegate.core.money import Currency
from tidegate.core.public_id import PublicIds
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.http import csv_text
from tidegate.infra.http.query import Moment
from tidegate.merchant import commands as merchants
from tidegate.wallet import commands, wire
from tidegate.wallet.model import Period, WalletLine
from tidegate.wallet.statement import day_text, figure


@click.command()
@click.argument("business_id", metavar="BUSINESS")
@click.argument("currency", type=click.Choice([currency.value for currency in Currency]))
@click.option("--from", "date_from", metavar="DATE", help="From this day or time, in UTC.")
@click.option("--to", "date_to", metavar="DATE", help="Up to and including this day, or before this time.")
@click.option("--csv", "csv_file", type=click.File("wb"), metavar="FILE", help="Write all lines as CSV; - prints them.")
@click.option("--pdf", "pdf_file", type=click.File("wb"), metavar="FILE", help="Write all lines as a PDF.")
@limit_option
@as_json_option
@reports_errors
def statement(
    *,
    business_id: str,
    currency: str,
    date_from: str | None,
    date_to: str | None,
    csv_file: BinaryIO | None,
    pdf_file: BinaryIO | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show a wallet's statement: the newest lines, or the whole period with --csv, --pdf or --json."""
    start, end = _between(date_from, date_to)
    settings = settings_module.from_environment()

    async def run(db: Database) -> tuple[Period, list[WalletLine], bool, PublicIds]:
        found = await deployment.check(db, settings.mode)
        public_ids = PublicIds(lambda: found.secret)
        business = await merchants.get(db, business_id)
        now = (await clock_of(settings, db)).now_of(business_id)
        period = await commands.get_period(db, business_id, currency, start=start, end=end, now=now)
        if csv_file:
            await _write_csv(db, period, public_ids, csv_file)
        if pdf_file:
            pdf_file.write(await commands.print_statement(db, business, period, mode=settings.mode, now=now))
        if as_json:
            return period, [line async for batch in commands.batches(db, period) for line in batch], False, public_ids
        newest, is_more = await commands.list_page(db, period, order="desc", past_id=None, limit=limit)
        return period, newest[::-1], is_more, public_ids

    period, lines, is_more, public_ids = run_on_database(settings, run)
    if as_json:
        print_record(wire.page_of(period, lines, None, public_ids))
    elif not (csv_file or pdf_file):
        _show(period, lines, is_more)


def _between(date_from: str | None, date_to: str | None) -> tuple[datetime | None, datetime | None]:
    start = _moment("--from", date_from).start if date_from else None
    end = _moment("--to", date_to).end if date_to else None
    if start and end and start >= end:
        fail("--to must be after --from.")
    return start, end


def _moment(option: str, text: str) -> Moment:
    try:
        return Moment.parse(text)
    except ValueError as error:
        fail(f"{option} {error}.")


async def _write_csv(db: Database, period: Period, public_ids: PublicIds, file: BinaryIO) -> None:
    file.write(csv_text.row(wire.CSV_COLUMNS))
    async for lines in commands.batches(db, period):
        file.write(b"".join(csv_text.row(wire.csv_row(line, public_ids)) for line in lines))


def _show(period: Period, lines: list[WalletLine], is_more: bool) -> None:
    currency = period.closing.currency
    out.print(f"[dim]opening balance[/] {currency} {figure(period.opening)}")
    table = Table()
    table.add_column("Date", no_wrap=True)
    table.add_column("Description", overflow="fold")
    table.add_column("Reference", overflow="fold")
    for heading in ("Debit", "Credit", "Balance"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            day_text(line.booked_at), plain(line.description), plain(line.reference or "–"), figure(line.debit),
            figure(line.credit), figure(line.balance),
        )  # fmt: skip
    if is_more:
        out.print(f"[yellow]Only the newest {len(lines)} lines; --limit shows more, --csv all of them.[/]")
    show_table(table, "Nothing was booked in this period.")
    out.print(f"[dim]closing balance[/] {currency} {figure(period.closing)}")
