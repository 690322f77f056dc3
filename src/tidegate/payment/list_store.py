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


async def list_page(
    tx: Tx, business_id: str, wanted: PaymentFilter, *, index: str, before: ListPosition | None, limit: int
) -> list[PaymentRow]:
    """The newest first, by the index that `choose_index` has chosen."""
    with naming({"57014": ListTookTooLong}):
        rows = await tx.fetch(
            """
            SELECT payment_row(payment) AS row
              FROM list_payments($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
                   WITH ORDINALITY AS found (id, place)
              JOIN payment ON payment.business_id = $2 AND payment.id = found.id
             ORDER BY found.place
            """,
            *_arguments(index, business_id, wanted, before, limit),
        )
    return [row_of(row["row"]) for row in rows]


async def count(tx: Tx, business_id: str, wanted: PaymentFilter, *, index: str, limit: int) -> int:
    """Exact up to the limit; more are not counted."""
    if index in ("time", "combination") and wanted.name_prefix is not None:
        index = "name, in any order"
    elif index == "combination":
        index = "combination, in any order"
    with naming({"57014": ListTookTooLong}):
        found: int = await tx.fetchval(
            """
            SELECT count(*)
              FROM list_payments($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
            """,
            *_arguments(index, business_id, wanted, None, limit),
        )
    return found


async def choose_index(tx: Tx, business_id: str, wanted: PaymentFilter) -> str:
    """The index that finds few rows without reading all."""
    with naming({"57014": ListTookTooLong}):
        return await _choose_index(tx, business_id, wanted)


async def _choose_index(tx: Tx, business_id: str, wanted: PaymentFilter) -> str:
    if wanted.email is not None:
        return "email"
    if wanted.link_id is not None:
        return "link"
    few = await _get_few(tx, business_id, wanted)
    if (by_text := _index_by_text(few, is_either=wanted.either_prefix is not None)) is not None:
        return by_text
    if few.amounts:
        return "amount"
    chosen = (wanted.status, wanted.variance, wanted.method, wanted.currency)
    return "time" if chosen == (None, None, None, None) and not wanted.is_unusual else "combination"


class _Few(NamedTuple):
    """Whether something is asked for of which there are so few that they can be sorted."""

    references: bool
    names: bool
    amounts: bool


def _index_by_text(few: _Few, *, is_either: bool) -> str | None:
    """None where too many begin so."""
    if is_either:
        return "reference or name" if few.references and few.names else None
    if few.references:
        return "reference"
    return "name" if few.names else None


async def _get_few(tx: Tx, business_id: str, wanted: PaymentFilter) -> _Few:
    reference = wanted.reference_prefix or wanted.either_prefix
    name = wanted.name_prefix or wanted.either_prefix
    amounts = _amounts(wanted)
    if reference is name is amounts is None:
        return _Few(False, False, False)
    row = await tx.fetchrow(
        _COUNTS, business_id, reference, (reference or "") + _PAST_ALL, name, amounts, _SORTED_MAX + 1
    )
    assert row is not None
    return _Few(
        reference is not None and row["referenced"] <= _SORTED_MAX,
        name is not None and row["named"] <= _SORTED_MAX,
        amounts is not None and row["priced"] <= _SORTED_MAX,
    )


# Nothing equals NULL, so what is not asked for is not counted.
_COUNTS = """
    SELECT (SELECT count(*) FROM (
                SELECT FROM payment WHERE business_id = $1 AND reference >= $2 AND reference < $3 LIMIT $6) AS near)
                AS referenced,
           (SELECT count(*) FROM (
                SELECT FROM payment
                 WHERE business_id = $1 AND lower(customer_name) COLLATE "C" >= lower($4)
                   AND lower(customer_name) COLLATE "C" < lower($4) || chr(1114111)
                 LIMIT $6) AS near) AS named,
           (SELECT count(*) FROM (
                SELECT FROM jsonb_each($5::jsonb) AS given (code, bounds)
                 CROSS JOIN LATERAL (
                      SELECT FROM payment
                       WHERE business_id = $1 AND currency = given.code
                         AND expected_minor >= (given.bounds ->> 0)::bigint
                         AND expected_minor <= (given.bounds ->> 1)::bigint
                       LIMIT $6) AS found
                 LIMIT $6) AS near) AS priced
"""


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
    index: str, business_id: str, wanted: PaymentFilter, before: ListPosition | None, limit: int
) -> tuple[Any, ...]:
    # No id is 0, so this is the position just before everything that was created at the end or later.
    end = ListPosition(wanted.end or _END, 0)
    prefix, name = (one or wanted.either_prefix or "" for one in (wanted.reference_prefix, wanted.name_prefix))
    return (
        index, business_id, wanted.start or _START, *min(end, before or end), limit, wanted.status,
        _ANY_VARIANCE if wanted.is_unusual else wanted.variance,
        wanted.method, wanted.currency, wanted.email, prefix, prefix + _PAST_ALL, name,
        wanted.either_prefix is not None, _amounts(wanted), wanted.link_id, _combinations(wanted),
    )  # fmt: skip


def _combinations(wanted: PaymentFilter) -> str:
    """All values that status, currency, method and variance can have together: the index on them is looked into once
    for each. Only what is paid has a method, or a variance."""
    currencies = [wanted.currency] if wanted.currency else list(Currency)
    found = [
        {"status": status, "currency": currency, "method": method, "variance": variance}
        for status in ([wanted.status] if wanted.status else PaymentStatus)
        for currency in currencies
        for method in (currency.spec.methods if status is PaymentStatus.SUCCESS else ("",))
        for variance in ((*Variance, "") if status is PaymentStatus.SUCCESS else ("",))
        if wanted.method in (None, method)
        and wanted.variance in (None, variance)
        and (variance or not wanted.is_unusual)
    ]
    return msgspec.json.encode(found).decode()
