"""SQL of alarms, and of the facts they are raised by."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.alarm.health_store import LOOKED_AT_MAX
from tidegate.alarm.model import CARDS_DECLINED, Alarm, CardHour, advice_of
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx

OWING_MAX = 20


class KnownAlarm(NamedTuple):
    id: int
    rule: str
    subject: str
    sentence: str
    page: str
    raised_at: datetime
    ended_at: datetime | None

    @property
    def advice(self) -> str:
        return advice_of(self.rule, self.subject)


async def find(tx: Tx, alarm_id: int) -> KnownAlarm | None:
    row = await tx.fetchrow("SELECT * FROM alarm WHERE business_id = $1 AND id = $2", PLATFORM_BUSINESS_ID, alarm_id)
    return _known(row) if row else None


async def list_alike(tx: Tx, alarm: KnownAlarm, *, limit: int) -> list[KnownAlarm]:
    """Others of the same rule and subject, the newest first."""
    rows = await tx.fetch(
        """
        SELECT * FROM alarm WHERE business_id = $1 AND rule = $2 AND subject = $3 AND id <> $4
         ORDER BY id DESC LIMIT $5
        """,
        PLATFORM_BUSINESS_ID, alarm.rule, alarm.subject, alarm.id, limit,
    )  # fmt: skip
    return [_known(row) for row in rows]


async def list_open(tx: Tx) -> list[KnownAlarm]:
    rows = await tx.fetch(
        "SELECT * FROM alarm WHERE business_id = $1 AND ended_at IS NULL ORDER BY id", PLATFORM_BUSINESS_ID
    )
    return [_known(row) for row in rows]


async def list_ended(tx: Tx, *, limit: int) -> list[KnownAlarm]:
    rows = await tx.fetch(
        """
        SELECT * FROM alarm WHERE business_id = $1 AND ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT $2
        """,
        PLATFORM_BUSINESS_ID, limit,
    )  # fmt: skip
    return [_known(row) for row in rows]


async def lock(tx: Tx) -> None:
    """Two workers that look at once raise each alarm once."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('alarm', 0))")


async def insert(tx: Tx, alarm: Alarm, *, now: datetime) -> int:
    """Its number."""
    return int(
        await tx.fetchval(
            """
            INSERT INTO alarm (business_id, rule, subject, sentence, page, raised_at) VALUES ($1, $2, $3, $4, $5, $6)
            RETURNING id
            """,
            PLATFORM_BUSINESS_ID, alarm.rule, alarm.subject, alarm.sentence, alarm.page, now,
        )
    )  # fmt: skip


async def set_sentence(tx: Tx, alarm_id: int, sentence: str) -> None:
    """As it is now, while its cause lasts."""
    await tx.execute(
        "UPDATE alarm SET sentence = $3 WHERE business_id = $1 AND id = $2", PLATFORM_BUSINESS_ID, alarm_id, sentence
    )


async def end(tx: Tx, alarm_id: int, *, now: datetime) -> None:
    await tx.execute(
        "UPDATE alarm SET ended_at = $3 WHERE business_id = $1 AND id = $2", PLATFORM_BUSINESS_ID, alarm_id, now
    )


async def list_to_post(tx: Tx, *, limit: int) -> list[KnownAlarm]:
    """Raised or ended since they were last posted."""
    rows = await tx.fetch(
        """
        SELECT * FROM alarm
         WHERE business_id = $1 AND (posted_at IS NULL OR (ended_at IS NOT NULL AND NOT is_end_posted))
         ORDER BY id LIMIT $2
        """,
        PLATFORM_BUSINESS_ID, limit,
    )  # fmt: skip
    return [_known(row) for row in rows]


async def mark_posted(tx: Tx, alarm: KnownAlarm, *, now: datetime) -> None:
    await tx.execute(
        "UPDATE alarm SET posted_at = $3, is_end_posted = $4 WHERE business_id = $1 AND id = $2",
        PLATFORM_BUSINESS_ID, alarm.id, now, alarm.ended_at is not None,
    )  # fmt: skip


async def list_recipients(tx: Tx) -> list[str]:
    rows = await tx.fetch(
        """
        SELECT email FROM staff JOIN person ON person.id = staff.person_id
         WHERE staff.ended_at IS NULL AND staff.role IN ('operator', 'approver') ORDER BY email
        """
    )
    return [row["email"] for row in rows]


