"""`tidegate dispute`: payments that payers dispute with their bank."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, out, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import limit_option, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option, known
from tidegate.core.clock import Clock
from tidegate.dispute import store
from tidegate.dispute.store import OpenDispute
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps
from tidegate.staff_approval.arguments import DisputeEndArguments


@click.group()
def dispute() -> None:
    """Payments that payers dispute with their bank: list the open ones, end one that its rail does not end."""


@dispute.command(name="list")
@limit_option
@as_json_option
@reports_errors
def list_(limit: int, as_json: bool) -> None:
    """List open disputes, those whose answer is due first."""

    async def run(deps: PaymentDeps, _: Clock) -> list[OpenDispute]:
        async with deps.db.connection() as tx:
            return await store.list_open(tx, limit=limit)

    found = with_payment_deps(run)
    if as_json:
        print_json(
            [
                {"businessId": one.business_id, "dispute": f"{one.rail}/{one.id}", "payCode": pay_code,
                 "transactionId": one.transaction_id, "amount": str(one.amount), "held": str(one.held),
                 "reason": one.reason, "openedAt": to_iso(one.opened_at),
                 "dueAt": to_iso(one.due_at) if one.due_at else None}
                for one, pay_code in found
            ]
        )  # fmt: skip
        return
    table = Table("Dispute", "Business", "Payment", "Amount", "Held", "Why", "Answer due")
    for one, pay_code in found:
        due = f"{one.due_at:%Y-%m-%d %H:%M} UTC" if one.due_at else "–"
        table.add_row(
            plain(f"{one.rail}/{one.id}"), one.business_id, pay_code or "in suspense", str(one.amount), str(one.held),
            plain(one.reason), due,
        )  # fmt: skip
    show_table(table, "[green]✓[/] No payment is disputed.")


@dispute.command()
@click.argument("business_id")
@click.argument("subject", metavar="RAIL/DISPUTE")
@click.option("--outcome", required=True, type=click.Choice(["won", "lost"]),
              help="Won: what is held goes back to the wallet. Lost: the wallet pays the disputed amount.")  # fmt: skip
@click.option("--note", required=True, metavar="TEXT", help="How you know; kept in the audit trail.")
@by_option
@reports_errors
def end(business_id: str, subject: str, outcome: str, note: str, by: str | None) -> None:
    """End a dispute by hand, when its rail does not report the outcome. Ask the rail first."""
    wanted = DisputeEndArguments(is_won=outcome == "won")
    act_or_propose(known("dispute.end", business_id, subject, why=remark_in("note", note), arguments=wanted), by=by)
    out.print(f"[green]✓[/] {plain(subject)} is {outcome}.")
