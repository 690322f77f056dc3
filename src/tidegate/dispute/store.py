"""SQL of disputes. Lock order: the payment, the dispute, then the wallet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.rail.event import DisputeChanged, DisputeStatus


class DisputedMoney(msgspec.Struct, frozen=True, kw_only=True):
    """The receipt that is disputed. Money in suspense has no payment."""

    business_id: str
    payment_id: int | None


class DisputedPayment(msgspec.Struct, frozen=True, kw_only=True):
    """A payment under its lock. `settled` is the merchant's share of `received`; None unless it was paid."""

    pay_code: str
    received: Money
    settled: Money | None


class Dispute(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    rail: str
    id: str
    status: DisputeStatus
    transaction_id: str
    payment_id: int | None
    amount: Money
    # Of the wallet's money.
    held: Money
    reason: str
    opened_at: datetime
    # When the answer is due at the rail.
    due_at: datetime | None


class OpenDispute(NamedTuple):
    """Money in suspense has no payment, so no pay code."""

    dispute: Dispute
    pay_code: str | None


async def find_money(tx: Tx, rail: str, transaction_id: str) -> DisputedMoney | None:
    row = await tx.fetchrow(
        "SELECT business_id, payment_id FROM receipt WHERE rail = $1 AND transaction_id = $2 LIMIT 1",
        rail, transaction_id,
    )  # fmt: skip
    return DisputedMoney(business_id=row["business_id"], payment_id=row["payment_id"]) if row else None


async def lock_payment(tx: Tx, business_id: str, payment_id: int) -> DisputedPayment:
    row = await tx.fetchrow(
        """
        SELECT pay_code, currency, received_minor, settled_minor FROM payment
         WHERE business_id = $1 AND id = $2 FOR NO KEY UPDATE
        """,
        business_id, payment_id,
    )  # fmt: skip
    assert row is not None
    currency = Currency(row["currency"])
    settled = None if row["settled_minor"] is None else Money(row["settled_minor"], currency)
    return DisputedPayment(pay_code=row["pay_code"], received=Money(row["received_minor"], currency), settled=settled)


async def lock(tx: Tx, business_id: str, rail: str, dispute_id: str) -> Dispute | None:
    row = await tx.fetchrow(
        "SELECT * FROM dispute WHERE business_id = $1 AND rail = $2 AND id = $3 FOR UPDATE",
        business_id, rail, dispute_id,
    )  # fmt: skip
    return _dispute(row) if row else None


async def find(tx: Tx, business_id: str, rail: str, dispute_id: str) -> Dispute | None:
    row = await tx.fetchrow(
        "SELECT * FROM dispute WHERE business_id = $1 AND rail = $2 AND id = $3", business_id, rail, dispute_id
    )
    return _dispute(row) if row else None


async def list_open(tx: Tx, *, limit: int) -> list[OpenDispute]:
    """Those whose answer is due first come first."""
    rows = await tx.fetch(
        """
        SELECT dispute.*, payment.pay_code FROM dispute
          LEFT JOIN payment ON payment.business_id = dispute.business_id AND payment.id = dispute.payment_id
         WHERE dispute.status = 'open' ORDER BY dispute.due_at LIMIT $1
        """,
        limit,
    )
    return [OpenDispute(_dispute(row), row["pay_code"]) for row in rows]


async def list_won(tx: Tx, business_id: str, payment_id: int) -> list[Dispute]:
    rows = await tx.fetch(
        "SELECT * FROM dispute WHERE business_id = $1 AND payment_id = $2 AND status = 'won' ORDER BY opened_at, id",
        business_id, payment_id,
    )  # fmt: skip
    return [_dispute(row) for row in rows]


async def insert(
    tx: Tx, money: DisputedMoney, rail: str, changed: DisputeChanged, *, held: Money, now: datetime
) -> bool:
    """False when another process has recorded it."""
    done = await tx.fetchval(
        """
        INSERT INTO dispute (business_id, rail, id, transaction_id, payment_id, currency, amount_minor, held_minor,
                             status, reason, due_at, opened_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
        ON CONFLICT ON CONSTRAINT dispute_pk DO NOTHING
        RETURNING true
        """,
        money.business_id, rail, changed.dispute_id, changed.transaction_id, money.payment_id,
        changed.amount.currency, changed.amount.minor, held.minor, changed.status, changed.reason, changed.due_at, now,
    )  # fmt: skip
    return done is True


async def list_about(tx: Tx, business_id: str, rail: str, transaction_id: str) -> Sequence[Row]:
    """Disputes of this money, as they are stored; the newest last."""
    return await tx.fetch(
        """
        SELECT * FROM dispute WHERE business_id = $1 AND rail = $2 AND transaction_id = $3 ORDER BY updated_at, id
        """,
        business_id, rail, transaction_id,
    )  # fmt: skip


async def give_to(tx: Tx, owner: DisputedMoney, known: Row) -> None:
    """An ended dispute, under the payment that has its money now."""
    await tx.execute(
        """
        INSERT INTO dispute (business_id, rail, id, transaction_id, payment_id, currency, amount_minor, held_minor,
                             status, reason, due_at, opened_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $10, $11, $12)
        ON CONFLICT ON CONSTRAINT dispute_pk DO UPDATE SET payment_id = excluded.payment_id
        """,
        owner.business_id, known["rail"], known["id"], known["transaction_id"], owner.payment_id, known["currency"],
        known["amount_minor"], known["status"], known["reason"], known["due_at"], known["opened_at"],
        known["updated_at"],
    )  # fmt: skip


async def update(tx: Tx, dispute: Dispute, changed: DisputeChanged, *, held: Money, now: datetime) -> None:
    await tx.execute(
        """
        UPDATE dispute SET status = $4, reason = $5, due_at = $6, held_minor = $7, updated_at = $8
         WHERE business_id = $1 AND rail = $2 AND id = $3
        """,
        dispute.business_id, dispute.rail, dispute.id, changed.status, changed.reason, changed.due_at, held.minor, now,
    )  # fmt: skip


async def show_on_payment(tx: Tx, business_id: str, payment_id: int, status: DisputeStatus, *, now: datetime) -> None:
    await tx.execute(
        """
        UPDATE payment SET dispute_status = $3, version = version + 1, updated_at = $4
         WHERE business_id = $1 AND id = $2
        """,
        business_id, payment_id, status, now,
    )  # fmt: skip


async def lock_holding(tx: Tx, business_id: str, rail: str, transaction_id: str) -> Sequence[Dispute]:
    """Disputes of this money that hold some of the wallet's."""
    rows = await tx.fetch(
        """
        SELECT * FROM dispute
         WHERE business_id = $1 AND rail = $2 AND transaction_id = $3 AND held_minor > 0 ORDER BY id FOR UPDATE
        """,
        business_id, rail, transaction_id,
    )  # fmt: skip
    return [_dispute(row) for row in rows]


async def is_disputed(tx: Tx, business_id: str, rail: str, transaction_id: str) -> bool:
    return bool(
        await tx.fetchval(
            "SELECT EXISTS (SELECT FROM dispute WHERE business_id = $1 AND rail = $2 AND transaction_id = $3)",
            business_id, rail, transaction_id,
        )
    )  # fmt: skip


async def hold_nothing(tx: Tx, dispute: Dispute, *, now: datetime) -> None:
    await tx.execute(
        "UPDATE dispute SET held_minor = 0, updated_at = $4 WHERE business_id = $1 AND rail = $2 AND id = $3",
        dispute.business_id, dispute.rail, dispute.id, now,
    )  # fmt: skip


def _dispute(row: Row) -> Dispute:
    currency = Currency(row["currency"])
    return Dispute(
        business_id=row["business_id"],
        rail=row["rail"],
        id=row["id"],
        status=DisputeStatus(row["status"]),
        transaction_id=row["transaction_id"],
        payment_id=row["payment_id"],
        amount=Money(row["amount_minor"], currency),
        held=Money(row["held_minor"], currency),
        reason=row["reason"],
        opened_at=row["opened_at"],
        due_at=row["due_at"],
    )
