"""What surrounds the service: the public address, the PostgreSQL server, its standbys and backups, the mail server."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import aiosmtplib

from tidegate import __version__
from tidegate.core.finding import Finding
from tidegate.core.ids import Mode
from tidegate.doctor import server_store
from tidegate.doctor.cluster import examine_cluster
from tidegate.doctor.database_certificate import examine_database_certificate
from tidegate.doctor.public_address import examine_public_address
from tidegate.infra.db import APP_ROLE, Database, Tx
from tidegate.mail.send import SmtpTransport
from tidegate.settings import Settings

CONNECTIONS_USED_MAX = 0.8
DISK_FREE_MIN = 0.15
STANDBY_LAG_MAX_S = 10.0
# Longer than archive_timeout should be; younger changes are lost with the disk.
ARCHIVE_AGE_MAX = timedelta(minutes=15)
# Checkpoints and vacuum of an idle server write less.
IDLE_BYTES_MAX = 256 * 1024
IDLE_SLOT_BYTES_MIN = 1024**3
SEEING = f"GRANT pg_monitor TO {APP_ROLE}"


async def examine_installation(db: Database, settings: Settings, *, now: datetime) -> AsyncIterator[Finding]:
    is_live = settings.mode is Mode.LIVE
    yield Finding("versions", True, f"Tidegate {__version__}, Python {sys.version.split()[0]}")
    for finding in await examine_public_address(settings.base_url, now=now):
        yield finding
    yield _proxies(settings)
    async with db.connection() as tx:
        login = await server_store.get_login(tx)
        yield _login(login, is_live=is_live)
        yield _encryption(login, is_live=is_live)
        if login.is_encrypted and (certificate := await examine_database_certificate(db.url, now=now)):
            yield certificate
        room = await server_store.get_room(tx)
        yield _connections(room)
        files = await server_store.get_files(tx) if login.is_monitor else None
        yield _disk(room, files, is_local=not login.is_remote)
        yield await _slots(tx)
        if db.is_cluster:
            async for finding in examine_cluster(tx):
                yield finding
        yield _standbys(await server_store.get_standbys(tx), login, is_live=is_live)
        yield _archive(await server_store.get_archive(tx), now, is_live=is_live)
    if settings.mail is not None:
        yield await _mail(SmtpTransport(settings.mail))


def _proxies(settings: Settings) -> Finding:
    count = settings.trusted_proxies
    # In live mode the address is https, and the service itself speaks no TLS: there is a proxy.
    is_well = count > 0 or settings.mode is Mode.SANDBOX
    advice = (
        "set TIDEGATE_TRUSTED_PROXIES to the number of your proxies: now all payers share one address and its limits"
    )
    return Finding("proxies", is_well, f"{count} trusted with X-Forwarded-For", advice)


def _login(login: server_store.ServerLogin, *, is_live: bool) -> Finding:
    if login.is_superuser:
        advice = f"give the service a login of its own with {APP_ROLE} only: docs/operations.md, Install"
        return Finding("login", not is_live, f"{login.login} is a superuser", advice)
    what = (
        "may also change the schema; a login of its own could not" if login.can_change_schema else "has no other rights"
    )
    return Finding("login", True, f"{login.login} {what}")


def _encryption(login: server_store.ServerLogin, *, is_live: bool) -> Finding:
    how = "with TLS" if login.is_encrypted else "without TLS"
    where = "from another machine" if login.is_remote else "on one machine"
    is_well = login.is_encrypted or not login.is_remote or not is_live
    advice = "set ssl = on in PostgreSQL and ?sslmode=verify-full in DATABASE_URL"
    return Finding("database TLS", is_well, f"{how}, {where}", advice)


def _connections(room: server_store.ServerRoom) -> Finding:
    is_well = room.connections <= CONNECTIONS_USED_MAX * room.connections_max
    advice = "lower TIDEGATE_CONNECTIONS_MAX or the number of processes, or put PgBouncer in front"
    return Finding("connections", is_well, f"{room.connections} of {room.connections_max} in use", advice)


def _disk(room: server_store.ServerRoom, files: server_store.ServerFiles | None, *, is_local: bool) -> Finding:
    """Free space can be seen only on the database's own machine."""
    what = f"the database has {_size(room.database_bytes)}"
    if files is None:
        return Finding("disk", True, f"{what}; free space is not visible: {SEEING}")
    what += f", its WAL {_size(files.wal_bytes)}"
    if not is_local or not Path(files.data_directory).exists():
        return Finding("disk", True, f"{what}; free space of another machine is not visible: watch it there")
    usage = shutil.disk_usage(files.data_directory)
    is_well = usage.free >= DISK_FREE_MIN * usage.total
    advice = "give it room now: a full disk stops PostgreSQL, and it does not start again until there is some"
    return Finding("disk", is_well, f"{what}; {_size(usage.free)} of {_size(usage.total)} free", advice)


