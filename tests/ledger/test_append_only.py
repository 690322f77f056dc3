"""The service can only add to the ledger, and only what balances."""

from __future__ import annotations

import os
from typing import Any

import asyncpg
import pytest

from ledger.booking import NOW, a_few, new_business
from settable_clock import SettableClock
from tidegate.infra.db import Database, constraint_of
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


BY_HAND = [
    "INSERT INTO journal (business_id, kind, cause, event_at, created_at)"
    " VALUES ($1, 'return_done', 'x', now(), now())",
    "INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor)"
    " SELECT $1, id, 9, 'fee', 'NGN', 1 FROM journal LIMIT 1",
    "INSERT INTO wallet (business_id, currency, created_at, updated_at) VALUES ($1, 'KES', now(), now())",
    "UPDATE wallet SET balance_minor = 0 WHERE business_id = $1",
    "UPDATE wallet SET booked_until = now() WHERE business_id = $1",
    "SELECT FROM wallet WHERE business_id = $1 FOR UPDATE",
    "SELECT lock_wallets(ARRAY[$1], '{NGN}', now())",
]


@pytest.mark.parametrize("statement", BY_HAND)
async def test_the_service_writes_the_ledger_only_by_its_functions(
    statement: str, business_id: str, db: Database
) -> None:
    async with db.connection() as tx:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await tx.execute(statement, business_id)


async def test_the_functions_are_for_the_service_alone(business_id: str, admin: Any) -> None:
    rows = await admin.fetch(
        """
        SELECT proname, proconfig FROM pg_proc
         WHERE pronamespace = 'public'::regnamespace AND prosecdef AND has_function_privilege('public', oid, 'EXECUTE')
            OR pronamespace = 'public'::regnamespace AND prosecdef AND proconfig IS NULL
        """
    )
    assert [row["proname"] for row in rows] == []


_POST = "SELECT post_journals($1, ARRAY[ROW('return_done', 'by hand', $2, $3, $4, now())::posting], now())"
UNBALANCED = {
    "a cent is missing": (["rail", "suspense"], ["NGN", "NGN"], [-100, 99]),
    "one side only": (["rail"], ["NGN"], [-100]),
    "two currencies": (["rail", "suspense"], ["NGN", "USD"], [-100, 100]),
    "one of two currencies": (["rail", "suspense", "rail"], ["NGN", "NGN", "USD"], [-100, 100, -1]),
    "no lines": ([], [], []),
    "nothing at all": (None, None, None),
    "a line without a currency": (["rail", "suspense"], ["NGN"], [-100, 100]),
    "a line without an amount": (["rail", "suspense"], ["NGN", "NGN"], [-100]),
}
IMPOSSIBLE = {
    "nothing moves": (["rail", "suspense"], ["NGN", "NGN"], [0, 0]),
    "an account that does not exist": (["rail", "purse"], ["NGN", "NGN"], [-100, 100]),
    "an amount that is null": (["rail", "suspense"], ["NGN", "NGN"], [None, None]),
    "a currency that is null": (["rail", "suspense"], [None, None], [-100, 100]),
    "one account twice": (["rail", "suspense", "suspense"], ["NGN"] * 3, [-100, 50, 50]),
    "more than there is": (["wallet", "returns"], ["NGN", "NGN"], [-(10**12), 10**12]),
    "more than a number holds": (["rail", "suspense", "fee"], ["NGN"] * 3, [-(2**63), 2**63 - 1, 2**63 - 1]),
}


@pytest.mark.parametrize("lines", UNBALANCED.values(), ids=UNBALANCED)
async def test_imbalance_is_refused(lines: tuple[Any, ...], business_id: str, db: Database, admin: Any) -> None:
    before = await _counted(admin)
    async with db.connection() as tx:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
            await tx.fetchval(_POST, business_id, *lines)
    assert constraint_of(refused.value) in {"journal_sums_to_zero", "journal_has_entries"}
    assert await _counted(admin) == before


REFUSALS: tuple[type[Exception], ...] = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.NumericValueOutOfRangeError,
)
if os.environ.get("TIDEGATE_TEST_CLUSTER"):
    # Several lines are copied to their shard, and the error of a COPY comes without its SQLSTATE.
    REFUSALS = (*REFUSALS, asyncpg.InternalServerError)


@pytest.mark.parametrize("lines", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
async def test_impossible_lines_are_refused(lines: tuple[Any, ...], business_id: str, db: Database, admin: Any) -> None:
    before = await _counted(admin)
    async with db.connection() as tx:
        with pytest.raises(REFUSALS):
            await tx.fetchval(_POST, business_id, *lines)
    assert await _counted(admin) == before


async def _counted(admin: Any) -> Any:
    return await admin.fetchrow(
        "SELECT (SELECT count(*) FROM journal), (SELECT count(*) FROM entry), (SELECT sum(balance_minor) FROM wallet)"
    )


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
    journal_id = await admin.fetchval("SELECT min(id) FROM journal WHERE business_id = $1", business_id)
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await admin.execute(
            f"INSERT INTO entry (business_id, journal_id, currency, {', '.join(columns)}) "
            f"VALUES ($1, $2, 'GHS', {', '.join(columns.values())})",
            business_id, journal_id,
        )  # fmt: skip
    assert constraint_of(refused.value) == constraint
