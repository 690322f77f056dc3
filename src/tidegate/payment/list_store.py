"""SQL of lists of payments. Each page costs the same, however many payments the business has."""

from __future__ import annotations

from datetime import UTC, datetime
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


class PaymentFilter(msgspec.Struct, frozen=True, kw_only=True):
    """None does not filter. `start` is included, `end` is not. Amounts are of `expected`, in `currency`."""

    status: PaymentStatus | None = None
    variance: Variance | None = None
    # The one it was paid by.
    method: Method | None = None
    currency: Currency | None = None
    email: str | None = None
    reference_prefix: str | None = None
    min_minor: int | None = None
    max_minor: int | None = None
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
    tx: Tx, business_id: str, wanted: PaymentFilter, *, before: ListPosition | None, limit: int
) -> list[PaymentRow]:
    """The newest first."""
    with naming({"57014": ListTookTooLong}):
        way = await _way_to(tx, business_id, wanted)
        rows = await tx.fetch(
            """
            SELECT payment_row(payment) AS row
              FROM list_payments($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) AS payment
            """,
            *_arguments(way, business_id, wanted, before, limit),
        )
    return [row_of(row["row"]) for row in rows]


async def count(tx: Tx, business_id: str, wanted: PaymentFilter, *, limit: int) -> int:
    """Exact up to the limit; more are not counted."""
    with naming({"57014": ListTookTooLong}):
        way = await _way_to(tx, business_id, wanted)
        if way == "combination":
            way = "combination, in any order"
        found: int = await tx.fetchval(
            """
            SELECT count(*)
              FROM list_payments($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
            """,
            *_arguments(way, business_id, wanted, None, limit),
        )
    return found


async def _way_to(tx: Tx, business_id: str, wanted: PaymentFilter) -> str:
    """The index that finds few rows without reading all."""
    if wanted.email is not None:
        return "email"
    if wanted.link_id is not None:
        return "link"
    if wanted.reference_prefix is not None and await _are_few_references(tx, business_id, wanted.reference_prefix):
        return "reference"
    if (wanted.min_minor, wanted.max_minor) != (None, None) and await _are_few_amounts(tx, business_id, wanted):
        return "amount"
    is_by_time = (wanted.status, wanted.variance, wanted.method, wanted.currency) == (None, None, None, None)
    return "time" if is_by_time else "combination"


async def _are_few_references(tx: Tx, business_id: str, prefix: str) -> bool:
    found: int = await tx.fetchval(
        """
        SELECT count(*) FROM (
            SELECT FROM payment WHERE business_id = $1 AND reference >= $2 AND reference < $3 LIMIT $4) AS near
        """,
        business_id, prefix, prefix + _PAST_ALL, _SORTED_MAX + 1,
    )  # fmt: skip
    return found <= _SORTED_MAX


async def _are_few_amounts(tx: Tx, business_id: str, wanted: PaymentFilter) -> bool:
    found: int = await tx.fetchval(
        """
        SELECT count(*) FROM (
            SELECT FROM payment
             WHERE business_id = $1 AND currency = $2 AND expected_minor >= $3 AND expected_minor <= $4
             LIMIT $5) AS near
        """,
        business_id, wanted.currency, *_amounts(wanted), _SORTED_MAX + 1,
    )  # fmt: skip
    return found <= _SORTED_MAX


def _amounts(wanted: PaymentFilter) -> tuple[int, int]:
    return wanted.min_minor or 0, 2**63 - 1 if wanted.max_minor is None else wanted.max_minor


def _arguments(
    way: str, business_id: str, wanted: PaymentFilter, before: ListPosition | None, limit: int
) -> tuple[Any, ...]:
    # No id is 0, so this is the position just before everything that was created at the end or later.
    end = ListPosition(wanted.end or _END, 0)
    prefix = wanted.reference_prefix
    return (
        way, business_id, wanted.start or _START, *min(end, before or end), limit, wanted.status, wanted.variance,
        wanted.method, wanted.currency, wanted.email, prefix or "", (prefix or "") + _PAST_ALL, *_amounts(wanted),
        wanted.link_id, _combinations(wanted),
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
        if wanted.method in (None, method) and wanted.variance in (None, variance)
    ]
    return msgspec.json.encode(found).decode()
