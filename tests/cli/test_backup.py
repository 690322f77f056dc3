"""`tidegate backup check`: a drill with a database in which money moved."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from click.testing import CliRunner

from build import make_shop, order
from checkout.paying import card
from conftest import ENCRYPTION_KEY, postgres_bin
from process import START_TIMEOUT_S, tidegate
from serving import serving
from tidegate.cli import main
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres
from tidegate.settings import Settings


def data_in(home: Path) -> Path:
    return next(folder for folder in home.glob("postgres-*") if folder.is_dir())


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


def check(*options: str, **environment: str) -> tuple[int, str]:
    process = tidegate("backup", "check", *options, **environment)
    said, _ = process.communicate(timeout=START_TIMEOUT_S)
    return process.returncode, said


def found(said: str) -> dict[str, Any]:
    return {finding["subject"]: finding for finding in json.loads(said)}


# As somebody with all rights may make it: a fee is changed, and everything seems to be three days older.
MISTAKE = """
    SET session_replication_role = replica;
    UPDATE entry SET amount_minor = amount_minor - 1 WHERE account = 'fee';
    UPDATE payment SET created_at = created_at - interval '3 days';
    UPDATE journal SET created_at = created_at - interval '3 days';
    UPDATE event SET created_at = created_at - interval '3 days'
"""


@dataclass(frozen=True)
class Backup:
    base: Path
    wal: Path
    # After a payment, before the mistake.
    moment: datetime


@pytest.fixture(scope="module")
async def backup() -> AsyncIterator[Backup]:
    """A base backup of a server in use, and its WAL since then. For all tests: a server takes its time."""
    # Directly below the folder for temporary files, where PostgreSQL's account can enter.
    home = Path(tempfile.mkdtemp(prefix="tidegate-backup-"))
    postgres = EmbeddedPostgres(home, bin_dir=postgres_bin())
    postgres.start()
    try:
        yield await make_backup(home, postgres.url())
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)


async def make_backup(home: Path, url: str) -> Backup:
    data, base, wal = data_in(home), home / "base", home / "wal"
    await deployment.prepare(url, Mode.SANDBOX)
    owner = await asyncpg.connect(url)
    await owner.fetchval("SELECT pg_backup_start('drill', fast => true)")
    shutil.copytree(data, base, ignore=shutil.ignore_patterns("pg_wal", "postmaster.*", ".s.*"))
    (base / "pg_wal").mkdir(mode=0o700)
    # After the files were copied, so that it is in the WAL only.
    await pay(url)
    label = await owner.fetchval("SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)")
    (base / "backup_label").write_text(label)
    moment = await owner.fetchval("SELECT clock_timestamp()")
    await owner.execute(MISTAKE)
    await owner.fetchval("SELECT pg_switch_wal()")
    await owner.close()
    shutil.copytree(data / "pg_wal", wal)
    for path in (home, base, wal, *base.rglob("*"), *wal.rglob("*")):
        shutil.chown(path, data.owner())
    return Backup(base, wal, moment)


async def test_a_backup_comes_back_as_of_the_moment_before_a_mistake_and_is_removed(backup: Backup) -> None:
    # A folder of its own: in the machine's, others restore too.
    place = backup.base.parent / "temporary"
    place.mkdir()
    shutil.chown(place, backup.base.owner())
    until = f"{backup.moment:%Y-%m-%d %H:%M:%S.%f}"
    options = ("--copy", str(backup.base), "--wal", str(backup.wal), "--until", until, "--json")
    code, said = check(*options, TMPDIR=str(place))
    assert code == 0, said
    findings = found(said)
    assert re.search(r" UTC, [01] min before ", findings["age"]["what"])
    assert findings["restore"]["ok"]
    # The data, and the books.
    assert {"migrations", "webhook secrets", "wallets", "settlements"} <= set(findings)
    assert list(place.iterdir()) == []


async def test_a_backup_that_is_old_or_was_tampered_with_fails(backup: Backup) -> None:
    """Both at once, since each needs a server of its own: with all of its WAL the mistake is in it."""
    command = f"sh -c 'cp -a {backup.base}/. {{place}} && cp -a {backup.wal}/. {{place}}/pg_wal'"
    code, said = check("--restore", command, "--json")
    assert code == 1
    findings = found(said)
    assert not findings["age"]["ok"]
    assert not findings["journals"]["ok"]


MOMENT = "2026-11-16 04:44:52"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "Give one of --restore COMMAND and --copy FOLDER"),
        (["--restore", "cp -a /backup ."], "--restore must have {place}"),
        (["--restore", "true {place}", "--until", MOMENT], "--until and {until} in --restore"),
        (["--copy", ".", "--until", MOMENT], "--until with --copy needs --wal FOLDER"),
        (["--restore", f"sh -c '[ \"$0\" = \"{MOMENT}+00:00\" ] && exit 7' {{until}} {{place}}", "--until", MOMENT],
         "The restore failed with 7"),
        (["--restore", "false {place}"], "The restore failed with 1"),
        (["--restore", "no-such-program {place}"], "no-such-program cannot be run"),
        (["--restore", "true {place}"], "it has no file PG_VERSION"),
        (["--restore", "sh -c 'echo 9 > {place}/PG_VERSION'"], "The backup is of PostgreSQL 9"),
    ],
)  # fmt: skip
def test_what_cannot_be_restored_is_refused_with_the_reason(options: list[str], why: str) -> None:
    done = CliRunner().invoke(main, ["backup", "check", *options])
    assert done.exit_code == 1
    assert why in " ".join(done.output.split())
