"""SQL of lists of payments. Each page costs the same, however many payments the business has."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

import msgspec

from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.infra.db import Tx, naming
from tidegate.payment.model import PaymentStatus
from tidegate.payment.row import PaymentRow, row_of
from tidegate.payment.variance import Variance

# A range with more payments is not collected and sorted: the list is then read in its own order, and filtered.
_SORTED_MAX = 2_000
_START, _END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
# Above every character that a reference may have.
_PAST_ALL = "\x7f"
# As payment_fits takes it.
_ANY_VARIANCE = "any"
# What the index on combinations has.
_OF_COMBINATION = {"status", "currency", "method", "variance", "is_unusual", "start", "end"}
# What has an index of its own, by the way of count_payments.
_ALONE = {"reference_prefix": "reference", "name_prefix": "name", "either_prefix": "reference or name"}


class PaymentFilter(msgspec.Struct, frozen=True, kw_only=True):
    """None does not filter. `start` is included, `end` is not. Amounts are of `expected`, in major units: without a
    currency they are compared in each payment's own."""

    status: PaymentStatus | None = None
    variance: Variance | None = None
    # With any variance.
    is_unusual: bool = False
    # The one it was paid by.
    method: Method | None = None
    currency: Currency | None = None
    email: str | None = None
    reference_prefix: str | None = None
    # In any letter case.
    name_prefix: str | None = None
    # The reference or the name begins so; a reference in its own letter case.
    either_prefix: str | None = None
    least_major: Decimal | None = None
    most_major: Decimal | None = None
    link_id: str | None = None
    # Paid, and nothing of it refunded.
    is_unrefunded: bool = False
    start: datetime | None = None
    end: datetime | None = None


class ListPosition(NamedTuple):
    """Where a page ended. Lists are in the order of this pair, the newest first."""

    created_at: datetime
    id: int

    @classmethod
    def of(cls, row: PaymentRow) -> ListPosition:
        return cls(row.created_at, row.id)


class ListTookTooLong(Exception):
    """The statement reached its time limit."""


async def find_position(tx: Tx, business_id: str, payment_id: int) -> ListPosition | None:
    row = await tx.fetchrow(
        "SELECT created_at, id FROM payment WHERE business_id = $1 AND id = $2", business_id, payment_id
    )
    return ListPosition(row["created_at"], row["id"]) if row else None


class FoundPayments(NamedTuple):
    rows: list[PaymentRow]
    # Exact up to the limit; more are not counted.
    number: int


async def list_page(
    tx: Tx, business_id: str, wanted: PaymentFilter, *, before: ListPosition | None, limit: int
) -> list[PaymentRow]:
    """The newest first."""
    with naming({"57014": ListTookTooLong}):
        rows = await tx.fetch(_PAGE, *_arguments(_way(wanted), business_id, wanted, before, limit))
    return [row_of(row["row"]) for row in rows]


async def list_counted(
    tx: Tx, business_id: str, wanted: PaymentFilter, *, before: ListPosition | None, limit: int, count_max: int
) -> FoundPayments:
    """A page, and how many there are, in one round trip."""
    arguments = _arguments(_way(wanted), business_id, wanted, before, limit)
    with naming({"57014": ListTookTooLong}):
        row = await tx.fetchrow(
            _COUNTED, *arguments, _way_alone(wanted), wanted.end or _END, _way_in_any_order(wanted), count_max
        )
    assert row is not None
    return FoundPayments([row_of(one) for one in row["rows"]], row["number"])


async def count(tx: Tx, business_id: str, wanted: PaymentFilter, *, limit: int) -> int:
    """Exact up to the limit; more are not counted."""
    with naming({"57014": ListTookTooLong}):
        arguments = _arguments(_way_in_any_order(wanted), business_id, wanted, None, limit)
        found: int = await tx.fetchval(_NUMBER, *arguments, _way_alone(wanted), wanted.end or _END)
    return found


# Looks first whether there are few of what is asked for: these are then found by their own index, and sorted.
_PAGE = """
      WITH few AS MATERIALIZED (
           SELECT CASE WHEN $20 THEN few_payments_way($2, $12, $13, $14, $15, $16, $21) END AS way)
    SELECT payment_row(payment) AS row
      FROM few CROSS JOIN LATERAL list_payments(coalesce(few.way, $1), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
                                                $13, $14, $15, $16, $17, $18, $19)
                                  WITH ORDINALITY AS found (id, place)
      JOIN payment ON payment.business_id = $2 AND payment.id = found.id
     ORDER BY found.place
"""
_NUMBER = """
      WITH few AS MATERIALIZED (
           SELECT CASE WHEN $20 THEN few_payments_way($2, $12, $13, $14, $15, $16, $21) END AS way)
    SELECT CASE WHEN $22::text IS NOT NULL THEN count_payments($22, $2, $6, $3, $23, $12, $13, $14, $16, $18)
           ELSE (SELECT count(*)
              FROM few CROSS JOIN LATERAL list_payments(coalesce(few.way, $1), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                                                        $12, $13, $14, $15, $16, $17, $18, $19))
           END
"""
_COUNTED = """
      WITH few AS MATERIALIZED (
           SELECT CASE WHEN $20 THEN few_payments_way($2, $12, $13, $14, $15, $16, $21) END AS way),
           page AS MATERIALIZED (
           SELECT payment_row(payment) AS row, found.place
             FROM few CROSS JOIN LATERAL list_payments(coalesce(few.way, $1), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                                                       $12, $13, $14, $15, $16, $17, $18, $19)
                                         WITH ORDINALITY AS found (id, place)
             JOIN payment ON payment.business_id = $2 AND payment.id = found.id)
    SELECT ARRAY(SELECT row FROM page ORDER BY place) AS rows,
           CASE WHEN $22::text IS NOT NULL THEN count_payments($22, $2, $25, $3, $23, $12, $13, $14, $16, $18)
           ELSE (SELECT count(*)
              FROM few CROSS JOIN LATERAL list_payments(coalesce(few.way, $24), $2, $3, $23, 0, $25, $7, $8, $9, $10,
                                                        $11, $12, $13, $14, $15, $16, $17, $18, $19))
           END AS number
"""


