"""SQL of notifications that change no payment, and of money without an owner."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx, naming
from tidegate.intake.contradiction import FieldVersions, versions_of
from tidegate.ledger.model import Journal
from tidegate.payment.change import Receipt
from tidegate.rail.event import MoneyArrived
from tidegate.rail.notification import AlreadyReceived, NotificationRef

# Of a body, in lists.
SHOWN_BYTES_MAX = 16_000
# What contradicts an earlier notification is kept under the identifier of that and a part of its own hash.
_ID_OF_CONTRADICTION = re.compile(r"#[0-9a-f]{16}\Z")


class QuarantinedNotice(NamedTuple):
    rail: str
    id: str
    note: str | None
    received_at: datetime
    body: bytes | None
    # What the rail sent first under this identifier, where that is the contradiction.
    first: bytes | None

    @property
    def versions(self) -> list[FieldVersions]:
        return versions_of(self.first, self.body, self.note)


async def list_quarantined(tx: Tx, *, limit: int) -> list[QuarantinedNotice]:
    rows = await tx.fetch(
        """
        SELECT rail, id, note, received_at, substr(body, 1, $2) AS body FROM notification
         WHERE state = 'quarantined' ORDER BY received_at LIMIT $1
        """,
        limit, SHOWN_BYTES_MAX,
    )  # fmt: skip
    return [QuarantinedNotice(**row, first=await _find_first(tx, row["rail"], row["id"])) for row in rows]


async def find_quarantined(tx: Tx, rail: str, notification_id: str, *, is_closed: bool) -> QuarantinedNotice | None:
    row = await tx.fetchrow(
        """
        SELECT rail, id, note, received_at, substr(body, 1, $3) AS body FROM notification
         WHERE rail = $1 AND id = $2 AND state = $4
        """,
        rail, notification_id, SHOWN_BYTES_MAX, "done" if is_closed else "quarantined",
    )  # fmt: skip
    return QuarantinedNotice(**row, first=await _find_first(tx, rail, notification_id)) if row else None


async def _find_first(tx: Tx, rail: str, notification_id: str) -> bytes | None:
    """On a cluster it may be on another node, so that no join finds it."""
    if not _ID_OF_CONTRADICTION.search(notification_id):
        return None
    body = await find_body(tx, rail, _ID_OF_CONTRADICTION.sub("", notification_id))
    return body[:SHOWN_BYTES_MAX] if body else body


async def close_quarantined(tx: Tx, rail: str, notification_id: str) -> bool:
    done = await tx.fetchval(
        """
        UPDATE notification SET state = 'done' WHERE rail = $1 AND id = $2 AND state = 'quarantined' RETURNING true
        """,
        rail, notification_id,
    )  # fmt: skip
    return done is True


async def note(tx: Tx, ref: NotificationRef, *, state: str, note: str | None, now: datetime) -> bool:
    """False when it was recorded before."""
    done = await tx.fetchval(
        """
        INSERT INTO notification (rail, id, state, body, note, received_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
        RETURNING true
        """,
        ref.rail, ref.id, state, ref.body, note, now,
    )  # fmt: skip
    return done is True


async def find_body(tx: Tx, rail: str, notification_id: str) -> bytes | None:
    """None when it was erased at a payer's request."""
    body: bytes | None = await tx.fetchval(
        "SELECT body FROM notification WHERE rail = $1 AND id = $2", rail, notification_id
    )
    return body


class Recorded(msgspec.Struct, frozen=True):
    """A recorded transaction. Not every transaction has an account."""

    amount: Money
    account_number: str | None
    # It is or was; its notifications are kept for ever.
    is_in_suspense: bool = False
    is_inflow: bool = False

    def is_same_as(self, notified: Recorded) -> bool:
        if self.is_inflow and notified.account_number is None:
            return False  # What a rail says of an attempt is about no inflow.
        numbers = {self.account_number, notified.account_number} - {None}
        return self.amount == notified.amount and len(numbers) <= 1

    def __str__(self) -> str:
        return str(self.amount) + (" to " + self.account_number if self.account_number else "")


async def find_recorded(tx: Tx, business_id: str, rail: str, transaction_id: str) -> Recorded | None:
    row = await tx.fetchrow(
        """
        -- As it was notified first, also when its owner has it since under another account.
        SELECT amount_minor, currency, account_number, true AS is_in_suspense, false AS is_inflow
          FROM suspense_decision
         WHERE business_id = $1 AND rail = $2 AND transaction_id = $3 AND decision = 'assigned'
         UNION ALL
        SELECT amount_minor, currency, account_number, outcome IN ('suspense', 'decided'), false FROM receipt
         WHERE business_id = $1 AND rail = $2 AND transaction_id = $3
         UNION ALL
        SELECT collection.source_minor, collection.source_currency, account.account_number, false, true
          FROM collection
          JOIN virtual_account AS account ON account.business_id = $1 AND account.id = collection.account_id
         WHERE collection.business_id = $1 AND collection.rail = $2 AND transaction_id = $3
        """,
        business_id, rail, transaction_id,
    )  # fmt: skip
    if row is None:
        return None
    amount = Money(row["amount_minor"], Currency(row["currency"]))
    return Recorded(amount, row["account_number"], row["is_in_suspense"], row["is_inflow"])


async def put_into_suspense(
    tx: Tx, business_id: str, receipt: Receipt, journal: Journal, ref: NotificationRef, *, account_number: str | None,
    payment_id: int | None, notified: MoneyArrived | None, now: datetime,
) -> bool:  # fmt: skip
    """The notification, the receipt and its journal, in one statement. False when it was recorded before.

    Raises AlreadyReceived when the transaction is known, in suspense or as an inflow.
    `payment_id` is the payment whose account received the money; it is not credited to that payment. `notified` is
    all that is known of a transfer.
    """
    given = {
        "notification": ref,
        "receipt": {
            "rail": ref.rail,
            "transaction_id": receipt.transaction_id,
            "payment_id": payment_id,
            "account_number": account_number,
            "currency": receipt.amount.currency,
            "amount_minor": receipt.amount.minor,
            "reason": receipt.reason,
            "payer": receipt.payer,
            "notified": notified,
        },
        "journal": journal.columns()._asdict(),
    }
    with naming({"receipt_one_per_transaction": AlreadyReceived}):
        outcome = await tx.fetchval(
            "SELECT record_unclaimed($1, $2, $3)", business_id, msgspec.json.encode(given).decode(), now
        )
    if outcome == "already_received":
        raise AlreadyReceived
    return bool(outcome == "written")
