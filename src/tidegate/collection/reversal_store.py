"""SQL of credits that banks take back."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.collection.model import Collection
from tidegate.collection.store import collection_of
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.rail.interface import CreditReversed
from tidegate.rail.told import ToldBy


class Reversal(msgspec.Struct, frozen=True, kw_only=True):
    """With the credit that it undoes."""

    rail: str
    account_number: str
    transaction_id: str
    id: str
    amount: Money
    collection: Collection


class ReceiptReversal(msgspec.Struct, frozen=True, kw_only=True):
    """Of money that no inflow was made of."""

    rail: str
    account_number: str
    transaction_id: str
    id: str
    amount: Money
    reason: str
    business_id: str
    # What arrived, for which payment, and what was done with it; None of money that is for nobody.
    received: Money
    payment_id: int | None
    taken: str


async def insert(tx: Tx, news: CreditReversed, told_by: ToldBy, *, now: datetime) -> bool:
    """The notification and what it tells, in one statement. False when the notification was acted on before.

    The same reversal under another identifier is recorded as told, and changes nothing. Of another amount it is no
    repeat: somebody must look.
    """
    done = await tx.fetchval(
        """
        WITH other AS (
            SELECT 'this credit was taken back before, in another amount' AS note FROM credit_reversal
             WHERE rail = $1 AND account_number = $7 AND transaction_id = $5
               AND (currency <> $8 OR amount_minor <> $9)),
        told AS (
            INSERT INTO notification (rail, id, state, body, note, received_at)
            SELECT $1, $2, CASE WHEN EXISTS (SELECT FROM other) THEN 'quarantined' ELSE 'done' END, $3,
                   (SELECT note FROM other), $4
            ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
            RETURNING true),
        noted AS (
            INSERT INTO credit_reversal (rail, transaction_id, reversal_id, account_number, currency, amount_minor,
                                         reason, created_at)
            SELECT $1, $5, $6, $7, $8, $9, $10, $4 FROM told
            ON CONFLICT ON CONSTRAINT credit_reversal_pk DO NOTHING)
        SELECT true FROM told
        """,
        told_by.rail, told_by.id, told_by.body, now, news.transaction_id, news.reversal_id, news.account_number,
        news.amount.currency, news.amount.minor, news.reason,
    )  # fmt: skip
    return done is True


async def list_due(
    tx: Tx, *, limit: int, rail: str | None = None, news: CreditReversed | None = None
) -> list[Reversal]:
    """Those whose credit is known and that were not applied before; of all, or the one that was told of."""
    rows = await tx.fetch(
        """
        SELECT reversal, collection
          FROM credit_reversal AS reversal
          JOIN virtual_account AS account ON account.rail = reversal.rail
               AND account.account_number = reversal.account_number
          JOIN collection ON collection.business_id = account.business_id AND collection.rail = reversal.rail
               AND collection.transaction_id = reversal.transaction_id AND collection.account_id = account.id
         WHERE reversal.applied_at IS NULL
           AND ($2::text IS NULL OR (reversal.rail = $2 AND reversal.account_number = $3
                                     AND reversal.transaction_id = $4))
         ORDER BY reversal.created_at LIMIT $1
        """,
        limit, rail, news.account_number if news else None, news.transaction_id if news else None,
    )  # fmt: skip
    return [_reversal(row["reversal"], row["collection"]) for row in rows]


async def list_of_receipts(tx: Tx, *, is_in_suspense: bool, limit: int) -> list[ReceiptReversal]:
    """Those whose money is in suspense; or those whose money is a checkout's."""
    rows = await tx.fetch(_OF_RECEIPTS, limit, is_in_suspense)
    return [
        ReceiptReversal(
            rail=row["rail"],
            account_number=row["account_number"],
            transaction_id=row["transaction_id"],
            id=row["reversal_id"],
            amount=Money(row["amount_minor"], Currency(row["currency"])),
            reason=row["reason"],
            business_id=row["business_id"],
            received=Money(row["received_minor"], Currency(row["received_currency"])),
            payment_id=row["payment_id"],
            taken=row["taken"],
        )
        for row in rows
    ]


_OF_RECEIPTS = """
    SELECT reversal.*, receipt.*
      FROM credit_reversal AS reversal
     CROSS JOIN LATERAL (
            SELECT business_id, payment_id, taken, amount_minor AS received_minor, currency AS received_currency
              FROM receipt
             WHERE receipt.rail = reversal.rail AND receipt.transaction_id = reversal.transaction_id
               AND receipt.account_number = reversal.account_number
               AND (receipt.taken = 'suspense') = $2 LIMIT 1) AS receipt
     WHERE reversal.applied_at IS NULL
     ORDER BY reversal.created_at LIMIT $1
"""


async def lock_wallet(tx: Tx, collection: Collection) -> Money:
    """The inflow before its wallet, as everywhere. Says what the wallet has."""
    await tx.execute(
        "SELECT FROM collection WHERE business_id = $1 AND id = $2 FOR NO KEY UPDATE",
        collection.business_id, collection.id,
    )  # fmt: skip
    minor = await tx.fetchval(
        "SELECT balance_minor FROM wallet WHERE business_id = $1 AND currency = $2 FOR NO KEY UPDATE",
        collection.business_id, collection.destination_currency,
    )  # fmt: skip
    return Money(minor or 0, collection.destination_currency)


async def list_owing(tx: Tx, *, limit: int) -> list[Collection]:
    """Those whose wallet has something, the oldest debt first."""
    rows = await tx.fetch(
        """
        SELECT collection.* FROM collection
          JOIN wallet ON wallet.business_id = collection.business_id
               AND wallet.currency = collection.destination_currency
         WHERE collection.owed_minor > 0 AND wallet.balance_minor > 0 ORDER BY collection.id LIMIT $1
        """,
        limit,
    )
    return [collection_of(row) for row in rows]


async def pay_debt(tx: Tx, collection: Collection, part: Money, *, now: datetime) -> bool:
    """False when somebody else was faster."""
    done = await tx.fetchval(
        """
        UPDATE collection SET owed_minor = owed_minor - $4, version = version + 1, updated_at = $5
         WHERE business_id = $1 AND id = $2 AND version = $3
        RETURNING true
        """,
        collection.business_id, collection.id, collection.version, part.minor, now,
    )  # fmt: skip
    return done is True


async def mark_applied(tx: Tx, reversal: Reversal | ReceiptReversal, *, now: datetime) -> bool:
    done = await tx.fetchval(
        """
        UPDATE credit_reversal SET applied_at = $4
         WHERE rail = $1 AND account_number = $2 AND transaction_id = $3 AND applied_at IS NULL
        RETURNING true
        """,
        reversal.rail, reversal.account_number, reversal.transaction_id, now,
    )  # fmt: skip
    return done is True


async def quarantine(tx: Tx, rail: str, reversal_id: str, *, why: str, now: datetime) -> None:
    """Beside the notification that told of it, for somebody to look at."""
    await tx.execute(
        """
        INSERT INTO notification (rail, id, state, body, note, received_at)
        VALUES ($1, $2, 'quarantined', '', $3, $4)
        ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
        """,
        rail, "reversal-" + reversal_id, why, now,
    )  # fmt: skip


def _reversal(row: Row, collection: Row) -> Reversal:
    return Reversal(
        rail=row["rail"],
        account_number=row["account_number"],
        transaction_id=row["transaction_id"],
        id=row["reversal_id"],
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        collection=collection_of(collection),
    )
