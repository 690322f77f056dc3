"""Limits of how many a business may have hold when two are asked for at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from inflow import HOLDER
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OPERATOR
from tidegate.core import ids
from tidegate.core.errors import Conflict
from tidegate.core.money import Currency
from tidegate.infra.db import Database, Tx
from tidegate.webhook import commands as webhooks
from tidegate.webhook.model import NewEndpoint, WithSecret
from waiting import until_waiting
from webhook.world import NOW, World, make_world

Make = Callable[[Tx], Awaitable[Any]]


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    async with make_world(db) as made:
        yield made


async def at_once(db: Database, admin: Any, make: Make) -> list[Any]:
    """The second begins after the first has written and before it commits. None for one that was refused."""

    async def second() -> Any:
        with suppress(Conflict):
            async with db.transaction() as tx:
                return await make(tx)

    async with db.transaction() as tx:
        first = await make(tx)
        rival = asyncio.create_task(second())
        await until_waiting(admin, unless=rival)
    return [first, await rival]


def endpoint(world: World) -> Make:
    async def make(tx: Tx) -> WithSecret:
        new = NewEndpoint(url="https://shop.example.com/hook")
        return await webhooks.create(tx, world.webhook_deps.vault, world.business_id, new, by=OPERATOR, now=NOW)

    return make


async def test_two_endpoints_at_once_keep_the_limit(world: World, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "ENDPOINTS_MAX", 1)
    first, second = await at_once(world.db, admin, endpoint(world))
    assert (first is None, second) == (False, None)
    assert len(await webhooks.list_all(world.db, world.business_id)) == 1


async def test_of_two_first_endpoints_at_once_one_has_the_waiting_secret(world: World, admin: Any) -> None:
    waiting = await webhooks.keep_for_first(world.webhook_deps, world.business_id, None, now=NOW)
    made = await at_once(world.db, admin, endpoint(world))
    assert [one.secret == waiting for one in made] == [True, False]


async def test_two_accounts_at_once_keep_the_limit(world: World, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "ACCOUNTS_MAX", 1)

    async def make(tx: Tx) -> Account:
        account = Account(
            business_id=world.business_id,
            id=ids.new_account_id(),
            currency=Currency.EUR,
            settlement_currency=Currency.EUR,
            account_type=AccountType.INDIVIDUAL,
            holder=HOLDER,
            created_at=NOW,
            updated_at=NOW,
        )
        return await accounts.request_in(tx, account, by=OPERATOR, now=NOW)

    first, second = await at_once(world.db, admin, make)
    assert (first is None, second) == (False, None)
    assert await admin.fetchval("SELECT count(*) FROM virtual_account") == 1
