"""SQL of refunds. Lock order: the payment or collection, the refund, then the wallet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from tidegate.core.errors import RefundExceedsAvailable
from tidegate.core.fee import Fee
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx, naming
from tidegate.infra.leased_work import DueRow
from tidegate.ledger.model import Journal
from tidegate.ledger.store import names_refusals
from tidegate.rail.action import FailureReason
from tidegate.refund.model import Leg, Refund, RefundExchange, RefundRate, RefundStatus


class _MoreThanThereIs(RefundExceedsAvailable):
    """The bank took money back, or a payer disputed it, after it was decided how much there is."""

    def __init__(self) -> None:
        super().__init__("less can be refunded than a moment ago; read the payment again")


_MORE_THAN_RECEIVED = {
    "payment_refunds_no_more_than_it_received": _MoreThanThereIs,
    "collection_refunds_no_more_than_it_received": _MoreThanThereIs,
    "refund_leg_takes_what_is_left": _MoreThanThereIs,
}


async def insert(tx: Tx, refund: Refund, legs: Sequence[Leg], journal: Journal) -> Refund:
    """The refund, its amount on the subject, and the debit of the wallet, in one call.

    Raises InsufficientBalance; RefundExceedsAvailable as a last guard behind the locked subject.
    """
    given = {
        "refund": {
            "reference": refund.reference,
            "payment_id": refund.payment_id,
            "collection_id": refund.collection_id,
            "currency": refund.amount.currency,
            "amount_minor": refund.amount.minor,
            "reason": refund.reason,
            "note": refund.note,
            "fee_returned_minor": refund.fee_returned.fee.minor,
            "vat_returned_minor": refund.fee_returned.vat.minor,
            **_exchange_columns(refund.exchange),
        },
        "legs": [_leg_columns(leg) for leg in legs],
        "journal": journal.columns()._asdict(),
    }
    with naming(_MORE_THAN_RECEIVED), names_refusals():
        number = await tx.fetchval(
            "SELECT start_refund($1, $2, $3)",
            refund.business_id, msgspec.json.encode(given).decode(), refund.initiated_at,
        )  # fmt: skip
    return msgspec.structs.replace(refund, id=number)


def _exchange_columns(exchange: RefundExchange | None) -> dict[str, Any]:
    if exchange is None:
        return {}
    return {
        "rate_chosen": exchange.chosen,
        "wallet_currency": exchange.debited.currency,
        "debited_minor": exchange.debited.minor,
        "worth_minor": exchange.worth.minor,
    }


def _leg_columns(leg: Leg) -> dict[str, Any]:
    return {
        "reference": leg.reference,
        "rail": leg.rail,
        "transaction_id": leg.transaction_id,
        "amount_minor": leg.amount.minor,
        "fee_minor": leg.fee.fee.minor,
        "vat_minor": leg.fee.vat.minor,
    }


# The kind of leased work, as the statement below names it.
POLL = "poll_refunds"


async def list_to_poll(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Legs to poll for, by reference."""
    rows = await tx.fetch(
        """
        SELECT business_id, reference FROM refund_leg
         WHERE is_due(business_id, next_poll_at, $1)
           AND NOT is_held_back(business_id, 'poll_refunds', reference, $1)
         ORDER BY next_poll_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["reference"]) for row in rows]


async def find_to_poll(tx: Tx, business_id: str, reference: str, now: datetime) -> tuple[int, int, Leg] | None:
    """Its refund's id, the number of polls, and the leg; None when it need not be polled any more."""
    row = await tx.fetchrow(
        "SELECT * FROM refund_leg WHERE business_id = $1 AND reference = $2 AND next_poll_at <= $3",
        business_id, reference, now,
    )  # fmt: skip
    return (row["refund_id"], row["polls"], leg_of(row)) if row else None


async def find_open_leg(tx: Tx, business_id: str, reference: str) -> tuple[int, Leg] | None:
    """Its refund's id, and the leg; None when it has ended."""
    row = await tx.fetchrow(
        "SELECT * FROM refund_leg WHERE business_id = $1 AND reference = $2 AND status = 'processing'",
        business_id, reference,
    )  # fmt: skip
    return (row["refund_id"], leg_of(row)) if row else None


async def poll_now(tx: Tx, business_id: str, reference: str, *, rail: str, now: datetime) -> bool:
    """Polls for it at once, unless it has ended. False when the rail has no such refund."""
    done = await tx.fetchval(
        """
        UPDATE refund_leg SET next_poll_at = CASE WHEN next_poll_at IS NOT NULL THEN least(next_poll_at, $4) END
         WHERE business_id = $1 AND reference = $2 AND rail = $3
        RETURNING true
        """,
        business_id, reference, rail, now,
    )  # fmt: skip
    return done is True


async def poll_later(tx: Tx, business_id: str, leg: Leg, *, next_poll_at: datetime, was_asked: bool = True) -> None:
    await tx.execute(
        """
        UPDATE refund_leg SET polls = polls + $4::boolean::integer, next_poll_at = $3
         WHERE business_id = $1 AND reference = $2 AND status = 'processing'
        """,
        business_id, leg.reference, next_poll_at, was_asked,
    )  # fmt: skip


async def lock(tx: Tx, business_id: str, refund_id: int) -> Refund:
    row = await tx.fetchrow(
        "SELECT * FROM refund WHERE business_id = $1 AND id = $2 FOR NO KEY UPDATE", business_id, refund_id
    )
    assert row is not None
    return refund_of(row)


async def end_leg(tx: Tx, business_id: str, leg: Leg, *, sent_as: str | None, now: datetime) -> bool:
    """False when it had already ended."""
    done = await tx.fetchval(
        """
        UPDATE refund_leg SET status = $3, failure = $4, sent_as = $5, next_poll_at = NULL, completed_at = $6
         WHERE business_id = $1 AND reference = $2 AND status = 'processing'
        RETURNING true
        """,
        business_id, leg.reference, leg.status, leg.failure, sent_as, now,
    )  # fmt: skip
    return done is True


async def list_legs(tx: Tx, business_id: str, refund_id: int) -> list[Leg]:
    rows = await tx.fetch(
        "SELECT * FROM refund_leg WHERE business_id = $1 AND refund_id = $2 ORDER BY reference", business_id, refund_id
    )
    return [leg_of(row) for row in rows]


async def complete(tx: Tx, refund: Refund) -> None:
    """The failed part can be refunded again. Where receipts are sent, a mail says what arrived."""
    await tx.execute(
        """
        WITH ended AS (
            UPDATE refund
               SET status = $3, refunded_minor = $4, fee_returned_minor = $5, vat_returned_minor = $6, failure = $7,
                   completed_at = $8, version = version + 1,
                   mail_due_at = CASE WHEN $3 = 'successful' AND EXISTS (
                       SELECT FROM receipt_mail WHERE business_id = $1 AND payment_id = refund.payment_id)
                       THEN $8::timestamptz END
             WHERE business_id = $1 AND id = $2
            RETURNING payment_id, collection_id, amount_minor - refunded_minor AS freed_minor),
        payment_freed AS (
            UPDATE payment
               SET refunded_minor = payment.refunded_minor - ended.freed_minor, version = version + 1, updated_at = $8
              FROM ended WHERE business_id = $1 AND payment.id = ended.payment_id)
        UPDATE collection
           SET refunded_minor = collection.refunded_minor - ended.freed_minor, version = version + 1, updated_at = $8
          FROM ended WHERE business_id = $1 AND collection.id = ended.collection_id
        """,
        refund.business_id, refund.id, refund.status, refund.refunded.minor, refund.fee_returned.fee.minor,
        refund.fee_returned.vat.minor, refund.failure, refund.completed_at,
    )  # fmt: skip


async def find(tx: Tx, business_id: str, reference: str) -> Refund | None:
    row = await tx.fetchrow("SELECT * FROM refund WHERE business_id = $1 AND reference = $2", business_id, reference)
    return refund_of(row) if row else None


def refund_of(row: Row) -> Refund:
    currency = Currency(row["currency"])
    return Refund(
        id=row["id"],
        business_id=row["business_id"],
        reference=row["reference"],
        payment_id=row["payment_id"],
        collection_id=row["collection_id"],
        amount=Money(row["amount_minor"], currency),
        status=RefundStatus(row["status"]),
        refunded=Money(row["refunded_minor"], currency),
        fee_returned=Fee(Money(row["fee_returned_minor"], currency), Money(row["vat_returned_minor"], currency)),
        failure=FailureReason(row["failure"]) if row["failure"] else None,
        reason=row["reason"],
        note=row["note"],
        initiated_at=row["initiated_at"],
        completed_at=row["completed_at"],
        exchange=_exchange_of(row),
    )


def _exchange_of(row: Row) -> RefundExchange | None:
    if row["rate_chosen"] is None:
        return None
    currency = Currency(row["wallet_currency"])
    return RefundExchange(
        chosen=RefundRate(row["rate_chosen"]), debited=Money(row["debited_minor"], currency),
        worth=Money(row["worth_minor"], currency),
    )  # fmt: skip


def leg_of(row: Row) -> Leg:
    currency = Currency(row["currency"])
    return Leg(
        reference=row["reference"],
        rail=row["rail"],
        transaction_id=row["transaction_id"],
        amount=Money(row["amount_minor"], currency),
        fee=Fee(Money(row["fee_minor"], currency), Money(row["vat_minor"], currency)),
        status=RefundStatus(row["status"]),
        failure=FailureReason(row["failure"]) if row["failure"] else None,
    )
