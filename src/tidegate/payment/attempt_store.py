"""SQL of attempts, and of changes that touch a payment, its attempt, the books and the outbox at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, StaleChange, Tx, naming
from tidegate.merchant.store import business_of
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.change import Change, Situation
from tidegate.payment.model import Payment
from tidegate.payment.store import payment_of
from tidegate.rail.interface import Action, FailureReason
from tidegate.rail.told import AlreadyReceived

_actions = msgspec.json.Decoder(Action)


async def find_by_pay_code(tx: Tx, business_id: str, pay_code: str) -> Situation | None:
    """With the newest attempt."""
    row = await tx.fetchrow(
        """
        SELECT payment, attempt, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
          FROM payment
          JOIN business ON business.id = payment.business_id
          LEFT JOIN attempt ON attempt.business_id = payment.business_id AND attempt.payment_id = payment.id
               AND attempt.number = payment.attempts
         WHERE payment.business_id = $1 AND payment.pay_code = $2
        """,
        business_id, pay_code,
    )  # fmt: skip
    return _situation(row) if row else None


async def find_by_reference(tx: Tx, business_id: str, reference: str) -> Situation | None:
    row = await tx.fetchrow(
        """
        SELECT payment, attempt, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
          FROM attempt
          JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
          JOIN business ON business.id = attempt.business_id
         WHERE attempt.business_id = $1 AND attempt.reference = $2
        """,
        business_id, reference,
    )  # fmt: skip
    return _situation(row) if row else None


async def find_by_account_number(tx: Tx, account_number: str) -> Situation | None:
    """The bank names an account; whose it is, we have to find out."""
    row = await tx.fetchrow(
        """
        SELECT payment, attempt, business,
               ARRAY(SELECT fee_rule FROM fee_rule
                      WHERE fee_rule.business_id = attempt.business_id AND ended_at IS NULL) AS rules
          FROM attempt
          JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
          JOIN business ON business.id = attempt.business_id
         WHERE attempt.account_number = $1
        """,
        account_number,
    )
    return _situation(row) if row else None


async def find_by_account_id(tx: Tx, business_id: str, account_id: str) -> Situation | None:
    row = await tx.fetchrow(
        """
        SELECT payment, attempt, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
          FROM attempt
          JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
          JOIN business ON business.id = attempt.business_id
         WHERE attempt.business_id = $1 AND attempt.account_id = $2
        """,
        business_id, account_id,
    )  # fmt: skip
    return _situation(row) if row else None


async def begin(tx: Tx, payment: Payment, attempt: Attempt, *, replaces: Attempt | None, now: datetime) -> bool:
    """Records the intent before the rail is asked. False when the payment has changed meanwhile."""
    done = await tx.fetchval(
        """
        WITH moved AS (
            UPDATE payment
               SET status = $3, expected_minor = $4, fee_rule_id = $5, attempts = $6, version = version + 1,
                   updated_at = $7
             WHERE business_id = $1 AND id = $2 AND version = $8
            RETURNING id),
        replaced AS (
            UPDATE attempt SET status = 'replaced', failure = NULL, next_ask_at = NULL, updated_at = $7
              FROM moved
             WHERE attempt.business_id = $1 AND attempt.id = $9 AND attempt.status = 'waiting'
            RETURNING attempt.id)
        INSERT INTO attempt (business_id, payment_id, number, reference, rail, method, status, expected_minor,
                             fee_rule_id, details, expires_at, next_ask_at, created_at, updated_at)
        SELECT $1, $2, $6, $10, $11, $12, 'starting', $4, $5, $13, $14, $15, $7, $7
          FROM moved
         WHERE $9::bigint IS NULL OR EXISTS (SELECT FROM replaced)
        RETURNING true
        """,
        payment.business_id, payment.id, payment.status, payment.expected.minor, payment.fee_rule_id,
        payment.attempts, now, payment.version, replaces.id if replaces else None, attempt.reference, attempt.rail,
        attempt.method, msgspec.json.encode(attempt.details).decode(), attempt.expires_at, attempt.next_ask_at,
    )  # fmt: skip
    return done is True


async def apply(tx: Tx, change: Change) -> bool:
    """One round trip, one commit: everything or nothing. False when the notification was acted on before.

    Raises StaleChange when the payment has changed since the change was decided, or its journal was posted before;
    AlreadyReceived when the money is known.
    """
    with naming({"TG001": StaleChange, "receipt_one_per_transaction": AlreadyReceived}):
        done = await tx.fetchrow(_APPLY, *_arguments(change))
    return done is not None and bool(done["is_news"])


_APPLY = """
    WITH told AS (
        INSERT INTO notification (rail, id, state, body, received_at)
        SELECT $5, $6, 'done', $7, $4 WHERE $5::text IS NOT NULL
        ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
        RETURNING true),
    news AS (SELECT true WHERE $5::text IS NULL OR EXISTS (SELECT FROM told)),
    moved AS (
        UPDATE payment
           SET status = $8, variance = $9, received_minor = $10, held_minor = $11, returned_minor = $12,
               fee_minor = $13, vat_minor = $14, settled_minor = $15, method = $16, paid_at = $17, ending = $18,
               expected_minor = $52, fee_rule_id = $53, version = version + 1, updated_at = $4
         WHERE business_id = $1 AND id = $2 AND version = $3 AND EXISTS (SELECT FROM news)
           AND ($51::text IS NULL OR EXISTS (
                SELECT FROM attempt WHERE attempt.business_id = $1 AND attempt.id = $19 AND lease_token = $51))
        RETURNING id),
    tried AS (
        UPDATE attempt
           SET status = $20, action = $21, account_id = $22, account_number = $23, failure = $24, expires_at = $25,
               asks = $26, next_ask_at = $27, lease_until = NULL, lease_token = NULL, updated_at = $4
          FROM moved
         WHERE attempt.business_id = $1 AND attempt.id = $19
        RETURNING attempt.id),
    received AS (
        INSERT INTO receipt (business_id, rail, transaction_id, payment_id, attempt_id, account_number, currency,
                             amount_minor, taken, reason, payer, created_at)
        SELECT $1, $28, $29, $2, $19, $23, $30, $31, $32, $33, $34, $4 FROM moved WHERE $29::text IS NOT NULL
        RETURNING id),
    going_back AS (
        INSERT INTO money_return (business_id, reference, payment_id, rail, transaction_id, currency, amount_minor,
                                  reason, next_try_at, asked_at)
        SELECT $1, $35, $2, $49, $36, $50, $37, $38, $4, $4 FROM moved WHERE $35::text IS NOT NULL
        RETURNING id),
    -- After the receipt: money that is known already must be told apart from a payment that has changed.
    posted AS (
        SELECT post_journal($1, $39, $40, $41, $42, $43, $44, $4) AS id
          FROM moved, (SELECT count(*) FROM received) AS recorded WHERE $39::text IS NOT NULL),
    noted AS (
        INSERT INTO event (business_id, id, type, cause, payload, created_at, reference)
        SELECT $1, $45, $46, $47, $48, $4, $54 FROM moved WHERE $45::text IS NOT NULL
        RETURNING id)
    SELECT EXISTS (SELECT FROM news) AS is_news,
           CASE WHEN EXISTS (SELECT FROM news)
                 AND (NOT EXISTS (SELECT FROM moved)
                      OR ($39::text IS NOT NULL AND (SELECT id FROM posted) IS NULL))
                THEN refuse_stale_change() END
