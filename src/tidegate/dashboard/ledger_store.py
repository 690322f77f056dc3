"""SQL of journals with their entries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.ledger.model import JournalKind


class EntryLine(NamedTuple):
    account: str
    amount: Money
    balance: Money | None


class JournalView(NamedTuple):
    id: int
    kind: str
    cause: str
    created_at: datetime
    position: int | None
    lines: list[EntryLine]
    # What it is about: one refund, or one payment with the merchant's reference of it, or one inflow.
    refund: str | None = None
    pay_code: str | None = None
    reference: str | None = None
    inflow: str | None = None
    # Of that payment or inflow.
    dispute: str | None = None
    money_return: str | None = None


async def find_journal(tx: Tx, business_id: str, journal_id: int) -> JournalView | None:
    rows = await tx.fetch(_JOURNAL, business_id, journal_id)
    if not rows:
        return None
    first = rows[0]
    return _journal(rows)._replace(
        refund=first["refund"], pay_code=first["pay_code"], reference=first["reference"], inflow=first["inflow"],
        dispute=first["dispute"], money_return=first["money_return"],
    )  # fmt: skip


# The cause of a part of a refund is its reference and a number; of money that came in and of a dispute, the names of
# the rail and of its own; of a debt, the reference of what is owed for and a version.
_JOURNAL = """
    SELECT journal.id, kind, cause, journal.created_at, link.position, account, entry.currency, entry.amount_minor,
           balance_after_minor, refund.reference AS refund, paid.pay_code, paid.reference, inflow.reference AS inflow,
           dispute.id AS dispute, back.reference AS money_return
      FROM (SELECT *, split_part(cause, '/', 1) AS before, substr(cause, strpos(cause, '/') + 1) AS after FROM journal
             WHERE business_id = $1 AND id = $2) AS journal
      JOIN entry ON entry.business_id = $1 AND entry.journal_id = journal.id
      LEFT JOIN journal_link AS link ON link.business_id = $1 AND link.journal_id = journal.id
      LEFT JOIN refund ON refund.business_id = $1
           AND refund.reference = substring(journal.cause FROM '^(rf_[0-9A-Za-z]+)(?:-[0-9]+)?$')
      LEFT JOIN receipt ON receipt.business_id = $1 AND receipt.rail = journal.before
           AND receipt.transaction_id = journal.after
      LEFT JOIN dispute ON dispute.business_id = $1 AND journal.kind IN ('dispute_held', 'dispute_released')
           AND dispute.rail = journal.before AND dispute.id = journal.after
      LEFT JOIN money_return AS back ON back.business_id = $1 AND journal.kind IN ('return_done', 'return_offset')
           AND back.reference = journal.cause
      LEFT JOIN payment AS owing ON owing.business_id = $1 AND journal.kind = 'debt_collected'
           AND owing.pay_code = journal.before
      LEFT JOIN payment AS paid ON paid.business_id = $1
           AND paid.id = coalesce(payment_of(journal.cause), dispute.payment_id, back.payment_id, owing.id,
                                  receipt.payment_id)
      LEFT JOIN collection AS inflow ON inflow.business_id = $1
           AND inflow.id = coalesce(back.collection_id,
                                    (SELECT id FROM collection
                                      WHERE business_id = $1 AND rail = journal.before
                                        AND transaction_id = journal.after),
                                    (SELECT id FROM collection
                                      WHERE business_id = $1 AND journal.kind = 'debt_collected'
                                        AND reference = journal.before))
     ORDER BY line
"""


class JournalLine(NamedTuple):
    id: int
    kind: str
    created_at: datetime


async def list_of_causes(tx: Tx, business_id: str, causes: Sequence[str]) -> list[JournalView]:
    """The journals of a few things, the oldest first. By kind, as their key begins."""
    rows = await tx.fetch(
        """
        SELECT journal.id, kind, cause, created_at, link.position, account, currency, amount_minor, balance_after_minor
          FROM journal JOIN entry ON entry.business_id = $1 AND entry.journal_id = journal.id
          LEFT JOIN journal_link AS link ON link.business_id = $1 AND link.journal_id = journal.id
         WHERE journal.business_id = $1 AND journal.kind = ANY ($3::text[]) AND journal.cause = ANY ($2::text[])
         ORDER BY journal.id, line
        """,
        business_id, list(causes), list(JournalKind),
    )  # fmt: skip
    return [_journal(list(entries)) for _, entries in groupby(rows, key=lambda row: row["id"])]


async def list_of_refund(tx: Tx, business_id: str, refund_id: int, reference: str) -> list[JournalLine]:
    """Of the refund and of its parts, the oldest first. By kind, as their key begins."""
    rows = await tx.fetch(
        """
        SELECT id, kind, created_at FROM journal
         WHERE business_id = $1 AND kind = ANY ($4::text[])
           AND cause = ANY ($3::text || ARRAY(SELECT reference FROM refund_leg
                                               WHERE business_id = $1 AND refund_id = $2))
         ORDER BY id
        """,
        business_id, refund_id, reference, list(JournalKind),
    )  # fmt: skip
    return [JournalLine(row["id"], row["kind"], row["created_at"]) for row in rows]


def _journal(rows: Sequence[Row]) -> JournalView:
    first = rows[0]
    lines = []
    for row in rows:
        currency = Currency(row["currency"])
        after = row["balance_after_minor"]
        lines.append(
            EntryLine(
                row["account"], Money(row["amount_minor"], currency), None if after is None else Money(after, currency)
            )
        )
    return JournalView(first["id"], first["kind"], first["cause"], first["created_at"], first["position"], lines)
