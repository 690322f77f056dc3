"""Keys: who is let in, what is remembered, and how fast it is forgotten."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from build import Shop, order, roll_secret_key
from conftest import MakeShop
from settable_clock import SettableClock
from tidegate.core import ids
from tidegate.core.clock import monotonic_s
from tidegate.core.errors import NotFound
from tidegate.core.ids import Mode
from tidegate.infra import rate_limit
from tidegate.infra.db import Database, Tx
from tidegate.merchant import commands, store
from tidegate.merchant import key_cache as key_cache_module
from tidegate.merchant.key_cache import KeyCache
from tidegate.merchant.model import ROLL_OVERLAP, Caller, KeyKind, hash_of

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


@pytest.fixture
async def new(db: Database) -> commands.NewBusiness:
    return await commands.create(db, name="Shop", email="shop@example.com", mode=Mode.SANDBOX, now=NOW)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOW)


class CountingDatabase(Database):
    """Counts how often the key cache asks the database."""

    def __init__(self, real: Database) -> None:
        self._real = real
        self.asked = 0

    def connection(self) -> Any:
        self.asked += 1
        return self._real.connection()


async def test_a_key_leads_to_its_business(db: Database, new: commands.NewBusiness, clock: SettableClock) -> None:
    caller = await KeyCache(db, clock, Mode.SANDBOX).caller_of(new.secret_key, KeyKind.SECRET)
    assert caller is not None
    assert caller.business.id == new.business.id


async def test_a_key_is_only_what_it_was_made_for(
    db: Database, new: commands.NewBusiness, clock: SettableClock
) -> None:
    key_cache = KeyCache(db, clock, Mode.SANDBOX)
    assert await key_cache.caller_of(new.public_key, KeyKind.SECRET) is None
    assert await key_cache.caller_of(new.secret_key, KeyKind.PUBLIC) is None
    assert await key_cache.caller_of(ids.new_secret_key(Mode.SANDBOX), KeyKind.SECRET) is None


async def test_a_remembered_key_costs_no_round_trip(
    db: Database, new: commands.NewBusiness, clock: SettableClock
) -> None:
    counting = CountingDatabase(db)
    key_cache = KeyCache(counting, clock, Mode.SANDBOX)
    await key_cache.refresh()
    for _ in range(100):
        assert await key_cache.caller_of(new.secret_key, KeyKind.SECRET)
    assert counting.asked == 2  # one for the epoch, one for the key


async def test_nothing_remembered_counts_when_the_epoch_was_not_read_lately(
    db: Database, new: commands.NewBusiness, clock: SettableClock
) -> None:
    counting = CountingDatabase(db)
    key_cache = KeyCache(counting, clock, Mode.SANDBOX)
    for _ in range(3):
        assert await key_cache.caller_of(new.secret_key, KeyKind.SECRET)
    assert counting.asked == 3


async def test_a_revoked_key_is_refused_after_the_next_look(
    db: Database, new: commands.NewBusiness, clock: SettableClock
) -> None:
    key_cache = KeyCache(db, clock, Mode.SANDBOX)
    await key_cache.refresh()
    caller = await key_cache.caller_of(new.secret_key, KeyKind.SECRET)
    assert caller is not None
    await commands.revoke_key(db, new.business.id, caller.key.id, now=NOW)
    await key_cache.refresh()
    assert await key_cache.caller_of(new.secret_key, KeyKind.SECRET) is None


async def test_an_answer_that_a_change_overtook_is_not_remembered(
    db: Database, new: commands.NewBusiness, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_cache = KeyCache(db, clock, Mode.SANDBOX)
    await key_cache.refresh()
    find = store.find_caller

    async def find_and_then_revoke(tx: Any, key_hash: bytes) -> Any:
        found = await find(tx, key_hash)
        assert found is not None
        await commands.revoke_key(db, new.business.id, found.key.id, now=NOW)
        await key_cache.refresh()
        return found

    monkeypatch.setattr(store, "find_caller", find_and_then_revoke)
    await key_cache.caller_of(new.secret_key, KeyKind.SECRET)
    monkeypatch.undo()
    assert await key_cache.caller_of(new.secret_key, KeyKind.SECRET) is None


async def test_during_a_roll_both_keys_work_and_then_only_the_new_one(
    db: Database, new: commands.NewBusiness, clock: SettableClock
) -> None:
    second = await roll_secret_key(db, new.business.id, overlap=ROLL_OVERLAP, now=NOW)
    key_cache = KeyCache(db, clock, Mode.SANDBOX)
    assert await key_cache.caller_of(new.secret_key, KeyKind.SECRET)
    assert await key_cache.caller_of(second, KeyKind.SECRET)
    clock.advance(ROLL_OVERLAP)
    assert await key_cache.caller_of(new.secret_key, KeyKind.SECRET) is None
    assert await key_cache.caller_of(second, KeyKind.SECRET)


async def test_a_second_roll_does_not_lengthen_the_first_overlap(db: Database, new: commands.NewBusiness) -> None:
    await roll_secret_key(db, new.business.id, overlap=timedelta(hours=1), now=NOW)
    await roll_secret_key(db, new.business.id, overlap=timedelta(hours=24), now=NOW)
    first = (await commands.keys_of(db, new.business.id))[0]
    assert first.expires_at == NOW + timedelta(hours=1)


async def test_the_public_key_outlives_a_roll(db: Database, new: commands.NewBusiness, clock: SettableClock) -> None:
    await roll_secret_key(db, new.business.id, overlap=timedelta(0), now=NOW)
    assert await KeyCache(db, clock, Mode.SANDBOX).caller_of(new.public_key, KeyKind.PUBLIC)


async def test_unknown_businesses_and_keys_are_said_to_be_unknown(db: Database) -> None:
    nobody = ids.new_business_id()
    with pytest.raises(NotFound):
        await roll_secret_key(db, nobody, overlap=ROLL_OVERLAP, now=NOW)
    with pytest.raises(NotFound):
        await commands.revoke_key(db, nobody, 1, now=NOW)
    with pytest.raises(NotFound):
        await commands.change(db, nobody, {"name": "New"}, now=NOW)


async def test_a_secret_key_is_stored_only_as_its_hash(db: Database, new: commands.NewBusiness, admin: Any) -> None:
    rows = await admin.fetch("SELECT credential::text AS row FROM credential")
    dump = "\n".join(row["row"] for row in rows)
    assert new.secret_key not in dump
    assert hash_of(new.secret_key).hex() in dump


async def test_a_business_is_found_by_the_code_in_its_pay_codes(
    db: Database, new: commands.NewBusiness, clock: SettableClock
) -> None:
    key_cache = KeyCache(db, clock, Mode.SANDBOX)
    await key_cache.refresh()
    for _ in range(2):
        found = await key_cache.business_by_code(new.business.code)
        assert found is not None
        assert found.id == new.business.id
    assert await key_cache.business_by_code("-----") is None


async def test_a_key_with_a_wrong_checksum_never_reaches_the_database(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: Any) -> None:
        raise AssertionError("the database was asked")

    monkeypatch.setattr(store, "find_caller", never)
    wrong = shop.secret_key[:-1] + ("a" if shop.secret_key[-1] != "a" else "b")
    answer = await shop.create(headers={"api-key": wrong})
    assert answer.status_code == 401


@pytest.mark.parametrize("key", ["sk_live_x", "pk_test_x", "sk_test_x", "x", ""])
async def test_a_wrong_key_is_told_which_one_is_right(shop: Shop, key: str) -> None:
    """The same for all: nobody learns what was wrong with one."""
    answer = await shop.create(headers={"api-key": key})
    advice = "send a valid secret key of sandbox mode in the api-key header"
    assert (answer.status_code, answer.json()["message"]) == (401, advice)
    answer = await shop.create(headers={"x-pub-key": key})
    advice = "send the business's own public key of sandbox mode in the x-pub-key header"
    assert (answer.status_code, answer.json()["message"]) == (401, advice)


async def test_a_setting_takes_effect_within_a_second(new_shop: MakeShop, db: Database) -> None:
    shop = await new_shop()
    assert (await shop.create()).status_code == 201
    await commands.change(db, shop.business_id, {"status": "suspended"}, now=NOW)
    refused = await wait_for_status(shop, 403)
    assert refused.json()["errorType"] == "ACCESS_DENIED"


async def wait_for_status(shop: Shop, status: int) -> Any:
    loop_ends_at = datetime.now(UTC) + timedelta(seconds=1)
    while datetime.now(UTC) < loop_ends_at:
        answer = await shop.create(order())
        if answer.status_code == status:
            return answer
    raise AssertionError(f"no {status} within a second")


async def test_a_key_that_does_not_exist_is_looked_up_once_and_again_after_any_change_of_keys(
    db: Database, new: commands.NewBusiness, clock: SettableClock
) -> None:
    counting = CountingDatabase(db)
    key_cache = KeyCache(counting, clock, Mode.SANDBOX)
    await key_cache.refresh()
    unknown, asked = ids.new_secret_key(Mode.SANDBOX), counting.asked
    for _ in range(10):
        assert await key_cache.caller_of(unknown, KeyKind.SECRET) is None
    assert counting.asked - asked == 1
    async with db.transaction() as tx:
        await commands._add_key(tx, new.business.id, KeyKind.SECRET, unknown, NOW)
    await key_cache.refresh()
    assert await key_cache.caller_of(unknown, KeyKind.SECRET)


async def test_a_key_that_has_ended_is_looked_up_once(
    db: Database, new: commands.NewBusiness, clock: SettableClock
) -> None:
    await roll_secret_key(db, new.business.id, overlap=timedelta(0), now=NOW)
    counting = CountingDatabase(db)
    key_cache = KeyCache(counting, clock, Mode.SANDBOX)
    await key_cache.refresh()
    clock.advance(timedelta(seconds=1))
    asked = counting.asked
    for _ in range(10):
        assert await key_cache.caller_of(new.secret_key, KeyKind.SECRET) is None
    assert counting.asked - asked == 1


async def test_keys_that_do_not_exist_take_no_more_than_their_share_of_memory(
    db: Database, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_cache_module, "UNKNOWN_MAX", 3)
    key_cache = KeyCache(db, clock, Mode.SANDBOX)
    await key_cache.refresh()
    for _ in range(10):
        await key_cache.caller_of(ids.new_secret_key(Mode.SANDBOX), KeyKind.SECRET)
        assert len(key_cache._unknown) <= 3


@pytest.mark.parametrize("header", ["api-key", "x-pub-key"])
async def test_who_tries_many_keys_is_refused_before_the_database_is_asked_and_known_keys_go_on(
    shop: Shop, payer_client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    now = monotonic_s()
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: now)  # No allowance comes back meanwhile.
    here = replace(shop, client=payer_client)
    assert (await here.create()).status_code == 201
    make = ids.new_secret_key if header == "api-key" else ids.new_public_key
    statuses = [(await here.create(headers={header: make(Mode.SANDBOX)})).status_code for _ in range(30)]
    assert statuses == [401] * 30
    with monkeypatch.context() as patch:
        if header == "api-key":
            patch.setattr(store, "find_caller", None)
        refused = await here.create(headers={header: make(Mode.SANDBOX)})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert (await here.create()).status_code == 201


async def test_a_key_that_was_found_while_keys_changed_is_known_all_the_same(
    shop: Shop, db: Database, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_cache = KeyCache(db, clock, Mode.SANDBOX)
    await key_cache.refresh()
    find = store.find_caller

    async def find_while_keys_change(tx: Tx, key_hash: bytes) -> Caller | None:
        key_cache._epoch -= 1
        return await find(tx, key_hash)

    monkeypatch.setattr(store, "find_caller", find_while_keys_change)
    assert await key_cache.caller_of(shop.secret_key, KeyKind.SECRET)
    assert key_cache.recall(shop.secret_key, KeyKind.SECRET) is None
    assert key_cache.was_known(shop.secret_key)


async def test_a_mistyped_key_is_refused_as_such_however_often_it_comes(
    shop: Shop, payer_client: httpx.AsyncClient
) -> None:
    for _ in range(40):
        answer = await replace(shop, client=payer_client).create(headers={"api-key": shop.secret_key[:-1]})
        assert answer.status_code == 401
