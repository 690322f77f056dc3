"""A large statement with a hundredth of its lines broken. All breaks are found and named, and nothing else is."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from conftest import PAST_KEYS
from reconcile.reconciling import reconciled, write
from tidegate.ledger.model import PLATFORM_BUSINESS_ID

# The full measure is 100,000; a build machine gets fewer lines, never fewer kinds of breaks.
LINES = int(os.environ.get("TIDEGATE_TEST_LINES", "20000"))
BROKEN_SHARE = 100
BEGIN = datetime(2026, 3, 1, 0, 10, tzinfo=UTC)
# To the tenth minute before the eighth day ends.
LENGTH = timedelta(days=8) - timedelta(minutes=20)
CLASSES = ("missing", "extra", "amount", "currency", "direction", "duplicate")


@dataclass(frozen=True)
class Moved:
    """Money that both sides know. Every tenth was returned, every twentieth refunded, every third is an inflow."""

    number: int
    at: datetime

    @property
    def table(self) -> str:
        if self.number % 10 == 0:
            return "money_return"
        if self.number % 20 == 1:
            return "refund_leg"
        return "collection" if self.number % 3 == 0 else "receipt"

    @property
    def direction(self) -> str:
        return "out" if self.table in ("money_return", "refund_leg") else "in"

    @property
    def minor(self) -> int:
        return 100 + self.number * 7 % 1_000_000

    @property
    def currency(self) -> str:
        return "EUR" if self.table == "collection" else ("NGN", "USD", "UGX")[self.number % 3]

    @property
    def amount(self) -> Decimal:
        return Decimal(self.minor).scaleb(0 if self.currency == "UGX" else -2)

    @property
    def reference(self) -> str | None:
        return f"OUR-{self.number}" if self.direction == "out" else None

    @property
    def transaction_id(self) -> str:
        return f"TX-{self.number}"

    def listed(self, chance: random.Random) -> dict[str, Any]:
        """The rail's clock and ours differ, by some minutes at the most."""
        booked_at = self.at + timedelta(seconds=chance.randint(-500, 500))
        return {
            "transactionId": self.transaction_id, "direction": self.direction, "amount": self.amount,
            "currency": self.currency, "bookedAt": booked_at.isoformat(), "reference": self.reference,
        }  # fmt: skip


@dataclass(frozen=True)
class Sides:
    rows: list[dict[str, Any]]
    books: list[Moved]
    # What is to be found: class and transaction.
    breaks: set[tuple[str, str]]


