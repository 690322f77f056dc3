"""SQL of the figures on Home: the roll-up, the journals after it, and what needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.payment.row import PaymentRow
from tidegate.payment.variance import Variance

# What needs attention is counted up to so many of each kind.
LOOKED_AT_MAX = 100


class TakingsRow(msgspec.Struct, frozen=True):
    span: int
    currency: Currency
    method: str
    payments: int
    received: Money
    fee: Money
    settled: Money


class UnusualFacts(msgspec.Struct, frozen=True):
    """Paid with too much, or with too little, and not refunded since."""

    variance: Variance
    number: int
    newest: list[PaymentRow]


class FailingEndpoint(msgspec.Struct, frozen=True):
    id: str
    url: str
    # Events that wait for it.
    waiting: int


class AttentionFacts(msgspec.Struct, frozen=True):
    # Accounts with a question of the operator that waits for an answer.
    asked_accounts: list[str]
    held_inflows: int
    returned_inflows: int
    failed_refunds: int
    open_approvals: int
    failing_endpoints: list[FailingEndpoint]
    # Their names and last four.
    ending_keys: list[str]


class WalletFigure(NamedTuple):
    balance: Money
    locked: Money


class HomeFacts(NamedTuple):
    takings: list[TakingsRow]
    # How many of today ended without money, by currency and method.
    unpaid: dict[tuple[Currency, str], int]
    newest: list[PaymentRow]
    unusual: list[UnusualFacts]
    attention: AttentionFacts
    wallets: list[WalletFigure]


class HomeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What Home shows of a business."""

    business_id: str
    # Of the spans of takings, such as midnights.
    bounds: Sequence[datetime]
    today: datetime
    now: datetime
    newest: int
    # Of each kind.
    unusual: int
    # Of what was unusual, sent back or failed.
    since: datetime


async def get_home(tx: Tx, query: HomeQuery) -> HomeFacts:
    """All of it in one round trip."""
    found = _decode(
        await tx.fetchval(
            _HOME,
            query.business_id,
            list(query.bounds),
            query.today,
            query.now,
            query.newest,
            query.unusual,
            LOOKED_AT_MAX,
            query.since,
        )
    )
    return HomeFacts(
        [_takings_row(row) for row in found.takings],
        {(currency, method): ended for currency, method, ended in found.unpaid},
        found.newest,
        found.unusual,
        found.attention,
        [WalletFigure(Money(balance, code), Money(locked, code)) for code, balance, locked in found.wallets],
    )


# As takings_between gives it.
_Span = tuple[int, Currency, str, int, int, int, int]


class _Found(msgspec.Struct, frozen=True):
    takings: list[_Span]
    unpaid: list[tuple[Currency, str, int]]
    newest: list[PaymentRow]
    unusual: list[UnusualFacts]
    attention: AttentionFacts
    wallets: list[tuple[Currency, int, int]]


