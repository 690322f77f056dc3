"""The payer's actions: start an attempt, answer a challenge, extend the time, cancel.

Calls to a rail: record the intent, commit, call, record the outcome. No transaction is open during the call.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import structlog

from tidegate.core import ids
from tidegate.core.errors import (
    AccessDenied,
    ChangedElsewhere,
    Conflict,
    Invalid,
    NotFound,
    Problem,
    TooSoon,
    Unavailable,
)
from tidegate.core.method import Method
from tidegate.infra.db import Database, StaleChange
from tidegate.payment import attempt_store, open_account_store, settle, transition
from tidegate.payment.attempt import (
    ACCOUNT_OPEN_FOR,
    ANSWERS_MAX,
    RESEND_PAUSE,
    RESENDS_MAX,
    START_GRACE,
    Attempt,
    AttemptStatus,
    ended,
)
from tidegate.payment.change import PaymentChange, PaymentSnapshot, after
from tidegate.payment.model import Customer, Payment
from tidegate.rail.action import AddressAction, FailureReason, OtpAction, PinAction, RedirectAction, is_polled
from tidegate.rail.capability import MethodTerms
from tidegate.rail.choice import AskedPrice, MethodOffer, RailOffer, choose, offer_of
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.instrument import Address, Authorization, Otp, PaymentInstrument, Pin, TransferInstrument, choice_of
from tidegate.rail.interface import PayerContact, Rail, RailBusy, RailRefused, RailTimeout, StartAttempt
from tidegate.rail.state import AttemptState, Failed

NOT_FOUND = "there is no such payment"
# After a refusal that only an operator can end.
RAIL_PAUSE_S = 60
log = structlog.get_logger("payment")

_ANSWERS: dict[type, tuple[type, ...]] = {
    Pin: (PinAction,),
    Otp: (OtpAction, RedirectAction),
    Address: (AddressAction,),
}


@dataclass(frozen=True)
class Payer:
    """One payer's request for one payment."""

    deps: PaymentDeps
    business_id: str
    pay_code: str
    return_url: str
    now: datetime


def changed_elsewhere() -> ChangedElsewhere:
    return ChangedElsewhere("this payment has changed in another window; reload it")


async def view(db: Database, business_id: str, pay_code: str) -> PaymentSnapshot:
    async with db.connection() as tx:
        snapshot = await attempt_store.find_by_pay_code(tx, business_id, pay_code)
    if snapshot is None:
        raise NotFound(NOT_FOUND)
    return snapshot


async def charge(
    payer: Payer, snapshot: PaymentSnapshot, method: Method, instrument: PaymentInstrument, details: dict[str, Any]
) -> PaymentSnapshot:
    """Starts an attempt on the version that the payer saw. `details` is what may be stored and shown."""
    offer = _offer_for(payer.deps, snapshot, method, choice_of(instrument))
    _refuse_charge(snapshot, payer.now)
    if isinstance(instrument, TransferInstrument) and (before := await _account_before(payer, snapshot)):
        return before
    _refuse_used_up(payer.deps, snapshot.payment, method)
    payment, attempt = _begin(snapshot, method, offer, details, payer.now)
    if isinstance(instrument, TransferInstrument):
        payment = transition.stay_open(payment, offer.terms.notified_within, now=payer.now)
        attempt = msgspec.structs.replace(attempt, expires_at=_closing_time(payment, payer.now, offer.terms))
        instrument = TransferInstrument(
            account_name=instrument.account_name, expires_at=attempt.expires_at or payer.now
        )
    async with payer.deps.db.connection() as tx:
        if not await attempt_store.begin(tx, payment, attempt, replaces=_open_attempt(snapshot), now=payer.now):
            raise changed_elsewhere()
    return await _ask_rail_to_start(payer, offer.rail, attempt, instrument, payment.order.customer)


async def _account_before(payer: Payer, snapshot: PaymentSnapshot) -> PaymentSnapshot | None:
    """The account that the payer was given before, while it takes money; a closed one is opened again when no attempts
    are left. None when a new account is needed."""
    payment, attempt, now = snapshot.payment, snapshot.attempt, payer.now
    if attempt is not None and attempt.is_open and attempt.account_number and attempt.takes_money_at(now):
        return snapshot
    if not payment.attempts_by_method.get(Method.BANK_TRANSFER):
        return None
    async with payer.deps.db.connection() as tx:
        account = await open_account_store.find_last(tx, payment)
    if account is None:
        return None
    if not account.takes_money_at(now):
        if transition.attempts_left(payment, Method.BANK_TRANSFER) > 0 or not can_extend(payer.deps, account):
            return None
        account = msgspec.structs.replace(account, expires_at=_closing_time(payment, now))
    return await _resume(payer, snapshot, account)


