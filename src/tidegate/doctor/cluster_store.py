"""SQL of the nodes of a cluster (Citus) and of what each of them has."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.infra.db import Tx


class ClusterNode(NamedTuple):
    name: str
    is_active: bool
    shards: int
    size_bytes: int


async def list_nodes(tx: Tx) -> list[ClusterNode]:
    """The shards of tables that are distributed by business, and their bytes."""
    rows = await tx.fetch(
        """
        SELECT node.nodename || ':' || node.nodeport AS name, node.isactive AS is_active,
               count(shard.shardid) AS shards, coalesce(sum(shard.shard_size), 0)::bigint AS size_bytes
          FROM pg_dist_node AS node
          LEFT JOIN citus_shards AS shard ON shard.nodename = node.nodename AND shard.nodeport = node.nodeport
               AND shard.citus_table_type = 'distributed'
         WHERE node.noderole = 'primary' AND node.shouldhaveshards
         GROUP BY 1, 2 ORDER BY 1
        """
    )
    return [ClusterNode(**row) for row in rows]


async def list_unreachable(tx: Tx) -> list[str]:
    """Nodes that some other node cannot reach. What a node that is down would reach is NULL."""
    rows = await tx.fetch(
        """
        SELECT DISTINCT to_nodename || ':' || to_nodeport AS name FROM citus_check_cluster_node_health()
         WHERE NOT result ORDER BY 1
        """
    )
    return [row["name"] for row in rows]
