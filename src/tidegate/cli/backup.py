"""`tidegate backup check`: restores a backup to an empty place and examines it."""

from __future__ import annotations

import asyncio
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click

from tidegate import settings as settings_module
from tidegate.cli.console import as_json_option, fail, print_json, reports_errors
from tidegate.cli.database import known_encryption_keys, run_async
from tidegate.cli.doctor import show_finding
from tidegate.core.clock import SystemClock, monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.core.finding import Finding
from tidegate.deployment import commands as deployment
from tidegate.doctor.commands import examine_audit_trail, examine_books, examine_data
from tidegate.doctor.store import find_newest_change
from tidegate.infra import db as database
from tidegate.infra.db import Database
from tidegate.infra.embedded import config
from tidegate.infra.embedded.restored import PLACE, Replay, RestoredPostgres, restored
from tidegate.infra.vault import Vault
from tidegate.settings import Settings

POLL_S = 0.2
# Examining the books reads every row.
STATEMENT_TIMEOUT_MS = 3_600_000
UNTIL = "{until}"


@click.group()
def backup() -> None:
    """Backups."""


@backup.command()
@click.option("--restore", "command", metavar="COMMAND", help=f"Command that restores into {PLACE}.")
@click.option(
    "--copy", "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A base backup as files."
)
@click.option(
    "--wal", "archive", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Archived WAL to replay over --copy.",
)  # fmt: skip
@click.option(
    "--until", type=click.DateTime(["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"]), metavar="TIME",
    help=f"Restore only up to this moment, in UTC, such as '2026-11-16 04:44:52'; stands for {UNTIL} in --restore.",
)  # fmt: skip
@click.option("--newer-than", "hours", type=click.IntRange(1, 8_760), default=26, show_default=True, metavar="HOURS",
              help="Fail when the newest change in the backup is older.")  # fmt: skip
@click.option("--within", "minutes", type=click.IntRange(1, 2_880), default=120, show_default=True, metavar="MINUTES",
              help="Fail when restoring takes longer.")  # fmt: skip
@as_json_option
@reports_errors
def check(
    *,
    command: str | None,
    folder: Path | None,
    archive: Path | None,
    until: datetime | None,
    hours: int,
    minutes: int,
    as_json: bool,
) -> None:
    """Restore a backup to an empty place, examine its data and its books, and say how old it is.

    The copy is served on a socket that only this command can reach, and removed afterwards. With pgbackrest:

    tidegate backup check --restore "pgbackrest --stanza=tidegate --pg1-path={place} --archive-mode=off restore"
    """
    target = until.replace(tzinfo=UTC) if until else None
    words = _restore_words(command, folder, archive, target)
    replay = Replay(archive, target) if archive else None
    settings = settings_module.from_environment()
    began = monotonic_s()
    with restored(words, bin_dir=settings.postgres_bin, timeout_s=minutes * 60, replay=replay) as postgres:
        now = target or SystemClock().now()
        findings = run_async(_examine(postgres, settings, began, now=now, timeout_s=minutes * 60, hours=hours))
    if as_json:
        print_json([finding.to_json() for finding in findings])
    else:
        for finding in findings:
            show_finding(finding)
    if not all(finding.is_well for finding in findings):
        raise SystemExit(1)


def _restore_words(command: str | None, folder: Path | None, archive: Path | None, until: datetime | None) -> list[str]:
    if (command is None) == (folder is None):
        fail("Give one of --restore COMMAND and --copy FOLDER.")
    if command is None:
        if until and archive is None:
            fail("--until with --copy needs --wal FOLDER: without WAL a backup has one moment only.")
        return ["cp", "-a", f"{folder}/.", PLACE]
    if archive is not None:
        fail("--wal goes with --copy only; the command of --restore reads its own archive.")
    if PLACE not in command:
        fail(f"--restore must have {PLACE} where the empty folder's name belongs.")
    if (until is not None) != (UNTIL in command):
        fail(f"Give both --until and {UNTIL} in --restore, where the moment belongs, or neither.")
    moment = until.isoformat(" ") if until else ""
    return [word.replace(UNTIL, moment) for word in shlex.split(command)]


async def _examine(
    postgres: RestoredPostgres, settings: Settings, began: float, *, now: datetime, timeout_s: float, hours: int
) -> list[Finding]:
    original = urlsplit(settings.database_url or f"postgresql://{config.ROLE}@/tidegate")
    url = postgres.url(
        user=unquote(original.username or config.ROLE), database=unquote(original.path.strip("/")) or "tidegate"
    )
    db = Database(url, connections_max=2, statement_timeout_ms=STATEMENT_TIMEOUT_MS)
    await _open(db, postgres, ends_at=monotonic_s() + timeout_s)
    try:
        took = Finding("restore", True, f"took {monotonic_s() - began:.0f} s")
        await deployment.check(db, settings.mode)
        async with db.connection() as tx:
            newest = await find_newest_change(tx)
        # As of then: what has become due since is not missing in the copy.
        as_of = newest or now
        vault = Vault(known_encryption_keys(settings))
        data = [finding async for finding in examine_data(db, vault, now=as_of)]
        of_books, _ = await examine_books(db, now=as_of)
        trail = await examine_audit_trail(db, now=as_of)
        return [took, _age(newest, now, hours), *data, *of_books, trail]
    finally:
        await db.close()


async def _open(db: Database, postgres: RestoredPostgres, *, ends_at: float) -> None:
    while True:
        try:
            return await db.open()
        except database.AWAY as error:
            if why := postgres.failure():
                fail(why)
            if monotonic_s() > ends_at:
                raise Unavailable(f"the restored copy does not become ready: {error}") from None
        await asyncio.sleep(POLL_S)


def _age(newest: datetime | None, now: datetime, hours: int) -> Finding:
    if newest is None:
        return Finding("age", False, "it holds no change at all", "this is not a backup of a database in use")
    age = now - newest
    advice = "look at the archive of WAL and at the schedule of backups: everything since then would be lost"
    what = f"newest change {newest:%Y-%m-%d %H:%M:%S} UTC, {age.total_seconds() / 60:.0f} min before {now:%H:%M:%S}"
    return Finding("age", age <= timedelta(hours=hours), what, advice)
