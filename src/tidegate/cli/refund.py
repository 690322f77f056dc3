"""`tidegate refund`: refunds by the operator, on behalf of a merchant."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, fail, out, plain, print_record, reports_errors, show_table
from tidegate.cli.operator import ago, ask_at_once, limit_option, number_in, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option, known
from tidegate.core.clock import Clock
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps
from tidegate.refund import commands, list_store, store, wire
from tidegate.refund.field import RefundAmount
from tidegate.refund.model import Leg, RefundRate, RefundStatus, RefundView
from tidegate.staff_approval.arguments import OperatorRefund, RefundEndArguments

_COLOURS = {RefundStatus.PROCESSING: "yellow", RefundStatus.SUCCESSFUL: "green", RefundStatus.FAILED: "red"}


@click.group()
def refund() -> None:
    """Refunds of payments and inflows: all, a part, or the excess of an overpayment."""


@refund.command()
@click.argument("business_id")
@click.argument("reference")
@click.option("--amount", metavar="NUMBER", help="By default the excess of an overpayment, otherwise all that remains.")
@click.option("--reason", metavar="TEXT", help="Shown to the customer.")
@click.option("--note", metavar="TEXT", help="Shown to the merchant only; required in live mode, for the approver.")
@click.option("--rate", type=click.Choice([rate.value for rate in RefundRate]),
              help="Rate of a converted inflow: that of its credit, or today's.")  # fmt: skip
@by_option
@as_json_option
@reports_errors
def create(
    *, business_id: str, reference: str, amount: str | None, rate: str | None, by: str | None, as_json: bool,
    **texts: str | None,
) -> None:  # fmt: skip
    """Refund a payment or an inflow. REFERENCE is the merchant's reference, a pay code, or the inflow's reference."""
    reason, note = (remark_in(name, text) if (text := texts[name]) else None for name in ("reason", "note"))
    wanted = OperatorRefund(
        amount=None if amount is None else _amount(amount), reason=reason, rate=RefundRate(rate) if rate else None
    )
    view = act_or_propose(
        known("refund.create", business_id, reference, why=note, arguments=wanted), by=by, as_json=as_json
    )
    assert isinstance(view, RefundView)
    if as_json:
        print_record(wire.record_of(view))
        return
    out.print(f"[green]✓[/] {view.refund.amount} is being refunded as {view.refund.reference}.")


@refund.command()
@click.argument("business_id")
@click.argument("reference")
@as_json_option
@reports_errors
def show(business_id: str, reference: str, as_json: bool) -> None:
    """Show a refund."""

    async def run(deps: PaymentDeps, _: Clock) -> tuple[RefundView, list[Leg]]:
        view = await commands.get(deps.db, business_id, reference)
        async with deps.db.connection() as tx:
            return view, await store.list_legs(tx, business_id, view.refund.id)

    view, legs = with_payment_deps(run)
    if as_json:
        print_record(wire.record_of(view))
        return
    record = view.refund
    part = "" if record.refunded == record.amount or not record.refunded.minor else f" {record.refunded} of"
    out.print(f"{record.reference}  {_status(record.status)} {part} {record.amount}")
    out.print(f"[dim]of[/]        {plain(view.subject.merchant_reference or view.subject.reference)}")
    for label, text in (("reason", record.reason), ("note", record.note)):
        if text:
            out.print(f"[dim]{label:<9}[/] {plain(text)}")
    if record.failure:
        out.print(f"[dim]failed[/]    {record.failure.value}, {record.amount - record.refunded} is back in the wallet")
    for leg in legs:
        out.print(f"[dim]part[/]      {leg.reference}  {_status(leg.status)}  {leg.amount} by {leg.rail}")


@refund.command()
@click.argument("business_id")
@click.argument("reference", metavar="PART")
@click.option("--rail", required=True, help="Rail that the part goes by.")
@reports_errors
def ask(business_id: str, reference: str, rail: str) -> None:
    """Ask the rail about a refund at once. PART is the reference of one of its parts, such as REFUND-1."""
    ask_at_once("refund", business_id, reference, rail=rail)


@refund.command()
@click.argument("business_id")
@click.argument("reference", metavar="PART")
@click.option("--outcome", required=True, type=click.Choice(["paid", "not-paid"]),
              help="Whether the payer has the money; if not, it goes back to the merchant's wallet.")  # fmt: skip
@click.option("--as", "sent_as", metavar="ID", help="The rail's own number of the refund, where it was paid.")
@click.option("--note", required=True, metavar="TEXT", help="How you know; kept in the audit trail.")
@by_option
@reports_errors
def end(*, business_id: str, reference: str, outcome: str, sent_as: str | None, note: str, by: str | None) -> None:
    """End a refund by hand, when its rail or bank does not report the outcome. Ask it first. PART is the reference of
    one of the refund's parts, such as REFUND-1."""
    is_paid = outcome == "paid"
    wanted = RefundEndArguments(is_paid=is_paid, sent_as=remark_in("as", sent_as) if sent_as else None)
    act_or_propose(known("refund.end", business_id, reference, why=remark_in("note", note), arguments=wanted), by=by)
    how = "is done" if is_paid else "has failed; its amount is back in the wallet"
    out.print(f"[green]✓[/] {plain(reference)} {how}.")


@refund.command()
@click.argument("business_id")
@click.argument("reference", metavar="PART")
@click.option("--note", required=True, metavar="TEXT", help="How you know; kept in the audit trail.")
@by_option
@reports_errors
def again(business_id: str, reference: str, note: str, by: str | None) -> None:
    """Request a refund again, when you have checked at the rail that the request never arrived there. PART is the
    reference of one of its parts, such as REFUND-1. `tidegate quarantine list` lists the refunds in doubt."""
    act_or_propose(known("refund.again", business_id, reference, why=remark_in("note", note)), by=by)
    out.print(f"[green]✓[/] {plain(reference)} is requested again, unless the rail has it by now.")


@refund.command(name="list")
@click.argument("business_id")
@limit_option
@as_json_option
@reports_errors
def list_(business_id: str, limit: int, as_json: bool) -> None:
    """List refunds of a business, the newest first."""

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[list[RefundView], datetime]:
        async with deps.db.connection() as tx:
            found = await list_store.list_page(tx, business_id, list_store.RefundFilter(), before_id=None, limit=limit)
        return found, clock.now_of(business_id)

    found, now = with_payment_deps(run)
    if as_json:
        print_record([wire.record_of(view) for view in found])
        return
    table = Table()
    for heading in ("Refund", "Of", "Amount", "Status", "Began"):
        table.add_column(heading, no_wrap=heading == "Refund", overflow="fold")
    for view in found:
        one = view.refund
        of = plain(view.subject.merchant_reference or view.subject.reference)
        table.add_row(one.reference, of, str(one.amount), _status(one.status), ago(one.initiated_at, now))
    show_table(table, "There are no refunds.")


def _status(status: RefundStatus) -> str:
    return f"[{_COLOURS[status]}]{status.value}[/]"


def _amount(text: str) -> Decimal:
    try:
        return Decimal(RefundAmount.parse(number_in(text)))
    except ValueError as error:
        fail(f"--amount {error}.")
