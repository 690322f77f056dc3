"""Lists of payments: a page, their number, or all of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tidegate.core.errors import Invalid, Malformed, Problem, Unavailable
from tidegate.infra.db import Database, Tx
from tidegate.payment import list_store
from tidegate.payment.list_store import ListPosition, ListTookTooLong, PaymentFilter
from tidegate.payment.row import PaymentRow

# Payments per query while a file is written.
BATCH = 1_000
COUNTED_MAX = 10_000
RETRY_AFTER_S = 1
_EVERYTHING = PaymentFilter()


class PaymentPage(NamedTuple):
    rows: list[PaymentRow]
    has_more: bool


class PaymentCount(NamedTuple):
    number: int
    is_exact: bool

    def __str__(self) -> str:
        return f"{self.number:,}" if self.is_exact else f"{self.number:,}+"


async def list_page(
    db: Database, business_id: str, wanted: PaymentFilter, *, before_id: int | None, limit: int
) -> PaymentPage:
    """The newest first; after the payment `before_id`, where the page before ended."""
    with _within_time(wanted):
        async with db.connection() as tx:
            before = await _position(tx, business_id, before_id)
            # One more than the page, to detect a next page.
            found = await list_store.list_page(tx, business_id, wanted, before=before, limit=limit + 1)
            return PaymentPage(found[:limit], len(found) > limit)


async def list_counted(
    db: Database, business_id: str, wanted: PaymentFilter, *, before: ListPosition | None, limit: int
) -> tuple[PaymentPage, PaymentCount]:
    """A page, and how many there are."""
    with _within_time(wanted):
        async with db.connection() as tx:
            found = await list_store.list_counted(
                tx, business_id, wanted, before=before, limit=limit + 1, count_max=COUNTED_MAX + 1
            )
    return PaymentPage(found.rows[:limit], len(found.rows) > limit), _counted(found.number)


async def count(db: Database, business_id: str, wanted: PaymentFilter) -> PaymentCount:
    with _within_time(wanted):
        async with db.connection() as tx:
            return _counted(await list_store.count(tx, business_id, wanted, limit=COUNTED_MAX + 1))


def _counted(number: int) -> PaymentCount:
    return PaymentCount(min(number, COUNTED_MAX), number <= COUNTED_MAX)


async def batches(db: Database, business_id: str, wanted: PaymentFilter) -> AsyncGenerator[list[PaymentRow], None]:
    """All that fit, the newest first. No connection is held between batches, however slow the reader."""
    before: ListPosition | None = None
    while True:
        with _within_time(wanted):
            async with db.connection() as tx:
                found = await list_store.list_page(tx, business_id, wanted, before=before, limit=BATCH)
        if found:
            yield found
        if len(found) < BATCH:
            return
        before = ListPosition.of(found[-1])


async def _position(tx: Tx, business_id: str, payment_id: int | None) -> ListPosition | None:
    if payment_id is None:
        return None
    found = await list_store.find_position(tx, business_id, payment_id)
    if found is None:
        raise Malformed("the payment that this page begins after is gone; begin again without a cursor")
    return found


@contextmanager
def _within_time(wanted: PaymentFilter) -> Iterator[None]:
    try:
        yield
    except ListTookTooLong:
        if wanted == _EVERYTHING:  # No search is too wide: the database is held up.
            raise Unavailable(
                f"the database is busy; retry after {RETRY_AFTER_S} s", retry_after_s=RETRY_AFTER_S
            ) from None
        raise Invalid(
            Problem("dateFrom", "the search took too long; narrow dateFrom and dateTo, or add a filter")
        ) from None
