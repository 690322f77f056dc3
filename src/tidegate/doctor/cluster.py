"""Checks of a cluster: its nodes, and how evenly they carry what is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from tidegate.core.finding import Finding
from tidegate.deployment import cluster
from tidegate.doctor import cluster_store
from tidegate.doctor.cluster_store import ClusterNode
from tidegate.infra.db import Tx

# The fullest node over the mean. Below this size of the mean it says nothing.
UNEVEN_MAX = 1.5
UNEVEN_FROM_BYTES = 1024**3


async def examine_cluster(tx: Tx) -> AsyncIterator[Finding]:
    missing = await cluster.list_missing(tx)
    missing += [f"sequences of {node}" for node in await cluster.list_incomplete_nodes(tx)]
    advice = "run `tidegate migrate`: it brings them to the nodes"
    yield Finding("cluster tables", not missing, ", ".join(missing) or "every table is where it belongs", advice)
    yield await examine_nodes(tx)
    yield _balance(await cluster_store.list_nodes(tx))


async def examine_nodes(tx: Tx) -> Finding:
    """Answers also when a node is down, where a question over all businesses fails."""
    unreachable = await cluster_store.list_unreachable(tx)
    advice = "start the node, or let its standby take its place: the businesses on it wait"
    return Finding("cluster nodes", not unreachable, ", ".join(unreachable) or "all reach each other", advice)


def _balance(nodes: Sequence[ClusterNode]) -> Finding:
    listed = "; ".join(f"{node.name} has {node.shards} shards, {node.size_bytes // 1024**2} MB" for node in nodes)
    mean = sum(node.size_bytes for node in nodes) / max(len(nodes), 1)
    is_even = mean < UNEVEN_FROM_BYTES or max(node.size_bytes for node in nodes) <= UNEVEN_MAX * mean
    advice = "call citus_rebalance_start(rebalance_strategy := 'by_disk_size'): it moves shards while traffic runs"
    return Finding("cluster balance", is_even and len(nodes) > 0, listed or "no node has shards", advice)
