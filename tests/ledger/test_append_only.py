"""The ledger refuses change and imbalance, for every role and statement."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from ledger.booking import NOW, a_few, insert_by_hand, new_business
from tidegate.core.clock import SettableClock
from tidegate.infra.db import Database
from tidegate.ledger import chain

LEDGER = ("journal", "entry", "journal_link")
CHANGES = [
    *(f"UPDATE {table} SET business_id = business_id" for table in LEDGER),
    *(f"DELETE FROM {table}" for table in LEDGER),
    *(f"TRUNCATE {table} CASCADE" for table in LEDGER),
]


@pytest.fixture
async def business_id(db: Database) -> str:
    business_id = await new_business(db)
    await a_few(db, business_id)
    await chain.extend(db, SettableClock(NOW))
    return business_id


@pytest.mark.parametrize("change", CHANGES)
async def test_the_owner_cannot_change_the_past(change: str, business_id: str, admin: Any) -> None:
    with pytest.raises(asyncpg.RestrictViolationError) as refused:
        await admin.execute(change)
    assert refused.value.constraint_name == "ledger_is_append_only"


@pytest.mark.parametrize(
    "change",
    [
        *CHANGES,
        *(f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in LEDGER),
        "DELETE FROM wallet",
        "TRUNCATE wallet",
        "UPDATE wallet SET currency = 'USD'",
        "SET session_replication_role = replica",
    ],
)
async def test_the_service_has_no_right_to(change: str, business_id: str, db: Database) -> None:
    async with db.connection() as tx:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await tx.execute(change)


@pytest.mark.parametrize(
    "lines",
    [
        [("rail", "NGN", -100), ("suspense", "NGN", 99)],
        [("rail", "NGN", -100)],
        [("rail", "NGN", -100), ("suspense", "USD", 100)],
        [("rail", "NGN", -100), ("suspense", "NGN", 100), ("rail", "USD", -1)],
    ],
)
async def test_the_database_refuses_imbalance_at_commit(
    lines: list[tuple[str, str, int]], business_id: str, admin: Any
) -> None:
    transaction = admin.transaction()
    await transaction.start()
    await insert_by_hand(admin, business_id, *lines)  # Nothing is refused before all lines had a chance to come.
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        await transaction.commit()
    assert refused.value.constraint_name == "journal_sums_to_zero"


async def test_balanced_lines_may_come_one_by_one(business_id: str, admin: Any) -> None:
    async with admin.transaction():
        await insert_by_hand(admin, business_id, ("rail", "NGN", -100), ("suspense", "NGN", 60), ("fee", "NGN", 40))


async def test_a_journal_needs_entries(business_id: str, admin: Any) -> None:
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        await insert_by_hand(admin, business_id)
    assert refused.value.constraint_name == "journal_has_entries"


@pytest.mark.parametrize("line", [3, 9])
async def test_an_old_journal_takes_no_other_line(line: int, business_id: str, admin: Any) -> None:
    async with admin.transaction():
        journal_id = await insert_by_hand(admin, business_id, ("rail", "NGN", -100), ("suspense", "NGN", 100))
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        await admin.execute(
            "INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor) "
            "VALUES ($1, $2, $3, 'fee', 'NGN', 1)",
            business_id, journal_id, line,
        )  # fmt: skip
    assert refused.value.constraint_name == "journal_sums_to_zero"


async def test_a_gap_cannot_be_left_to_be_filled_later(business_id: str, admin: Any) -> None:
    """Otherwise the line that fills it would not be the last, and nobody would sum."""
    transaction = admin.transaction()
    await transaction.start()
    journal_id = await insert_by_hand(admin, business_id, ("rail", "NGN", -100))
    await admin.execute(
        "INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor) "
        "VALUES ($1, $2, 3, 'suspense', 'NGN', 100)",
        business_id, journal_id,
    )  # fmt: skip
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await transaction.commit()


@pytest.mark.parametrize(
    ("constraint", "column", "value"),
    [
        ("entry_moves_something", "amount_minor", "0"),
        ("entry_account_is_known", "account", "'purse'"),
        ("entry_keeps_the_balance_of_wallets", "account", "'wallet'"),
        ("entry_keeps_the_balance_of_wallets", "balance_after_minor", "5"),
        ("entry_lines_count_from_one", "line", "0"),
    ],
)
async def test_an_entry_makes_sense(constraint: str, column: str, value: str, business_id: str, admin: Any) -> None:
    columns = {"account": "'rail'", "amount_minor": "1", "line": "9", "balance_after_minor": "NULL", column: value}
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await admin.execute(
            f"INSERT INTO entry (business_id, journal_id, currency, {', '.join(columns)}) "
            f"SELECT business_id, id, 'GHS', {', '.join(columns.values())} FROM journal LIMIT 1"
        )
    assert refused.value.constraint_name == constraint
