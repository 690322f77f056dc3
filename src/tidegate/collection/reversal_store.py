"""SQL of credits that banks reverse."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.collection.model import Collection
from tidegate.collection.store import collection_of
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.infra.leased_work import DueRow
from tidegate.ledger import store as ledger_store
from tidegate.rail.event import CreditReversed
from tidegate.rail.notification import NotificationRef


class InflowReversal(msgspec.Struct, frozen=True, kw_only=True):
    """With the credit that it reverses."""

    rail: str
    account_number: str
    transaction_id: str
    id: str
    amount: Money
    collection: Collection


class ReceiptReversal(msgspec.Struct, frozen=True, kw_only=True):
    """Of money without an inflow."""

    rail: str
    account_number: str
    transaction_id: str
    id: str
    amount: Money
    reason: str
    business_id: str
    # What arrived, for which payment, and its outcome; no payment for unclaimed money.
    receipt_id: int
    received: Money
    payment_id: int | None
    outcome: str


async def find_account_number(tx: Tx, rail: str, transaction_id: str) -> str:
    """Of recorded money; empty where it came without an account, or has not come."""
    number: str | None = await tx.fetchval(
        "SELECT account_number FROM receipt WHERE rail = $1 AND transaction_id = $2 LIMIT 1", rail, transaction_id
    )
    return number or ""


async def insert(tx: Tx, reversal: CreditReversed, ref: NotificationRef, *, account_number: str, now: datetime) -> bool:
    """The notification and its reversal, in one statement. False when the notification was processed before.

    The same reversal under another identifier is recorded and changes nothing. With another amount it is no repeat
    and is quarantined for an operator.
    """
    done = await tx.fetchval(
        """
        WITH other AS (
            SELECT 'this credit was reversed before, with another amount' AS note FROM credit_reversal
             WHERE rail = $1 AND account_number = $7 AND transaction_id = $5
               AND (currency <> $8 OR amount_minor <> $9)),
        notified AS (
            INSERT INTO notification (rail, id, state, body, note, received_at)
            SELECT $1, $2, CASE WHEN EXISTS (SELECT FROM other) THEN 'quarantined' ELSE 'done' END, $3,
                   (SELECT note FROM other), $4
            ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
            RETURNING true),
        noted AS (
            INSERT INTO credit_reversal (rail, transaction_id, reversal_id, account_number, currency, amount_minor,
                                         reason, created_at)
            SELECT $1, $5, $6, $7, $8, $9, $10, $4 FROM notified
            ON CONFLICT ON CONSTRAINT credit_reversal_pk DO NOTHING)
        SELECT true FROM notified
        """,
        ref.rail, ref.id, ref.body, now, reversal.transaction_id, reversal.reversal_id, account_number,
        reversal.amount.currency, reversal.amount.minor, reversal.reason,
    )  # fmt: skip
    return done is True


# Kinds of leased work. The statements below repeat the names.
APPLY, APPLY_UNCLAIMED, COLLECT = "apply_reversals", "apply_unclaimed_reversals", "collect_debts"
APPLY_TO_CHECKOUTS = "apply_checkout_reversals"


async def list_due(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Reversals whose credit is known and that were not applied before."""
    rows = await tx.fetch(_DUE, limit, now, None)
    return [DueRow(row["collection"]["business_id"], row["id"]) for row in rows]


async def find_due(tx: Tx, id_: str) -> InflowReversal | None:
    row = await tx.fetchrow(_DUE, 1, None, id_)
    return _reversal(row["reversal"], row["collection"]) if row else None


# Without a time, rows that leased_work holds back are included.
_DUE = """
    SELECT reversal, collection, reversal.created_at,
           concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id) AS id
      FROM credit_reversal AS reversal
      JOIN virtual_account AS account ON account.rail = reversal.rail
           AND account.account_number = reversal.account_number
      JOIN collection ON collection.business_id = account.business_id AND collection.rail = reversal.rail
           AND collection.transaction_id = reversal.transaction_id AND collection.account_id = account.id
     WHERE reversal.applied_at IS NULL
       AND ($3::text IS NULL
            OR concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id) = $3)
       AND NOT is_held_back(
               account.business_id, 'apply_reversals',
               concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id), $2)
     UNION ALL
    -- The money was in suspense under that number, and an operator assigned it to an account of another number.
    SELECT reversal, collection, reversal.created_at,
           concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id)
      FROM credit_reversal AS reversal
      JOIN suspense_decision AS decision ON decision.rail = reversal.rail
           AND decision.transaction_id = reversal.transaction_id
           AND coalesce(decision.account_number, '') = reversal.account_number AND decision.decision = 'assigned'
      JOIN collection ON collection.business_id = decision.given_to AND collection.rail = reversal.rail
           AND collection.transaction_id = reversal.transaction_id AND collection.account_id = decision.subject
      JOIN virtual_account AS account ON account.business_id = collection.business_id
           AND account.id = collection.account_id AND account.account_number IS DISTINCT FROM reversal.account_number
     WHERE reversal.applied_at IS NULL
       AND ($3::text IS NULL
            OR concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id) = $3)
       AND NOT is_held_back(
               collection.business_id, 'apply_reversals',
               concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id), $2)
     ORDER BY created_at LIMIT $1
"""


