"""Moves a business from node to node, with all its tables, while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

CLEAN_UP_S = 60


async def node_of(url: str, business_id: str) -> int:
    """Its port."""
    connection = await asyncpg.connect(url)
    try:
        port: int = await connection.fetchval(
            """
            SELECT nodeport FROM citus_shards
             WHERE shardid = get_shard_id_for_distribution_column('payment', $1::text)
            """,
            business_id,
        )
        return port
    finally:
        await connection.close()


@asynccontextmanager
async def moving(url: str, business_id: str) -> AsyncIterator[asyncio.Task[None]]:
    """To another node; what is inside meets it on its way."""
    move = asyncio.create_task(_move(url, business_id))
    try:
        yield move
        await move
        await _clean_up(url)
    finally:
        move.cancel()


async def _clean_up(url: str) -> None:
    """What the move left on the first node goes once no connection uses it; until then it refers to the business."""
    connection = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(CLEAN_UP_S):
            while await connection.fetchval("SELECT count(*) FROM pg_dist_cleanup"):
                await connection.execute("CALL citus_cleanup_orphaned_resources()")
    finally:
        connection.terminate()


async def _move(url: str, business_id: str) -> None:
    # On a connection of its own: a move takes seconds.
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            """
            SELECT citus_move_shard_placement(shard.shardid, shard.nodename, shard.nodeport,
                                              other.nodename, other.nodeport, 'auto')
              FROM citus_shards AS shard, pg_dist_node AS other
             WHERE shard.shardid = get_shard_id_for_distribution_column('payment', $1::text)
               AND other.nodeport <> shard.nodeport AND other.shouldhaveshards AND other.groupid <> 0
             ORDER BY other.nodeport LIMIT 1
            """,
            business_id,
        )
    finally:
        connection.terminate()
