"""SQL of the figures on Home: the roll-up, the journals after it, and what needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.payment.model import Payment
from tidegate.payment.row import payment_of

# Journals that are younger may still be joined by one with a smaller number.
SETTLED_S = 30


class TakingsRow(msgspec.Struct, frozen=True):
    day: int
    currency: Currency
    method: str
    payments: int
    received: Money
    fee: Money
    settled: Money


class AttentionFacts(msgspec.Struct, frozen=True):
    held_inflows: int
    failed_refunds: int
    open_approvals: int
    failing_endpoints: list[str]
    undelivered: int


async def list_takings(tx: Tx, business_id: str, bounds: Sequence[datetime]) -> list[TakingsRow]:
    """Between consecutive bounds, such as midnights: the roll-up, and what was booked after it."""
    rows = await tx.fetch(_TAKINGS, business_id, list(bounds))
    return [
        TakingsRow(
            row["day"],
            currency,
            row["method"],
            row["payments"],
            Money(row["received_minor"], currency),
            Money(row["fee_minor"], currency),
            Money(row["settled_minor"], currency),
        )
        for row in rows
        for currency in (Currency(row["currency"]),)
    ]


_TAKINGS = """
    WITH booked AS (
        SELECT hour AS at, currency, method, payments, received_minor, fee_minor, settled_minor FROM takings
         WHERE business_id = $1 AND hour >= ($2::timestamptz[])[1]
         UNION ALL
        SELECT journal.created_at, payment.currency, payment.method, 1, payment.received_minor,
               payment.fee_minor + payment.vat_minor, payment.settled_minor
          FROM journal
          JOIN payment ON payment.business_id = $1 AND payment.id = substr(journal.cause, 9)::bigint
         WHERE journal.business_id = $1 AND journal.kind = 'checkout_settled'
           AND journal.id > coalesce((SELECT journal_id FROM takings_watermark WHERE business_id = $1), 0)
           AND journal.created_at >= ($2::timestamptz[])[1])
    SELECT width_bucket(at, $2::timestamptz[]) AS day, currency, method, sum(payments)::bigint AS payments,
           sum(received_minor)::bigint AS received_minor, sum(fee_minor)::bigint AS fee_minor,
           sum(settled_minor)::bigint AS settled_minor
      FROM booked GROUP BY 1, 2, 3 ORDER BY 2, 5 DESC
"""


async def roll_up(tx: Tx, business_id: str, *, before: datetime, limit: int) -> int:
    """Adds the next journals of a business, in a transaction that holds its watermark. How many."""
    await tx.execute(
        """
        INSERT INTO takings_watermark (business_id, journal_id) VALUES ($1, 0)
            ON CONFLICT ON CONSTRAINT takings_watermark_pk DO NOTHING
        """,
        business_id,
    )
    mark = await tx.fetchval("SELECT journal_id FROM takings_watermark WHERE business_id = $1 FOR UPDATE", business_id)
    return int(await tx.fetchval(_ROLL_UP, business_id, before, limit, mark))


_ROLL_UP = """
    WITH next AS (
        SELECT journal.id, journal.kind, journal.cause, journal.created_at
          FROM journal
         WHERE journal.business_id = $1 AND journal.id > $4 AND journal.created_at < $2
         ORDER BY journal.id LIMIT $3),
    summed AS (
        SELECT date_trunc('hour', next.created_at) AS hour, payment.currency, payment.method, count(*) AS payments,
               sum(received_minor) AS received_minor, sum(fee_minor + vat_minor) AS fee_minor,
               sum(settled_minor) AS settled_minor
          FROM next
          JOIN payment ON payment.business_id = $1 AND payment.id = substr(next.cause, 9)::bigint
         WHERE next.kind = 'checkout_settled' GROUP BY 1, 2, 3),
    added AS (
        INSERT INTO takings AS known
               (business_id, hour, currency, method, payments, received_minor, fee_minor, settled_minor)
        SELECT $1, hour, currency, method, payments, received_minor, fee_minor, settled_minor FROM summed
         ORDER BY hour, currency, method
            ON CONFLICT ON CONSTRAINT takings_pk DO UPDATE
           SET payments = known.payments + excluded.payments,
               received_minor = known.received_minor + excluded.received_minor,
               fee_minor = known.fee_minor + excluded.fee_minor,
               settled_minor = known.settled_minor + excluded.settled_minor),
    moved AS (
        UPDATE takings_watermark SET journal_id = (SELECT max(id) FROM next)
         WHERE business_id = $1 AND EXISTS (SELECT FROM next))
    SELECT count(*) FROM next
