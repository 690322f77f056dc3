"""`tidegate rail`: rails paused and resumed by the operator."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, out, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option, known, why_option
from tidegate.core.clock import Clock
from tidegate.merchant.field import remark_in
from tidegate.rail import pause as pausing
from tidegate.rail import pause_store
from tidegate.rail.deps import PaymentDeps


@click.group()
def rail() -> None:
    """Rails: list, pause, resume."""


@rail.command(name="list")
@as_json_option
@reports_errors
def list_(as_json: bool) -> None:
    """List the rails of this deployment, and why one is paused."""

    async def run(deps: PaymentDeps, _: Clock) -> dict[str, str | None]:
        async with deps.db.connection() as tx:
            paused = {one.rail: one.reason for one in await pause_store.list_open(tx)}
        return {name: paused.get(name) for name in deps.rails}

    found = with_payment_deps(run)
    if as_json:
        print_json([{"rail": name, "pausedFor": reason} for name, reason in found.items()])
        return
    table = Table("Rail", "State")
    for name, reason in found.items():
        table.add_row(name, f"[red]paused[/]: {plain(reason)}" if reason else "[green]in use[/]")
    show_table(table)


@rail.command()
@click.argument("name", metavar="RAIL")
@click.option("--reason", required=True, metavar="TEXT", help="Shown to the staff, and kept in the audit trail.")
@reports_errors
def pause(name: str, reason: str) -> None:
    """Pause a rail: no new payment goes by it, refunds and returns wait. What has arrived is booked."""

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        said = remark_in("reason", reason)
        await pausing.pause(deps.db, name, said, configured=deps.rails, by=OPERATOR, now=clock.now())

    with_payment_deps(run)
    out.print(f"[green]✓[/] {plain(name)} is paused; every process knows within seconds.")


@rail.command()
@click.argument("name", metavar="RAIL")
@why_option
@by_option
@reports_errors
def resume(name: str, why: str | None, by: str | None) -> None:
    """Let payments, refunds and returns go by a rail again."""
    act_or_propose(known("rail.resume", "", name, why=why), by=by)
    out.print(f"[green]✓[/] {plain(name)} is in use again.")