_decode = msgspec.json.Decoder(_Found).decode
_HOME = """
    SELECT json_build_object(
        'takings', (SELECT coalesce(json_agg(json_build_array(span, currency, method, payments, received_minor,
                           fee_minor, settled_minor) ORDER BY currency, received_minor DESC), '[]')
                      FROM takings_between($1, $2)),
        'unpaid', (SELECT coalesce(json_agg(json_build_array(currency, default_method, ended)), '[]')
                     FROM (SELECT currency, default_method, count(*) AS ended FROM payment
                            WHERE business_id = $1 AND created_at >= $3 AND status IN ('failed', 'expired')
                            GROUP BY currency, default_method) AS unpaid),
        'newest', (SELECT coalesce(json_agg(row ORDER BY id DESC), '[]')
                     FROM (SELECT payment_row(payment) AS row, id FROM payment
                            WHERE business_id = $1 ORDER BY id DESC LIMIT $5) AS newest),
        'unusual', (SELECT json_agg(json_build_object('variance', kind, 'number', number, 'newest', newest))
                      FROM unnest('{overpayment,underpayment}'::text[]) AS kind, LATERAL (
                           SELECT count(*) AS number,
                                  coalesce(json_agg(row ORDER BY place) FILTER (WHERE row IS NOT NULL), '[]') AS newest
                             FROM (SELECT place, CASE WHEN place <= $6 THEN payment_row(payment) END AS row
                                     FROM (SELECT payment, row_number() OVER (ORDER BY created_at DESC) AS place
                                             FROM payment
                                            WHERE business_id = $1 AND variance = kind AND created_at >= $8
                                              AND variance IS NOT NULL AND status = 'success'
                                              AND refunded_minor < greatest(received_minor - expected_minor, 1)
                                            ORDER BY created_at DESC LIMIT $7) AS recent) AS placed) AS counted),
        'wallets', (SELECT coalesce(json_agg(json_build_array(currency, balance_minor, locked_minor)
                           ORDER BY currency), '[]') FROM wallet WHERE business_id = $1),
        'attention', json_build_object(
            'asked_accounts', ARRAY(SELECT asked.account_id FROM account_question AS asked
                  JOIN virtual_account AS account
                    ON account.business_id = $1 AND account.id = asked.account_id AND account.status = 'pending'
                WHERE asked.business_id = $1 AND asked.answer IS NULL AND asked.taken_back_at IS NULL LIMIT $7),
            'held_inflows', (SELECT count(*) FROM (
                SELECT FROM collection WHERE business_id = $1 AND status = 'pending' LIMIT $7) AS held),
            'returned_inflows', (SELECT count(*) FROM (
                SELECT FROM collection WHERE business_id = $1 AND return_asked_at >= $8 LIMIT $7) AS returned),
            'failed_refunds', (SELECT count(*) FROM (
                SELECT FROM refund WHERE business_id = $1 AND status = 'failed' AND completed_at >= $8
                 LIMIT $7) AS failed),
            'open_approvals', (SELECT count(*) FROM (
                SELECT FROM approval WHERE business_id = $1 AND realm = 'dashboard' AND status = 'open'
                   AND expires_at > $4 LIMIT $7) AS open),
            'failing_endpoints', (SELECT coalesce(json_agg(json_build_object('id', id, 'url', url, 'waiting', (
                    SELECT count(*) FROM (
                        SELECT FROM webhook_delivery AS delivery
                         WHERE delivery.business_id = $1 AND delivery.endpoint_id = failing.id
                           AND delivery.due_at IS NOT NULL LIMIT $7) AS waiting))), '[]')
                FROM (SELECT endpoint.id, url FROM endpoint_state JOIN webhook_endpoint AS endpoint
                          ON endpoint.business_id = $1 AND endpoint.id = endpoint_state.endpoint_id
                       WHERE endpoint_state.business_id = $1 AND failing_since IS NOT NULL
                         AND endpoint.deleted_at IS NULL AND endpoint.status = 'enabled' LIMIT $7) AS failing),
            'ending_keys', ARRAY(SELECT coalesce(name, '') || ' ··' || last_four FROM credential
                WHERE business_id = $1 AND revoked_at IS NULL AND expires_at > $4
                  AND expires_at < $4::timestamptz + interval '7 days' ORDER BY expires_at LIMIT $7)))
"""


async def count_waiting(tx: Tx, business_id: str, *, now: datetime) -> tuple[int, int, int]:
    """Held inflows, refunds to approve, and events on their way to an endpoint that fails; each up to LOOKED_AT_MAX."""
    row = await tx.fetchrow(
        """
        SELECT (SELECT count(*) FROM (
                    SELECT FROM collection WHERE business_id = $1 AND status = 'pending' LIMIT $3) AS held) AS held,
               (SELECT count(*) FROM (
                    SELECT FROM approval WHERE business_id = $1 AND realm = 'dashboard' AND status = 'open'
                       AND expires_at > $2 LIMIT $3) AS open) AS to_approve,
               (SELECT count(*) FROM (
                    SELECT FROM endpoint_state AS state
                      JOIN webhook_endpoint AS endpoint
                        ON endpoint.business_id = $1 AND endpoint.id = state.endpoint_id
                       AND endpoint.deleted_at IS NULL AND endpoint.status = 'enabled'
                      JOIN webhook_delivery AS delivery
                        ON delivery.business_id = $1 AND delivery.endpoint_id = endpoint.id
                       AND delivery.due_at IS NOT NULL
                     WHERE state.business_id = $1 AND state.failing_since IS NOT NULL LIMIT $3) AS events) AS events
        """,
        business_id, now, LOOKED_AT_MAX,
    )  # fmt: skip
    assert row is not None
    return row["held"], row["to_approve"], row["events"]


