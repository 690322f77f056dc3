"""On a cluster (`make test-cluster`): a business is paid while it moves to another node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from checkout.paying import card
from cluster.nodes import Nodes
from conftest import MakeCheckout
from inflow import Inflows
from receiver import Receiver, receiving

PAYMENTS = 6


@pytest.fixture
async def receiver(nodes: Nodes | None) -> AsyncIterator[Receiver]:
    if nodes is None:
        pytest.skip("needs a cluster: make test-cluster")
    async with receiving() as made:
        yield made


async def move(admin: Any, business_id: str) -> None:
    """To another node, with all tables of the business, while it is written."""
    await admin.execute(
        """
        SELECT citus_move_shard_placement(shard.shardid, shard.nodename, shard.nodeport, other.nodename, other.nodeport,
                                          'auto')
          FROM citus_shards AS shard, pg_dist_node AS other
         WHERE shard.shardid = get_shard_id_for_distribution_column('payment', $1::text)
           AND other.nodeport <> shard.nodeport AND other.shouldhaveshards AND other.groupid <> 0
         LIMIT 1
        """,
        business_id,
    )


async def node_of(admin: Any, business_id: str) -> int:
    port: int = await admin.fetchval(
        "SELECT nodeport FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('payment', $1::text)",
        business_id,
    )
    return port


async def test_a_business_is_paid_while_it_moves(
    receiver: Receiver, inflows: Inflows, new_checkout: MakeCheckout, admin: Any
) -> None:
    shop, business_id = inflows.shop, inflows.shop.business_id
    made = await inflows.call("POST", "/webhooks/endpoints", {"url": receiver.url()})
    assert made.status_code == 201, made.text
    before = await node_of(admin, business_id)

    async def pay() -> str:
        checkout = await new_checkout(shop)
        answer = await checkout.charge(card())
        assert answer.is_success, answer.text
        return checkout.reference

    moving = asyncio.create_task(move(admin, business_id))
    paid = [await pay() for _ in range(PAYMENTS)]
    await moving
    paid.append(await pay())
    assert await node_of(admin, business_id) != before
    for reference in paid:
        assert (await shop.verify(reference)).json()["data"]["status"] == "success"
    await inflows.deliver()
    assert len(receiver.received) == len(paid)

    refund = await inflows.call("POST", "/collections/refund", {"reference": paid[0]})
    assert refund.is_success, refund.text
    await inflows.tick()
    rising = await admin.fetch(
        "SELECT journal_id FROM entry WHERE business_id = $1 AND account = 'wallet' ORDER BY journal_id", business_id
    )
    assert len(rising) == len(paid) + 1
