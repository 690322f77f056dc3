"""SQL that tells a cluster (Citus) from a plain PostgreSQL."""

from __future__ import annotations

from typing import Any


async def is_cluster(connection: Any) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"))
