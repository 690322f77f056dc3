"""`tidegate merchant cards`: a business whose cards strangers try out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import click

from tidegate.audit.model import OPERATOR
from tidegate.cli.console import out, reports_errors
from tidegate.cli.operator import with_payment_deps
from tidegate.core.clock import Clock
from tidegate.infra.db import Tx
from tidegate.merchant import card_pause
from tidegate.merchant import commands as merchants
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps


@click.group()
def cards() -> None:
    """Pause the cards of a business, or take them again."""


@cards.command()
@click.argument("business_id")
@click.option("--reason", required=True, metavar="TEXT", help="Shown to the staff, and kept in the audit trail.")
@reports_errors
def pause(business_id: str, reason: str) -> None:
    """Take no cards of its payers; other methods go on."""
    said = remark_in("reason", reason)
    _act(business_id, lambda tx, clock: card_pause.pause(tx, business_id, said, by=OPERATOR, now=clock.now()))
    out.print("[green]✓[/] Its cards are paused.")


@cards.command()
@click.argument("business_id")
@reports_errors
def lift(business_id: str) -> None:
    """Take cards again."""
    _act(business_id, lambda tx, clock: card_pause.lift(tx, business_id, by=OPERATOR, now=clock.now()))
    out.print("[green]✓[/] It takes cards again.")


def _act(business_id: str, act: Callable[[Tx, Clock], Awaitable[object]]) -> None:
    async def run(deps: PaymentDeps, clock: Clock) -> None:
        await merchants.get(deps.db, business_id)
        async with deps.db.transaction() as tx:
            await act(tx, clock)

    with_payment_deps(run)
