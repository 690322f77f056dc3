"""Webhooks on the dashboard: how an endpoint fares, every try as it was sent and answered, and once more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from build import Shop
from dashboard.people import SignedInPerson
from receiver import OK, Receiver, answer, receiving
from tidegate.core.clock import SystemClock
from tidegate.dashboard import chart
from tidegate.dashboard.chart import HourBar
from tidegate.infra.db import Database
from tidegate.infra.http.operation import encode
from tidegate.payment import event_examples
from webhook.world import NOW, World, make_world

EXAMPLE = encode(event_examples.EVENTS[0].example)

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def world(db: Database, shop: Shop) -> AsyncIterator[World]:
    """Of the owner's business, an hour ago."""
    async with make_world(db) as made:
        made.clock.advance(SystemClock().now() - timedelta(hours=1) - NOW)
        yield replace(made, business_id=shop.business_id)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


async def test_every_try_is_shown_as_it_was_sent_and_answered(
    owner: SignedInPerson, world: World, receiver: Receiver
) -> None:
    await world.endpoint(receiver.url("/hook"))
    receiver.behaviour = answer(503, b"<h1>down</h1>", server="nginx", set_cookie="sid=secret")
    event_id = await world.event(EXAMPLE, reference="LCR-7")
    await world.walk()
    delivery = await world.delivery()
    at = f"/webhooks/deliveries/dlv_{delivery.id}"
    page = (await owner.get(at)).text
    for words in (
        "charge.successful for LCR-7 has not arrived yet", "503 Service Unavailable", "server: nginx",
        "set-cookie: …", "&lt;h1&gt;down&lt;/h1&gt;", f"webhook-id: {event_id}", "webhook-signature: v1,",
        receiver.url("/hook"), "Next tries", "Failing", "0 of 1",
    ):  # fmt: skip
        assert words in page, words
    assert page.count("<dt>") >= 10  # Nine tries are left, each with its time.
    receiver.behaviour = OK
    world.later(seconds=10)
    await world.walk()
    page = (await owner.get(at)).text
    assert "has arrived" in page
    assert "server: nginx" not in page
    assert "server: nginx" in (await owner.get(f"{at}?try=1")).text
    for junk in ("99", "x", "-1"):
        assert "200 OK" in (await owner.get(f"{at}?try={junk}")).text
    overview = (await owner.get("/webhooks")).text
    assert "1 of 1 arrived in 24 h" in overview
    assert "1 sent, 1 taken, 0 failed" in overview
    assert (await owner.send(f"{at}/resend", at=at)).status_code == 303
    assert (await world.delivery()).status == "pending"


async def test_an_endpoint_gets_another_address_and_other_events(
    owner: SignedInPerson, world: World, admin: Any
) -> None:
    made = await world.endpoint("https://shop.example/hook")
    at = f"/webhooks/endpoints/{made.endpoint.id}"
    fields = {"what": "change", "url": "https://shop.example/other", "event-refund.failed": "yes"}
    assert (await owner.send(at, at="/webhooks", **fields)).status_code == 303
    changed = await admin.fetchrow("SELECT url, events FROM webhook_endpoint")
    assert (changed["url"], "refund.failed" in changed["events"]) == ("https://shop.example/other", True)
    wrong = await owner.send(at, at="/webhooks", **{**fields, "url": "file:///etc/passwd"})
    assert (wrong.status_code, "needs a change" in wrong.text, "file:///etc/passwd" in wrong.text) == (422, True, True)


def test_a_strip_shows_a_single_failure_among_many() -> None:
    drawn = chart.strip([HourBar(0, 0, 0), HourBar(1, 1_000, 5), HourBar(10, 0, 0)], "<sent>")
    assert [drawn.count(f'class="{kind}"') for kind in ("foot", "bar", "bad", "wait")] == [3, 1, 2, 1]
    assert "<title>&lt;sent&gt;</title>" in drawn


async def test_a_sandbox_without_an_endpoint_recommends_listening(owner: SignedInPerson) -> None:
    assert "run <code>tidegate listen</code>" in (await owner.get("/webhooks")).text
