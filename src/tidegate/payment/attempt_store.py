"""SQL of attempts, and of changes that touch a payment, its attempt, the books and the outbox at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Contended, Row, StaleChange, Tx, naming
from tidegate.infra.lease_store import Lease
from tidegate.merchant.store import business_of
from tidegate.money_return.model import ReturnRequest
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.change import ChangeOutcome, PaymentChange, PaymentSnapshot, Receipt
from tidegate.payment.model import Payment
from tidegate.payment.row import payment_of
from tidegate.rail.action import Action, FailureReason
from tidegate.rail.notification import AlreadyReceived

_actions = msgspec.json.Decoder(Action)


class AccountNumberTaken(Exception):
    """Another open account of this rail has this number; nothing was written."""


async def find_by_pay_code(tx: Tx, business_id: str, pay_code: str) -> PaymentSnapshot | None:
    """With the newest attempt."""
    row = await tx.fetchrow(
        """
        SELECT payment_row(payment) AS payment, attempt, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
          FROM payment
          JOIN business ON business.id = payment.business_id
          LEFT JOIN attempt ON attempt.business_id = payment.business_id AND attempt.payment_id = payment.id
               AND attempt.number = payment.attempts
         WHERE payment.business_id = $1 AND payment.pay_code = $2
        """,
        business_id, pay_code,
    )  # fmt: skip
    return snapshot_of(row) if row else None


async def find_by_reference(
    tx: Tx, business_id: str, reference: str, *, rail: str | None = None
) -> PaymentSnapshot | None:
    """`rail` is the rail that reported it; None when the call is ours."""
    row = await tx.fetchrow(
        """
        SELECT payment_row(payment) AS payment, attempt, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
          FROM attempt
          JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
          JOIN business ON business.id = attempt.business_id
         WHERE attempt.business_id = $1 AND attempt.reference = $2 AND ($3::text IS NULL OR attempt.rail = $3)
        """,
        business_id, reference, rail,
    )  # fmt: skip
    return snapshot_of(row) if row else None


async def find_by_account_id(tx: Tx, business_id: str, account_id: str) -> PaymentSnapshot | None:
    row = await tx.fetchrow(
        """
        SELECT payment_row(payment) AS payment, attempt, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
          FROM attempt
          JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
          JOIN business ON business.id = attempt.business_id
         WHERE attempt.business_id = $1 AND attempt.account_id = $2
        """,
        business_id, account_id,
    )  # fmt: skip
    return snapshot_of(row) if row else None


async def begin(tx: Tx, payment: Payment, attempt: Attempt, *, replaces: Attempt | None, now: datetime) -> bool:
    """Records the intent before the rail is called. False when the payment has changed since it was read."""
    given = {
        "payment": {
            "id": payment.id,
            "version": payment.version,
            "status": payment.status,
            "expected_minor": payment.expected.minor,
            "fee_rule_id": payment.fee_rule_id,
            "attempts": payment.attempts,
            "attempts_by_method": payment.attempts_by_method,
            "expires_at": payment.expires_at,
        },
        "attempt": {
            "reference": attempt.reference,
            "rail": attempt.rail,
            "method": attempt.method,
            "details": attempt.details,
            "expires_at": attempt.expires_at,
            "next_poll_at": attempt.next_poll_at,
        },
        "replaces": replaces.id if replaces else None,
    }
    with suppress(StaleChange), naming({"TG001": StaleChange}):
        done = await tx.fetchval(
            "SELECT begin_attempt($1, $2, $3)", payment.business_id, msgspec.json.encode(given).decode(), now
        )
        return done is True
    return False


async def apply(tx: Tx, change: PaymentChange) -> bool:
    """A batch of one. False when the notification was processed before.

    Raises StaleChange when the payment has changed since the decision or the journal is already posted;
    AlreadyReceived when the money is already recorded.
    """
    return _is_written(await apply_all(tx, [change]))


async def pay_from_suspense(tx: Tx, change: PaymentChange) -> None:
    """In the transaction of the decision on the money. Raises as apply."""
    _is_written(await _apply(tx, "SELECT pay_from_suspense($1, $2, $3)", [change]))


def _is_written(outcomes: list[ChangeOutcome]) -> bool:
    [outcome] = outcomes
    if outcome is ChangeOutcome.STALE:
        raise StaleChange
    if outcome is ChangeOutcome.ALREADY_RECEIVED:
        raise AlreadyReceived
    return outcome is ChangeOutcome.WRITTEN


async def apply_all(tx: Tx, changes: Sequence[PaymentChange]) -> list[ChangeOutcome]:
    """In one round trip and one commit; each is written completely or not at all. On a cluster of one business.

    Raises for all of them: StaleChange when a journal is already posted or the notification was processed
    concurrently for another payment, AlreadyReceived when the money was, AccountNumberTaken when another open account
    has the number, Contended when one of several businesses is locked.
    """
    if len({change.payment.business_id for change in changes}) == 1:
        return await _apply(tx, "SELECT apply_payment_changes($1, $2, $3)", changes)
    first = _without_rivals(changes)
    ours = [changes[at] for at in first]
    newest: dict[str, datetime] = {}
    for change in ours:
        newest[change.payment.business_id] = max(change.now, newest.get(change.payment.business_id, change.now))
    with naming({**_REFUSALS, "55P03": Contended}):
        done = await tx.fetchval(
            "SELECT apply_payment_changes_of_several($1, $2, $3)",
            [change.payment.business_id for change in ours],
            _json(ours),
            [newest[change.payment.business_id] for change in ours],
        )
    return _outcomes(changes, first, done)


async def _apply(tx: Tx, statement: str, changes: Sequence[PaymentChange]) -> list[ChangeOutcome]:
    """Of one business."""
    first = _without_rivals(changes)
    with naming(_REFUSALS):
        done = await tx.fetchval(statement, *_given([changes[at] for at in first]))
    return _outcomes(changes, first, done)


_REFUSALS: dict[str, type[Exception]] = {
    "TG001": StaleChange,
    "notification_pk": StaleChange,
    "receipt_one_per_transaction": AlreadyReceived,
    "account_number_one_open": AccountNumberTaken,
}


def _without_rivals(changes: Sequence[PaymentChange]) -> list[int]:
    """Only the first change per payment or per notification is written; the rest are decided again afterwards.

    In the lock order: by business and number of the payment.
    """
    taken: set[object] = set()
    first = []
    for at, change in sorted(enumerate(changes), key=lambda each: (each[1].payment.business_id, each[1].payment.id)):
        ref, owner = change.ref, (change.payment.business_id, change.payment.id)
        claims = {owner, (ref.rail, ref.id)} if ref else {owner}
        if taken.isdisjoint(claims):
            taken |= claims
            first.append(at)
    return first


def _given(changes: Sequence[PaymentChange]) -> tuple[str, str, datetime]:
    """Changes of one business, as `apply_payment_changes` takes them."""
    return changes[0].payment.business_id, _json(changes), max(change.now for change in changes)


def _json(changes: Sequence[PaymentChange]) -> str:
    return msgspec.json.encode([_row(change) for change in changes]).decode()


def _outcomes(changes: Sequence[PaymentChange], first: Sequence[int], done: Sequence[str]) -> list[ChangeOutcome]:
    outcomes = [ChangeOutcome.STALE] * len(changes)
    for at, outcome in zip(first, done, strict=True):
        outcomes[at] = ChangeOutcome(outcome)
    return outcomes


def _row(change: PaymentChange) -> dict[str, Any]:
    """As the type `payment_change`. Absent means NULL; bytes are base64."""
    payment = change.payment
    row: dict[str, Any] = {
        "payment_id": payment.id,
        "version": payment.version,
        "now": change.now,
        "status": payment.status,
        "variance": payment.variance,
        "received_minor": payment.received.minor,
        "held_minor": payment.held.minor,
        "returned_minor": payment.returned.minor,
        "settled_minor": payment.settled.minor if payment.settled else None,
        "method": payment.method_chosen if payment.paid_at else None,
        "paid_at": payment.paid_at,
        "ending": payment.ending,
        "expected_minor": payment.expected.minor,
        "fee_rule_id": payment.fee_rule_id,
        **_lease(change.lease),
    }
    if payment.fee is not None:
        row |= {"fee_minor": payment.fee.fee.minor, "vat_minor": payment.fee.vat.minor}
    if ref := change.ref:
        row |= {"ref_rail": ref.rail, "ref_id": ref.id, "ref_body": ref.body}
    if change.attempt is not None:
        row |= _attempt(change.attempt)
    if change.receipt is not None:
        row |= _receipt(change.receipt)
    if change.going_back is not None:
        row |= _going_back(change.going_back)
    if change.journal is not None:
        row |= change.journal.columns()._asdict()
    if event := change.event:
        row |= {"event_id": event.id, "event_type": event.type, "event_cause": event.cause}
        row |= {"event_payload": event.payload, "event_reference": event.reference}
        row |= {"event_request_id": event.request_id}
    return row


def _lease(lease: Lease | None) -> dict[str, Any]:
    return {"lease": lease.token, "lease_kind": lease.kind, "lease_id": lease.id} if lease else {}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "attempt_id": attempt.id,
        "attempt_status": attempt.status,
        "action": attempt.action,
        "account_id": attempt.account_id,
        "account_number": attempt.account_number,
        "failure": attempt.failure,
        "expires_at": attempt.expires_at,
        "polls": attempt.polls,
        "next_poll_at": attempt.next_poll_at,
        "answers": attempt.answers,
        "resends": attempt.resends,
        "resend_from": attempt.resend_from,
        "said_sent_at": attempt.said_sent_at,
    }


def _receipt(receipt: Receipt) -> dict[str, Any]:
    return {
        "rail": receipt.rail,
        "transaction_id": receipt.transaction_id,
        "currency": receipt.amount.currency,
        "amount_minor": receipt.amount.minor,
        "outcome": receipt.outcome,
        "reason": receipt.reason,
        "payer": receipt.payer,
        "arrived_at": receipt.arrived_at,
    }


def _going_back(back: ReturnRequest) -> dict[str, Any]:
    return {
        "back_reference": back.reference,
        "back_rail": back.rail,
        "back_transaction_id": back.transaction_id,
        "back_currency": back.amount.currency,
        "back_minor": back.amount.minor,
        "back_reason": back.reason,
    }


def snapshot_of(row: Row) -> PaymentSnapshot:
    payment = payment_of(row["payment"])
    attempt = attempt_of(row["attempt"], payment.expected.currency) if row["attempt"] else None
    return PaymentSnapshot(business_of(row["business"], row["rules"]), payment, attempt)


def attempt_of(row: Row, currency: Currency) -> Attempt:
    return Attempt(
        id=row["id"],
        business_id=row["business_id"],
        payment_id=row["payment_id"],
        number=row["number"],
        reference=row["reference"],
        rail=row["rail"],
        method=Method(row["method"]),
        status=AttemptStatus(row["status"]),
        expected=Money(row["expected_minor"], currency),
        fee_rule_id=row["fee_rule_id"],
        action=_actions.decode(row["action"]) if row["action"] else None,
        details=msgspec.json.decode(row["details"]),
        account_id=row["account_id"],
        account_number=row["account_number"],
        failure=FailureReason(row["failure"]) if row["failure"] else None,
        expires_at=row["expires_at"],
        polls=row["polls"],
        next_poll_at=row["next_poll_at"],
        answers=row["answers"],
        resends=row["resends"],
        resend_from=row["resend_from"],
        said_sent_at=row["said_sent_at"],
        created_at=row["created_at"],
    )
