"""The chain: built after commit, one per business, and nothing changes under it unseen."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import PAST_KEYS
from ledger.booking import NOW, a_few, new_business, paid, post
from settable_clock import SettableClock
from tidegate.infra.db import Database, Tx, constraint_of
from tidegate.ledger import chain, store
from tidegate.ledger.model import ChainLink, PostedEntry, PostedJournal

# The full measure is 1,000.
TAMPERINGS = int(os.environ.get("TIDEGATE_TEST_TAMPERINGS", "100"))


CLOCK = SettableClock(NOW)


@pytest.fixture
async def business_id(db: Database) -> str:
    """A business with a chain of ten links."""
    business_id = await new_business(db)
    await a_few(db, business_id)
    assert (await chain.extend(db, CLOCK)).done == 10
    return business_id


@asynccontextmanager
async def almighty(admin: Any) -> AsyncIterator[None]:
    """Past every trigger and key; undone at the end."""
    undone = admin.transaction()
    await undone.start()
    await admin.execute(PAST_KEYS)
    try:
        yield
    finally:
        await undone.rollback()


async def verify(admin: Any, business_id: str) -> list[str]:
    return await chain.verify(admin, business_id, now=NOW)


async def test_an_untouched_chain_is_valid(db: Database, business_id: str, admin: Any) -> None:
    assert await verify(admin, business_id) == []
    assert (await chain.extend(db, CLOCK)).done == 0
    assert await admin.fetchval("SELECT count(*) FROM journal_to_link") == 0


async def test_links_follow_the_journals_and_each_other(db: Database, business_id: str, admin: Any) -> None:
    await post(db, business_id, paid())
    await chain.extend(db, CLOCK)
    links = await store.list_links(admin, business_id, after=0, limit=100)
    assert [link.position for link, _ in links] == list(range(1, 12))
    previous = chain.START
    for link, journal in links:
        assert journal is not None
        assert link == chain.link_to(previous, link.position, journal)
        previous = link.hash
    head = await store.find_head(admin, business_id)
    assert head is not None
    assert head.hash == previous


async def test_a_journal_that_commits_late_is_linked_late(db: Database, business_id: str, admin: Any) -> None:
    """Numbers are given before commits: a lower one may become visible after a higher one was linked."""
    async with db.transaction() as slow:
        late = await store.post(slow, await new_business(db), paid(), NOW)
        other = await new_business(db)
        [early] = await post(db, other, paid())
        assert (await chain.extend(db, CLOCK)).done == 1
    assert (late or 0) < (early or 0)
    assert (await chain.extend(db, CLOCK)).done == 1
    assert await verify(admin, business_id) == []


async def test_each_business_has_a_chain_of_its_own(db: Database, business_id: str, admin: Any) -> None:
    other = await new_business(db)
    await post(db, other, paid())
    await chain.extend(db, CLOCK)
    first = (await store.list_links(admin, other, after=0, limit=10))[0][0]
    assert first.position == 1
    assert await verify(admin, other) == []


async def test_two_workers_make_one_chain(db: Database, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "LINKS_PER_BUSINESS", 3)
    business_id = await new_business(db)
    done = 0
    for _ in range(8):
        await post(db, business_id, *(paid() for _ in range(5)))
        tallies = await asyncio.gather(*(chain.extend(db, CLOCK) for _ in range(4)))
        assert not any(tally.failed for tally in tallies)
        done += sum(tally.done for tally in tallies)
    while more := (await chain.extend(db, CLOCK)).done:
        done += more
    assert done == 40
    assert await admin.fetchval("SELECT max(position) FROM journal_link") == 40
    assert await verify(admin, business_id) == []


async def test_without_the_lock_two_workers_collide(
    db: Database, business_id: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second guard: a position is taken once, so even then the chain does not fork."""

    find_head, all_have_seen_it = store.find_head, asyncio.Barrier(4)

    async def unlocked(*_: object) -> bool:
        return True

    async def find_the_same_head(tx: Tx, business_id: str) -> ChainLink | None:
        head = await find_head(tx, business_id)
        await all_have_seen_it.wait()
        return head

    monkeypatch.setattr(store, "lock_chain", unlocked)
    monkeypatch.setattr(store, "find_head", find_the_same_head)
    await post(db, business_id, *(paid() for _ in range(20)))
    async with asyncio.timeout(60):
        ended = await asyncio.gather(*(chain.link_journals(db, business_id) for _ in range(4)), return_exceptions=True)
    assert any(isinstance(end, Exception) for end in ended)
    assert await verify(admin, business_id) == []


