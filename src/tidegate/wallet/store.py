"""SQL of statements. The cost of a page does not depend on the size of the wallet's history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.ledger.model import JournalKind
from tidegate.ledger.store import wallet_of
from tidegate.wallet.model import Period, SortOrder, WalletLine


async def book_after(tx: Tx, business_id: str, currency: Currency, moment: datetime) -> None:
    """Waits for bookings in progress; later ones are booked at that moment or after it."""
    await tx.execute("SELECT close_wallet_period($1, $2, $3)", business_id, currency, moment)


async def find_period(
    tx: Tx, business_id: str, currency: Currency, *, start: datetime | None, end: datetime | None
) -> Period | None:
    """One statement, so that all balances are of the same snapshot. None without such a wallet."""
    row = await tx.fetchrow(_PERIOD, business_id, currency, start, end)
    if row is None:
        return None
    return Period(
        wallet=wallet_of(row["wallet"]),
        start=start,
        end=end,
        first_id=row["first_id"],
        last_id=row["last_id"] or 0,
        opening=Money(row["opening_minor"] or 0, currency),
        closing=Money(row["closing_minor"] or 0, currency),
    )


# Materialized: otherwise the search for a date would run once per use.
_PERIOD = """
    WITH bound AS MATERIALIZED (
        SELECT CASE WHEN $3::timestamptz IS NULL THEN 0
                    ELSE coalesce(first_wallet_journal($1, $2, $3), 0) END AS first_id,
               CASE WHEN $4::timestamptz IS NULL THEN 9223372036854775807
                    ELSE coalesce(first_wallet_journal($1, $2, $4), 0) END AS end_id)
    SELECT wallet, bound.first_id, before.balance_after_minor AS opening_minor,
           last.journal_id AS last_id, last.balance_after_minor AS closing_minor
      FROM wallet CROSS JOIN bound
      LEFT JOIN LATERAL (
            SELECT balance_after_minor FROM entry
             WHERE business_id = $1 AND account = 'wallet' AND currency = $2 AND journal_id < bound.first_id
             ORDER BY journal_id DESC LIMIT 1) AS before ON true
      LEFT JOIN LATERAL (
            SELECT journal_id, balance_after_minor FROM entry
             WHERE business_id = $1 AND account = 'wallet' AND currency = $2 AND journal_id < bound.end_id
             ORDER BY journal_id DESC LIMIT 1) AS last ON true
     WHERE wallet.business_id = $1 AND wallet.currency = $2