"""


async def list_behind(tx: Tx, *, before: datetime, limit: int) -> list[str]:
    """Businesses with journals that are not rolled up."""
    rows = await tx.fetch(
        """
        SELECT business.id FROM business LEFT JOIN takings_watermark AS mark ON mark.business_id = business.id
         WHERE EXISTS (SELECT FROM journal WHERE journal.business_id = business.id
                          AND journal.id > coalesce(mark.journal_id, 0) AND journal.created_at < $1)
         LIMIT $2
        """,
        before, limit,
    )  # fmt: skip
    return [row["id"] for row in rows]


async def list_wrong_takings(tx: Tx) -> list[str]:
    """For the doctor: where the roll-up is not the count of the journals that it includes."""
    rows = await tx.fetch(
        """
        WITH counted AS (
            SELECT journal.business_id, date_trunc('hour', journal.created_at) AS hour, currency, method,
                   count(*) AS payments, sum(received_minor) AS received_minor
              FROM takings_watermark AS mark
              JOIN journal ON journal.business_id = mark.business_id AND journal.id <= mark.journal_id
              JOIN payment ON payment.business_id = journal.business_id
                          AND payment.id = substr(journal.cause, 9)::bigint
             WHERE journal.kind = 'checkout_settled' GROUP BY 1, 2, 3, 4)
        SELECT coalesce(counted.business_id, takings.business_id) AS business_id
          FROM counted FULL JOIN takings USING (business_id, hour, currency, method)
         WHERE (counted.payments, counted.received_minor) IS DISTINCT FROM (takings.payments, takings.received_minor)
         LIMIT 20
        """
    )
    return [row["business_id"] for row in rows]


async def count_ended(
    tx: Tx, business_id: str, since: datetime, *, limit: int
) -> dict[Currency, dict[str, tuple[int, int]]]:
    """Of payments created since: paid, and ended, by currency and method. Reads at most so many rows."""
    rows = await tx.fetch(
        """
        SELECT currency, coalesce(method, default_method) AS method,
               count(*) FILTER (WHERE status = 'success') AS paid,
               count(*) FILTER (WHERE status IN ('success', 'failed', 'expired')) AS ended
          FROM (SELECT currency, method, default_method, status, created_at FROM payment
                 WHERE business_id = $1 ORDER BY id DESC LIMIT $3) AS newest
         WHERE created_at >= $2 GROUP BY 1, 2
        """,
        business_id, since, limit,
    )  # fmt: skip
    found: dict[Currency, dict[str, tuple[int, int]]] = {}
    for row in rows:
        found.setdefault(Currency(row["currency"]), {})[row["method"]] = (row["paid"], row["ended"])
    return found


async def list_newest(tx: Tx, business_id: str, *, before_id: int | None, limit: int) -> list[Payment]:
    rows = await tx.fetch(
        """
        SELECT payment_row(payment) AS text FROM payment
         WHERE business_id = $1 AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3
        """,
        business_id, before_id, limit,
    )  # fmt: skip
    return [payment_of(row["text"]) for row in rows]


async def list_unusual(tx: Tx, business_id: str, *, limit: int, newest: int) -> list[Payment]:
    """Over- and underpaid ones among the newest that nobody has answered with a refund."""
    rows = await tx.fetch(
        """
        SELECT payment_row(payment) AS text
          FROM (SELECT payment FROM payment WHERE business_id = $1 ORDER BY id DESC LIMIT $3) AS newest
         WHERE (payment).variance IS NOT NULL AND (payment).status = 'success' AND (payment).refunded_minor = 0
         LIMIT $2
        """,
        business_id, limit, newest,
    )  # fmt: skip
    return [payment_of(row["text"]) for row in rows]


async def get_attention(tx: Tx, business_id: str, *, now: datetime) -> AttentionFacts:
    row = await tx.fetchrow(
        """
        SELECT (SELECT count(*) FROM (SELECT FROM collection WHERE business_id = $1 AND status = 'pending'
                                       LIMIT 100) AS held) AS held_inflows,
               (SELECT count(*) FROM (SELECT FROM refund WHERE business_id = $1 AND status = 'failed'
                                         AND completed_at > $2::timestamptz - interval '7 days'
                                       LIMIT 100) AS failed) AS failed_refunds,
               (SELECT count(*) FROM approval WHERE business_id = $1 AND status = 'open' AND expires_at > $2)
                   AS open_approvals,
               ARRAY(SELECT url FROM endpoint_state JOIN webhook_endpoint AS endpoint
                         ON endpoint.business_id = $1 AND endpoint.id = endpoint_state.endpoint_id
                      WHERE endpoint_state.business_id = $1 AND failing_since IS NOT NULL
                        AND endpoint.deleted_at IS NULL AND endpoint.status = 'enabled' LIMIT 5) AS failing_endpoints,
               (SELECT count(*) FROM (SELECT FROM webhook_delivery WHERE business_id = $1 AND status = 'pending'
                                         AND failures > 0 LIMIT 100) AS waiting) AS undelivered
        """,
        business_id, now,
    )  # fmt: skip
    assert row is not None
    return AttentionFacts(**row)
