"""SQL of the sandbox's rail."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.infra.leased_work import DueRow
from tidegate.rail.action import Action, FailureReason
from tidegate.rail.interface import AccountDetails, OpenAccount
from tidegate.rail.sandbox.model import Behaviour, Payout, PayoutKind, SandboxAttempt


async def next_serial(tx: Tx) -> int:
    return int(await tx.fetchval("SELECT nextval('sandbox_rail_serial')"))


async def insert_attempt(tx: Tx, attempt: SandboxAttempt) -> bool:
    """False when the reference has an attempt already, possibly a concurrent one."""
    row = await tx.fetchrow(
        """
        INSERT INTO sandbox_attempt (
            business_id, reference, method, amount_minor, currency, behaviour, transaction_id, account_number,
            action, tries, failure, ends_at, started_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
        ON CONFLICT ON CONSTRAINT sandbox_attempt_pk DO NOTHING
        RETURNING reference
        """,
        attempt.business_id, attempt.reference, attempt.method, attempt.amount.minor, attempt.amount.currency,
        attempt.behaviour, attempt.transaction_id, attempt.account_number, _json(attempt.action), attempt.tries,
        attempt.failure, attempt.ends_at, attempt.started_at,
    )  # fmt: skip
    return row is not None


async def find_attempt(tx: Tx, business_id: str, reference: str) -> SandboxAttempt | None:
    row = await tx.fetchrow(
        "SELECT * FROM sandbox_attempt WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return _attempt(row) if row else None


async def lock_attempt(tx: Tx, business_id: str, reference: str) -> SandboxAttempt | None:
    row = await tx.fetchrow(
        "SELECT * FROM sandbox_attempt WHERE business_id = $1 AND reference = $2 FOR UPDATE", business_id, reference
    )
    return _attempt(row) if row else None


async def update_attempt(tx: Tx, attempt: SandboxAttempt, *, now: datetime) -> None:
    await tx.execute(
        """
        UPDATE sandbox_attempt SET action = $3, tries = $4, failure = $5, ends_at = $6, updated_at = $7
         WHERE business_id = $1 AND reference = $2
        """,
        attempt.business_id, attempt.reference, _json(attempt.action), attempt.tries, attempt.failure,
        attempt.ends_at, now,
    )  # fmt: skip


async def insert_payout(tx: Tx, payout: Payout) -> bool:
    """False when the reference was used before."""
    row = await tx.fetchrow(
        """
        INSERT INTO sandbox_payout (
            business_id, kind, reference, paid_transaction_id, transaction_id, amount_minor, currency, reason,
            failure, ends_at, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT ON CONSTRAINT sandbox_payout_pk DO NOTHING
        RETURNING reference
        """,
        payout.business_id, payout.kind, payout.reference, payout.paid_transaction_id, payout.transaction_id,
        payout.amount.minor, payout.amount.currency, payout.reason, payout.failure, payout.ends_at,
        payout.created_at,
    )  # fmt: skip
    return row is not None


async def find_payout(tx: Tx, business_id: str, kind: PayoutKind, reference: str) -> Payout | None:
    row = await tx.fetchrow(
        "SELECT * FROM sandbox_payout WHERE business_id = $1 AND kind = $2 AND reference = $3",
        business_id,
        kind,
        reference,
    )
    return _payout(row) if row else None


async def insert_notification(
    tx: Tx, business_id: str, *, notification_id: str, body: bytes, due_at: datetime, now: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO sandbox_notification (business_id, notification_id, body, created_at, due_at)
        VALUES ($1, $2, $3, $4, $5)
        """,
        business_id, notification_id, body, now, due_at,
    )  # fmt: skip


async def lock_notification(tx: Tx, business_id: str, notification_id: str) -> None:
    """Serialises notifications of this identifier: concurrent repeats send the same body."""
    await tx.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended($1 || '/notification/' || $2, 0))", business_id, notification_id
    )