async def _resume(payer: Payer, snapshot: PaymentSnapshot, account: Attempt) -> PaymentSnapshot | None:
    account = msgspec.structs.replace(account, next_poll_at=payer.now if is_polled(account.action) else None)
    resumed = transition.resume_attempt(snapshot.payment, expected=account.expected, fee_rule_id=account.fee_rule_id)
    try:
        async with payer.deps.db.transaction() as tx:
            if not await open_account_store.resume(
                tx, resumed, account, replaces=_open_attempt(snapshot), now=payer.now
            ):
                raise changed_elsewhere()
    except attempt_store.AccountNumberTaken:
        return None  # The rail has reused the number; money sent to it is another payment's.
    return await view(payer.deps.db, payer.business_id, payer.pay_code)


def _open_attempt(snapshot: PaymentSnapshot) -> Attempt | None:
    return snapshot.attempt if snapshot.attempt and snapshot.attempt.is_open else None


async def _ask_rail_to_start(
    payer: Payer, rail: Rail, attempt: Attempt, instrument: PaymentInstrument, customer: Customer
) -> PaymentSnapshot:
    order = StartAttempt(
        business_id=attempt.business_id,
        reference=attempt.reference,
        method=attempt.method,
        amount=attempt.expected,
        instrument=instrument,
        payer=PayerContact(customer.email, customer.name, customer.phone),
        return_url=payer.return_url,
    )
    return await _record(payer, attempt, _started(rail, order, payer.now))


async def _started(rail: Rail, order: StartAttempt, now: datetime) -> AttemptState:
    """What the rail refuses has not begun: the payer may try again, or another method."""
    try:
        return await rail.start(order, now=now)
    except (RailBusy, RailRefused) as refused:
        log.error("a rail does not start an attempt", rail=rail.name, reference=order.reference, why=str(refused))
        return Failed(FailureReason.RAIL_UNAVAILABLE)


async def authorize(payer: Payer, given: Authorization) -> PaymentSnapshot:
    snapshot = await view(payer.deps.db, payer.business_id, payer.pay_code)
    attempt = snapshot.attempt
    _refuse_ended(snapshot.payment, payer.now)
    if attempt is None or attempt.status is not AttemptStatus.WAITING:
        raise Conflict("this payment is not waiting for an answer; fetch it again")
    if not isinstance(attempt.action, _ANSWERS[type(given)]):
        raise Conflict("the payment is waiting for a different answer; fetch it again")
    if attempt.answers_left <= 0:
        raise Conflict(f"all {ANSWERS_MAX} answers have been used; start another attempt")
    # Counted before the rail is called, on the version that was read: of two concurrent answers one is passed on.
    await _change_attempt(payer, snapshot, msgspec.structs.replace(attempt, answers=attempt.answers + 1))
    rail = _rail_of(payer.deps, attempt)
    return await _record(payer, attempt, rail.authorize(attempt.business_id, attempt.reference, given, now=payer.now))


async def resend(payer: Payer) -> PaymentSnapshot:
    """Sends the prompt, the USSD code or the one-time code again, for the same attempt."""
    snapshot = await view(payer.deps.db, payer.business_id, payer.pay_code)
    attempt = snapshot.attempt
    _refuse_ended(snapshot.payment, payer.now)
    if attempt is None or not can_resend(payer.deps, attempt):
        raise Conflict("this payment has no prompt or code to send again; fetch it again")
    if attempt.resends_left <= 0:
        raise Conflict(f"a prompt or code is sent again at most {RESENDS_MAX} times; start another attempt")
    _refuse_too_soon(attempt, payer.now)
    again = msgspec.structs.replace(attempt, resends=attempt.resends + 1, resend_from=payer.now + RESEND_PAUSE)
    await _change_attempt(payer, snapshot, again)
    rail = _rail_of(payer.deps, attempt)
    return await _record(payer, attempt, rail.resend(attempt.business_id, attempt.reference, now=payer.now))


def refuse_same_prompt(snapshot: PaymentSnapshot, method: Method, details: Mapping[str, Any], now: datetime) -> None:
    """The pause also holds for a new attempt by the same phone or with the same bank."""
    attempt = snapshot.attempt
    if attempt is None or not attempt.is_open or method not in (Method.MOBILE_MONEY, Method.USSD):
        return
    if attempt.method is method and all(attempt.details.get(name) == value for name, value in details.items()):
        _refuse_too_soon(attempt, now)


