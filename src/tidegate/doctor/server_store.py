"""The PostgreSQL server around our database: who we are to it, its standbys, its archive, its room."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.infra.db import Tx


@dataclass(frozen=True)
class ServerLogin:
    login: str
    is_superuser: bool
    can_change_schema: bool
    is_encrypted: bool
    # By TCP to another machine, as the server sees it.
    is_remote: bool
    # Whether the server tells this role about its standbys and its files.
    is_monitor: bool


@dataclass(frozen=True)
class ServerRoom:
    database_bytes: int
    connections: int
    connections_max: int


@dataclass(frozen=True)
class ServerFiles:
    wal_bytes: int
    data_directory: str


@dataclass(frozen=True)
class ServerArchive:
    is_on: bool
    last_archived_at: datetime | None
    last_failed_at: datetime | None
    last_failed_file: str | None
    # Written since the last archived file; None when unknown.
    waiting_bytes: int | None


@dataclass(frozen=True)
class ServerStandbys:
    is_standby: bool
    wanted: str
    synchronous: int
    all: int
    lag_s: float


async def get_login(tx: Tx) -> ServerLogin:
    row = await tx.fetchrow(
        """
        SELECT session_user AS login,
               (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS is_superuser,
               pg_has_role(session_user, (SELECT relowner FROM pg_class WHERE oid = 'journal'::regclass), 'MEMBER')
                   AS can_change_schema,
               coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
               inet_client_addr() IS NOT NULL AND inet_client_addr() <> inet_server_addr() AS is_remote,
               pg_has_role(current_user, 'pg_monitor', 'USAGE') AS is_monitor
        """
    )
    assert row is not None
    return ServerLogin(**row)


async def get_room(tx: Tx) -> ServerRoom:
    row = await tx.fetchrow(
        """
        SELECT pg_database_size(current_database()) AS database_bytes,
               (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' OR backend_type IS NULL)
                   AS connections,
               current_setting('max_connections')::int AS connections_max
        """
    )
    assert row is not None
    return ServerRoom(**row)


async def get_files(tx: Tx) -> ServerFiles:
    """Needs pg_monitor."""
    row = await tx.fetchrow(
        """
        SELECT (SELECT coalesce(sum(size), 0)::bigint FROM pg_ls_waldir()) AS wal_bytes,
               current_setting('data_directory') AS data_directory
        """
    )
    assert row is not None
    return ServerFiles(**row)


async def get_archive(tx: Tx) -> ServerArchive:
    row = await tx.fetchrow(
        """
        SELECT current_setting('archive_mode') <> 'off' AS is_on, last_archived_time AS last_archived_at,
               last_failed_time AS last_failed_at, last_failed_wal AS last_failed_file,
               -- A file of WAL is named by its timeline, and by where it begins in units of 4 GB and of its own size.
               CASE WHEN last_archived_wal ~ '^[0-9A-F]{24}' AND NOT pg_is_in_recovery() THEN
                   (pg_current_wal_lsn() - '0/0'::pg_lsn
                    - ('x' || substr(last_archived_wal, 9, 8))::bit(32)::bigint * 4294967296
                    - (('x' || substr(last_archived_wal, 17, 8))::bit(32)::bigint + 1)
                      * pg_size_bytes(current_setting('wal_segment_size')))::bigint
               END AS waiting_bytes
          FROM pg_stat_archiver
        """
    )
    assert row is not None
    return ServerArchive(**row)


async def get_standbys(tx: Tx) -> ServerStandbys:
    row = await tx.fetchrow(
        """
        SELECT pg_is_in_recovery() AS is_standby, current_setting('synchronous_standby_names') AS wanted,
               count(*) FILTER (WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming') AS synchronous,
               count(*) AS all, coalesce(extract(epoch FROM max(replay_lag)), 0)::float8 AS lag_s
          FROM pg_stat_replication
        """
    )
    assert row is not None
    return ServerStandbys(**row)


async def list_idle_slots(tx: Tx, *, bytes_min: int) -> list[str]:
    """Replication slots without a reader that keep WAL from being removed."""
    rows = await tx.fetch(
        """
        SELECT slot_name || ' keeps '
               || pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) AS found
          FROM pg_replication_slots
         WHERE NOT pg_is_in_recovery() AND NOT active
           AND pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) >= $1
         ORDER BY slot_name LIMIT 10
        """,
        bytes_min,
    )
    return [row["found"] for row in rows]
