"""The seeded business: the same on every start, with a webhook secret that works."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from build import roll_secret_key
from conftest import ENCRYPTION_KEY
from tidegate.account import commands as accounts
from tidegate.audit.model import OPERATOR
from tidegate.core.money import ACCOUNT_OFFERS
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.merchant import store
from tidegate.merchant.model import hash_of
from tidegate.runtime import Runtime
from tidegate.sandbox.seed import FILE_NAME, keep_rolled_key, seed
from tidegate.settings import Settings
from tidegate.webhook import commands
from tidegate.webhook.model import NewEndpoint, WithSecret


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, encryption_keys=(ENCRYPTION_KEY,))


def file_of(path: Path) -> dict[str, Any]:
    """Without the links that work once, which are others with each start."""
    links = ("dashboardUrl", "consoleUrl")
    return {name: value for name, value in json.loads(path.read_text()).items() if name not in links}


async def start(runtime: Runtime, settings: Settings) -> dict[str, Any]:
    made = await seed(runtime.webhook_deps, runtime.deps, settings, runtime.clock)
    assert json.loads((settings.home / FILE_NAME).read_text()) == made
    assert made.pop("dashboardUrl").startswith(f"{settings.base_url}/dashboard/enter/")
    assert made.pop("consoleUrl").startswith(f"{settings.base_url}/console/enter/")
    return made


async def create_endpoint(runtime: Runtime, business_id: str, url: str) -> WithSecret:
    async with runtime.db.transaction() as tx:
        return await commands.create(
            tx, runtime.webhook_deps.vault, business_id, NewEndpoint(url=url), by=OPERATOR, now=runtime.clock.now()
        )


async def test_every_start_finds_the_same(db: Database, runtime: Runtime, settings: Settings) -> None:
    first = await start(runtime, settings)
    assert first["webhookSecret"].startswith("whsec_")
    assert await start(runtime, settings) == first
    moved = replace(settings, base_url="http://localhost:9000")
    assert await start(runtime, moved) == {
        **first, "baseUrl": "http://localhost:9000", "checkoutUrl": "http://localhost:9000/pay",
        "mailUrl": "http://localhost:9000/mail",
    }  # fmt: skip


async def businesses(db: Database) -> int:
    return len(await merchants.list_all(db))


async def test_after_the_key_was_rolled_and_has_ended_it_is_the_same_business_with_a_key_that_works(
    db: Database, runtime: Runtime, settings: Settings
) -> None:
    first, now = await start(runtime, settings), runtime.clock.now()
    await roll_secret_key(runtime.db, first["businessId"], overlap=timedelta(0), now=now - timedelta(seconds=1))
    again = await start(runtime, settings)
    assert {**again, "secretKey": first["secretKey"]} == first
    assert again["secretKey"] != first["secretKey"]
    async with runtime.db.connection() as tx:
        found = await store.find_caller(tx, hash_of(again["secretKey"]))
    assert found is not None
    assert found.business.id == first["businessId"]
    assert found.key.is_valid_at(now)
    assert await businesses(runtime.db) == 1
    assert await start(runtime, settings) == again


async def test_a_rolled_key_is_kept_in_the_file_of_its_own_business_only(
    db: Database, runtime: Runtime, settings: Settings
) -> None:
    first, path = await start(runtime, settings), settings.home / FILE_NAME
    keep_rolled_key(path, "0" * 24, "sk_test_other")
    assert file_of(path) == first
    keep_rolled_key(path, first["businessId"], "sk_test_new")
    assert file_of(path) == {**first, "secretKey": "sk_test_new"}
    assert path.stat().st_mode & 0o777 == 0o600


async def test_the_first_endpoint_signs_with_the_secret_of_the_file(
    db: Database, runtime: Runtime, settings: Settings
) -> None:
    made = await start(runtime, settings)
    first = await create_endpoint(runtime, made["businessId"], "http://localhost:3000/a")
    second = await create_endpoint(runtime, made["businessId"], "http://localhost:3000/b")
    assert first.secret == made["webhookSecret"] != second.secret
    assert (await start(runtime, settings))["webhookSecret"] == made["webhookSecret"]


async def test_after_a_rotation_the_file_does_not_keep_a_secret_that_is_ending(
    db: Database, runtime: Runtime, settings: Settings
) -> None:
    made = await start(runtime, settings)
    first = await create_endpoint(runtime, made["businessId"], "http://localhost:3000/a")
    async with runtime.db.transaction() as tx:
        await commands.rotate(
            tx, runtime.webhook_deps.vault, made["businessId"], first.endpoint.id, by=OPERATOR, now=runtime.clock.now()
        )
    assert (await start(runtime, settings))["webhookSecret"] != made["webhookSecret"]


async def test_there_is_an_approved_account_in_each_currency(
    db: Database, runtime: Runtime, settings: Settings
) -> None:
    made = await start(runtime, settings)
    assert made["virtualAccounts"].keys() == set(ACCOUNT_OFFERS)
    for currency, shown in made["virtualAccounts"].items():
        account = await accounts.get(runtime.db, made["businessId"], shown["id"])
        assert (account.status, account.currency, account.holder) == ("approved", currency, shown["accountName"])
        assert account.details is not None
        assert account.details.account_number == shown["accountNumber"]
    await accounts.close(runtime.db, made["virtualAccounts"]["USD"]["id"], "test", by=OPERATOR, now=runtime.clock.now())
    again = (await start(runtime, settings))["virtualAccounts"]
    assert again["EUR"] == made["virtualAccounts"]["EUR"]
    assert again["USD"] != made["virtualAccounts"]["USD"]


BROKEN = ["", "{}", "[]", '{"businessId": 7}', "no JSON"]


@pytest.mark.parametrize("text", BROKEN)
async def test_a_broken_file_is_replaced(db: Database, runtime: Runtime, settings: Settings, text: str) -> None:
    (settings.home / FILE_NAME).write_text(text)
    assert (await start(runtime, settings))["secretKey"].startswith("sk_test_")


@pytest.mark.parametrize("text", [None, *BROKEN])
async def test_a_lost_file_is_written_again_for_the_same_business(
    db: Database, runtime: Runtime, settings: Settings, text: str | None
) -> None:
    first, path = await start(runtime, settings), settings.home / FILE_NAME
    await merchants.change(runtime.db, first["businessId"], {"name": "Renamed"}, now=runtime.clock.now())
    path.unlink()
    if text is not None:
        path.write_text(text)
    again = await start(runtime, settings)
    keys = {name: again[name] for name in ("secretKey", "publicKey")}
    assert {**first, **keys} == again  # With its webhook secret and its accounts.
    for key in keys.values():
        async with runtime.db.connection() as tx:
            found = await store.find_caller(tx, hash_of(key))
        assert found is not None
        assert found.business.id == first["businessId"]
    assert await businesses(runtime.db) == 1
    assert await start(runtime, settings) == again


async def test_a_lost_file_of_a_suspended_business_seeds_another(
    db: Database, runtime: Runtime, settings: Settings
) -> None:
    first = await start(runtime, settings)
    await merchants.change(runtime.db, first["businessId"], {"status": "suspended"}, now=runtime.clock.now())
    (settings.home / FILE_NAME).unlink()
    assert (await start(runtime, settings))["businessId"] != first["businessId"]


async def test_a_file_from_before_there_were_webhooks_gets_its_secret(
    db: Database, runtime: Runtime, settings: Settings
) -> None:
    made = await start(runtime, settings)
    old = {name: value for name, value in made.items() if name != "webhookSecret"}
    (settings.home / FILE_NAME).write_text(json.dumps(old))
    again = await start(runtime, settings)
    assert {name: again[name] for name in old} == old
    assert again["webhookSecret"].startswith("whsec_")