def _way(wanted: PaymentFilter) -> str:
    """The index that finds few rows without reading all, where no prefix and no amount does."""
    if wanted.email is not None:
        return "email"
    if wanted.link_id is not None:
        return "link"
    chosen = (wanted.status, wanted.variance, wanted.method, wanted.currency)
    is_chosen = wanted.is_unusual or wanted.is_unrefunded or chosen != (None, None, None, None)
    return "combination" if is_chosen else "time"


def _way_in_any_order(wanted: PaymentFilter) -> str:
    """For counting."""
    way = _way(wanted)
    if way in ("time", "combination") and wanted.name_prefix is not None:
        return "name, in any order"
    return "combination, in any order" if way == "combination" else way


def _way_alone(wanted: PaymentFilter) -> str | None:
    """For counting from an index alone, where what it has is all that is asked for."""
    asked = {name for name, value in msgspec.structs.asdict(wanted).items() if value is not None and value is not False}
    if asked <= {"start", "end"}:
        return "time"
    if asked <= _OF_COMBINATION:
        return "combination"
    if asked & {"least_major", "most_major"}:
        return "amount" if asked <= {"least_major", "most_major", "currency"} else None
    return _ALONE.get(next(iter(asked))) if len(asked) == 1 else None


def _amounts(wanted: PaymentFilter) -> str | None:
    """The least and the most in minor units, by currency."""
    if wanted.least_major is None and wanted.most_major is None:
        return None
    currencies = [wanted.currency] if wanted.currency else list(Currency)
    return msgspec.json.encode({currency: _bounds(wanted, currency) for currency in currencies}).decode()


def _bounds(wanted: PaymentFilter, currency: Currency) -> tuple[int, int]:
    """Between two amounts that a currency has: what is finer than it is rounded inwards."""
    least, most = wanted.least_major or Decimal(0), wanted.most_major
    lower = (least * currency.minor_per_major).to_integral_value(ROUND_CEILING)
    if most is None:
        return int(lower), 2**63 - 1
    return int(lower), int((most * currency.minor_per_major).to_integral_value(ROUND_FLOOR))


def _arguments(
    way: str, business_id: str, wanted: PaymentFilter, before: ListPosition | None, limit: int
) -> tuple[Any, ...]:
    # No id is 0, so this is the position just before everything that was created at the end or later.
    end = ListPosition(wanted.end or _END, 0)
    prefix, name = (one or wanted.either_prefix or "" for one in (wanted.reference_prefix, wanted.name_prefix))
    return (
        way, business_id, wanted.start or _START, *min(end, before or end), limit, wanted.status,
        _ANY_VARIANCE if wanted.is_unusual else wanted.variance,
        wanted.method, wanted.currency, wanted.email, prefix, prefix + _PAST_ALL, name,
        wanted.either_prefix is not None, _amounts(wanted), wanted.link_id, _combinations(wanted),
        wanted.is_unrefunded, way not in ("email", "link"), _SORTED_MAX,
    )  # fmt: skip


def _combinations(wanted: PaymentFilter) -> str:
    """All values that status, currency, method and variance can have together: the index on them is looked into once
    for each. Only what is paid has a method, or a variance. Those without a variance come first: they lie together, so
    that up to a limit they are counted sooner."""
    statuses = [PaymentStatus.SUCCESS] if wanted.is_unrefunded else list(PaymentStatus)
    currencies = [wanted.currency] if wanted.currency else list(Currency)
    found = [
        {"status": status, "currency": currency, "method": method, "variance": variance}
        for status in statuses
        for currency in currencies
        for method in (currency.spec.methods if status is PaymentStatus.SUCCESS else ("",))
        for variance in (("", *Variance) if status is PaymentStatus.SUCCESS else ("",))
        if wanted.status in (None, status)
        and wanted.method in (None, method)
        and wanted.variance in (None, variance)
        and (variance or not wanted.is_unusual)
    ]
    return msgspec.json.encode(found).decode()
