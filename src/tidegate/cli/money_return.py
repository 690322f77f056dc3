"""`tidegate return`: money on its way back that a rail has not confirmed."""

from __future__ import annotations

from datetime import timedelta

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, out, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import ago, ask_at_once, limit_option, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option, known
from tidegate.core.clock import Clock
from tidegate.merchant.field import remark_in
from tidegate.money_return import list_store
from tidegate.money_return.list_store import StuckReturn
from tidegate.rail.deps import PaymentDeps
from tidegate.staff_approval.arguments import ReturnEndArguments


@click.group(name="return")
def return_() -> None:
    """Returns to payers: list those not finished, ask the rail again, end one by hand."""


@return_.command(name="list")
@click.option("--older-than-minutes", type=click.IntRange(0, 525_600), default=30, show_default=True)
@limit_option
@as_json_option
@reports_errors
def list_(older_than_minutes: int, limit: int, as_json: bool) -> None:
    """List returns that failed, or have no answer of their rail, the oldest first."""

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[list[StuckReturn], Clock]:
        before = clock.now() - timedelta(minutes=older_than_minutes)
        async with deps.db.connection() as tx:
            return await list_store.list_stuck(tx, before=before, limit=limit), clock

    found, clock = with_payment_deps(run)
    if as_json:
        print_json(
            [
                {"businessId": one.business_id, "reference": one.reference, "rail": one.rail,
                 "amount": str(one.amount), "status": one.status, "failure": one.failure}
                for one in found
            ]
        )  # fmt: skip
        return
    table = Table("Return", "Business", "Rail", "Amount", "State", "Since")
    for one in found:
        state = one.status + (f": {one.failure}" if one.failure else "")
        since = ago(one.asked_at, clock.now_of(one.business_id))
        table.add_row(one.reference, one.business_id, one.rail, str(one.amount), plain(state), since)
    show_table(table, "[green]✓[/] Every return is done.")


@return_.command()
@click.argument("business_id", metavar="BUSINESS")
@click.argument("reference")
@click.option("--rail", required=True, help="Rail of the return; `tidegate return list` shows it.")
@reports_errors
def ask(business_id: str, reference: str, rail: str) -> None:
    """Ask the rail about a return at once."""
    ask_at_once("return", business_id, reference, rail=rail)


@return_.command()
@click.argument("business_id", metavar="BUSINESS")
@click.argument("reference")
@click.option("--as", "sent_as", metavar="ID", help="The rail's or bank's own number of what was paid back.")
@click.option("--note", required=True, metavar="TEXT", help="How it was paid back; kept in the audit trail.")
@by_option
@reports_errors
def end(business_id: str, reference: str, sent_as: str | None, note: str, by: str | None) -> None:
    """End a return by hand, when you have paid it back by another way, or the rail has after all. It is booked as
    done.
    """
    wanted = ReturnEndArguments(sent_as=remark_in("as", sent_as) if sent_as else None)
    act_or_propose(known("return.end", business_id, reference, why=remark_in("note", note), arguments=wanted), by=by)
    out.print(f"[green]✓[/] {plain(reference)} is done.")


@return_.command()
@click.argument("business_id", metavar="BUSINESS")
@click.argument("reference")
@click.option("--note", required=True, metavar="TEXT", help="How you know; kept in the audit trail.")
@by_option
@reports_errors
def again(business_id: str, reference: str, note: str, by: str | None) -> None:
    """Request a return again, when you have checked at the rail that the request never arrived there."""
    act_or_propose(known("return.again", business_id, reference, why=remark_in("note", note)), by=by)
    out.print(f"[green]✓[/] {plain(reference)} is requested again, unless the rail has it by now.")