"""


async def list_lines(
    tx: Tx, period: Period, *, order: SortOrder, past_id: int | None, limit: int,
    kinds: Sequence[JournalKind] | None = None,
) -> list[WalletLine]:  # fmt: skip
    """The lines after `past_id`, in the given order; of some kinds, the newest first."""
    first_id, last_id = period.first_id, period.last_id
    is_ascending = order == "asc"
    if past_id is not None:
        first_id = max(first_id, past_id + 1) if is_ascending else first_id
        last_id = last_id if is_ascending else min(last_id, past_id - 1)
    currency = period.wallet.balance.currency
    rows = await tx.fetch(_LINES, period.wallet.business_id, currency, first_id, last_id, limit, is_ascending, kinds)
    return [_line(row, currency) for row in rows]


# By kind, checkouts are found among all lines, the others by their own index. The subject of a line is looked up only
# for the lines of the page: the LIMIT in each join keeps the planner from scanning a whole table. A cause is
# "payment/7", "rail/transaction", or the reference of a refund or one of its legs.
_LINES = """
    SELECT line.journal_id, line.amount_minor, line.balance_after_minor,
           journal.kind, journal.created_at, journal.event_at, charge.fee_minor, charge.vat_minor,
           coalesce(payment.reference, collection.reference, refund.reference) AS reference,
           coalesce(payment.name, collection.name, refund.refunded) AS about,
           coalesce(collection.source_currency, refund.source_currency) AS source_currency,
           coalesce(collection.source_minor, refund.source_minor) AS source_minor
      FROM ((SELECT journal_id, amount_minor, balance_after_minor FROM entry
              WHERE business_id = $1 AND account = 'wallet' AND currency = $2
                AND journal_id BETWEEN $3 AND $4 AND $6::boolean
              ORDER BY journal_id LIMIT $5)
             UNION ALL
            (SELECT journal_id, amount_minor, balance_after_minor FROM entry
              WHERE business_id = $1 AND account = 'wallet' AND currency = $2
                AND journal_id BETWEEN $3 AND $4 AND NOT $6::boolean AND $7::text[] IS NULL
              ORDER BY journal_id DESC LIMIT $5)
             UNION ALL
            (SELECT entry.journal_id, amount_minor, balance_after_minor
               FROM entry JOIN journal AS settled ON settled.business_id = $1 AND settled.id = entry.journal_id
                                                 AND settled.kind = 'checkout_settled'
              WHERE entry.business_id = $1 AND account = 'wallet' AND currency = $2
                AND journal_id BETWEEN $3 AND $4 AND 'checkout_settled' = ANY ($7)
              ORDER BY journal_id DESC LIMIT $5)
             UNION ALL
            (SELECT found.*
               FROM unnest($7) AS wanted (kind)
              CROSS JOIN LATERAL (
                     SELECT entry.journal_id, amount_minor, balance_after_minor
                       FROM journal AS other
                       JOIN entry ON entry.business_id = $1 AND account = 'wallet' AND currency = $2
                                 AND entry.journal_id = other.id
                      WHERE other.business_id = $1 AND other.kind = wanted.kind AND other.kind <> 'checkout_settled'
                        AND other.id BETWEEN $3 AND $4
                      ORDER BY other.id DESC LIMIT $5) AS found
              ORDER BY found.journal_id DESC LIMIT $5)) AS line
      JOIN LATERAL (
            SELECT * FROM journal WHERE business_id = $1 AND id = line.journal_id LIMIT 1) AS journal ON true
      JOIN LATERAL (
            SELECT coalesce(sum(amount_minor) FILTER (WHERE account = 'fee'), 0)::bigint AS fee_minor,
                   coalesce(sum(amount_minor) FILTER (WHERE account = 'vat'), 0)::bigint AS vat_minor
              FROM entry WHERE business_id = $1 AND journal_id = line.journal_id AND currency = $2) AS charge ON true
      LEFT JOIN LATERAL (
            SELECT reference, customer_name AS name FROM payment
             WHERE business_id = $1 AND journal.kind = 'checkout_settled'
               AND id = payment_of(journal.cause)
             UNION ALL
            SELECT paid.reference, paid.customer_name
              FROM receipt
              JOIN payment AS paid ON paid.business_id = $1 AND paid.id = receipt.payment_id
             WHERE receipt.business_id = $1 AND journal.kind = 'credit_reversed'
               AND receipt.rail = split_part(journal.cause, '/', 1)
               AND receipt.transaction_id = substr(journal.cause, position('/' IN journal.cause) + 1)
             UNION ALL
            SELECT paid.reference, paid.customer_name
              FROM dispute
              JOIN payment AS paid ON paid.business_id = $1 AND paid.id = dispute.payment_id
             WHERE dispute.business_id = $1 AND journal.kind IN ('dispute_held', 'dispute_released')
               AND dispute.rail = split_part(journal.cause, '/', 1)
               AND dispute.id = substr(journal.cause, position('/' IN journal.cause) + 1)
             UNION ALL
            SELECT reference, customer_name FROM payment
             WHERE business_id = $1 AND journal.kind = 'debt_collected'
               AND pay_code = split_part(journal.cause, '/', 1)
             LIMIT 1) AS payment ON true
      LEFT JOIN LATERAL (
            SELECT reference, payer ->> 'name' AS name,
                   nullif(source_currency, $2) AS source_currency, source_minor
              FROM collection
             WHERE business_id = $1
               AND journal.kind IN ('inflow_credited', 'inflow_converted', 'held_settled', 'held_converted',
                                    'credit_reversed')
               AND rail = split_part(journal.cause, '/', 1)
               AND transaction_id = substr(journal.cause, position('/' IN journal.cause) + 1)
             UNION ALL
            SELECT reference, payer ->> 'name', NULL, NULL FROM collection
             WHERE business_id = $1 AND journal.kind = 'debt_collected'
               AND reference = split_part(journal.cause, '/', 1)
             LIMIT 1) AS collection ON true
      LEFT JOIN LATERAL (
            SELECT found.reference, coalesce(paid.reference, received.reference) AS refunded,
                   nullif(found.currency, $2) AS source_currency, found.amount_minor AS source_minor
              FROM refund AS found
              LEFT JOIN payment AS paid ON paid.business_id = $1 AND paid.id = found.payment_id
              LEFT JOIN collection AS received ON received.business_id = $1 AND received.id = found.collection_id
             WHERE found.business_id = $1 AND journal.kind IN ('refund_started', 'refund_failed')
               AND found.reference = coalesce((SELECT whole.reference FROM refund_leg AS leg
                                                 JOIN refund AS whole ON whole.business_id = $1
                                                                     AND whole.id = leg.refund_id
                                                WHERE leg.business_id = $1 AND leg.reference = journal.cause),
                                              journal.cause)
             LIMIT 1) AS refund ON true
     ORDER BY CASE WHEN $6 THEN line.journal_id ELSE -line.journal_id END
"""


async def list_open(tx: Tx, business_id: str) -> dict[Currency, tuple[Money, Money]]:
    """Per currency: inflows held for review, and debts after reversals.

    The cost grows with the number of such inflows and payments only.
    """
    rows = await tx.fetch(
        """
        SELECT currency, sum(pending_minor)::bigint AS pending_minor, sum(owed_minor)::bigint AS owed_minor
          FROM (SELECT source_currency AS currency, source_minor AS pending_minor, 0 AS owed_minor FROM collection
                 WHERE business_id = $1 AND status = 'pending' AND source_currency = destination_currency
                 UNION ALL
                SELECT destination_currency, 0, owed_minor FROM collection WHERE business_id = $1 AND owed_minor > 0
                 UNION ALL
                SELECT currency, 0, owed_minor FROM payment WHERE business_id = $1 AND owed_minor > 0) AS open
         GROUP BY currency
        """,
        business_id,
    )
    return {
        currency: (Money(row["pending_minor"], currency), Money(row["owed_minor"], currency))
        for row in rows
        for currency in (Currency(row["currency"]),)
    }


def _line(row: Row, currency: Currency) -> WalletLine:
    source = row["source_currency"]
    return WalletLine(
        id=row["journal_id"],
        kind=JournalKind(row["kind"]),
        booked_at=row["created_at"],
        happened_at=row["event_at"],
        amount=Money(row["amount_minor"], currency),
        balance=Money(row["balance_after_minor"], currency),
        fee=Money(row["fee_minor"], currency),
        vat=Money(row["vat_minor"], currency),
        reference=row["reference"],
        about=row["about"],
        converted_from=Money(row["source_minor"], Currency(source)) if source else None,
    )
