"""SQL of returns. A return is inserted by the statement of the decision that causes it."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.infra.leased_work import DueRow
from tidegate.ledger.model import Journal
from tidegate.money_return.model import KnownReturn
from tidegate.money_return.reason import reason_in
from tidegate.rail.interface import ReturnMoney

# A return that the rail has not confirmed is asked about again; rails recognise a repeated reference.
PAUSE_MIN, PAUSE_MAX = timedelta(seconds=30), timedelta(minutes=10)
# The kind of leased work. The statement below repeats the name.
SEND = "send_returns"


async def list_to_send(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """References of the returns that are due."""
    rows = await tx.fetch(
        """
        SELECT business_id, reference FROM money_return
         WHERE is_due(business_id, next_try_at, $1)
           AND NOT is_held_back(business_id, 'send_returns', reference, $1)
         ORDER BY next_try_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["reference"]) for row in rows]


async def find_to_send(tx: Tx, business_id: str, reference: str, now: datetime) -> tuple[str, ReturnMoney] | None:
    """With its rail; None when it is no longer due."""
    row = await tx.fetchrow(
        "SELECT * FROM money_return WHERE business_id = $1 AND reference = $2 AND next_try_at <= $3",
        business_id, reference, now,
    )  # fmt: skip
    if row is None:
        return None
    return row["rail"], ReturnMoney(
        business_id=business_id,
        reference=reference,
        transaction_id=row["transaction_id"],
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        reason=reason.sentence if (reason := reason_in(row["reason"])) else row["reason"],
    )


async def try_later(tx: Tx, money: ReturnMoney, *, next_try_at: datetime) -> None:
    """The rail was not asked."""
    await tx.execute(
        """
        UPDATE money_return SET next_try_at = $3
         WHERE business_id = $1 AND reference = $2 AND status IN ('asked', 'sent')
        """,
        money.business_id, money.reference, next_try_at,
    )  # fmt: skip


async def mark_sent(tx: Tx, money: ReturnMoney, *, now: datetime) -> bool:
    """Tried again after pauses that grow with its age. False when its end is known in the meantime."""
    asked_at = await tx.fetchval(
        "SELECT asked_at FROM money_return WHERE business_id = $1 AND reference = $2",
        money.business_id,
        money.reference,
    )
    pause = min(max(now - asked_at, PAUSE_MIN), PAUSE_MAX)
    done = await tx.fetchval(
        """
        UPDATE money_return SET status = 'sent', next_try_at = $3
         WHERE business_id = $1 AND reference = $2 AND status IN ('asked', 'sent')
        RETURNING true
        """,
        money.business_id, money.reference, now + pause,
    )  # fmt: skip
    return done is True


async def find(tx: Tx, business_id: str, reference: str, *, rail: str) -> KnownReturn | None:
    row = await tx.fetchrow(
        """
        SELECT rail, amount_minor, currency, collection_id FROM money_return
         WHERE business_id = $1 AND reference = $2 AND rail = $3
        """,
        business_id, reference, rail,
    )  # fmt: skip
    return _known(business_id, reference, row) if row else None


def _known(business_id: str, reference: str, row: Row) -> KnownReturn:
    return KnownReturn(
        business_id=business_id,
        rail=row["rail"],
        reference=reference,
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        collection_id=row["collection_id"],
    )


async def lock(tx: Tx, business_id: str, reference: str) -> KnownReturn | None:
    """None when it has ended."""
    row = await tx.fetchrow(
        """
        SELECT rail, amount_minor, currency, collection_id FROM money_return
         WHERE business_id = $1 AND reference = $2 AND status <> 'confirmed' FOR NO KEY UPDATE
        """,
        business_id, reference,
    )  # fmt: skip
    return _known(business_id, reference, row) if row else None


async def confirm(tx: Tx, business_id: str, reference: str, journal: Journal, *, sent_as: str, now: datetime) -> bool:
    """Records the confirmation with its journal. False when it was confirmed before."""
    given = msgspec.json.encode({"sent_as": sent_as, "journal": journal.columns()._asdict()}).decode()
    return bool(await tx.fetchval("SELECT confirm_return($1, $2, $3, $4)", business_id, reference, given, now))


async def fail(tx: Tx, business_id: str, reference: str, *, why: str) -> bool:
    """The money stays in the books as money to be returned. False when it has left, or failed before."""
    done = await tx.fetchval(
        """
        UPDATE money_return SET status = 'failed', failure = $3, next_try_at = NULL
         WHERE business_id = $1 AND reference = $2 AND status IN ('asked', 'sent')
        RETURNING true
        """,
        business_id, reference, why,
    )  # fmt: skip
    return done is True


async def find_reversal(tx: Tx, business_id: str, reference: str) -> str | None:
    """Of a return whose credit the bank took back after it was asked for, so that suspense is less by it: the bank's
    transaction.
    """
    found: str | None = await tx.fetchval(
        """
        SELECT back.transaction_id FROM money_return AS back
          JOIN journal ON journal.business_id = back.business_id AND journal.kind = 'held_reversed'
               AND journal.cause = back.rail || '/' || back.transaction_id AND journal.created_at >= back.asked_at
          JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
               AND entry.account = 'suspense' AND entry.amount_minor = -back.amount_minor
         WHERE back.business_id = $1 AND back.reference = $2
        """,
        business_id, reference,
    )  # fmt: skip
    return found


async def list_reversal_ids(tx: Tx, rail: str, transaction_id: str) -> list[str]:
    rows = await tx.fetch(
        "SELECT reversal_id FROM credit_reversal WHERE rail = $1 AND transaction_id = $2", rail, transaction_id
    )
    return [row["reversal_id"] for row in rows]


async def poll_now(tx: Tx, business_id: str, reference: str, *, rail: str, now: datetime) -> bool:
    """Asks for it at once, unless it has ended. False when the rail has no such return."""
    done = await tx.fetchval(
        """
        UPDATE money_return SET next_try_at = CASE WHEN next_try_at IS NOT NULL THEN least(next_try_at, $4) END
         WHERE business_id = $1 AND reference = $2 AND rail = $3
        RETURNING true
        """,
        business_id, reference, rail, now,
    )  # fmt: skip
    return done is True