async def find_first_notification(tx: Tx, business_id: str, notification_id: str) -> Row | None:
    return await tx.fetchrow(
        """
        SELECT body, created_at FROM sandbox_notification
         WHERE business_id = $1 AND notification_id = $2 ORDER BY id LIMIT 1
        """,
        business_id,
        notification_id,
    )


async def insert_account(tx: Tx, order: OpenAccount, details: AccountDetails, *, now: datetime) -> None:
    """Does nothing when the reference has an account already, possibly a concurrent one."""
    await tx.execute(
        """
        INSERT INTO sandbox_account (business_id, reference, currency, holder, details, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT ON CONSTRAINT sandbox_account_pk DO NOTHING
        """,
        order.business_id, order.reference, order.currency, order.holder, msgspec.json.encode(details).decode(), now,
    )  # fmt: skip


async def get_account(tx: Tx, business_id: str, reference: str) -> tuple[Currency, AccountDetails]:
    row = await tx.fetchrow(
        "SELECT currency, details FROM sandbox_account WHERE business_id = $1 AND reference = $2",
        business_id,
        reference,
    )
    assert row is not None
    return Currency(row["currency"]), msgspec.json.decode(row["details"], type=AccountDetails)


# The kind of leased work, as the statement below names it.
SEND_NOTIFICATIONS = "send_sandbox_notifications"


async def list_due_notifications(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """By id, the oldest first."""
    rows = await tx.fetch(
        """
        SELECT business_id, id::text AS id FROM sandbox_notification AS notification
         WHERE sent_at IS NULL AND is_due(business_id, due_at, $1)
           AND NOT is_held_back(business_id, 'send_sandbox_notifications', notification.id::text, $1)
         ORDER BY due_at, notification.id LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["id"]) for row in rows]


async def find_notification_to_send(tx: Tx, business_id: str, number: int) -> bytes | None:
    """Its body; None when already sent."""
    body: bytes | None = await tx.fetchval(
        "SELECT body FROM sandbox_notification WHERE business_id = $1 AND id = $2 AND sent_at IS NULL",
        business_id,
        number,
    )
    return body


async def mark_sent(tx: Tx, business_id: str, number: int, *, now: datetime) -> None:
    await tx.execute(
        "UPDATE sandbox_notification SET sent_at = $3 WHERE business_id = $1 AND id = $2 AND sent_at IS NULL",
        business_id, number, now,
    )  # fmt: skip


async def delete_all(tx: Tx, business_id: str) -> None:
    # Not `sandbox_account`: accounts are settings, like keys, and account numbers already given to payers stay valid.
    await tx.execute("DELETE FROM sandbox_notification WHERE business_id = $1", business_id)
    await tx.execute("DELETE FROM sandbox_payout WHERE business_id = $1", business_id)
    await tx.execute("DELETE FROM sandbox_attempt WHERE business_id = $1", business_id)


def _json(action: Action | None) -> str | None:
    return msgspec.json.encode(action).decode() if action else None


def _attempt(row: Row) -> SandboxAttempt:
    action: Action | None = msgspec.json.decode(row["action"], type=Action) if row["action"] else None
    return SandboxAttempt(
        business_id=row["business_id"],
        reference=row["reference"],
        method=Method(row["method"]),
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        behaviour=Behaviour(row["behaviour"]),
        transaction_id=row["transaction_id"],
        started_at=row["started_at"],
        action=action,
        tries=row["tries"],
        failure=_failure(row),
        ends_at=row["ends_at"],
    )


def _payout(row: Row) -> Payout:
    return Payout(
        business_id=row["business_id"],
        kind=PayoutKind(row["kind"]),
        reference=row["reference"],
        paid_transaction_id=row["paid_transaction_id"],
        transaction_id=row["transaction_id"],
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        reason=row["reason"],
        failure=_failure(row),
        created_at=row["created_at"],
        ends_at=row["ends_at"],
    )


def _failure(row: Row) -> FailureReason | None:
    return FailureReason(row["failure"]) if row["failure"] else None
