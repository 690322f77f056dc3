"""SQL of what the operator asks a merchant about an account, and of the answers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Tx


class AccountQuestion(NamedTuple):
    id: int
    question: str
    asked_by: str
    asked_at: datetime
    answer: str | None
    answered_by: str | None
    answered_at: datetime | None
    taken_back_by: str | None
    taken_back_at: datetime | None

    @property
    def is_open(self) -> bool:
        return self.answer is None and self.taken_back_at is None


async def insert(tx: Tx, business_id: str, account_id: str, question: str, *, by: str, now: datetime) -> bool:
    """False while another one waits for its answer."""
    found = await tx.fetchval(
        """
        INSERT INTO account_question (business_id, account_id, question, asked_by, asked_at)
        VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (business_id, account_id) WHERE answer IS NULL AND taken_back_at IS NULL DO NOTHING
        RETURNING true
        """,
        business_id, account_id, question, by, now,
    )  # fmt: skip
    return found is True


async def answer(
    tx: Tx, business_id: str, account_id: str, question_id: int | None, text: str, *, by: str, now: datetime
) -> bool:
    """False when it does not wait for an answer any more."""
    found = await tx.fetchval(
        """
        UPDATE account_question SET answer = $4, answered_by = $5, answered_at = $6
         WHERE business_id = $1 AND account_id = $2 AND id = $3 AND answer IS NULL AND taken_back_at IS NULL
        RETURNING true
        """,
        business_id, account_id, question_id, text, by, now,
    )  # fmt: skip
    return found is True


async def take_back(
    tx: Tx, business_id: str, account_id: str, question_id: int | None, *, by: str, now: datetime
) -> bool:
    """False when it does not wait for an answer any more. Without its number, the one that waits."""
    found = await tx.fetchval(
        """
        UPDATE account_question SET taken_back_by = $4, taken_back_at = $5
         WHERE business_id = $1 AND account_id = $2 AND id = coalesce($3, id)
           AND answer IS NULL AND taken_back_at IS NULL RETURNING true
        """,
        business_id, account_id, question_id, by, now,
    )  # fmt: skip
    return found is True


async def list_of(tx: Tx, business_id: str, account_id: str) -> list[AccountQuestion]:
    rows = await tx.fetch(
        """
        SELECT id, question, asked_by, asked_at, answer, answered_by, answered_at, taken_back_by, taken_back_at
          FROM account_question WHERE business_id = $1 AND account_id = $2 ORDER BY id
        """,
        business_id, account_id,
    )  # fmt: skip
    return [AccountQuestion(**row) for row in rows]


async def list_waiting(tx: Tx, business_ids: Collection[str]) -> set[str]:
    """Accounts of these businesses whose merchant has not answered yet."""
    rows = await tx.fetch(
        """
        SELECT account_id FROM account_question
         WHERE business_id = ANY ($1) AND answer IS NULL AND taken_back_at IS NULL
        """,
        list(business_ids),
    )
    return {row["account_id"] for row in rows}
