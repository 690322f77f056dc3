"""`tidegate sandbox`: what only a sandbox can do."""

from __future__ import annotations

from functools import partial

import click

from tidegate import settings as settings_module
from tidegate import worker
from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, fail, out, print_json, reports_errors
from tidegate.cli.merchant_webhooks import running_settings, webhook_deps_of
from tidegate.cli.operator import with_payment_deps
from tidegate.core.clock import Clock, ShiftedClock
from tidegate.merchant import commands as merchants
from tidegate.rail.deps import PaymentDeps
from tidegate.sandbox import clock as sandbox_clock
from tidegate.sandbox import receiver
from tidegate.sandbox.seed import FILE_NAME, read_file
from tidegate.sandbox.trade import DAYS, DAYS_MAX, Trade, TradeResult


@click.group()
def sandbox() -> None:
    """A sandbox's own commands."""


@sandbox.command()
@click.argument("business_id", metavar="[BUSINESS]", required=False)
@click.option("--days", type=click.IntRange(1, DAYS_MAX), default=DAYS, show_default=True)
@as_json_option
@reports_errors
def trade(business_id: str | None, days: int, as_json: bool) -> None:
    """Trade a sample month: payments of every kind, by the real engine, while the business's clock moves on.

    BUSINESS is the seeded one when it is left out. Its clock stays ahead: it cannot go back.
    """
    settings = settings_module.from_environment()
    chosen = business_id or read_file(settings.home / FILE_NAME).get("businessId")
    if chosen is None:
        fail("There is no seeded business here; name one: `tidegate merchant list` shows them.")

    async def run(deps: PaymentDeps, clock: Clock) -> TradeResult:
        if not isinstance(clock, ShiftedClock):
            fail("Only a sandbox has a clock that can be moved, and this is live.")
        await sandbox_clock.catch_up(deps.db, clock)
        business = await merchants.get(deps.db, chosen)
        async with deps.db.transaction() as tx:
            await receiver.place(
                tx, webhook_deps_of(settings, deps.db).vault, chosen, running_settings().base_url, by=OPERATOR,
                now=clock.now_of(chosen),
            )  # fmt: skip
        return await Trade(deps, clock, business, partial(worker.settle, deps, clock)).run(days)

    result = with_payment_deps(run)
    if as_json:
        print_json({"businessId": chosen, "days": days, "payments": result.payments, **result.counts})
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(result.counts.items()) if kind != "refunded")
    refunded = f"{result.counts.get('refunded', 0)} of them refunded"
    out.print(f"[green]✓[/] {result.payments} payments in {days} days: {kinds}; {refunded}.", soft_wrap=True)
    out.print(f"[dim]See them:[/] tidegate payment list {chosen}", soft_wrap=True)
