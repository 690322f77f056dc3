"""`tidegate backup check`: a drill with a database in which money moved."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from build import make_shop, order
from checkout.paying import card
from conftest import ENCRYPTION_KEY, postgres_bin
from process import START_TIMEOUT_S, tidegate
from serving import serving
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres
from tidegate.settings import Settings


async def make_copy(home: Path, change: str = "") -> Path:
    """The files of a server that was cut off while it ran: they need recovery, as a base backup does."""
    postgres = EmbeddedPostgres(home, bin_dir=postgres_bin())
    postgres.start()
    try:
        await deployment.prepare(postgres.url(), Mode.SANDBOX)
        await pay(postgres.url())
        if change:
            owner = await asyncpg.connect(postgres.url())
            await owner.execute(change)
            await owner.close()
    finally:
        assert postgres.pid is not None
        os.kill(postgres.pid, signal.SIGQUIT)
        postgres.stop()
    return data_in(home)


def data_in(home: Path) -> Path:
    return next(folder for folder in home.glob("postgres-*") if folder.is_dir())


def restored_places() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("tidegate-restored-*"))


async def pay(url: str) -> None:
    db = Database(url)
    await db.open()
    settings = Settings(database_url=url, encryption_keys=(ENCRYPTION_KEY,))
    async with serving(settings) as (base_url, _), httpx.AsyncClient(base_url=base_url, timeout=60) as client:
        shop = await make_shop(db, client)
        created = await shop.create(order())
        path = f"/checkout/payments/{created.json()['data']['payCode']}/charge"
        assert (await client.post(path, json=card())).status_code == 200
    await db.close()


@pytest.fixture
async def home() -> AsyncIterator[Path]:
    # Directly below the folder for temporary files, where PostgreSQL's account can enter.
    folder = Path(tempfile.mkdtemp(prefix="tidegate-backup-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def check(*options: str) -> tuple[int, str]:
    process = tidegate("backup", "check", *options)
    said, _ = process.communicate(timeout=START_TIMEOUT_S)
    return process.returncode, said


def found(said: str) -> dict[str, Any]:
    return {finding["subject"]: finding for finding in json.loads(said)}


async def test_a_good_backup_is_restored_examined_and_removed(home: Path) -> None:
    folder = await make_copy(home)
    before = restored_places()
    code, said = check("--restore", f"cp -a {folder}/. {{place}}", "--json")
    assert code == 0, said
    findings = found(said)
    assert findings["age"]["what"].endswith("0 min ago") or findings["age"]["what"].endswith("1 min ago")
    assert findings["restore"]["ok"]
    # The data, and the books.
    assert {"migrations", "webhook secrets", "wallets", "settlements"} <= set(findings)
    assert not restored_places() - before


async def test_a_backup_that_is_old_or_was_tampered_with_fails(home: Path) -> None:
    """Both at once, since each needs a server of its own."""
    folder = await make_copy(
        home,
        "SET session_replication_role = replica; "
        "UPDATE entry SET amount_minor = amount_minor - 1 WHERE account = 'fee'; "
        "UPDATE payment SET created_at = created_at - interval '3 days'; "
        "UPDATE journal SET created_at = created_at - interval '3 days'; "
        "UPDATE event SET created_at = created_at - interval '3 days'",
    )
    code, said = check("--copy", str(folder), "--json")
    assert code == 1
    findings = found(said)
    assert not findings["age"]["ok"]
    assert not findings["journals"]["ok"]


def test_what_cannot_be_restored_is_refused_with_the_reason() -> None:
    for options, why in (
        ([], "Give one of --restore COMMAND and --copy FOLDER"),
        (["--restore", "cp -a /backup ."], "--restore must have {place}"),
        (["--restore", "false {place}"], "The restore failed with 1"),
        (["--restore", "no-such-program {place}"], "no-such-program cannot be run"),
        (["--restore", "true {place}"], "it has no file PG_VERSION"),
        (["--restore", "sh -c 'echo 9 > {place}/PG_VERSION'"], "The backup is of PostgreSQL 9"),
    ):
        code, said = check(*options)
        assert code == 1, said
        assert why in said