@pytest.mark.parametrize(
    ("rival", "rule"),
    [
        ("SELECT business_id, 5, (SELECT max(id) FROM journal), marks, hash", "journal_link_pk"),
        ("SELECT business_id, 99, journal_id, marks, hash", "journal_link_one_per_journal"),
    ],
)
async def test_a_position_has_one_journal_and_a_journal_one_position(
    rival: str, rule: str, db: Database, business_id: str, admin: Any
) -> None:
    await post(db, business_id, paid())
    with pytest.raises(asyncpg.UniqueViolationError) as refused:
        await admin.execute(f"INSERT INTO journal_link {rival} FROM journal_link WHERE position = 5")
    assert constraint_of(refused.value) == rule


FIELDS: dict[str, Callable[[random.Random, Any], Any]] = {
    "account": lambda chance, row: chance.choice([a for a in ("fee", "vat", "rail", "purse") if a != row["account"]]),
    "currency": lambda chance, row: chance.choice([c for c in ("USD", "NGN", "EUR", "XXX") if c != row["currency"]]),
    "amount_minor": lambda chance, row: row["amount_minor"] + chance.choice([-1, 1, 10**6]),
    "balance_after_minor": lambda chance, row: (row["balance_after_minor"] or 0) + chance.randint(1, 10**6),
    "line": lambda chance, row: row["line"] + chance.randint(20, 99),
    "journal_id": lambda chance, row: row["journal_id"] + chance.randint(10**6, 10**9),
    "business_id": lambda chance, row: "f" * 24,
}
Tampering = Callable[[Any, random.Random, Any], Awaitable[str]]


def name_of(row: Any) -> str:
    return f"entry {row['business_id']}/{row['journal_id']}/{row['line']}"


KEY = "business_id = $1 AND journal_id = $2 AND line = $3"


async def change(admin: Any, chance: random.Random, row: Any) -> str:
    field = chance.choice(list(FIELDS))
    value = FIELDS[field](chance, row)
    await admin.execute(
        "ALTER DOMAIN ledger_account DROP CONSTRAINT entry_account_is_known; "
        "ALTER TABLE entry DROP CONSTRAINT entry_keeps_the_balance_of_wallets, "
        "DROP CONSTRAINT entry_moves_something, DROP CONSTRAINT entry_one_line_per_account"
    )
    await admin.execute(
        f"UPDATE entry SET {field} = $4 WHERE {KEY}", row["business_id"], row["journal_id"], row["line"], value
    )
    verb = "is missing" if field in ("line", "journal_id", "business_id") else "was changed"
    return f"{name_of(row)} {verb}"


async def delete(admin: Any, _: random.Random, row: Any) -> str:
    await admin.execute(f"DELETE FROM entry WHERE {KEY}", row["business_id"], row["journal_id"], row["line"])
    return f"{name_of(row)} is missing"


async def insert(admin: Any, chance: random.Random, row: Any) -> str:
    line = chance.randint(10, 99)
    await admin.execute(
        "INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor) "
        "VALUES ($1, $2, $3, 'rounding', 'ZAR', $4)",
        row["business_id"], row["journal_id"], line, chance.randint(1, 10**9),
    )  # fmt: skip
    return f"entry {row['business_id']}/{row['journal_id']}/{line} was added"


@pytest.mark.one_server("a row cannot be given to another business")
async def test_every_tampering_with_an_entry_is_found_and_named(business_id: str, admin: Any) -> None:
    rows = await admin.fetch("SELECT * FROM entry ORDER BY journal_id, line")
    first_seed = random.randrange(2**32)
    ways: tuple[Tampering, ...] = (change, change, delete, insert)
    for seed in range(first_seed, first_seed + TAMPERINGS):
        chance = random.Random(seed)
        async with almighty(admin):
            expected = await chance.choice(ways)(admin, chance, chance.choice(rows))
            found = await verify(admin, business_id)
        assert found[:1] == [expected], f"seed {seed}"
    assert await verify(admin, business_id) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("UPDATE journal SET cause = cause || 'x' WHERE id = $2", "journal {b}/{j} was changed"),
        ("UPDATE journal SET kind = 'return_done' WHERE id = $2", "journal {b}/{j} was changed"),
        ("UPDATE journal SET event_at = now() WHERE id = $2", "journal {b}/{j} was changed"),
        ("UPDATE journal SET created_at = now() WHERE id = $2", "journal {b}/{j} was changed"),
        ("UPDATE journal_link SET hash = sha256('x') WHERE journal_id = $2", "link {b}/{j} was changed"),
        ("DELETE FROM journal WHERE id = $2", "journal {b}/{j} is missing"),
        ("DELETE FROM journal_link WHERE journal_id = $2", "link {b}/5 is missing"),
    ],
)  # fmt: skip
async def test_tampering_with_a_journal_or_a_link_is_found(
    change: str, expected: str, business_id: str, admin: Any
) -> None:
    journal_id = await admin.fetchval("SELECT journal_id FROM journal_link WHERE position = 5")
    async with almighty(admin):
        await admin.execute(change.replace("WHERE", "WHERE business_id = $1 AND"), business_id, journal_id)
        found = await verify(admin, business_id)
    assert found[:1] == [expected.format(b=business_id, j=journal_id)]


