"""Changes caused by time: sessions and accounts expire, silent rails are polled, held money is returned.

Each is leased work: see `infra/leased_work.py`.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

import msgspec
import structlog

from tidegate.core import ids
from tidegate.core.clock import Clock
from tidegate.core.errors import IllegalTransition, NotFound
from tidegate.infra import leased_work
from tidegate.infra.db import StaleChange
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.ledger import postings
from tidegate.money_return.model import ReturnRequest
from tidegate.money_return.reason import ReturnReason
from tidegate.payment import attempt_store, settle, sweep_store, transition
from tidegate.payment.attempt import AttemptStatus, ended
from tidegate.payment.change import PaymentChange, PaymentSnapshot
from tidegate.payment.model import Ending
from tidegate.rail.action import FailureReason
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.interface import Rail, RailBusy, RailRefused, RailTimeout
from tidegate.rail.state import AttemptState, Failed

log = structlog.get_logger("sweep")

EXPIRE = WorkKind(sweep_store.EXPIRE, sweep_store.list_expiring)
CLOSE = WorkKind(sweep_store.CLOSE, sweep_store.list_to_close)
POLL = WorkKind(sweep_store.POLL, sweep_store.list_to_poll, at_once_max=leased_work.AT_ONCE_WITH_RAILS_MAX)
RETURN_HELD = WorkKind(sweep_store.RETURN_HELD, sweep_store.list_held_of_ended)


async def expire_payments(deps: PaymentDeps, clock: Clock) -> RoundResult:
    return await leased_work.run_round(deps.db, EXPIRE, partial(_expire, deps), clock)


async def _expire(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    async with deps.db.connection() as tx:
        snapshot = await attempt_store.find_by_pay_code(tx, lease.business_id, lease.id)
        if snapshot is None or now < snapshot.payment.expires_at:
            return False
        attempt = snapshot.attempt
        if attempt is not None and attempt.is_open:
            attempt = ended(attempt, AttemptStatus.EXPIRED)
        try:
            change = PaymentChange(payment=transition.expire(snapshot.payment), attempt=attempt, now=now)
            await attempt_store.apply(tx, change)
        except (StaleChange, IllegalTransition):
            return False  # It was paid, or an attempt began, concurrently.
    return True


async def close_accounts(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """Temporary accounts close before the session ends; the payer may request a new one."""
    return await leased_work.run_round(deps.db, CLOSE, partial(_close, deps), clock)


async def _close(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    async with deps.db.connection() as tx:
        return await sweep_store.close_account(tx, lease.business_id, lease.id, now)


async def poll_rails(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """Polls for outcomes that were not notified."""
    return await leased_work.run_round(deps.db, POLL, partial(_poll, deps), clock)


async def _poll(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    business_id, reference = lease.business_id, lease.id
    async with deps.db.connection() as tx:
        rail_name = await sweep_store.find_rail_to_poll(tx, business_id, reference, now)
    if rail_name is None:
        return False  # The outcome was recorded concurrently.
    try:
        state = await _poll_rail(deps.rail(rail_name), business_id, reference, now)
    except (RailTimeout, RailBusy, RailRefused) as error:
        log.warning("a rail did not tell the state of an attempt", rail=rail_name, reference=reference, why=str(error))
        await settle.record_time_out(deps, business_id, reference, lease=lease, now=now)
    else:
        await settle.record_state(deps, business_id, reference, state, ref=None, lease=lease, now=now)
    return True


async def _poll_rail(rail: Rail, business_id: str, reference: str, now: datetime) -> AttemptState:
    try:
        return await rail.poll(business_id, reference, now=now)
    except NotFound:
        # The process stopped between recording the intent and calling the rail, longer ago than a call can take.
        return Failed(FailureReason.NOT_STARTED)


async def return_held(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """Part payments whose rest never came are returned, each on its own rail."""
    return await leased_work.run_round(deps.db, RETURN_HELD, partial(_return_held, deps), clock)


async def _return_held(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    async with deps.db.connection() as tx:
        receipt = await sweep_store.find_held(tx, lease.business_id, int(lease.id))
        if receipt is None:
            return False
        snapshot = await attempt_store.find_by_pay_code(tx, lease.business_id, receipt.pay_code)
        if snapshot is None:
            return False
        try:
            await attempt_store.apply(tx, _going_back(snapshot, receipt, now))
        except StaleChange:
            return False
    return True


def _going_back(snapshot: PaymentSnapshot, receipt: sweep_store.HeldReceipt, now: datetime) -> PaymentChange:
    payment = snapshot.payment
    cause = f"{receipt.rail}/{receipt.transaction_id}"
    return PaymentChange(
        payment=msgspec.structs.replace(
            payment, held=payment.held - receipt.amount, returned=payment.returned + receipt.amount
        ),
        going_back=ReturnRequest(
            rail=receipt.rail,
            reference=ids.new_return_reference(),
            transaction_id=receipt.transaction_id,
            amount=receipt.amount,
            reason=ReturnReason.CANCELLED if payment.ending is Ending.CANCELLED else ReturnReason.REST_MISSING,
        ),
        journal=postings.held_returning(cause=cause, held=receipt.amount, event_at=now),
        now=now,
    )
