"""Commands that prepare a database: dev, migrate."""

from __future__ import annotations

import click

from tidegate.cli import dev as dev_module
from tidegate.cli.console import fail, out, reports_errors
from tidegate.cli.database import prepare, with_database
from tidegate.cli.serve import port_option, settings_for
from tidegate.core.ids import Mode


@click.command()
@port_option
@reports_errors
def dev(port: int | None) -> None:
    """Start the whole sandbox: database, API, worker, one business with keys."""
    settings = settings_for(port)
    if settings.mode is Mode.LIVE:
        fail("`tidegate dev` is the sandbox; use `tidegate serve` and `tidegate worker` in live mode.")
    dev_module.run(settings)


@click.command()
@reports_errors
def migrate() -> None:
    """Bring the database up to date. Safe to run from several machines at once."""
    with with_database(settings_for(), may_create=True) as (ready, _):
        done = prepare(ready)
    for line in done:
        out.print(f"[green]✓[/] {line}")
    out.print("The database is up to date.")