async def test_a_journal_cut_out_with_its_link_is_found(business_id: str, admin: Any) -> None:
    journal_id = await admin.fetchval("SELECT journal_id FROM journal_link WHERE position = 5")
    async with almighty(admin):
        await admin.execute("DELETE FROM journal WHERE id = $1", journal_id)
        await admin.execute("DELETE FROM entry WHERE journal_id = $1", journal_id)
        await admin.execute("DELETE FROM journal_link WHERE journal_id = $1", journal_id)
        assert await verify(admin, business_id) == [f"link {business_id}/5 is missing"]
        # Moving the others up does not hide it: the sixth hash was made on the fifth.
        await admin.execute("UPDATE journal_link SET position = position + 1000 WHERE position > 5")
        await admin.execute("UPDATE journal_link SET position = position - 1001 WHERE position > 1000")
        sixth = await admin.fetchval("SELECT journal_id FROM journal_link WHERE position = 5")
        assert await verify(admin, business_id) == [f"link {business_id}/{sixth} was changed"]


async def test_an_entry_under_no_journal_is_found(business_id: str, admin: Any) -> None:
    async with almighty(admin):
        await admin.execute(
            "INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor) "
            "VALUES ($1, 999999999, 1, 'fee', 'NGN', 1)",
            business_id,
        )
        assert await verify(admin, business_id) == [f"entry {business_id}/999999999/1 has no journal"]


async def test_a_journal_may_wait_fifteen_minutes_for_its_link(db: Database, business_id: str, admin: Any) -> None:
    [number] = await post(db, business_id, paid())
    in_time = NOW + timedelta(minutes=15)
    assert await chain.verify(admin, business_id, now=in_time) == []
    found = await chain.verify(admin, business_id, now=in_time + timedelta(seconds=1))
    assert found == [f"journal {business_id}/{number} has no link"]


async def test_a_journal_that_does_not_even_wait_is_found_at_once(db: Database, business_id: str, admin: Any) -> None:
    [number] = await post(db, business_id, paid())
    await admin.execute("DELETE FROM journal_to_link")
    assert await verify(admin, business_id) == [f"journal {business_id}/{number} has no link"]


async def test_a_long_chain_is_read_in_batches(business_id: str, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "VERIFY_BATCH", 3)
    assert await verify(admin, business_id) == []
    journal_id = await admin.fetchval("SELECT journal_id FROM journal_link WHERE position = 9")
    async with almighty(admin):
        await admin.execute("DELETE FROM entry WHERE journal_id = $1 AND line = 1", journal_id)
        assert await verify(admin, business_id) == [f"entry {business_id}/{journal_id}/1 is missing"]


texts = st.text(max_size=20)
numbers = st.integers(-(2**63), 2**63 - 1)
posted_entries = st.builds(PostedEntry, st.integers(1, 99), texts, texts, numbers, st.none() | numbers)
moments = st.datetimes().map(lambda moment: moment.replace(tzinfo=NOW.tzinfo))
posted_journals = st.builds(
    PostedJournal, texts, numbers, texts, texts, moments, moments, st.lists(posted_entries, max_size=4).map(tuple)
)


@given(posted_journals, posted_journals)
def test_different_journals_have_different_hashes(one: PostedJournal, other: PostedJournal) -> None:
    same = chain.link_to(chain.START, 1, one).hash == chain.link_to(chain.START, 1, other).hash
    assert same == (one == other)


@pytest.mark.parametrize("separator", ["|", ",", '","', "\n", "\0", "\x1f"])
def test_no_separator_moves_text_from_one_field_to_the_next(separator: str) -> None:
    one = PostedJournal("b", 1, f"k{separator}c", "c", NOW, NOW, ())
    other = replace(one, kind="k", cause=f"c{separator}c")
    assert chain.link_to(chain.START, 1, one).hash != chain.link_to(chain.START, 1, other).hash


@given(posted_journals)
def test_a_hash_covers_the_one_before_it(journal: PostedJournal) -> None:
    link = chain.link_to(chain.START, 1, journal)
    assert chain.difference_of(chain.START, link, journal) is None
    assert chain.difference_of(bytes(31) + b"\1", link, journal) is not None
    assert chain.difference_of(chain.START, replace(link, marks=b""), journal) is None
