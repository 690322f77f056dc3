"""A merchant's whole story on a cluster, while the merchant moves from node to node."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from local_cluster.nodes import Nodes

from checkout.paying import card
from cluster.moving import moving, node_of
from conftest import MakeCheckout
from inflow import Inflows, credit
from receiver import Receiver, receiving
from tidegate.infra.db import Database
from wallet.merchant import Merchant

EARNED = Decimal("98.49")  # Of 100 naira, after the price.
REFUNDED = 50
EVENTS = ["charge.successful", "collection.successful", "refund.successful"]


@dataclass(frozen=True)
class Sold:
    """References of what was paid."""

    by_card: list[str] = field(default_factory=list)
    by_transfer: list[str] = field(default_factory=list)
    inflows: list[str] = field(default_factory=list)

    @property
    def payments(self) -> list[str]:
        return [*self.by_card, *self.by_transfer]


@pytest.fixture
async def receiver(cluster: Nodes) -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


async def sell(inflows: Inflows, new_checkout: MakeCheckout, number: str, sold: Sold) -> None:
    by_card = await new_checkout(inflows.shop)
    answer = await by_card.charge(card())
    assert answer.is_success, answer.text
    sold.by_card.append(by_card.reference)
    by_transfer = await new_checkout(inflows.shop)
    await by_transfer.transfer(await by_transfer.account(), "100")
    sold.by_transfer.append(by_transfer.reference)
    arrived = await inflows.notified(credit(number))
    assert arrived["status"] == "successful", arrived
    sold.inflows.append(arrived["reference"])


async def refund(inflows: Inflows, reference: str) -> None:
    begun = await inflows.call("POST", "/collections/refund", {"transReference": reference, "amount": REFUNDED})
    assert begun.is_success, begun.text
    await inflows.tick()
    await inflows.let_pass("5s")
    path = f"/collections/refund/{begun.json()['data']['reference']}"
    assert (await inflows.call("GET", path)).json()["data"]["refundStatus"] == "successful"


async def test_a_merchant_trades_while_it_moves(
    receiver: Receiver, inflows: Inflows, new_checkout: MakeCheckout, database_url: str, db: Database
) -> None:
    shop, sold = inflows.shop, Sold()
    made = await inflows.call("POST", "/webhooks/endpoints", {"url": receiver.url(), "events": EVENTS})
    assert made.status_code == 201, made.text
    number = await inflows.number()
    before = await node_of(database_url, shop.business_id)

    async with moving(database_url, shop.business_id) as move:
        while not move.done():
            await sell(inflows, new_checkout, number, sold)
            await refund(inflows, sold.by_card[-1])
    assert await node_of(database_url, shop.business_id) != before

    for reference in sold.payments:
        assert (await shop.verify(reference)).json()["data"]["status"] == "success"
    assert {one["reference"] for one in (await inflows.page(perPage=100))["results"]} >= set(sold.inflows)
    lines = await Merchant(db, shop).lines(order="asc")
    assert [line["amount"] for line in lines] == [EARNED, EARNED, -REFUNDED] * len(sold.by_card)
    assert lines[-1]["balance"] == len(sold.payments) * EARNED - len(sold.by_card) * REFUNDED
    while await inflows.deliver():
        pass
    events = [json.loads(got.body)["event"] for got in receiver.received]
    assert events.count("charge.successful") == len(sold.payments)
    assert events.count("collection.successful") == len(sold.inflows)
    assert events.count("refund.successful") == len(sold.by_card)
