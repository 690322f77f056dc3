"""SQL of what rails, returns, refunds and webhook endpoints do, as the operator sees it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx

# Payments of the last hour that are looked at, of each business.
LOOKED_AT_MAX = 20_000


class RailHour(NamedTuple):
    rail: str
    currency: str
    succeeded: int
    failed: int
    open: int


async def list_rail_hours(tx: Tx, *, since: datetime) -> list[RailHour]:
    """What became of the attempts of payments that were made since then."""
    rows = await tx.fetch(
        """
        SELECT attempt.rail, recent.currency,
               count(*) FILTER (WHERE attempt.status = 'succeeded') AS succeeded,
               count(*) FILTER (WHERE attempt.status = 'failed') AS failed,
               count(*) FILTER (WHERE attempt.status IN ('starting', 'waiting', 'running')) AS open
          FROM business
         CROSS JOIN LATERAL (SELECT id, currency FROM payment
                              WHERE business_id = business.id AND created_at >= $1
                              ORDER BY created_at DESC, id DESC LIMIT $2) AS recent
          JOIN attempt ON attempt.business_id = business.id AND attempt.payment_id = recent.id
         GROUP BY attempt.rail, recent.currency ORDER BY attempt.rail, recent.currency
        """,
        since, LOOKED_AT_MAX,
    )  # fmt: skip
    return [RailHour(**row) for row in rows]


class StuckReturn(NamedTuple):
    business_id: str
    reference: str
    rail: str
    amount: Money
    status: str
    failure: str | None
    asked_at: datetime


async def list_returns(tx: Tx, *, before: datetime, limit: int) -> list[StuckReturn]:
    """Failed, or without an end since long."""
    rows = await tx.fetch(
        """
        SELECT business_id, reference, rail, currency, amount_minor, status, failure, asked_at FROM money_return
         WHERE status = 'failed' OR (next_try_at IS NOT NULL AND asked_at < $1) ORDER BY asked_at LIMIT $2
        """,
        before, limit,
    )  # fmt: skip
    return [
        StuckReturn(
            row["business_id"], row["reference"], row["rail"], _money(row), row["status"], row["failure"],
            row["asked_at"],
        )
        for row in rows
    ]  # fmt: skip


class StuckRefund(NamedTuple):
    business_id: str
    # Of the refund, and of the part that goes by one rail.
    refund: str
    reference: str
    rail: str
    amount: Money
    asks: int
    next_poll_at: datetime
    began_at: datetime


async def list_refunds(tx: Tx, *, before: datetime, limit: int) -> list[StuckRefund]:
    rows = await tx.fetch(
        """
        SELECT leg.business_id, refund.reference AS refund, leg.reference, leg.rail, leg.currency, leg.amount_minor,
               leg.asks, leg.next_poll_at, refund.initiated_at AS began_at
          FROM refund_leg AS leg
          JOIN refund ON refund.business_id = leg.business_id AND refund.id = leg.refund_id
         WHERE leg.next_poll_at IS NOT NULL AND refund.initiated_at < $1 ORDER BY refund.initiated_at LIMIT $2
        """,
        before, limit,
    )  # fmt: skip
    return [
        StuckRefund(
            row["business_id"], row["refund"], row["reference"], row["rail"], _money(row), row["asks"],
            row["next_poll_at"], row["began_at"],
        )
        for row in rows
    ]  # fmt: skip


class EndpointHealth(NamedTuple):
    business_id: str
    business: str
    endpoint_id: str
    url: str
    status: str
    failing_since: datetime | None
    failures: int
    waiting: int
    oldest: datetime | None


async def list_endpoints(tx: Tx, *, limit: int) -> list[EndpointHealth]:
    """The worst first. What waits is counted up to a thousand."""
    rows = await tx.fetch(
        """
        SELECT endpoint.business_id, business.name AS business, endpoint.id AS endpoint_id, endpoint.url,
               endpoint.status, state.failing_since, state.failures, waiting.count AS waiting, waiting.oldest
          FROM webhook_endpoint AS endpoint
          JOIN business ON business.id = endpoint.business_id
          JOIN endpoint_state AS state
            ON state.business_id = endpoint.business_id AND state.endpoint_id = endpoint.id
         CROSS JOIN LATERAL (SELECT count(*), min(due_at) AS oldest FROM (
               SELECT due_at FROM webhook_delivery AS delivery
                WHERE delivery.business_id = endpoint.business_id AND delivery.endpoint_id = endpoint.id
                  AND due_at IS NOT NULL LIMIT 1000) AS due) AS waiting
         WHERE endpoint.deleted_at IS NULL
         ORDER BY state.failing_since NULLS LAST, waiting.count DESC, endpoint.business_id LIMIT $1
        """,
        limit,
    )
    return [EndpointHealth(**row) for row in rows]


class QuarantinedNotice(NamedTuple):
    rail: str
    id: str
    note: str | None
    received_at: datetime
    body: bytes | None


async def list_quarantined(tx: Tx, *, limit: int) -> list[QuarantinedNotice]:
    rows = await tx.fetch(
        """
        SELECT rail, id, note, received_at, substr(body, 1, 16000) AS body FROM notification
         WHERE state = 'quarantined' ORDER BY received_at LIMIT $1
        """,
        limit,
    )
    return [QuarantinedNotice(**row) for row in rows]


class RateRow(NamedTuple):
    base: str
    quote: str
    rate: str
    spread_basis_points: int
    source: str
    quoted_at: datetime


async def list_rates(tx: Tx, business_id: str, *, limit: int) -> list[RateRow]:
    """The history, the newest first."""
    rows = await tx.fetch(
        """
        SELECT base, quote, rate::text AS rate, spread_basis_points, source, quoted_at FROM exchange_rate
         WHERE business_id = $1 ORDER BY id DESC LIMIT $2
        """,
        business_id, limit,
    )  # fmt: skip
    return [RateRow(**row) for row in rows]


class CurrencyTaken(NamedTuple):
    currency: Currency
    # The oldest first; the last is today.
    days: list[int]
    payments: int


async def list_taken(tx: Tx, *, since: datetime, days: int) -> list[CurrencyTaken]:
    """Of all merchants, by days of 24 hours up to now, from the roll-up."""
    rows = await tx.fetch(
        """
        SELECT currency, floor(extract(epoch FROM hour - $1) / 86400)::integer AS day, sum(received_minor) AS minor,
               sum(payments) AS payments
          FROM takings WHERE hour >= $1 GROUP BY 1, 2 ORDER BY 1, 2
        """,
        since,
    )
    found: dict[str, tuple[list[int], list[int]]] = {}
    for row in rows:
        minors, counts = found.setdefault(row["currency"], ([0] * days, [0] * days))
        if 0 <= row["day"] < days:
            minors[row["day"]], counts[row["day"]] = int(row["minor"]), int(row["payments"])
    return [CurrencyTaken(Currency(currency), minors, counts[-1]) for currency, (minors, counts) in found.items()]


def _money(row: Row) -> Money:
    return Money(row["amount_minor"], Currency(row["currency"]))
