"""SQL of what rails did not do, and of what disputes hold."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.doctor.store import FINDINGS_MAX
from tidegate.infra.db import Row, Tx


class RailActivity(NamedTuple):
    """What was heard of a rail. `unanswered` is the number of payments, refunds and returns that it has not ended."""

    notified_at: datetime | None
    # Money that came, by a notification or because we asked.
    received_at: datetime | None
    unanswered: int
    unanswered_since: datetime | None


async def get_activity(tx: Tx, rail: str) -> RailActivity:
    row = await tx.fetchrow(
        """
        SELECT (SELECT max(received_at) FROM notification WHERE rail = $1) AS notified_at,
               (SELECT max(created_at) FROM receipt WHERE rail = $1) AS received_at,
               count(*) AS unanswered, min(since) AS unanswered_since
          FROM (SELECT created_at AS since FROM attempt WHERE rail = $1 AND status IN ('starting', 'running')
                 UNION ALL
                SELECT refund.initiated_at FROM refund_leg AS leg
                  JOIN refund ON refund.business_id = leg.business_id AND refund.id = leg.refund_id
                 WHERE leg.rail = $1 AND leg.status = 'processing'
                 UNION ALL
                SELECT asked_at FROM money_return WHERE rail = $1 AND status IN ('asked', 'sent')) AS open
        """,
        rail,
    )
    assert row is not None
    return RailActivity(row["notified_at"], row["received_at"], row["unanswered"], row["unanswered_since"])


async def list_failed_returns(tx: Tx) -> list[str]:
    rows = await tx.fetch(
        """
        SELECT reference, rail, currency, amount_minor, failure FROM money_return
         WHERE status = 'failed' ORDER BY asked_at LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [" ".join((row["reference"], "of", _amount(row), "by", row["rail"] + ":", row["failure"])) for row in rows]


async def list_wrongly_held(tx: Tx) -> list[str]:
    """Each dispute holds what its journals say; one that was won holds nothing, and a booked hold has its dispute."""
    rows = await tx.fetch(
        """
        SELECT coalesce(dispute.business_id, booked.business_id) || '/' || coalesce(dispute.rail || '/' || dispute.id,
                                                                                  booked.cause) AS thing
          FROM dispute FULL JOIN (
               SELECT journal.business_id, journal.cause, sum(entry.amount_minor) AS held_minor
                 FROM journal JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
                WHERE journal.kind IN ('dispute_held', 'dispute_released') AND entry.account = 'disputes'
                GROUP BY journal.business_id, journal.cause) AS booked
               ON booked.business_id = dispute.business_id AND booked.cause = dispute.rail || '/' || dispute.id
         WHERE coalesce(dispute.held_minor, 0) <> coalesce(booked.held_minor, 0)
            OR (dispute.status = 'won' AND dispute.held_minor > 0)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["thing"] for row in rows]


def _amount(row: Row) -> str:
    return str(Money(row["amount_minor"], Currency(row["currency"])))