def _refuse_too_soon(attempt: Attempt, now: datetime) -> None:
    if attempt.resend_from is not None and now < attempt.resend_from:
        wait_s = math.ceil((attempt.resend_from - now).total_seconds())
        raise TooSoon(f"the prompt or code was sent a moment ago; retry after {wait_s} s", retry_after_s=wait_s)


def can_resend(deps: PaymentDeps, attempt: Attempt) -> bool:
    """Whether the rail can resend the prompt or code of this attempt."""
    rail = deps.rails.get(attempt.rail)
    is_waiting = attempt.status is AttemptStatus.WAITING
    return rail is not None and is_waiting and type(attempt.action) in rail.capabilities.resends


async def resume_after_redirect(payer: Payer) -> PaymentSnapshot:
    """The payer returns from the rail's own page, which proves nothing: the rail is asked."""
    snapshot = await view(payer.deps.db, payer.business_id, payer.pay_code)
    attempt = snapshot.attempt
    if attempt is None or not attempt.is_open or not isinstance(attempt.action, RedirectAction):
        return snapshot
    rail = _rail_of(payer.deps, attempt)
    return await _record(payer, attempt, rail.poll(attempt.business_id, attempt.reference, now=payer.now))


def can_extend(deps: PaymentDeps, attempt: Attempt) -> bool:
    rail = deps.rails.get(attempt.rail)
    return rail is not None and rail.capabilities.extends_accounts


async def report_transfer_sent(payer: Payer) -> PaymentSnapshot:
    """The payer reports a transfer as sent. This changes only what the page shows."""
    snapshot = await view(payer.deps.db, payer.business_id, payer.pay_code)
    payment, attempt = snapshot.payment, snapshot.attempt
    if attempt is None or attempt.account_number is None or not transition.is_under_way(payment, now=payer.now):
        raise Conflict("this payment has no open account to transfer to")
    return await _change_attempt(payer, snapshot, msgspec.structs.replace(attempt, said_sent_at=payer.now))


async def _record(payer: Payer, attempt: Attempt, asking: Awaitable[AttemptState]) -> PaymentSnapshot:
    """Records the rail's answer, or its time-out."""
    deps, business_id, reference, now = payer.deps, attempt.business_id, attempt.reference, payer.now
    try:
        state = await asking
    except (RailBusy, RailRefused) as refused:
        log.error("a rail does not answer a payer", rail=attempt.rail, reference=reference, why=str(refused))
        wait_s = refused.retry_after_s if isinstance(refused, RailBusy) else RAIL_PAUSE_S
        raise Unavailable(f"the payer's bank is unreachable; retry after {wait_s} s", retry_after_s=wait_s) from refused
    except RailTimeout:
        recorded = await settle.record_time_out(deps, business_id, reference, now=now)
    else:
        recorded = await settle.record_state(deps, business_id, reference, state, ref=None, now=now)
    if recorded is None:
        raise NotFound(NOT_FOUND)
    return recorded


async def cancel(payer: Payer) -> PaymentSnapshot:
    """The payer cancels. Held money is returned by the next sweep."""
    snapshot = await view(payer.deps.db, payer.business_id, payer.pay_code)
    attempt = snapshot.attempt
    if attempt is not None and attempt.is_unknown:
        raise Conflict("the outcome of the last attempt is not known yet; wait for it")
    if attempt is not None and attempt.is_open:
        attempt = ended(attempt, AttemptStatus.REPLACED)
    change = PaymentChange(payment=transition.cancel(snapshot.payment), attempt=attempt, now=payer.now)
    return await _write(payer, snapshot, change)


async def extend(payer: Payer) -> PaymentSnapshot:
    """Keeps the temporary account open longer, within the session."""
    snapshot = await view(payer.deps.db, payer.business_id, payer.pay_code)
    payment, attempt = snapshot.payment, snapshot.attempt
    if attempt is None or attempt.account_number is None or not transition.is_under_way(payment, now=payer.now):
        raise Conflict("this payment has no open account to extend")
    if payment.is_disabled and not attempt.is_open and not payment.held.minor:
        raise Conflict("this payment is disabled; its account stays closed")
    if not can_extend(payer.deps, attempt):
        raise Conflict("the bank closes this account at its time; start another attempt for a new account")
    longer = msgspec.structs.replace(
        attempt, status=AttemptStatus.WAITING, expires_at=_closing_time(payment, payer.now)
    )
    return await _change_attempt(payer, snapshot, longer)


async def _change_attempt(payer: Payer, snapshot: PaymentSnapshot, attempt: Attempt) -> PaymentSnapshot:
    return await _write(payer, snapshot, PaymentChange(payment=snapshot.payment, attempt=attempt, now=payer.now))