async def list_of_receipts(tx: Tx, now: datetime, *, is_in_suspense: bool, limit: int) -> list[DueRow]:
    """Reversals of money that is or was in suspense, or of money of a checkout."""
    rows = await tx.fetch(_OF_RECEIPTS, limit, is_in_suspense, now, None)
    return [DueRow(row["business_id"], row["id"]) for row in rows]


async def find_of_receipt(tx: Tx, id_: str, *, is_in_suspense: bool) -> ReceiptReversal | None:
    row = await tx.fetchrow(_OF_RECEIPTS, 1, is_in_suspense, None, id_)
    if row is None:
        return None
    return ReceiptReversal(
        receipt_id=row["receipt_id"],
        rail=row["rail"],
        account_number=row["account_number"],
        transaction_id=row["transaction_id"],
        id=row["reversal_id"],
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        reason=row["reason"],
        business_id=row["business_id"],
        received=Money(row["received_minor"], Currency(row["received_currency"])),
        payment_id=row["payment_id"],
        outcome=row["outcome"],
    )


_OF_RECEIPTS = """
    SELECT reversal.*, receipt.business_id, receipt.id AS receipt_id, receipt.payment_id, receipt.outcome,
           receipt.amount_minor AS received_minor, receipt.currency AS received_currency,
           concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id) AS id
      FROM credit_reversal AS reversal
      JOIN receipt ON receipt.rail = reversal.rail AND receipt.transaction_id = reversal.transaction_id
           AND reversal.account_number = coalesce(receipt.account_number, '')
           AND (receipt.outcome IN ('suspense', 'decided')) = $2
     WHERE reversal.applied_at IS NULL
       AND ($4::text IS NULL
            OR concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id) = $4)
       AND NOT is_held_back(
               receipt.business_id, CASE WHEN $2 THEN 'apply_unclaimed_reversals' ELSE 'apply_checkout_reversals' END,
               concat_ws('/', reversal.rail, reversal.account_number, reversal.transaction_id), $3)
     ORDER BY reversal.created_at LIMIT $1
"""


async def lock_unclaimed(tx: Tx, business_id: str, receipt_id: int) -> str | None:
    """The outcome of a receipt, which stays until the transaction ends. None when it was assigned."""
    outcome: str | None = await tx.fetchval("SELECT lock_unclaimed($1, $2)", business_id, receipt_id)
    return outcome


async def lock_wallet(tx: Tx, collection: Collection) -> Money:
    """The inflow before its wallet, as everywhere. Returns the balance."""
    await tx.execute(
        "SELECT FROM collection WHERE business_id = $1 AND id = $2 FOR NO KEY UPDATE",
        collection.business_id, collection.id,
    )  # fmt: skip
    return await ledger_store.lock_balance(tx, collection.business_id, collection.destination_currency)


async def list_owing(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Ids of inflows that are owed and whose wallet has a balance; the oldest debt first."""
    rows = await tx.fetch(
        """
        SELECT collection.business_id, collection.id::text AS id FROM collection
          JOIN wallet ON wallet.business_id = collection.business_id
               AND wallet.currency = collection.destination_currency
         WHERE collection.owed_minor > 0 AND wallet.balance_minor > 0
           AND NOT is_held_back(collection.business_id, 'collect_debts', collection.id::text, $1)
         ORDER BY collection.id LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["id"]) for row in rows]


async def find_owing(tx: Tx, business_id: str, collection_id: int) -> Collection | None:
    row = await tx.fetchrow(
        "SELECT * FROM collection WHERE business_id = $1 AND id = $2 AND owed_minor > 0", business_id, collection_id
    )
    return collection_of(row) if row else None


async def pay_debt(tx: Tx, collection: Collection, part: Money, *, now: datetime) -> bool:
    """False when the inflow has changed since."""
    done = await tx.fetchval(
        """
        UPDATE collection SET owed_minor = owed_minor - $4, version = version + 1, updated_at = $5
         WHERE business_id = $1 AND id = $2 AND version = $3
        RETURNING true
        """,
        collection.business_id, collection.id, collection.version, part.minor, now,
    )  # fmt: skip
    return done is True


async def mark_applied(tx: Tx, reversal: InflowReversal | ReceiptReversal, *, now: datetime) -> bool:
    done = await tx.fetchval(
        """
        UPDATE credit_reversal SET applied_at = $4
         WHERE rail = $1 AND account_number = $2 AND transaction_id = $3 AND applied_at IS NULL
        RETURNING true
        """,
        reversal.rail, reversal.account_number, reversal.transaction_id, now,
    )  # fmt: skip
    return done is True


def _reversal(row: Row, collection: Row) -> InflowReversal:
    return InflowReversal(
        rail=row["rail"],
        account_number=row["account_number"],
        transaction_id=row["transaction_id"],
        id=row["reversal_id"],
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        collection=collection_of(collection),
    )