"""


def _arguments(change: Change) -> list[Any]:
    """In the order of the statement's numbers."""
    payment = change.payment
    return [
        payment.business_id, payment.id, payment.version, change.now,
        *_told_by(change),
        payment.status, payment.variance, payment.received.minor, payment.held.minor, payment.returned.minor,
        payment.fee.fee.minor if payment.fee else None, payment.fee.vat.minor if payment.fee else None,
        payment.settled.minor if payment.settled else None,
        payment.method_chosen if payment.paid_at else None, payment.paid_at, payment.ending,
        *_attempt(change.attempt),
        *_receipt(change),
        *_going_back(change),
        *_journal(change),
        *_event(change),
        *((back.rail, back.amount.currency) if (back := change.going_back) else (None, None)),
        change.lease,
        payment.expected.minor, payment.fee_rule_id,
        change.event.reference if change.event else None,
    ]  # fmt: skip


def _told_by(change: Change) -> Sequence[Any]:
    told = change.told_by
    return (told.rail, told.id, told.body) if told else (None, None, None)


def _attempt(attempt: Attempt | None) -> Sequence[Any]:
    if attempt is None:
        return (None,) * 9
    action = msgspec.json.encode(attempt.action).decode() if attempt.action else None
    return (
        attempt.id, attempt.status, action, attempt.account_id, attempt.account_number, attempt.failure,
        attempt.expires_at, attempt.asks, attempt.next_ask_at,
    )  # fmt: skip


def _receipt(change: Change) -> Sequence[Any]:
    receipt = change.receipt
    if receipt is None:
        return (None,) * 7
    payer = msgspec.json.encode(receipt.payer).decode()
    return (
        receipt.rail, receipt.transaction_id, receipt.amount.currency, receipt.amount.minor, receipt.taken,
        receipt.reason, payer,
    )  # fmt: skip


def _going_back(change: Change) -> Sequence[Any]:
    back = change.going_back
    return (back.reference, back.transaction_id, back.amount.minor, back.reason) if back else (None,) * 4


def _journal(change: Change) -> Sequence[Any]:
    return change.journal.columns() if change.journal else (None,) * 6


def _event(change: Change) -> Sequence[Any]:
    event = change.event
    return (event.id, event.type, event.cause, event.payload) if event else (None,) * 4


def _situation(row: Row) -> Situation:
    payment = payment_of(row["payment"])
    attempt = attempt_of(row["attempt"], payment.expected.currency) if row["attempt"] else None
    return Situation(business_of(row["business"], row["rules"]), payment, attempt)


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
        asks=row["asks"],
        next_ask_at=row["next_ask_at"],
        lease_token=row["lease_token"],
        created_at=row["created_at"],
    )