async def _slots(tx: Tx) -> Finding:
    found = await server_store.list_idle_slots(tx, bytes_min=IDLE_SLOT_BYTES_MIN)
    advice = "start its standby again, or SELECT pg_drop_replication_slot('NAME'): until then the disk fills up"
    return Finding("slots", not found, "; ".join(found) or "no replication slot keeps WAL without being read", advice)


def _standbys(standbys: server_store.ServerStandbys, login: server_store.ServerLogin, *, is_live: bool) -> Finding:
    if standbys.is_standby:
        advice = "DATABASE_URL leads to a standby, which takes no writes: let it lead to the primary"
        return Finding("standbys", False, "this server is a standby itself", advice)
    if not standbys.wanted:
        advice = (
            "set synchronous_standby_names, or synchronous_mode of Patroni, or repair its standby: without one the "
            "loss of this machine loses acknowledged payments"
        )
        return Finding("standbys", not is_live, "none is synchronous", advice)
    if not login.is_monitor:
        return Finding("standbys", True, f"{standbys.wanted} wanted; whether they follow is not visible: {SEEING}")
    what = f"{standbys.synchronous} synchronous of {standbys.all}, at most {standbys.lag_s:.1f} s behind"
    is_well = standbys.synchronous > 0 and standbys.lag_s <= STANDBY_LAG_MAX_S
    advice = "look at the standby's log, its disk and its network; until it follows, commits wait or are alone"
    return Finding("standbys", is_well, what, advice)


def _archive(archive: server_store.ServerArchive, now: datetime, *, is_live: bool) -> Finding:
    subject = "WAL archive"
    if not archive.is_on:
        advice = "set archive_mode and archive_command, or a backup cannot be brought up to the last minute"
        return Finding(subject, not is_live, "off", advice)
    failed, last = archive.last_failed_at, archive.last_archived_at
    if failed is not None and (last is None or failed > last):
        advice = "look at PostgreSQL's log; WAL piles up until archive_command succeeds"
        return Finding(
            subject, False, f"fails with {archive.last_failed_file} since {failed:%Y-%m-%d %H:%M} UTC", advice
        )
    if last is None:
        return Finding(subject, False, "nothing was archived yet", "set archive_timeout = 60, then look at its log")
    age = max(now - last, timedelta())
    # A server with nothing to do archives nothing.
    is_idle = archive.waiting_bytes is not None and archive.waiting_bytes < IDLE_BYTES_MAX
    advice = "set archive_timeout = 60, or what was written since then is lost with the disk"
    what = f"last file {int(age.total_seconds())} s ago; the age of base backups is known to pgbackrest info"
    return Finding(subject, age <= ARCHIVE_AGE_MAX or is_idle or not is_live, what, advice)


async def _mail(transport: SmtpTransport) -> Finding:
    try:
        await transport.check()
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
        why = str(error) or type(error).__name__
        return Finding("mail login", False, why, "check TIDEGATE_SMTP_URL: host, port, user, password, certificate")
    return Finding("mail login", True, "the mail server lets us in")


def _size(number: int) -> str:
    amount, units = number, ["B", "kB", "MB", "GB", "TB"]
    while amount >= 10_000 and len(units) > 1:
        amount //= 1024
        units.pop(0)
    return f"{amount:,} {units[0]}"
