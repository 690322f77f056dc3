"""`tidegate doctor`: is everything as it should be."""

from __future__ import annotations

import click

from tidegate import settings as settings_module
from tidegate.cli.console import as_json_option, out, print_json, speaks_plainly
from tidegate.cli.database import run_on_database
from tidegate.core.clock import SystemClock
from tidegate.doctor.commands import Finding, examine
from tidegate.infra.db import Database


@click.command()
@as_json_option
@speaks_plainly
def doctor(as_json: bool) -> None:
    """Check the settings, the database and the invariants. Exits with 1 when something is wrong."""
    settings = settings_module.from_environment()

    async def run(db: Database) -> list[Finding]:
        return [finding async for finding in examine(db, settings, now=SystemClock().now())]

    findings = run_on_database(settings, run)
    if as_json:
        print_json([finding.to_json() for finding in findings])
    else:
        for finding in findings:
            _show(finding)
    if not all(finding.is_well for finding in findings):
        raise SystemExit(1)


def _show(finding: Finding) -> None:
    mark = "[green]✓[/]" if finding.is_well else "[bold red]✗[/]"
    out.print(f"{mark} [bold]{finding.subject:<20}[/] {finding.what}")
    if not finding.is_well:
        out.print(f"  {'':<20} [yellow]→ {finding.advice}[/]")
