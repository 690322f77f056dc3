"""Journals of one business posted in one call: in the order given, each cause once, balances that run on."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from ledger.booking import NOW, new_business, ngn, paid, post, refund, usd
from tidegate.core.fee import Fee
from tidegate.infra.db import Database
from tidegate.ledger import postings, store
from tidegate.ledger.model import Journal


async def post_together(db: Database, business_id: str, *journals: Journal) -> list[int | None]:
    async with db.connection() as tx:
        ids: list[int | None] = await tx.fetchval(
            "SELECT post_journals($1, $2::posting[], $3)", business_id, [tuple(one.columns()) for one in journals], NOW
        )
    return ids


def in_dollars(minor: int, cause: str) -> Journal:
    nothing = Fee(usd(0), usd(0))
    return postings.inflow_credited(cause=cause, received=usd(minor), fee=nothing, event_at=NOW)


async def test_numbers_and_balances_follow_the_order_given(db: Database, admin: Any) -> None:
    business_id = await new_business(db)
    await post(db, business_id, paid(10_151))
    held = postings.receipt_held(cause="held", received=ngn(7), event_at=NOW)
    ids = await post_together(db, business_id, paid(1_151), in_dollars(5, "a"), held, paid(2_151), in_dollars(6, "b"))
    assert None not in ids
    assert ids == sorted(ids)  # type: ignore[type-var]
    rows = await admin.fetch(
        "SELECT currency, amount_minor, balance_after_minor FROM entry WHERE account = 'wallet' ORDER BY journal_id"
    )
    assert [tuple(row) for row in rows] == [
        ("NGN", 10_000, 10_000),
        ("NGN", 1_000, 11_000),
        ("USD", 5, 5),
        ("NGN", 2_000, 13_000),
        ("USD", 6, 11),
    ]
    async with db.connection() as tx:
        wallets = await store.list_wallets(tx, business_id)
    assert [wallet.balance for wallet in wallets] == [ngn(13_000), usd(11)]


async def test_a_cause_that_was_posted_before_is_left_out_of_a_group(db: Database, admin: Any) -> None:
    business_id = await new_business(db)
    await post(db, business_id, paid(1_151, for_cause="known"))
    first, known, last = await post_together(db, business_id, paid(1_151), paid(1_151, for_cause="known"), paid(1_151))
    assert (first is None, known, last is None) == (False, None, False)
    async with db.connection() as tx:
        [wallet] = await store.list_wallets(tx, business_id)
    assert wallet.balance == ngn(3_000)


async def test_a_group_of_causes_that_were_all_posted_before_does_nothing(db: Database, admin: Any) -> None:
    business_id = await new_business(db)
    journals = [paid(for_cause="one"), paid(for_cause="two")]
    await post_together(db, business_id, *journals)
    assert await post_together(db, business_id, *journals) == [None, None]
    assert await admin.fetchval("SELECT count(*) FROM journal") == 2


async def test_a_debit_relies_on_no_credit_that_comes_after_it(db: Database, admin: Any) -> None:
    business_id = await new_business(db)
    await post(db, business_id, paid(1_151))
    with pytest.raises(asyncpg.CheckViolationError, match="wallet_is_never_below_zero"):
        await post_together(db, business_id, refund(1_001), paid(10_151))
    assert await admin.fetchval("SELECT count(*) FROM journal") == 1
    await post_together(db, business_id, paid(10_151), refund(1_001))
    assert await admin.fetchval("SELECT count(*) FROM journal") == 3


async def post_for(db: Database, *of_each: tuple[str, Journal]) -> list[int | None]:
    async with db.connection() as tx:
        ids: list[int | None] = await tx.fetchval(
            "SELECT post_journals_of_several($1, $2::posting[], $3)",
            [business_id for business_id, _ in of_each],
            [tuple(journal.columns()) for _, journal in of_each],
            [NOW] * len(of_each),
        )
    return ids


@pytest.mark.one_server("a call is for one business on a cluster")
async def test_each_business_of_a_group_has_balances_and_numbers_of_its_own(db: Database, admin: Any) -> None:
    ahead, other = sorted([await new_business(db), await new_business(db)])
    await post(db, ahead, paid(1_151))
    year_3000 = "journal_number('3000-01-01'::timestamptz)"
    await admin.execute(f"UPDATE wallet SET last_journal = {year_3000} WHERE business_id = $1", ahead)
    first, second, third = await post_for(db, (ahead, paid(1_151)), (ahead, paid(2_151)), (other, paid(3_151)))
    assert await admin.fetchval(f"SELECT {year_3000}") < first < second  # type: ignore[operator]
    assert third < first, "a clock that was ahead stays the affair of one business"  # type: ignore[operator]
    async with db.connection() as tx:
        balances = {one: [wallet.balance for wallet in await store.list_wallets(tx, one)] for one in (ahead, other)}
    assert balances == {ahead: [ngn(4_000)], other: [ngn(3_000)]}


@pytest.mark.one_server("a call is for one business on a cluster")
async def test_a_wallet_without_the_money_keeps_all_of_its_group_from_being_posted(db: Database, admin: Any) -> None:
    poor, other = sorted([await new_business(db), await new_business(db)])
    with pytest.raises(asyncpg.CheckViolationError, match="wallet_is_never_below_zero"):
        await post_for(db, (poor, refund(100)), (other, paid(3_151)))
    assert await admin.fetchval("SELECT count(*) FROM journal") == 0
    assert await admin.fetchval("SELECT count(*) FROM wallet") == 0
