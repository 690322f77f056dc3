"""Reconciliation. Reads one snapshot of the books, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from tidegate.core.errors import NotFound, Unavailable
from tidegate.infra.db import Database
from tidegate.ledger.audit import store as audit_store
from tidegate.rail.interface import Rail, RailBusy, RailRefused, RailTimeout
from tidegate.reconcile import explanation, rail_list, store
from tidegate.reconcile.compare import Comparison
from tidegate.reconcile.model import RailLine, ReconcilePeriod
from tidegate.reconcile.report import Report, sums_of
from tidegate.reconcile.statement import NoDays, Unreadable


def period_of(lines: Sequence[RailLine], *, first: date | None, last: date | None, slack: timedelta) -> ReconcilePeriod:
    """The requested period; by default from the first to the last booking day of the statement."""
    if not lines and (first is None or last is None):
        raise NoDays
    if first is None:
        first = min(line.booked_at for line in lines).date()
    if last is None:
        last = max(line.booked_at for line in lines).date()
    if last < first:
        raise Unreadable(f"the period ends on {last}, before it begins on {first}")
    return ReconcilePeriod(first, last, slack)


async def reconcile_with_list(db: Database, rail: Rail, period: ReconcilePeriod) -> Report:
    """With the list that the rail gives now. Raises Conflict, Unavailable."""
    try:
        lines = await rail_list.fetch(rail, period)
    except (RailTimeout, RailBusy, RailRefused) as error:
        raise Unavailable(f"the list of {rail.name} could not be fetched: {error}") from error
    return await reconcile(
        db, lines, rail=rail.name, period=period, is_configured=True, left_out=rail_list.kinds_left_out(rail)
    )


async def reconcile(
    db: Database, lines: Sequence[RailLine], *, rail: str, period: ReconcilePeriod, is_configured: bool,
    left_out: frozenset[str] = frozenset(), on_movement: Callable[[], object] = lambda: None,
) -> Report:  # fmt: skip
    """`left_out` are kinds of movements that the lines never have. Raises NotFound for a rail that is not configured
    and has no money in the books: the name is mistyped.
    """
    comparison = Comparison(lines, period, left_out=left_out)
    async with db.transaction() as tx:
        await audit_store.begin(tx)
        if not is_configured and not await store.is_known(tx, rail):
            raise NotFound(f"no rail named {rail} is configured, and the books have no money from it")
        async for movement in store.stream_of_period(tx, rail, period):
            comparison.add(movement)
            on_movement()
        # The notification may have come days later or earlier: then the money is in our books, outside the period.
        if beyond := comparison.unmatched_ids():
            async for movement in store.stream_beyond_period(tx, rail, period, beyond):
                comparison.add(movement)
                on_movement()
        balances = await store.list_balances(tx)
        findings = await explanation.add_to(tx, rail, comparison.findings())
    return Report(
        rail=rail,
        period=period,
        lines=len(comparison.lines),
        lines_outside=len(lines) - len(comparison.lines),
        matched=comparison.matched,
        findings=findings,
        sums=sums_of(comparison.lines, findings),
        balances=balances,
    )
