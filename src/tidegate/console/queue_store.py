"""SQL of how much waits for the staff. Each count stops at a limit: a page shows that there are many, not how many."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx

COUNTED_MAX = 1_000
# Nothing of a rail takes longer by itself.
STUCK_AFTER = timedelta(minutes=30)


@dataclass(frozen=True)
class QueueCounts:
    merchants: int = 0
    approvals: int = 0
    accounts: int = 0
    held: int = 0
    suspense: int = 0
    stuck: int = 0
    disputes: int = 0
    bank: int = 0
    parked: int = 0
    alarms: int = 0


async def list_oldest(tx: Tx) -> dict[str, datetime]:
    """Since when the oldest of each queue waits, by the path of its page. Empty queues are left out. Where a sandbox
    has moved the time of a merchant, its things have waited by that time."""
    rows = await tx.fetch(
        """
        SELECT '/approvals' AS page, min(asked_at) AS since FROM approval
         WHERE realm = 'console' AND status = 'open' AND expires_at > now()
         UNION ALL SELECT '/accounts', min(created_at - coalesce(ahead, '0'))
          FROM virtual_account LEFT JOIN business_clock USING (business_id) WHERE status = 'pending'
         UNION ALL SELECT '/held', min(created_at - coalesce(ahead, '0'))
          FROM collection LEFT JOIN business_clock USING (business_id) WHERE status = 'pending'
         UNION ALL SELECT '/suspense', least(
               (SELECT min(created_at - coalesce(ahead, '0'))
                  FROM receipt LEFT JOIN business_clock USING (business_id) WHERE outcome = 'suspense'),
               (SELECT min(received_at) FROM notification WHERE state = 'quarantined'))
         UNION ALL SELECT '/stuck', least(
               (SELECT min(asked_at - coalesce(ahead, '0'))
                  FROM money_return LEFT JOIN business_clock USING (business_id) WHERE status = 'failed'),
               (SELECT min(asked_at - coalesce(ahead, '0'))
                  FROM money_return LEFT JOIN business_clock USING (business_id)
                 WHERE next_try_at IS NOT NULL AND asked_at - coalesce(ahead, '0') < now() - $1::interval),
               (SELECT min(refund.initiated_at - coalesce(clock.ahead, '0')) FROM refund_leg AS leg
                  JOIN refund ON refund.business_id = leg.business_id AND refund.id = leg.refund_id
                  LEFT JOIN business_clock AS clock ON clock.business_id = leg.business_id
                 WHERE leg.next_poll_at IS NOT NULL
                   AND refund.initiated_at - coalesce(clock.ahead, '0') < now() - $1::interval))
         UNION ALL SELECT '/disputes', min(opened_at - coalesce(ahead, '0'))
          FROM dispute LEFT JOIN business_clock USING (business_id) WHERE status = 'open'
         UNION ALL SELECT '/bank', least(
               (SELECT min(proposed_at) FROM bank_payout WHERE status = 'proposed'),
               (SELECT min(booked_on) FROM bank_entry WHERE state = 'problem')::timestamptz)
         UNION ALL SELECT '/alarms', min(raised_at) FROM alarm WHERE ended_at IS NULL
        """,
        STUCK_AFTER,
    )
    return {row["page"]: row["since"] for row in rows if row["since"] is not None}


async def list_waiting_money(tx: Tx) -> dict[str, list[Money]]:
    """What the held inflows and the money in suspense come to, by the path of their page."""
    rows = await tx.fetch(
        """
        SELECT '/held' AS page, source_currency AS currency, sum(source_minor)::bigint AS minor
          FROM collection WHERE status = 'pending' GROUP BY source_currency
         UNION ALL
        SELECT '/suspense', currency, sum(amount_minor)::bigint
          FROM receipt WHERE outcome = 'suspense' GROUP BY currency ORDER BY page, currency
        """
    )
    found: dict[str, list[Money]] = {}
    for row in rows:
        found.setdefault(row["page"], []).append(Money(row["minor"], Currency(row["currency"])))
    return found


async def count(tx: Tx) -> QueueCounts:
    row = await tx.fetchrow(
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM business LIMIT $1 + 1) AS counted) - 1 AS merchants,
               (SELECT count(*) FROM (SELECT 1 FROM approval WHERE realm = 'console' AND status = 'open'
                                         AND expires_at > now() LIMIT $1) AS counted) AS approvals,
               (SELECT count(*) FROM (SELECT 1 FROM virtual_account WHERE status = 'pending' LIMIT $1) AS counted)
                   AS accounts,
               (SELECT count(*) FROM (SELECT 1 FROM collection WHERE status = 'pending' LIMIT $1) AS counted) AS held,
               (SELECT count(*) FROM (SELECT 1 FROM receipt WHERE outcome = 'suspense' LIMIT $1) AS counted)
                   + (SELECT count(*) FROM (SELECT 1 FROM notification WHERE state = 'quarantined' LIMIT $1) AS counted)
                   AS suspense,
               (SELECT count(*) FROM (SELECT 1 FROM money_return WHERE status = 'failed' LIMIT $1) AS counted)
                   + (SELECT count(*) FROM (SELECT 1 FROM money_return WHERE next_try_at IS NOT NULL
                                                AND is_due(business_id, asked_at, now() - $2::interval)
                                              LIMIT $1) AS counted)
                   + (SELECT count(*) FROM (SELECT 1 FROM refund_leg AS leg
                                              JOIN refund ON refund.business_id = leg.business_id
                                                             AND refund.id = leg.refund_id
                                             WHERE leg.next_poll_at IS NOT NULL
                                               AND is_due(leg.business_id, refund.initiated_at, now() - $2::interval)
                                             LIMIT $1) AS counted)
                   AS stuck,
               (SELECT count(*) FROM (SELECT 1 FROM dispute WHERE status = 'open' LIMIT $1) AS counted) AS disputes,
               (SELECT count(*) FROM (SELECT 1 FROM bank_payout WHERE status = 'proposed' LIMIT $1) AS counted)
                   + (SELECT count(*) FROM (SELECT 1 FROM bank_entry WHERE state = 'problem' LIMIT $1) AS counted)
                   AS bank,
               (SELECT count(*) FROM (SELECT 1 FROM leased_work WHERE parked_at IS NOT NULL LIMIT $1) AS counted)
                   AS parked,
               (SELECT count(*) FROM alarm WHERE ended_at IS NULL) AS alarms
        """,
        COUNTED_MAX, STUCK_AFTER,
    )  # fmt: skip
    assert row is not None
    return QueueCounts(**dict(row.items()))
