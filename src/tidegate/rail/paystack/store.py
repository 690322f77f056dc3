"""SQL of what was given to Paystack."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.rail.action import Action
from tidegate.rail.interface import RefundMoney, ReturnMoney, StartAttempt


class StartedAttempt(NamedTuple):
    business_id: str
    reference: str
    asked: Money
    # None while Paystack's answer is not known.
    action: Action | None
    # What the answer will ask for, where that is known before it.
    expected: Action | None
    started_at: datetime


class PayoutOrder(NamedTuple):
    business_id: str
    reference: str
    kind: str
    transaction_id: str
    # Paystack's; None while its answer is not known.
    refund_id: str | None
    tried_at: datetime
    tries: int
    # It is surely not at Paystack.
    may_repeat: bool


async def insert_attempt(tx: Tx, attempt: StartAttempt, *, expected: Action | None, now: datetime) -> bool:
    """False when it was given to Paystack before, perhaps a moment ago."""
    done = await tx.fetchval(
        """
        INSERT INTO paystack_attempt (business_id, reference, currency, amount_minor, expected, started_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT ON CONSTRAINT paystack_attempt_pk DO NOTHING
        RETURNING true
        """,
        attempt.business_id, attempt.reference, attempt.amount.currency, attempt.amount.minor, _written(expected), now,
    )  # fmt: skip
    return done is True


async def find_attempt(tx: Tx, business_id: str, reference: str) -> StartedAttempt | None:
    row = await tx.fetchrow(
        "SELECT * FROM paystack_attempt WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    if row is None:
        return None
    asked = Money(row["amount_minor"], Currency(row["currency"]))
    return StartedAttempt(
        business_id, reference, asked, _action(row["action"]), _action(row["expected"]), row["started_at"]
    )


async def set_action(tx: Tx, business_id: str, reference: str, action: Action) -> None:
    await tx.execute(
        "UPDATE paystack_attempt SET action = $3 WHERE business_id = $1 AND reference = $2",
        business_id, reference, _written(action),
    )  # fmt: skip


async def insert_payout(tx: Tx, kind: str, money: RefundMoney | ReturnMoney, *, now: datetime) -> bool:
    """False when it was requested before."""
    done = await tx.fetchval(
        """
        INSERT INTO paystack_payout (business_id, reference, kind, transaction_id, tried_at)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT ON CONSTRAINT paystack_payout_pk DO NOTHING
        RETURNING true
        """,
        money.business_id, money.reference, kind, money.transaction_id, now,
    )  # fmt: skip
    return done is True


async def find_payout(tx: Tx, business_id: str, reference: str) -> PayoutOrder | None:
    row = await tx.fetchrow(
        "SELECT * FROM paystack_payout WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return _payout(row) if row else None


async def set_refund_id(
    tx: Tx, business_id: str, reference: str, *, refund_id: str, transaction_reference: str | None
) -> None:
    await tx.execute(
        """
        UPDATE paystack_payout SET refund_id = $3, transaction_reference = $4
         WHERE business_id = $1 AND reference = $2
        """,
        business_id, reference, refund_id, transaction_reference,
    )  # fmt: skip


async def begin_again(tx: Tx, order: PayoutOrder, *, now: datetime) -> bool:
    """False when it was requested again meanwhile, or is known."""
    done = await tx.fetchval(
        """
        UPDATE paystack_payout SET tries = tries + 1, tried_at = $4, may_repeat = false
         WHERE business_id = $1 AND reference = $2 AND tries = $3 AND refund_id IS NULL
        RETURNING true
        """,
        order.business_id, order.reference, order.tries, now,
    )  # fmt: skip
    return done is True


async def delete_untaken(tx: Tx, business_id: str, reference: str) -> bool:
    """Of a refund that Paystack did not take: the next request is the first again."""
    done = await tx.fetchval(
        """
        DELETE FROM paystack_payout WHERE business_id = $1 AND reference = $2 AND refund_id IS NULL AND tries = 1
        RETURNING true
        """,
        business_id, reference,
    )  # fmt: skip
    return done is True


async def let_repeat(tx: Tx, business_id: str, reference: str) -> bool:
    """Of a refund that Paystack surely does not have. False when none waits for that."""
    done = await tx.fetchval(
        """
        UPDATE paystack_payout SET may_repeat = true WHERE business_id = $1 AND reference = $2 AND refund_id IS NULL
        RETURNING true
        """,
        business_id, reference,
    )  # fmt: skip
    return done is True


async def list_payouts_of(tx: Tx, business_id: str, transaction_reference: str) -> Sequence[PayoutOrder]:
    """Of one transaction, and those of the business whose transaction's reference is not known yet."""
    rows = await tx.fetch(
        """
        SELECT * FROM paystack_payout
         WHERE business_id = $1 AND coalesce(transaction_reference, $2) = $2 ORDER BY tried_at DESC LIMIT 100
        """,
        business_id, transaction_reference,
    )  # fmt: skip
    return [_payout(row) for row in rows]


def _written(action: Action | None) -> str | None:
    return msgspec.json.encode(action).decode() if action else None


def _action(text: str | None) -> Action | None:
    return msgspec.json.decode(text, type=Action) if text else None


def _payout(row: Row) -> PayoutOrder:
    return PayoutOrder(*(row[name] for name in PayoutOrder._fields))
