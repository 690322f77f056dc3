"""Posting on a real database: once per cause, never below zero, running balances under concurrency."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from ledger.booking import NOW, connect, converted, fee, new_business, ngn, paid, post, refund, usd
from tidegate.core.errors import InsufficientBalance
from tidegate.core.money import Currency
from tidegate.infra.db import Database, constraint_of
from tidegate.ledger import books, postings, store
from tidegate.ledger.model import PLATFORM_BUSINESS_ID, JournalKind, LedgerAccount, Wallet
from tidegate.merchant import commands as merchants

RIVALS = 20
POSTS_AT_ONCE = 32
ON_CONFLICT = "ON CONFLICT DO NOTHING"


@pytest.fixture
async def business_id(db: Database) -> str:
    return await new_business(db)


async def wallet_of(db: Database, business_id: str, currency: Currency = Currency.NGN) -> Wallet:
    async with db.connection() as tx:
        wallets = await store.list_wallets(tx, business_id)
    return next(wallet for wallet in wallets if wallet.balance.currency is currency)


async def test_a_journal_is_kept_as_it_was_built(db: Database, business_id: str, admin: Any) -> None:
    [number] = await post(db, business_id, paid(10_151, for_cause="payment:1"))
    journal = await admin.fetchrow("SELECT * FROM journal")
    assert journal["id"] == number
    assert (journal["business_id"], journal["kind"], journal["cause"]) == (business_id, "checkout_settled", "payment:1")
    assert (journal["event_at"], journal["created_at"]) == (NOW, NOW)
    rows = await admin.fetch("SELECT * FROM entry ORDER BY line")
    assert [(r["line"], r["account"], r["currency"], r["amount_minor"], r["balance_after_minor"]) for r in rows] == [
        (1, "rail", "NGN", -10_151, None),
        (2, "wallet", "NGN", 10_000, 10_000),
        (3, "fee", "NGN", 140, None),
        (4, "vat", "NGN", 11, None),
    ]
    wallet = await wallet_of(db, business_id)
    assert (wallet.balance, wallet.locked, wallet.created_at) == (ngn(10_000), ngn(0), NOW)
    assert wallet.number > 1_000_000_000


async def test_a_cause_is_posted_once(db: Database, business_id: str, admin: Any) -> None:
    first, again = await post(db, business_id, *[paid(for_cause="payment:1")] * 2)
    assert (first is None, again) == (False, None)
    assert await admin.fetchval("SELECT count(*) FROM journal") == 1
    assert (await wallet_of(db, business_id)).balance == ngn(10_000)


async def test_another_kind_and_another_business_have_causes_of_their_own(db: Database, business_id: str) -> None:
    other = await new_business(db)
    assert None not in await post(db, business_id, paid(for_cause="1"), refund(5, for_cause="1"))
    assert None not in await post(db, other, paid(for_cause="1"))


async def race_on(db: Database, business_id: str) -> list[int | None]:
    journal = paid(for_cause="payment:1")
    await post(db, business_id, paid())
    posted = await asyncio.gather(*(post(db, business_id, journal) for _ in range(RIVALS)))
    return [number for [number] in posted if number is not None]


async def test_a_cause_is_posted_once_by_rivals(db: Database, business_id: str) -> None:
    assert len(await race_on(db, business_id)) == 1
    assert (await wallet_of(db, business_id)).balance == ngn(20_000)


@pytest.fixture
async def unguarded(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    """A ledger without the unique key of causes."""
    url = await make_database("tidegate_test_unguarded")
    owner = await connect(url)
    function = await owner.fetchval("SELECT pg_get_functiondef('post_journals_of_several'::regproc)")
    assert function.count(ON_CONFLICT) == 1
    await owner.execute(function.replace(ON_CONFLICT, ""))
    await owner.execute("ALTER TABLE journal DROP CONSTRAINT journal_one_per_cause")
    await owner.close()
    database = Database(url)
    await database.open()
    yield database
    await database.close()


async def test_without_the_unique_key_the_same_race_posts_twice(unguarded: Database) -> None:
    assert len(await race_on(unguarded, await new_business(unguarded))) > 1


async def test_balances_run_on_under_many_posts_at_once(db: Database, business_id: str, admin: Any) -> None:
    """The first ones also race to create the wallet."""
    await asyncio.gather(*(post(db, business_id, paid(151 + n)) for n in range(1, POSTS_AT_ONCE + 1)))
    rows = await admin.fetch("SELECT * FROM entry WHERE account = 'wallet' ORDER BY journal_id")
    balance = 0
    for row in rows:
        balance += row["amount_minor"]
        assert row["balance_after_minor"] == balance
    assert len(rows) == POSTS_AT_ONCE
    assert (await wallet_of(db, business_id)).balance == ngn(balance) == ngn(sum(range(1, POSTS_AT_ONCE + 1)))


async def test_two_currencies_at_once_do_not_deadlock(db: Database, business_id: str) -> None:
    both = [postings.inflow_credited(cause=f"usd:{n}", received=usd(100), fee=fee(0, 0, Currency.USD), event_at=NOW)
            for n in range(10)]  # fmt: skip
    await asyncio.gather(*(post(db, business_id, journal) for n in range(10) for journal in (both[n], converted())))
    async with db.connection() as tx:
        wallets = await store.list_wallets(tx, business_id)
    assert [wallet.balance for wallet in wallets] == [ngn(10 * 14_849_499), usd(1_000)]


async def test_a_wallet_never_goes_below_zero(db: Database, business_id: str, admin: Any) -> None:
    with pytest.raises(InsufficientBalance):
        await post(db, business_id, refund(1))
    await post(db, business_id, paid(10_151), refund(10_000, for_cause="all"))
    with pytest.raises(InsufficientBalance):
        await post(db, business_id, refund(1))
    assert await admin.fetchval("SELECT count(*) FROM journal") == 2
    assert await post(db, business_id, refund(10_000, for_cause="all")) == [None]


async def test_rivals_cannot_take_the_same_money(db: Database, business_id: str) -> None:
    await post(db, business_id, paid(10_151))
    ended = await asyncio.gather(*(post(db, business_id, refund(3_000)) for _ in range(RIVALS)), return_exceptions=True)
    assert sum(isinstance(end, InsufficientBalance) for end in ended) == RIVALS - 3
    assert (await wallet_of(db, business_id)).balance == ngn(1_000)


async def test_without_the_balance_rule_rivals_overdraw(make_database: Callable[[str], Awaitable[str]]) -> None:
    url = await make_database("tidegate_test_overdraft")
    owner = await connect(url)
    await owner.execute("ALTER TABLE wallet DROP CONSTRAINT wallet_is_never_below_zero")
    await owner.execute(
        "CREATE OR REPLACE FUNCTION refuse_wallet(p_rule text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$"
    )
    database = Database(url)
    await database.open()
    business_id = await new_business(database)
    await post(database, business_id, paid(10_151), *(refund(3_000) for _ in range(4)))
    assert (await wallet_of(database, business_id)).balance == ngn(-2_000)
    await database.close()
    await owner.close()


async def test_a_refund_is_locked_until_it_ends(db: Database, business_id: str) -> None:
    await post(db, business_id, paid(10_151), refund(3_000, for_cause="r1"), refund(2_000, for_cause="r2"))
    wallet = await wallet_of(db, business_id)
    assert (wallet.balance, wallet.locked) == (ngn(5_000), ngn(5_000))
    done = postings.refund_done(cause="r1", refunded=ngn(3_000), event_at=NOW)
    failed = postings.refund_failed(cause="r2", refunded=ngn(2_000), event_at=NOW)
    await post(db, business_id, done, failed)
    wallet = await wallet_of(db, business_id)
    assert (wallet.balance, wallet.locked) == (ngn(7_000), ngn(0))


async def test_more_than_is_locked_never_leaves(db: Database, business_id: str) -> None:
    await post(db, business_id, paid(10_151), refund(3_000))
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await post(db, business_id, postings.refund_done(cause="r9", refunded=ngn(3_001), event_at=NOW))
    assert constraint_of(refused.value) == "wallet_locks_no_less_than_nothing"


async def test_a_refused_post_leaves_nothing_of_its_transaction(db: Database, business_id: str, admin: Any) -> None:
    async def pay_and_refund_more() -> None:
        async with db.transaction() as tx:
            await store.post(tx, business_id, paid(251), NOW)
            await store.post(tx, business_id, refund(101), NOW)

    with pytest.raises(InsufficientBalance):
        await pay_and_refund_more()
    assert await admin.fetchval("SELECT count(*) FROM journal") == 0
    assert await admin.fetchval("SELECT count(*) FROM wallet") == 0


async def test_posting_works_inside_another_statement(db: Database, business_id: str) -> None:
    """As a settlement does it: the change and its journal in one round trip."""
    columns = paid(10_151).columns()
    async with db.connection() as tx:
        number = await tx.fetchval(
            """
            WITH moved AS (UPDATE business SET name = 'Paid' WHERE id = $1 RETURNING id),
            posted AS (SELECT post_journal(id, $2, $3, $4, $5, $6, $7, $8) AS number FROM moved)
            SELECT number FROM posted
            """,
            business_id, *columns, NOW,
        )  # fmt: skip
    assert number is not None
    assert (await wallet_of(db, business_id)).balance == ngn(10_000)


async def test_unclaimed_money_is_booked_under_the_operators_business(db: Database) -> None:
    unclaimed = postings.receipt_unclaimed(cause="bank:1", received=ngn(700), event_at=NOW)
    assert await post(db, PLATFORM_BUSINESS_ID, unclaimed) != [None]
    async with db.connection() as tx:
        sums = {(s.account, s.minor) for s in await books.trial_balance(tx)}
    assert sums == {("rail", -700), ("suspense", 700)}
    assert PLATFORM_BUSINESS_ID not in {business.id for business in await merchants.list_all(db)}


async def test_the_operators_business_has_no_keys_and_stays_suspended(admin: Any) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="business_platform_stays_suspended"):
        await admin.execute("UPDATE business SET status = 'active' WHERE id = $1", PLATFORM_BUSINESS_ID)
    with pytest.raises(asyncpg.CheckViolationError, match="credential_is_never_of_the_platform"):
        await admin.execute(
            "INSERT INTO credential (business_id, kind, key_hash, last_four, created_at) "
            "VALUES ($1, 'secret', sha256('x'), 'abcd', now())",
            PLATFORM_BUSINESS_ID,
        )


async def test_the_database_knows_the_same_kinds_and_accounts(admin: Any) -> None:
    async def words(constraint: str) -> set[str]:
        text = await admin.fetchval(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = $1", constraint
        )
        return set(text.split("'")[1::2])

    assert await words("journal_kind_is_known") == {kind.value for kind in JournalKind}
    assert await words("entry_account_is_known") == {account.value for account in LedgerAccount}
