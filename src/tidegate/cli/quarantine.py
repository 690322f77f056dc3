"""`tidegate quarantine`: notifications in which a rail contradicts itself."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, out, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import limit_option, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option, known
from tidegate.core.clock import Clock
from tidegate.infra.timestamp import to_iso
from tidegate.intake import store
from tidegate.intake.store import QuarantinedNotice
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps


@click.group()
def quarantine() -> None:
    """Notifications in which a rail contradicts itself: list, and close what the rail has explained."""


@quarantine.command(name="list")
@limit_option
@as_json_option
@reports_errors
def list_(limit: int, as_json: bool) -> None:
    """List notifications in quarantine, the oldest first."""

    async def run(deps: PaymentDeps, _: Clock) -> list[QuarantinedNotice]:
        async with deps.db.connection() as tx:
            return await store.list_quarantined(tx, limit=limit)

    found = with_payment_deps(run)
    if as_json:
        print_json(
            [
                {"rail": one.rail, "id": one.id, "why": one.note, "receivedAt": to_iso(one.received_at),
                 "body": (one.body or b"").decode("utf-8", "replace"),
                 "differences": [{"field": it.name, "first": it.first, "then": it.then}
                                 for it in one.versions if it.differs]}
                for one in found
            ]
        )  # fmt: skip
        return
    table = Table("Rail", "Id", "Received", "Why", "What differs")
    for one in found:
        differing = "\n".join(f"{it.name}: {it.first or '–'} → {it.then or '–'}" for it in one.versions if it.differs)
        table.add_row(
            one.rail, plain(one.id), f"{one.received_at:%Y-%m-%d %H:%M} UTC", plain(one.note or ""), plain(differing)
        )
    show_table(table, "[green]✓[/] No rail contradicts itself.")


@quarantine.command()
@click.argument("rail")
@click.argument("notification_id", metavar="ID")
@click.option("--note", required=True, metavar="TEXT", help="What the rail said; kept in the audit trail.")
@by_option
@reports_errors
def close(rail: str, notification_id: str, note: str, by: str | None) -> None:
    """Close a notification in quarantine. Nothing is booked."""
    act_or_propose(known("quarantine.close", "", f"{rail}/{notification_id}", why=remark_in("note", note)), by=by)
    out.print("[green]✓[/] closed.")