async def list_takings(tx: Tx, business_id: str, bounds: Sequence[datetime]) -> list[TakingsRow]:
    """Between consecutive bounds: the roll-up, and what was booked after it. The first span is 1."""
    rows = await tx.fetch(
        "SELECT * FROM takings_between($1, $2) ORDER BY currency, received_minor DESC", business_id, list(bounds)
    )
    return [_takings_row((row["span"], Currency(row["currency"]), *tuple(row)[2:])) for row in rows]


def _takings_row(span: _Span) -> TakingsRow:
    number, currency, method, payments, *minors = span
    received, fee, settled = (Money(minor, currency) for minor in minors)
    return TakingsRow(number, currency, method, payments, received, fee, settled)


class TakingsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which bookings of payments."""

    business_id: str
    currency: Currency
    method: str | None
    start: datetime
    end: datetime


class TakenLine(NamedTuple):
    """A payment as it was booked."""

    journal_id: int
    at: datetime
    pay_code: str
    reference: str
    method: str
    received: Money
    fee: Money
    settled: Money


async def list_taken(tx: Tx, query: TakingsQuery, *, before_id: int | None, limit: int) -> list[TakenLine]:
    """The newest booking first."""
    rows = await tx.fetch(
        """
        SELECT journal.id, journal.created_at, payment.pay_code, payment.reference, payment.method,
               payment.received_minor, payment.fee_minor + payment.vat_minor AS fee_minor, payment.settled_minor
          FROM entry
          JOIN journal ON journal.business_id = $1 AND journal.id = entry.journal_id
               AND journal.kind = 'checkout_settled'
          JOIN payment ON payment.business_id = $1 AND payment.id = payment_of(journal.cause)
         WHERE entry.business_id = $1 AND entry.account = 'wallet' AND entry.currency = $2
           AND entry.journal_id >= first_wallet_journal($1, $2, $4)
           AND entry.journal_id < least(first_wallet_journal($1, $2, $5), $6)
           AND ($3::text IS NULL OR payment.method = $3)
         ORDER BY entry.journal_id DESC LIMIT $7
        """,
        query.business_id, query.currency, query.method, query.start, query.end, before_id, limit,
    )  # fmt: skip
    currency = query.currency
    return [
        TakenLine(
            row["id"], row["created_at"], row["pay_code"], row["reference"], row["method"],
            Money(row["received_minor"], currency), Money(row["fee_minor"], currency),
            Money(row["settled_minor"], currency),
        )
        for row in rows
    ]  # fmt: skip


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


# Up to the first journal that is too young: what the watermark has passed is never added. Young by its number, which is
# of the database's clock, whatever clock a machine has or a sandbox moves.
_ROLL_UP = """
    WITH next AS (
        SELECT journal.id, journal.kind, journal.cause, journal.created_at
          FROM journal
         WHERE journal.business_id = $1 AND journal.id > $4 AND journal.id < journal_number($2)
         ORDER BY journal.id LIMIT $3),
    summed AS (
        SELECT date_trunc('hour', next.created_at) AS hour, payment.currency, payment.method, count(*) AS payments,
               sum(received_minor) AS received_minor, sum(fee_minor + vat_minor) AS fee_minor,
               sum(settled_minor) AS settled_minor
          FROM next
          JOIN payment ON payment.business_id = $1 AND payment.id = payment_of(next.cause)
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


async def database_time(tx: Tx) -> datetime:
    moment: datetime = await tx.fetchval("SELECT clock_timestamp()")
    return moment


async def list_behind(tx: Tx, *, before: datetime, limit: int) -> list[str]:
    """Businesses with journals that are not rolled up."""
    rows = await tx.fetch(
        """
        SELECT id FROM business WHERE are_takings_behind(id, $1) LIMIT $2
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
                          AND payment.id = payment_of(journal.cause)
             WHERE journal.kind = 'checkout_settled' GROUP BY 1, 2, 3, 4)
        SELECT coalesce(counted.business_id, takings.business_id) AS business_id
          FROM counted FULL JOIN takings USING (business_id, hour, currency, method)
         WHERE (counted.payments, counted.received_minor) IS DISTINCT FROM (takings.payments, takings.received_minor)
         LIMIT 20
        """
    )
    return [row["business_id"] for row in rows]