async def list_queues(tx: Tx) -> list[tuple[str, datetime]]:
    """What has waited longest, of each queue that the worker empties; by the time of each merchant, where a sandbox has
    moved it."""
    row = await tx.fetchrow(
        """
        SELECT least((SELECT min(created_at) FROM event WHERE NOT is_fanned_out),
                     (SELECT min(created_at - ahead) FROM business_clock JOIN event USING (business_id)
                       WHERE NOT is_fanned_out)) AS webhooks,
               least((SELECT min(next_try_at) FROM money_return WHERE next_try_at IS NOT NULL),
                     (SELECT min(next_try_at - ahead) FROM business_clock JOIN money_return USING (business_id)
                       WHERE next_try_at IS NOT NULL)) AS returns,
               least((SELECT min(next_poll_at) FROM attempt WHERE next_poll_at IS NOT NULL),
                     (SELECT min(next_poll_at - ahead) FROM business_clock JOIN attempt USING (business_id)
                       WHERE next_poll_at IS NOT NULL)) AS payments,
               least((SELECT min(next_poll_at) FROM refund_leg WHERE next_poll_at IS NOT NULL),
                     (SELECT min(next_poll_at - ahead) FROM business_clock JOIN refund_leg USING (business_id)
                       WHERE next_poll_at IS NOT NULL)) AS refunds
        """
    )
    assert row is not None
    names = {
        "webhooks": "Webhooks to fan out", "returns": "Returns to send", "payments": "Payments to ask about",
        "refunds": "Refunds to ask about",
    }  # fmt: skip
    return [(words, row[name]) for name, words in names.items() if row[name] is not None]


async def count_parked(tx: Tx) -> int:
    return int(await tx.fetchval("SELECT count(*) FROM leased_work WHERE parked_at IS NOT NULL"))


async def find_first_journal(tx: Tx) -> datetime | None:
    found: datetime | None = await tx.fetchval(
        """
        SELECT min(first_journal_at(id)) FROM business
        """
    )
    return found


async def list_cards(tx: Tx, *, since: datetime) -> list[CardHour]:
    rows = await tx.fetch(
        """
        SELECT business_id, business, count(*) FILTER (WHERE is_paid) AS succeeded,
               count(*) FILTER (WHERE is_declined AND NOT is_paid) AS declined
          FROM (SELECT business.id AS business_id, business.name AS business,
                       bool_or(attempt.status = 'succeeded') AS is_paid,
                       bool_or(attempt.status = 'failed') AS is_declined
                  FROM business
                 CROSS JOIN LATERAL recent_attempts(business.id, time_of(business.id, $1), $2) AS attempt
                 WHERE attempt.method = 'card' GROUP BY business.id, business.name, attempt.payment_id) AS payment
         GROUP BY business_id, business
        """,
        since, LOOKED_AT_MAX,
    )  # fmt: skip
    return [CardHour(**row) for row in rows]


async def list_lifted(tx: Tx) -> frozenset[str]:
    """Merchants whose cards an open alarm has paused, and who take cards again: one of the staff has lifted it."""
    rows = await tx.fetch(
        """
        SELECT business.id FROM business JOIN alarm ON alarm.subject = business.id
         WHERE alarm.business_id = $1 AND alarm.rule = $2 AND alarm.ended_at IS NULL AND business.takes_cards
        """,
        PLATFORM_BUSINESS_ID, CARDS_DECLINED,
    )  # fmt: skip
    return frozenset(row["id"] for row in rows)


async def list_owed(tx: Tx) -> list[tuple[str, str, str]]:
    rows = await tx.fetch(
        """
        SELECT owed.business_id, business.name, owed.currency, sum(owed.minor) AS minor FROM (
            SELECT business_id, currency, owed_minor AS minor FROM payment WHERE owed_minor > 0
             UNION ALL
            SELECT business_id, destination_currency, owed_minor FROM collection WHERE owed_minor > 0) AS owed
          JOIN business ON business.id = owed.business_id
         GROUP BY owed.business_id, business.name, owed.currency ORDER BY owed.business_id, owed.currency LIMIT $1
        """,
        OWING_MAX,
    )
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        amount = Money(int(row["minor"]), Currency(row["currency"]))
        found.setdefault((row["business_id"], row["name"]), []).append(str(amount))
    return [(business_id, name, ", ".join(amounts)) for (business_id, name), amounts in found.items()]


def _known(row: Row) -> KnownAlarm:
    return KnownAlarm(*(row[name] for name in KnownAlarm._fields))