async def _write(payer: Payer, snapshot: PaymentSnapshot, change: PaymentChange) -> PaymentSnapshot:
    try:
        async with payer.deps.db.connection() as tx:
            await attempt_store.apply(tx, change)
    except StaleChange:
        raise changed_elsewhere() from None
    except attempt_store.AccountNumberTaken:
        raise Conflict(
            "this account is closed and its number is reused; start another attempt for a new account"
        ) from None
    return after(snapshot, change)


def _refuse_charge(snapshot: PaymentSnapshot, now: datetime) -> None:
    payment, before = snapshot.payment, snapshot.attempt
    _refuse_ended(payment, now)
    if not transition.is_open(payment, now=now):
        raise Conflict("this payment is disabled; it takes no more attempts")
    if not snapshot.business.is_active:
        raise AccessDenied("this business takes no payments at the moment; contact the business")
    if before is not None and before.is_unknown:
        raise Conflict("the outcome of the last attempt is not known yet; wait for it")


def _refuse_used_up(deps: PaymentDeps, payment: Payment, method: Method) -> None:
    if transition.attempts_left(payment, method) > 0:
        return
    others = ", ".join(deps.names.in_requests(transition.methods_left(payment)))
    hint = f"; other methods are open: {others}" if others else ""
    raise Conflict(f"all {transition.ATTEMPTS_MAX} attempts by {deps.names.in_request(method)} have been used{hint}")


def _begin(
    snapshot: PaymentSnapshot, method: Method, offer: RailOffer, details: dict[str, Any], now: datetime
) -> tuple[Payment, Attempt]:
    payment = snapshot.payment
    if payment.held.minor:
        raise Conflict("part of the money has arrived; extend the time, then send the rest to the same account")
    rule = snapshot.business.fee_rule_for(payment.order.asked.currency, method)
    begun = transition.begin_attempt(payment, method=method, expected=offer.expected, fee_rule_id=rule.id)
    attempt = Attempt(
        id=0,
        business_id=payment.business_id,
        payment_id=payment.id,
        number=begun.attempts,
        reference=ids.new_attempt_reference(),
        rail=offer.rail.name,
        method=method,
        status=AttemptStatus.STARTING,
        expected=offer.expected,
        fee_rule_id=rule.id,
        action=None,
        details=details,
        account_id=None,
        account_number=None,
        failure=None,
        expires_at=None,
        polls=0,
        next_poll_at=now + START_GRACE,
        created_at=now,
    )
    return begun, attempt


def _refuse_ended(payment: Payment, now: datetime) -> None:
    """Also refuses a card waiting for its PIN once the money has come another way: it must not be charged on top."""
    if not transition.is_under_way(payment, now=now):
        word = payment.status.value if transition.is_final(payment.status) else "over"
        raise Conflict(f"this payment is {word}; it takes no more attempts")


def _rail_of(deps: PaymentDeps, attempt: Attempt) -> Rail:
    rail = deps.rails.get(attempt.rail)
    if rail is None:
        raise Conflict("the rail of this attempt is not in use any more; start another attempt")
    return rail


def _offer_for(deps: PaymentDeps, snapshot: PaymentSnapshot, method: Method, choice: str | None) -> RailOffer:
    if method not in snapshot.payment.order.methods:
        raise Invalid(Problem("type", "is not offered for this payment"))
    offer = choose(deps.open_rails, method, price_of(snapshot, method), choice)
    if offer is None:
        raise Conflict("no rail takes this method at the moment; choose another one")
    return offer


def offers_of(deps: PaymentDeps, snapshot: PaymentSnapshot) -> dict[Method, MethodOffer]:
    """Of the payment's methods, those that some rail takes now, and the business."""
    rails, methods = deps.open_rails, snapshot.payment.order.methods
    if not snapshot.business.takes_cards:
        methods = tuple(method for method in methods if method is not Method.CARD)
    found = {method: offer_of(rails, method, price_of(snapshot, method)) for method in methods}
    return {method: offer for method, offer in found.items() if offer is not None}


def price_of(snapshot: PaymentSnapshot, method: Method) -> AskedPrice:
    order = snapshot.payment.order
    return AskedPrice(order.asked, order.fee_bearer, snapshot.business.fee_rule_for(order.asked.currency, method))


def _closing_time(payment: Payment, now: datetime, terms: MethodTerms | None = None) -> datetime:
    open_for = (terms and terms.notified_within) or ACCOUNT_OPEN_FOR
    return min(now + open_for, payment.expires_at)
