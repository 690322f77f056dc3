"""The rail's notifications as bytes: writing, signing, verifying and reading."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from tidegate.core.errors import Refusal
from tidegate.core.money import Currency, Money
from tidegate.infra.http import strict_json
from tidegate.rail.action import FailureReason
from tidegate.rail.event import (
    AttemptOutcome,
    CreditReversed,
    DisputeChanged,
    DisputeStatus,
    MoneyArrived,
    Notification,
    RailEvent,
    RawNotification,
    ReturnConfirmed,
)
from tidegate.rail.interface import NotificationRefused, NotificationUnreadable
from tidegate.rail.state import Failed, Party, Succeeded

SIGNATURE_HEADER = "sandbox-signature"
AGE_MAX_S = 300
BODY_BYTES_MAX = 64 * 1024
MINOR_MAX = 10**15
YEAR_MIN, YEAR_MAX = 1900, 2999
_SIGNATURE = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")


def sign(body: bytes, secret: bytes, *, now: datetime) -> RawNotification:
    sent_at_s = int(now.timestamp())
    signature = f"t={sent_at_s},v1={_signature(body, secret, sent_at_s)}"
    return RawNotification(body, {"content-type": "application/json", SIGNATURE_HEADER: signature})


def check(raw: RawNotification, secret: bytes, *, now: datetime) -> None:
    """Raises NotificationRefused unless the rail signed it within the allowed age."""
    header = raw.headers.get(SIGNATURE_HEADER)
    if header is None:
        raise NotificationRefused(f"the header {SIGNATURE_HEADER} is missing")
    match = _SIGNATURE.fullmatch(header)
    if match is None:
        raise NotificationRefused(f"the header {SIGNATURE_HEADER} is not of the form t=…,v1=…")
    sent_at_s = int(match[1])
    if not hmac.compare_digest(match[2], _signature(raw.body, secret, sent_at_s)):
        raise NotificationRefused("the signature is wrong")
    if abs(int(now.timestamp()) - sent_at_s) > AGE_MAX_S:
        raise NotificationRefused(f"the signature's time differs from now by more than {AGE_MAX_S} seconds")


def _signature(body: bytes, secret: bytes, sent_at_s: int) -> str:
    return hmac.digest(secret, b"%d." % sent_at_s + body, "sha256").hex()


# The wire types: one per kind of event, distinguished by `type`. Amounts are text, in minor units.

_Text = Annotated[str, Meta(min_length=1, max_length=1_000)]
# Part of a journal's cause, which is limited to 200 characters.
_TransactionId = Annotated[str, Meta(min_length=1, max_length=150)]
_Minor = Annotated[str, Meta(pattern=r"^[0-9]{1,18}\Z")] | int


class _Wire(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", rename="camel", forbid_unknown_fields=True):
    id: _Text


class _Success(_Wire, frozen=True, kw_only=True, tag="attempt.succeeded"):
    business_id: _Text
    reference: _Text
    transaction_id: _TransactionId
    amount: _Minor
    currency: Currency


class _Failure(_Wire, frozen=True, kw_only=True, tag="attempt.failed"):
    business_id: _Text
    reference: _Text
    reason: FailureReason


class _Payer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    name: str | None
    account_number: str | None
    bank_name: str | None
    bank_code: str | None


class _Credit(_Wire, frozen=True, kw_only=True, tag="account.credited"):
    account_number: _Text
    transaction_id: _TransactionId
    amount: _Minor
    currency: Currency
    payer: _Payer
    payee_name: str | None
    scheme: _Text
    remittance: str | None
    valued_at: Annotated[datetime, Meta(tz=True)]


class _Return(_Wire, frozen=True, kw_only=True, tag="return.left"):
    business_id: _Text
    reference: _Text
    transaction_id: _TransactionId


class _Reversal(_Wire, frozen=True, kw_only=True, tag="credit.reversed"):
    # None for a chargeback, which names a transaction only.
    account_number: _Text | None
    transaction_id: _TransactionId
    reversal_id: _Text
    amount: _Minor
    currency: Currency
    reason: _Text


class _Dispute(_Wire, frozen=True, kw_only=True, tag="dispute.changed"):
    dispute_id: _Text
    transaction_id: _TransactionId
    amount: _Minor
    currency: Currency
    status: DisputeStatus
    due_at: Annotated[datetime, Meta(tz=True)] | None
    reason: _Text


_Notification = _Success | _Failure | _Credit | _Return | _Reversal | _Dispute


def write(notification: Notification) -> bytes:
    return msgspec.json.encode(_wire(notification.id, notification.event))


def _wire(notification_id: str, event: RailEvent) -> _Notification:
    match event:
        case AttemptOutcome(state=Succeeded() as state):
            return _Success(
                id=notification_id,
                business_id=event.business_id,
                reference=event.reference,
                transaction_id=state.transaction_id,
                amount=str(state.amount.minor),
                currency=state.amount.currency,
            )
        case AttemptOutcome(state=Failed() as state):
            return _Failure(
                id=notification_id, business_id=event.business_id, reference=event.reference, reason=state.reason
            )
        case MoneyArrived():
            return _credit(notification_id, event)
        case ReturnConfirmed():
            return _Return(
                id=notification_id,
                business_id=event.business_id,
                reference=event.reference,
                transaction_id=event.transaction_id,
            )
        case CreditReversed():
            return _reversal(notification_id, event)
        case DisputeChanged():
            return _dispute(notification_id, event)
    raise TypeError(event)  # pragma: no cover - the union has no other member


def _credit(notification_id: str, event: MoneyArrived) -> _Credit:
    return _Credit(
        id=notification_id,
        account_number=event.account_number,
        transaction_id=event.transaction_id,
        amount=str(event.amount.minor),
        currency=event.amount.currency,
        payer=_Payer(**msgspec.structs.asdict(event.payer)),
        payee_name=event.payee_name,
        scheme=event.scheme,
        remittance=event.remittance,
        valued_at=event.valued_at,
    )


def _reversal(notification_id: str, event: CreditReversed) -> _Reversal:
    return _Reversal(
        id=notification_id,
        account_number=event.account_number,
        transaction_id=event.transaction_id,
        reversal_id=event.reversal_id,
        amount=str(event.amount.minor),
        currency=event.amount.currency,
        reason=event.reason,
    )


def _dispute(notification_id: str, event: DisputeChanged) -> _Dispute:
    return _Dispute(
        id=notification_id,
        dispute_id=event.dispute_id,
        transaction_id=event.transaction_id,
        amount=str(event.amount.minor),
        currency=event.amount.currency,
        status=event.status,
        due_at=event.due_at,
        reason=event.reason,
    )


def read(body: bytes) -> Notification:
    """Raises NotificationUnreadable for any body that `write` cannot produce."""
    if len(body) > BODY_BYTES_MAX:
        raise _unreadable(body, f"the body is longer than {BODY_BYTES_MAX} bytes")
    try:
        wire: _Notification = msgspec.convert(strict_json.loads(body), _Notification)
    except (Refusal, msgspec.ValidationError) as error:
        raise _unreadable(body, f"the body is not a notification: {error}") from None
    try:
        return Notification(id=wire.id, event=_event(wire))
    except ValueError as error:
        raise _unreadable(body, str(error)) from None


def _unreadable(body: bytes, why: str) -> NotificationUnreadable:
    """Without a readable identifier, the hash of the bytes is the identifier."""
    return NotificationUnreadable(f"unreadable-{hashlib.sha256(body).hexdigest()}", why)


def _event(wire: _Notification) -> RailEvent:
    match wire:
        case _Success():
            state = Succeeded(wire.transaction_id, _money(wire.amount, wire.currency))
            return AttemptOutcome(business_id=wire.business_id, reference=wire.reference, state=state)
        case _Failure():
            return AttemptOutcome(business_id=wire.business_id, reference=wire.reference, state=Failed(wire.reason))
        case _Credit():
            return MoneyArrived(
                account_number=wire.account_number,
                transaction_id=wire.transaction_id,
                amount=_money(wire.amount, wire.currency),
                payer=Party(**msgspec.structs.asdict(wire.payer)),
                payee_name=wire.payee_name,
                scheme=wire.scheme,
                remittance=wire.remittance,
                valued_at=_day(wire.valued_at),
            )
        case _Return():
            return ReturnConfirmed(
                business_id=wire.business_id, reference=wire.reference, transaction_id=wire.transaction_id
            )
        case _Reversal():
            return CreditReversed(
                account_number=wire.account_number,
                transaction_id=wire.transaction_id,
                reversal_id=wire.reversal_id,
                amount=_money(wire.amount, wire.currency),
                reason=wire.reason,
            )
        case _Dispute():
            return DisputeChanged(
                dispute_id=wire.dispute_id,
                transaction_id=wire.transaction_id,
                amount=_money(wire.amount, wire.currency),
                status=wire.status,
                due_at=None if wire.due_at is None else _day(wire.due_at),
                reason=wire.reason,
            )


def _day(moment: datetime) -> datetime:
    """Banks report wrong dates; any that can be stored is accepted. Arithmetic fails at the limits of datetime."""
    if not YEAR_MIN <= moment.year <= YEAR_MAX:
        raise ValueError(f"the year of a value date must be from {YEAR_MIN} to {YEAR_MAX}")
    return moment


def _money(amount: str | int, currency: Currency) -> Money:
    minor = int(amount)
    if not 0 < minor <= MINOR_MAX:
        raise ValueError(f"an amount must be from 1 to {MINOR_MAX} minor units")
    return Money(minor, currency)
