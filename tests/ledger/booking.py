"""Journals for tests, and a business to book them under."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import asyncpg

from tidegate.core.clock import SystemClock
from tidegate.core.fee import Fee
from tidegate.core.ids import Mode
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.ledger import postings, store
from tidegate.ledger.model import Conversion, Journal
from tidegate.merchant import commands as merchants

NOW = datetime(2026, 11, 15, 12, 0, 0, 123_456, tzinfo=UTC)

_numbers = itertools.count(1)


def ngn(minor: int) -> Money:
    return Money(minor, Currency.NGN)


def usd(minor: int) -> Money:
    return Money(minor, Currency.USD)


def fee(fee_minor: int, vat_minor: int = 0, currency: Currency = Currency.NGN) -> Fee:
    return Fee(Money(fee_minor, currency), Money(vat_minor, currency))


def cause() -> str:
    return f"test:{next(_numbers)}"


def paid(minor: int = 10_151, *, for_cause: str | None = None, currency: Currency = Currency.NGN) -> Journal:
    return postings.checkout_settled(
        cause=for_cause or cause(), received=Money(minor, currency), fee=fee(140, 11, currency), event_at=NOW
    )


def refund(minor: int, *, for_cause: str | None = None) -> Journal:
    return postings.refund_started(cause=for_cause or cause(), refunded=ngn(minor), event_at=NOW)


def converted() -> Journal:
    conversion = Conversion(received=usd(10_000), worth=ngn(15_000_000), converted=ngn(14_849_999), spread=ngn(150_000))
    return postings.inflow_converted(cause=cause(), conversion=conversion, fee=fee(500), event_at=NOW)


async def new_business(db: Database) -> str:
    now = SystemClock().now()
    new = await merchants.create(db, name="Booked", email="books@example.com", mode=Mode.SANDBOX, now=now)
    return new.business.id


async def post(db: Database, business_id: str, *journals: Journal) -> list[int | None]:
    """Each in its own transaction."""
    numbers = []
    for journal in journals:
        async with db.transaction() as tx:
            numbers.append(await store.post(tx, business_id, journal, NOW))
    return numbers


async def a_few(db: Database, business_id: str) -> None:
    """Some of everything: two currencies, a refund on its way, one done, one that failed."""
    started = [refund(1_000, for_cause=f"refund:{n}") for n in range(3)]
    await post(db, business_id, paid(), paid(20_302), converted(), *started)
    ended = [
        postings.refund_done(cause="refund:1", refunded=ngn(1_000), event_at=NOW),
        postings.refund_failed(cause="refund:2", refunded=ngn(1_000), event_at=NOW),
        postings.receipt_held(cause=cause(), received=ngn(777), event_at=NOW),
        postings.receipt_returning(cause=cause(), returned=ngn(555), event_at=NOW),
    ]
    await post(db, business_id, *ended)


async def insert_by_hand(admin: Any, business_id: str, *lines: tuple[str, str, int], for_cause: str = "by hand") -> int:
    """Past every posting and function, as a bug or a hand at a console would."""
    journal_id: int = await admin.fetchval(
        """
        INSERT INTO journal (business_id, kind, cause, event_at, created_at)
        VALUES ($1, 'receipt_held', $2, $3, $3) RETURNING id
        """,
        business_id, for_cause, NOW,
    )  # fmt: skip
    for number, (account, currency, minor) in enumerate(lines, start=1):
        await admin.execute(
            "INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor) "
            "VALUES ($1, $2, $3, $4, $5, $6)",
            business_id, journal_id, number, account, currency, minor,
        )  # fmt: skip
    return journal_id


async def connect(url: str) -> Any:
    return await asyncpg.connect(url)
