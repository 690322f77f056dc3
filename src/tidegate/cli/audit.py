"""`tidegate audit`: who did what, its hash chains verified, and all of it exported."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from tidegate.audit import chain, chain_store, export
from tidegate.audit.chain_store import AuditRow, TrailFilter
from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, out, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import any_business_option, limit_option, with_payment_deps
from tidegate.core.clock import Clock
from tidegate.infra.http import csv_text
from tidegate.infra.timestamp import to_iso
from tidegate.rail.deps import PaymentDeps


@click.group()
def audit() -> None:
    """The audit trail: list, verify, export."""


@audit.command(name="list")
@any_business_option
@click.option("--subject", default="", help="Only this subject, such as the reference of an inflow.")
@limit_option
@as_json_option
@reports_errors
def list_(business_id: str | None, subject: str, limit: int, as_json: bool) -> None:
    """List who did what, the newest first."""

    async def run(deps: PaymentDeps, _: Clock) -> list[AuditRow]:
        async with deps.db.connection() as tx:
            return await chain_store.list_trail(tx, TrailFilter(business_id, subject), before=None, limit=limit)

    found = with_payment_deps(run)
    if as_json:
        times = ("created_at", "written_at")
        print_json([{**one._asdict(), **{name: to_iso(getattr(one, name)) for name in times}} for one in found])
        return
    table = Table("At", "Who", "What", "Thing", "Details")
    for one in found:
        table.add_row(
            f"{one.written_at:%Y-%m-%d %H:%M} UTC", plain(one.actor), one.action, plain(one.subject), plain(one.details)
        )
    show_table(table, "Nothing yet.")


@audit.command()
@reports_errors
def verify() -> None:
    """Recompute every chain. Exits with 1 when a row was changed or is missing."""

    async def run(deps: PaymentDeps, clock: Clock) -> list[str]:
        return await chain.verify_all(deps.db, now=clock.now())

    found = with_payment_deps(run)
    for one in found:
        out.print(f"[red]✗[/] {plain(one)}", soft_wrap=True)
    if found:
        raise SystemExit(1)
    out.print(
        "[green]✓[/] Every row of the audit trail is as it was written. Notes, reasons and names may be erased on "
        "request, so they are not part of the chain.",
        soft_wrap=True,
    )


@audit.command(name="export")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@reports_errors
def export_(path: Path) -> None:
    """Write the whole audit trail as CSV, with the heads of its chains at the end."""

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        await export.note(deps.db, by=OPERATOR, now=clock.now())
        with path.open("wb") as file:
            file.write(csv_text.row(export.COLUMNS))
            async for part in export.rows(deps.db):
                file.write(part)

    with_payment_deps(run)
    out.print(f"[green]✓[/] {plain(str(path))}", soft_wrap=True)
