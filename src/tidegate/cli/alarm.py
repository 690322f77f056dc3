"""`tidegate alarm`: what a person has to look at."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.alarm import store
from tidegate.alarm.store import KnownAlarm
from tidegate.cli.console import as_json_option, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import limit_option, with_payment_deps
from tidegate.core.clock import Clock
from tidegate.infra.timestamp import to_iso
from tidegate.rail.deps import PaymentDeps


@click.group()
def alarm() -> None:
    """Alarms: raised once while their cause lasts; they end by themselves."""


@alarm.command(name="list")
@click.option("--ended", "is_ended", is_flag=True, help="List the alarms that have ended instead, the newest first.")
@limit_option
@as_json_option
@reports_errors
def list_(is_ended: bool, limit: int, as_json: bool) -> None:
    """List open alarms. Exits with 0 even when there are some; `tidegate doctor` fails on what is wrong."""

    async def run(deps: PaymentDeps, _: Clock) -> list[KnownAlarm]:
        async with deps.db.connection() as tx:
            return await store.list_ended(tx, limit=limit) if is_ended else (await store.list_open(tx))[:limit]

    found = with_payment_deps(run)
    if as_json:
        print_json([_to_json(one) for one in found])
        return
    table = Table("Rule", "What", "Raised", "Ended")
    for one in found:
        ended = f"{one.ended_at:%Y-%m-%d %H:%M} UTC" if one.ended_at else "–"
        what = plain(one.sentence) + ("" if one.ended_at else f"\n→ {plain(one.advice)}")
        table.add_row(one.rule, what, f"{one.raised_at:%Y-%m-%d %H:%M} UTC", ended)
    show_table(table, "[green]✓[/] No alarm.")


def _to_json(one: KnownAlarm) -> dict[str, object]:
    return {
        "rule": one.rule,
        "subject": one.subject,
        "sentence": one.sentence,
        "advice": one.advice,
        "raisedAt": to_iso(one.raised_at),
        "endedAt": to_iso(one.ended_at) if one.ended_at else None,
    }
