"""SQL of refunds, rates and takings, as the operator sees them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx


class StuckSubject(NamedTuple):
    """What is to be given back: a payment, an inflow, or neither where it was in suspense."""

    business: str
    pay_code: str | None
    inflow: str | None
    name: str | None
    payer: str | None
    # Of the last time that the rail was asked, where it failed.
    last_answer: str | None


class StuckRefund(NamedTuple):
    business_id: str
    # Of the refund, and of the part that goes by one rail.
    refund: str
    reference: str
    rail: str
    amount: Money
    polls: int
    next_poll_at: datetime
    began_at: datetime
    subject: StuckSubject


async def list_refunds(tx: Tx, *, before: datetime, limit: int) -> list[StuckRefund]:
    """Begun before then, by the time of each merchant."""
    rows = await tx.fetch(
        """
        SELECT leg.business_id, refund.reference AS refund, leg.reference, leg.rail, leg.currency, leg.amount_minor,
               leg.polls, leg.next_poll_at, refund.initiated_at AS began_at, business.name AS business,
               payment.pay_code, collection.reference AS inflow, payment.reference AS name,
               coalesce(payment.customer_name, collection.payer ->> 'name') AS payer, work.last_error AS last_answer
          FROM refund_leg AS leg
          JOIN refund ON refund.business_id = leg.business_id AND refund.id = leg.refund_id
          JOIN business ON business.id = leg.business_id
          LEFT JOIN payment ON payment.business_id = leg.business_id AND payment.id = refund.payment_id
          LEFT JOIN collection ON collection.business_id = leg.business_id AND collection.id = refund.collection_id
          LEFT JOIN leased_work AS work
            ON work.business_id = leg.business_id AND work.kind = 'poll_refunds' AND work.id = leg.reference
         WHERE leg.next_poll_at IS NOT NULL AND is_due(leg.business_id, refund.initiated_at, $1)
         ORDER BY refund.initiated_at LIMIT $2
        """,
        before, limit,
    )  # fmt: skip
    return [
        StuckRefund(
            row["business_id"], row["refund"], row["reference"], row["rail"], _money(row), row["polls"],
            row["next_poll_at"], row["began_at"], _subject(row),
        )
        for row in rows
    ]  # fmt: skip


async def list_of_returns(tx: Tx, references: Sequence[str]) -> dict[str, StuckSubject]:
    """What each of these returns is of, by their references."""
    rows = await tx.fetch(
        """
        SELECT going_back.reference, business.name AS business, payment.pay_code, collection.reference AS inflow,
               payment.reference AS name, coalesce(payment.customer_name, collection.payer ->> 'name') AS payer,
               work.last_error AS last_answer
          FROM money_return AS going_back
          JOIN business ON business.id = going_back.business_id
          LEFT JOIN payment ON payment.business_id = going_back.business_id AND payment.id = going_back.payment_id
          LEFT JOIN collection
            ON collection.business_id = going_back.business_id AND collection.id = going_back.collection_id
          LEFT JOIN leased_work AS work
            ON work.business_id = going_back.business_id AND work.kind = 'send_returns'
               AND work.id = going_back.reference
         WHERE (going_back.status = 'failed' OR going_back.next_try_at IS NOT NULL)
           AND going_back.reference = ANY ($1)
        """,
        references,
    )
    return {row["reference"]: _subject(row) for row in rows}


def _subject(row: Row) -> StuckSubject:
    return StuckSubject(*(row[name] for name in StuckSubject._fields))


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


async def list_hours(tx: Tx, *, since: datetime, hours: int) -> list[int]:
    """Payments of all merchants in each hour, the oldest first, from the roll-up. By the time of each merchant, where a
    sandbox has moved it."""
    rows = await tx.fetch(
        """
        SELECT floor(extract(epoch FROM hour - coalesce(ahead, '0') - $1) / 3600)::integer AS at,
               sum(payments)::bigint AS payments
          FROM takings LEFT JOIN business_clock USING (business_id)
         WHERE hour >= $1 AND hour - coalesce(ahead, '0') >= $1 GROUP BY 1
        """,
        since,
    )
    found = [0] * hours
    for row in rows:
        if 0 <= row["at"] < hours:
            found[row["at"]] = row["payments"]
    return found


class CurrencyTaken(NamedTuple):
    currency: Currency
    # The oldest first; the last is today.
    days: list[int]
    payments: int


async def list_taken(tx: Tx, *, since: datetime, days: int) -> list[CurrencyTaken]:
    """Of all merchants, by days of 24 hours up to now, from the roll-up. By the time of each merchant, where a sandbox
    has moved it."""
    rows = await tx.fetch(
        """
        SELECT currency, floor(extract(epoch FROM hour - coalesce(ahead, '0') - $1) / 86400)::integer AS day,
               sum(received_minor) AS minor, sum(payments) AS payments
          FROM takings LEFT JOIN business_clock USING (business_id)
         WHERE hour >= $1 AND hour - coalesce(ahead, '0') >= $1 GROUP BY 1, 2 ORDER BY 1, 2
        """,
        since,
    )
    found: dict[str, tuple[list[int], list[int]]] = {}
    for row in rows:
        minors, counts = found.setdefault(row["currency"], ([0] * days, [0] * days))
        if 0 <= row["day"] < days:
            minors[row["day"]], counts[row["day"]] = int(row["minor"]), int(row["payments"])
    return [CurrencyTaken(Currency(currency), minors, counts[-1]) for currency, (minors, counts) in found.items()]


async def count_unpaid(tx: Tx, *, since: datetime) -> dict[Currency, int]:
    """Payments that were made since then and ended without money, of all merchants; by the time of each, where a
    sandbox has moved it. Of each from the index of those alone."""
    rows = await tx.fetch(
        """
        SELECT payment.currency, count(*) AS payments
          FROM business
          JOIN payment ON payment.business_id = business.id AND payment.status IN ('failed', 'expired')
           AND payment.created_at >= time_of(business.id, $1)
         GROUP BY payment.currency
        """,
        since,
    )
    return {Currency(row["currency"]): row["payments"] for row in rows}


class MerchantTaken(NamedTuple):
    business_id: str
    name: str
    taken: Money
    payments: int


async def list_taken_by_merchant(tx: Tx, currency: Currency, *, since: datetime, limit: int) -> list[MerchantTaken]:
    """Who makes what `list_taken` says of one currency, the largest first."""
    rows = await tx.fetch(
        """
        SELECT takings.business_id, business.name, sum(received_minor)::bigint AS minor,
               sum(payments)::bigint AS payments
          FROM takings
          JOIN business ON business.id = takings.business_id
          LEFT JOIN business_clock AS clock ON clock.business_id = takings.business_id
         WHERE currency = $1 AND hour >= $2 AND hour - coalesce(ahead, '0') >= $2
         GROUP BY takings.business_id, business.name ORDER BY minor DESC, business.name, takings.business_id LIMIT $3
        """,
        currency, since, limit,
    )  # fmt: skip
    return [
        MerchantTaken(row["business_id"], row["name"], Money(row["minor"], currency), row["payments"]) for row in rows
    ]


def _money(row: Row) -> Money:
    return Money(row["amount_minor"], Currency(row["currency"]))
