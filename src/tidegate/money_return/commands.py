"""Sends returns to the rail that the money came by."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

import structlog

from tidegate.core.clock import Clock
from tidegate.infra import leased_work
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.money_return import store
from tidegate.rail import notification_store
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.interface import RailBusy, RailRefused, RailTimeout, ReturnMoney
from tidegate.rail.pause import LOOK_WHILE_PAUSED
from tidegate.rail.state import Failed, PayoutState, Succeeded

SEND = WorkKind(store.SEND, store.list_to_send, at_once_max=leased_work.AT_ONCE_WITH_RAILS_MAX)

log = structlog.get_logger("returns")

# Records the end of a return: of its rail, and at the given time.
RecordEnd = Callable[[PaymentDeps, str, ReturnMoney, Succeeded | Failed, datetime], Awaitable[None]]


async def send(deps: PaymentDeps, clock: Clock, *, record_end: RecordEnd) -> RoundResult:
    return await leased_work.run_round(deps.db, SEND, partial(_send, deps, record_end), clock)


async def _send(deps: PaymentDeps, record_end: RecordEnd, lease: Lease, now: datetime) -> bool:
    async with deps.db.connection() as tx:
        found = await store.find_to_send(tx, lease.business_id, lease.id, now)
    if found is None:
        return False
    rail_name, money = found
    if rail_name in deps.paused.names:
        async with leased_work.writing(deps.db, lease) as tx:
            await store.try_later(tx, money, next_try_at=now + LOOK_WHILE_PAUSED)
        return True
    state = await _ask(deps, rail_name, money, now)
    is_other = isinstance(state, Succeeded) and state.amount != money.amount
    if isinstance(state, Succeeded | Failed) and not is_other:
        await record_end(deps, rail_name, money, state, now)
        return True
    async with leased_work.writing(deps.db, lease) as tx:
        if isinstance(state, Succeeded):
            # Neither amount is known to be right: an operator asks the rail.
            why = f"{state.amount} was paid for the return {money.reference}, which is of {money.amount}"
            log.error("a rail paid another amount than was asked for", rail=rail_name, why=why)
            in_doubt = notification_store.return_in_doubt(money.reference)
            await notification_store.quarantine(tx, rail_name, in_doubt, why=why, now=now)
        return await store.mark_sent(tx, money, now=now)


async def _ask(deps: PaymentDeps, rail_name: str, money: ReturnMoney, now: datetime) -> PayoutState | None:
    """None when the rail did not answer, or not yet: it may have done the work."""
    try:
        return await deps.rail(rail_name).send_back(money, now=now)
    except (RailTimeout, RailBusy, RailRefused) as error:
        log.warning("a rail did not accept a return", rail=rail_name, reference=money.reference, why=str(error))
        return None
