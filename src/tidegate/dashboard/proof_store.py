"""SQL of the proof of a business's wallets: their newest lines, as the books have them."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx

# Named; the first is enough to look further.
WRONG_MAX = 5


class WalletProof(NamedTuple):
    """Of one wallet: what it keeps, and what its newest lines say."""

    balance: Money
    locked: Money
    # Refunds that are under way, and what is held for disputes.
    running: Money
    lines: int
    # Before the lines that were looked at; None where they are all.
    before: Money | None
    sum: Money
    first_at: datetime | None
    last_at: datetime | None
    # Journals: whose balance does not follow from the line before, and those that do not sum to zero.
    wrong_balances: list[int]
    unbalanced: list[int]

    @property
    def booked(self) -> Money:
        return self.sum if self.before is None else self.before + self.sum


class BooksHead(NamedTuple):
    wallets: list[WalletProof]
    # Of the chain: its newest position, and how many journals wait for a link.
    position: int
    hash: bytes | None
    waiting: int


async def get_books(tx: Tx, business_id: str, *, lines_max: int) -> BooksHead:
    """One statement, so that all of it is of one moment."""
    rows = await tx.fetch(_BOOKS, business_id, lines_max, WRONG_MAX)
    first = rows[0]
    return BooksHead(
        [_wallet(row) for row in rows if row["currency"] is not None],
        first["position"] or 0,
        first["hash"],
        first["waiting"],
    )


# A row also where there is no wallet.
_BOOKS = """
    SELECT head.position, head.hash, waiting.count AS waiting, wallet.currency, wallet.balance_minor,
           wallet.locked_minor, checked.*, coalesce(refunds.minor, 0) + coalesce(disputes.minor, 0) AS running_minor
      FROM (SELECT count(*) FROM journal_to_link WHERE business_id = $1) AS waiting
      LEFT JOIN LATERAL (
            SELECT position, hash FROM journal_link
             WHERE business_id = $1 ORDER BY position DESC LIMIT 1) AS head ON true
      LEFT JOIN wallet ON wallet.business_id = $1
      LEFT JOIN LATERAL (
            WITH newest AS MATERIALIZED (
                SELECT journal_id, amount_minor, balance_after_minor FROM entry
                 WHERE business_id = $1 AND account = 'wallet' AND currency = wallet.currency
                 ORDER BY journal_id DESC LIMIT $2),
            before AS MATERIALIZED (
                SELECT balance_after_minor FROM entry
                 WHERE business_id = $1 AND account = 'wallet' AND currency = wallet.currency
                   AND journal_id < (SELECT min(journal_id) FROM newest)
                 ORDER BY journal_id DESC LIMIT 1),
            running AS (
                SELECT journal_id, amount_minor, balance_after_minor,
                       coalesce((SELECT balance_after_minor FROM before), 0)
                           + sum(amount_minor) OVER (ORDER BY journal_id) AS expected_minor
                  FROM newest)
            SELECT count(*) AS lines, coalesce(sum(amount_minor), 0)::bigint AS sum_minor,
                   (SELECT balance_after_minor FROM before) AS before_minor,
                   (SELECT created_at FROM journal
                     WHERE business_id = $1 AND id = min(running.journal_id)) AS first_at,
                   (SELECT created_at FROM journal
                     WHERE business_id = $1 AND id = max(running.journal_id)) AS last_at,
                   (array_agg(journal_id ORDER BY journal_id)
                        FILTER (WHERE balance_after_minor <> expected_minor))[1:$3] AS wrong_balances,
                   ARRAY(SELECT entry.journal_id FROM newest
                           JOIN entry ON entry.business_id = $1 AND entry.journal_id = newest.journal_id
                          GROUP BY entry.journal_id, entry.currency HAVING sum(entry.amount_minor) <> 0
                          ORDER BY entry.journal_id LIMIT $3) AS unbalanced
              FROM running) AS checked ON true
      LEFT JOIN LATERAL (
            SELECT sum(coalesce(refund.debited_minor, leg.amount_minor))::bigint AS minor
              FROM refund JOIN refund_leg AS leg ON leg.business_id = $1 AND leg.refund_id = refund.id
             WHERE refund.business_id = $1 AND refund.status = 'processing' AND leg.status = 'processing'
               AND coalesce(refund.wallet_currency, leg.currency) = wallet.currency) AS refunds ON true
      LEFT JOIN LATERAL (
            SELECT sum(held_minor)::bigint AS minor FROM dispute
             WHERE business_id = $1 AND dispute.currency = wallet.currency AND held_minor > 0) AS disputes ON true
     ORDER BY wallet.currency
"""


def _wallet(row: Row) -> WalletProof:
    currency = Currency(row["currency"])
    before = row["before_minor"]
    return WalletProof(
        balance=Money(row["balance_minor"], currency),
        locked=Money(row["locked_minor"], currency),
        running=Money(row["running_minor"], currency),
        lines=row["lines"],
        before=None if before is None else Money(before, currency),
        sum=Money(row["sum_minor"], currency),
        first_at=row["first_at"],
        last_at=row["last_at"],
        wrong_balances=row["wrong_balances"] or [],
        unbalanced=row["unbalanced"],
    )