def broken_sides(count: int, chance: random.Random) -> Sides:
    step = LENGTH / count
    all_moved = [Moved(number, BEGIN + number * step) for number in range(count)]
    places = chance.sample(range(count), count // BROKEN_SHARE)
    kind_at = {place: CLASSES[index % len(CLASSES)] for index, place in enumerate(places)}
    sides = Sides([], [], set())
    for moved in all_moved:
        put(sides, moved, kind_at.get(moved.number), moved.listed(chance))
    chance.shuffle(sides.rows)
    return sides


def put(sides: Sides, moved: Moved, kind: str | None, row: dict[str, Any]) -> None:
    changes: dict[str | None, dict[str, Any]] = {
        "amount": {"amount": row["amount"] + 1},
        "currency": {"currency": "GBP"},
        "direction": {"direction": "in" if moved.direction == "out" else "out"},
    }
    sides.rows.extend([row | changes.get(kind, {})] * {"extra": 0, "duplicate": 2}.get(kind or "", 1))
    if kind != "missing":
        sides.books.append(moved)
    if kind is not None:
        # What only our books have is named by what they have: of a return, our reference.
        is_nameless = kind == "extra" and moved.table == "money_return"
        sides.breaks.add((kind, str(moved.reference) if is_nameless else moved.transaction_id))


async def fill(admin: Any, books: list[Moved]) -> None:
    """Straight into the tables, without the journals that we do not ask about here."""
    everyone, text = PLATFORM_BUSINESS_ID, "{}"
    receipts = [
        (everyone, "sandbox", m.transaction_id, m.currency, m.minor, "suspense", m.at)
        for m in books if m.table == "receipt"
    ]  # fmt: skip
    collections = [
        (everyone, m.number, f"COL-{m.number}", "a", "pending", "held", "EUR", m.minor, "EUR", "sandbox",
         m.transaction_id, "sepa", m.at, text, m.at, m.at)
        for m in books if m.table == "collection"
    ]  # fmt: skip
    returns = [
        (everyone, m.reference, "sandbox", f"IN-{m.number}", m.currency, m.minor, "r", "confirmed", m.at, m.at)
        for m in books if m.table == "money_return"
    ]  # fmt: skip
    legs = [m for m in books if m.table == "refund_leg"]
    async with admin.transaction():
        await admin.execute(PAST_KEYS)
        await admin.copy_records_to_table("receipt", records=receipts, columns=(
            "business_id", "rail", "transaction_id", "currency", "amount_minor", "outcome", "created_at"))  # fmt: skip
        await admin.copy_records_to_table("collection", records=collections, columns=(
            "business_id", "id", "reference", "account_id", "status", "reason", "source_currency", "source_minor",
            "destination_currency", "rail", "transaction_id", "scheme", "valued_at", "name_check", "created_at",
            "updated_at"))  # fmt: skip
        await admin.copy_records_to_table("money_return", records=returns, columns=(
            "business_id", "reference", "rail", "transaction_id", "currency", "amount_minor", "reason", "status",
            "asked_at", "confirmed_at"))  # fmt: skip
        await fill_refunds(admin, legs)


async def fill_refunds(admin: Any, legs: list[Moved]) -> None:
    await admin.execute(
        """
        WITH leg AS (
            SELECT * FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::timestamptz[])
                       AS leg (number, currency, minor, at)),
        refunds AS (
            INSERT INTO refund (business_id, id, reference, payment_id, currency, amount_minor, status, initiated_at,
                                completed_at)
            OVERRIDING SYSTEM VALUE
            SELECT $1, number, 'REF-' || number, 1, currency, minor, 'successful', at, at FROM leg)
        INSERT INTO refund_leg (business_id, reference, refund_id, rail, transaction_id, currency, amount_minor, status,
                                sent_as, completed_at)
        SELECT $1, 'OUR-' || number, number, 'sandbox', 'IN-' || number, currency, minor, 'successful',
               'TX-' || number, at
          FROM leg
        """,
        PLATFORM_BUSINESS_ID, [m.number for m in legs], [m.currency for m in legs], [m.minor for m in legs],
        [m.at for m in legs],
    )  # fmt: skip


@pytest.fixture
async def own_database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[tuple[str, Any]]:
    """What so many rows leave behind when they are deleted would slow down every other test."""
    url = await make_database(f"tidegate_test_reconcile_{secrets.token_hex(4)}")
    admin = await asyncpg.connect(url)
    yield url, admin
    await admin.close()


async def test_every_break_of_a_large_statement_is_found_and_nothing_else(
    own_database: tuple[str, Any], tmp_path: Path
) -> None:
    url, admin = own_database
    seed = secrets.randbits(32)
    sides = broken_sides(LINES, random.Random(seed))
    await fill(admin, sides.books)
    code, report = await reconciled(url, write(tmp_path / "statement.csv", sides.rows))
    found = [(each["class"], each["transactionId"]) for each in report["breaks"]]
    assert (len(found), set(found)) == (LINES // BROKEN_SHARE, sides.breaks), f"seed {seed}"
    assert (code, report["notices"]) == (1, [])
    assert report["matched"] == LINES - sum(1 for kind, _ in sides.breaks if kind != "duplicate")


async def test_a_large_statement_that_is_our_books_shows_nothing(own_database: tuple[str, Any], tmp_path: Path) -> None:
    url, admin = own_database
    chance = random.Random(LINES)
    books = [Moved(number, BEGIN + number * (LENGTH / 2_000)) for number in range(2_000)]
    await fill(admin, books)
    # Some of it was told to us a month late: our books are not without it.
    late = [replace(moved, number=moved.number + 10_000, at=moved.at + timedelta(days=30)) for moved in books[:100]]
    await fill(admin, late)
    early = [replace(moved, at=moved.at - timedelta(days=30)) for moved in late]
    rows = [moved.listed(chance) for moved in [*books, *early]]
    begin, end = f"{BEGIN:%Y-%m-%d}", f"{BEGIN + LENGTH:%Y-%m-%d}"
    _, report = await reconciled(url, write(tmp_path / "statement.csv", rows), "--from", begin, "--to", end)
    assert (report["matched"], report["breaks"], report["notices"]) == (2_100, [], [])
    assert {each["difference"] for each in report["sums"]} == {"0", "0.00"}
