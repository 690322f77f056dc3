"""What time does to payments: sessions and accounts end, silent rails are asked again, what is held goes back.

Each round takes a bounded batch and may run in any number of workers. Whoever talks to a rail holds a lease, not a
row lock, and finishes only while the lease is still its own.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

import msgspec

from tidegate.core import ids
from tidegate.core.errors import IllegalTransition, NotFound
from tidegate.infra.db import StaleChange
from tidegate.ledger import recipes
from tidegate.money_return.model import GoingBack
from tidegate.money_return.reason import ReturnReason
from tidegate.payment import attempt_store, settle, sweep_store, transition
from tidegate.payment.attempt import AttemptStatus, ended
from tidegate.payment.change import Change, Situation
from tidegate.payment.model import Ending
from tidegate.rail.interface import AttemptState, Failed, FailureReason, Rail, RailTimeout
from tidegate.rail.till import Till

BATCH = 50
LEASE = timedelta(seconds=60)


async def expire_payments(till: Till, now: datetime) -> int:
    async with till.db.connection() as tx:
        due = await sweep_store.list_expiring(tx, now, limit=BATCH)
    return sum([await _expire(till, business_id, pay_code, now) for business_id, pay_code in due])


async def _expire(till: Till, business_id: str, pay_code: str, now: datetime) -> bool:
    async with till.db.connection() as tx:
        situation = await attempt_store.find_by_pay_code(tx, business_id, pay_code)
        if situation is None or now < situation.payment.expires_at:
            return False
        attempt = situation.attempt
        if attempt is not None and attempt.is_open:
            attempt = ended(attempt, AttemptStatus.EXPIRED)
        try:
            change = Change(payment=transition.expire(situation.payment), attempt=attempt, now=now)
            await attempt_store.apply(tx, change)
        except (StaleChange, IllegalTransition):
            return False  # It was paid, or began to be, in this very moment.
    return True


async def close_accounts(till: Till, now: datetime) -> int:
    """Temporary accounts end before the session does; the payer may ask for a new one."""
    async with till.db.connection() as tx:
        return await sweep_store.close_accounts(tx, now, limit=BATCH)


async def ask_rails(till: Till, now: datetime) -> int:
    """Outcomes nobody told us."""
    token = secrets.token_hex(8)
    async with till.db.connection() as tx:
        claimed = await sweep_store.claim_unknown(tx, now, lease_until=now + LEASE, token=token, limit=BATCH)
    for business_id, reference, rail_name in claimed:
        try:
            state = await _ask(till.rails[rail_name], business_id, reference, now)
        except RailTimeout:
            await settle.record_time_out(till, business_id, reference, lease=token, now=now)
        else:
            await settle.record_state(till, business_id, reference, state, told_by=None, lease=token, now=now)
    return len(claimed)


async def _ask(rail: Rail, business_id: str, reference: str, now: datetime) -> AttemptState:
    try:
        return await rail.ask(business_id, reference, now=now)
    except NotFound:
        # We stopped between recording the intent and calling the rail; long enough ago that it is not on its way.
        return Failed(FailureReason.NOT_STARTED)


async def return_held(till: Till, now: datetime) -> int:
    """Part payments whose rest never came go back, each by the way it came."""
    async with till.db.connection() as tx:
        held = await sweep_store.list_held_of_ended(tx, limit=BATCH)
    return sum([await _return_held(till, receipt, now) for receipt in held])


async def _return_held(till: Till, receipt: sweep_store.HeldReceipt, now: datetime) -> bool:
    async with till.db.connection() as tx:
        situation = await attempt_store.find_by_pay_code(tx, receipt.business_id, receipt.pay_code)
        if situation is None:
            return False
        try:
            await attempt_store.apply(tx, _going_back(situation, receipt, now))
        except StaleChange:
            return False
    return True


def _going_back(situation: Situation, receipt: sweep_store.HeldReceipt, now: datetime) -> Change:
    payment = situation.payment
    cause = f"{receipt.rail}/{receipt.transaction_id}"
    return Change(
        payment=msgspec.structs.replace(
            payment, held=payment.held - receipt.amount, returned=payment.returned + receipt.amount
        ),
        going_back=GoingBack(
            rail=receipt.rail,
            reference=ids.new_return_reference(),
            transaction_id=receipt.transaction_id,
            amount=receipt.amount,
            reason=ReturnReason.CANCELLED if payment.ending is Ending.CANCELLED else ReturnReason.REST_MISSING,
        ),
        journal=recipes.held_returning(cause=cause, held=receipt.amount, event_at=now),
        now=now,
    )
