"""Secrets that cannot be decrypted: the doctor names them, and its advice helps."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from process import ENCRYPTION_KEY
from receiver import receiving
from tidegate.cli import main
from tidegate.doctor import sealed_store
from tidegate.infra.db import Database
from tidegate.infra.vault import Vault
from webhook.world import World, make_world

LATER_KEY = "YW5vdGhlciBrZXksIGZvciB0aGVzZSB0ZXN0cyBvbmw="


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    async with make_world(db) as made:
        yield made


async def run(database_url: str, home: Path, keys: str, *arguments: str) -> str:
    variables = {"DATABASE_URL": database_url, "TIDEGATE_HOME": str(home), "TIDEGATE_ENCRYPTION_KEY": keys}
    return (await asyncio.to_thread(CliRunner().invoke, main, arguments, env=variables)).output


async def finding(database_url: str, home: Path, keys: str, subject: str = "webhook secrets") -> Any:
    found = json.loads(await run(database_url, home, keys, "doctor", "--json"))
    return next(one for one in found if one["subject"] == subject)


async def test_the_doctor_decrypts_every_secret_in_batches(
    database_url: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_store, "SECRETS_BATCH", 2)
    for number in range(5):
        await world.endpoint(f"http://localhost:3000/{number}")
    found = await finding(database_url, tmp_path, ENCRYPTION_KEY)
    assert (found["ok"], found["what"]) == (True, "5 can be decrypted")
    assert (await finding(database_url, tmp_path, f"{LATER_KEY} {ENCRYPTION_KEY}"))["ok"]


@pytest.mark.parametrize("keys", [LATER_KEY, ""], ids=["replaced", "lost"])
async def test_the_doctor_names_the_endpoints_of_a_key_that_is_gone(
    database_url: str, world: World, tmp_path: Path, keys: str
) -> None:
    made = await world.endpoint("http://localhost:3000/hook")
    found = await finding(database_url, tmp_path, keys)
    assert not found["ok"]
    assert "1 of 1 cannot be decrypted" in found["what"]
    assert f"{made.endpoint.id} of {world.business_id}" in found["what"]
    assert "TIDEGATE_ENCRYPTION_KEY" in found["advice"]
    assert "tidegate webhook rotate" in found["advice"]
    assert os.listdir(tmp_path) == []  # A generated key would hide the loss.


async def test_a_secret_that_is_no_ciphertext_is_named(
    database_url: str, world: World, tmp_path: Path, admin: Any
) -> None:
    made = await world.endpoint("http://localhost:3000/hook")
    await admin.execute("UPDATE webhook_secret SET sealed = split_part(sealed, ':', 1) || ':x'")
    assert made.endpoint.id in (await finding(database_url, tmp_path, ENCRYPTION_KEY))["what"]


async def test_after_the_loss_of_a_key_rotating_is_enough(
    database_url: str, world: World, tmp_path: Path, admin: Any
) -> None:
    async with receiving() as receiver:
        made = await world.endpoint(receiver.url())
        await admin.execute("UPDATE webhook_secret SET sealed = '00000000:' || split_part(sealed, ':', 2)")
        await world.event()
        assert [one.error for one in await world.walk()] == ["secret_unreadable"]
        said = await run(
            database_url, tmp_path, ENCRYPTION_KEY,
            "webhook", "rotate", made.endpoint.id, "--business", world.business_id,
        )  # fmt: skip
        assert "whsec_" in said
        assert (await finding(database_url, tmp_path, ENCRYPTION_KEY))["ok"]
        world.later(days=0.5)
        assert [one.is_success for one in await world.deliver()] == [True]


async def test_people_whose_second_factor_needs_another_key_are_named(
    database_url: str, db: Database, tmp_path: Path, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_store, "SECRETS_BATCH", 2)
    vault = Vault((base64.b64decode(ENCRYPTION_KEY),))
    people = [f"{number:024x}" for number in range(3)]
    for number, person in enumerate(people):
        await admin.execute(
            "INSERT INTO person (id, email, name, totp_secret, created_at) VALUES ($1, $2, 'Ada', $3, now())",
            person, f"ada{number}@example.com", vault.seal("JBSWY3DPEHPK3PXP", owner=person),
        )  # fmt: skip
    found = await finding(database_url, tmp_path, f"{LATER_KEY} {ENCRYPTION_KEY}", "second factors")
    assert (found["ok"], found["what"]) == (True, "3 can be decrypted")
    found = await finding(database_url, tmp_path, LATER_KEY, "second factors")
    assert not found["ok"]
    assert all(person in found["what"] for person in people)
    assert "TIDEGATE_ENCRYPTION_KEY" in found["advice"]
