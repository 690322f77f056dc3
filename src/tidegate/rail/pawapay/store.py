"""SQL of what was given to pawaPay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Row, Tx
from tidegate.rail.interface import RefundMoney, ReturnMoney, StartAttempt

LISTED_AT_ONCE = 500


class Deposit(NamedTuple):
    business_id: str
    reference: str
    deposit_id: str
    provider: str
    currency: str
    started_at: datetime


class PawapayPayout(NamedTuple):
    business_id: str
    reference: str
    kind: str
    refund_id: str
    # Counts the requests that pawaPay ended for want of funds: the next has another id.
    number: int
    tried_at: datetime


async def insert_deposit(tx: Tx, attempt: StartAttempt, deposit_id: str, provider: str, *, now: datetime) -> None:
    """Before the call. A repeat changes nothing."""
    await tx.execute(
        """
        INSERT INTO pawapay_deposit (business_id, reference, deposit_id, provider, currency, amount_minor, started_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT ON CONSTRAINT pawapay_deposit_pk DO NOTHING
        """,
        attempt.business_id, attempt.reference, deposit_id, provider, attempt.amount.currency, attempt.amount.minor,
        now,
    )  # fmt: skip


async def find_deposit(tx: Tx, business_id: str, reference: str) -> Deposit | None:
    row = await tx.fetchrow(
        "SELECT * FROM pawapay_deposit WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return _deposit(row) if row else None


async def find_deposit_by_id(tx: Tx, deposit_id: str) -> Deposit | None:
    row = await tx.fetchrow("SELECT * FROM pawapay_deposit WHERE deposit_id = $1", deposit_id)
    return _deposit(row) if row else None


async def insert_payout(
    tx: Tx, kind: str, money: RefundMoney | ReturnMoney, refund_id: str, *, now: datetime
) -> PawapayPayout:
    """Before the call. A repeat finds the first."""
    row = await tx.fetchrow(
        """
        INSERT INTO pawapay_payout (business_id, reference, kind, deposit_id, refund_id, number, tried_at)
        VALUES ($1, $2, $3, $4, $5, 0, $6)
        ON CONFLICT ON CONSTRAINT pawapay_payout_pk DO UPDATE SET kind = pawapay_payout.kind
        RETURNING *
        """,
        money.business_id, money.reference, kind, money.transaction_id, refund_id, now,
    )  # fmt: skip
    assert row is not None
    return _payout(row)


async def find_payout(tx: Tx, business_id: str, reference: str) -> PawapayPayout | None:
    row = await tx.fetchrow(
        "SELECT * FROM pawapay_payout WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return _payout(row) if row else None


async def find_payout_by_id(tx: Tx, refund_id: str) -> PawapayPayout | None:
    row = await tx.fetchrow("SELECT * FROM pawapay_payout WHERE refund_id = $1", refund_id)
    return _payout(row) if row else None


async def begin_again(tx: Tx, payout: PawapayPayout, refund_id: str, *, now: datetime) -> None:
    """After pawaPay has ended the last request for want of funds. Once: another process may have been faster."""
    await tx.execute(
        """
        UPDATE pawapay_payout SET refund_id = $4, number = number + 1, tried_at = $5
         WHERE business_id = $1 AND reference = $2 AND number = $3
        """,
        payout.business_id, payout.reference, payout.number, refund_id, now,
    )  # fmt: skip


async def list_deposits(tx: Tx, begin: datetime, end: datetime, *, after: tuple[str, str]) -> Sequence[Deposit]:
    """A page of those started in the period, after a business and reference."""
    rows = await tx.fetch(
        """
        SELECT * FROM pawapay_deposit
         WHERE started_at >= $1 AND started_at < $2 AND (business_id, reference) > ($3, $4)
         ORDER BY business_id, reference LIMIT $5
        """,
        begin, end, *after, LISTED_AT_ONCE,
    )  # fmt: skip
    return [_deposit(row) for row in rows]


async def list_payouts(tx: Tx, begin: datetime, end: datetime, *, after: tuple[str, str]) -> Sequence[PawapayPayout]:
    rows = await tx.fetch(
        """
        SELECT * FROM pawapay_payout
         WHERE tried_at >= $1 AND tried_at < $2 AND (business_id, reference) > ($3, $4)
         ORDER BY business_id, reference LIMIT $5
        """,
        begin, end, *after, LISTED_AT_ONCE,
    )  # fmt: skip
    return [_payout(row) for row in rows]


def _deposit(row: Row) -> Deposit:
    return Deposit(
        row["business_id"], row["reference"], row["deposit_id"], row["provider"], row["currency"], row["started_at"]
    )


def _payout(row: Row) -> PawapayPayout:
    return PawapayPayout(
        row["business_id"], row["reference"], row["kind"], row["refund_id"], row["number"], row["tried_at"]
    )
