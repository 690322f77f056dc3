"""Webhooks on the dashboard: how an endpoint fares, every try as it was sent and answered, and once more."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from build import Shop
from dashboard.people import People, SignedInPerson
from receiver import OK, Receiver, answer, close, receiving
from tidegate.core.clock import SystemClock
from tidegate.dashboard import chart
from tidegate.dashboard.chart import HourBar
from tidegate.infra.db import Database
from tidegate.infra.http.operation import encode
from tidegate.member.permission import Role
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
    people: People, owner: SignedInPerson, shop: Shop, world: World, receiver: Receiver
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
    developer = await people.person(shop, Role.DEVELOPER, name="Somebody")
    assert ("ada@example.com" in page, "ada@example.com" in (await developer.get(at)).text) == (True, False)
    overview = (await owner.get("/webhooks")).text
    assert "1 of 1 arrived in 24 h" in overview
    assert "1 sent, 1 taken, 0 failed" in overview
    sent = await owner.send(f"{at}/resend", at=at)
    assert (sent.status_code, (await world.delivery()).status) == (303, "pending")
    waits = await owner.client.get(sent.headers["location"])
    assert ("It is being sent again" in waits.text, waits.headers["refresh"]) == (True, "3")
    world.later(seconds=3_600)
    await world.walk()
    arrived = await owner.client.get(sent.headers["location"])
    assert ("has arrived" in arrived.text, "refresh" in arrived.headers) == (True, False)


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


@pytest.mark.parametrize(
    "is_cluster", [pytest.param(False, marks=pytest.mark.one_server("its queue is of one server")), True]
)
async def test_deliveries_are_found_by_answer_tries_and_day(
    owner: SignedInPerson, world: World, receiver: Receiver, is_cluster: bool
) -> None:
    """A cluster works the queue off by functions of its own."""
    is_on_cluster, world.db.is_cluster = world.db.is_cluster, is_cluster
    try:
        await world.endpoint(receiver.url("/hook"))
        await world.event(EXAMPLE, reference="TAKEN")
        await world.walk()
        receiver.behaviour = answer(503)
        await world.event(EXAMPLE, reference="BROKEN")
        await world.walk()
        receiver.behaviour = close
        await world.event(EXAMPLE, reference="SILENT")
        await world.walk()
        world.later(seconds=10)
        await world.walk()
    finally:
        world.db.is_cluster = is_on_cluster

    async def found(query: str) -> set[str]:
        page = (await owner.get(f"/webhooks?{query}")).text
        return {name for name in ("TAKEN", "BROKEN", "SILENT") if f'<td class="rest">{name}</td>' in page}

    day = f"{world.clock.now():%Y-%m-%d}"
    assert await found("answer=2xx") == {"TAKEN"}
    # The second try of the first one was not answered either.
    assert await found("answer=5xx") == set()
    assert await found("answer=none") == {"BROKEN", "SILENT"}
    assert await found("answer=none&tries=2&event=charge.successful") == {"BROKEN", "SILENT"}
    assert await found("tries=3") == set()
    assert await found(f"from={day}&to={day}&status=delivered") == {"TAKEN"}
    assert await found("to=2020-01-01") == set()
    assert await found("answer=4xx&reference=TAKEN") == set()


@pytest.mark.parametrize(
    "query",
    ["status=x", "event=x", "endpoint=x", "answer=x", "answer=0", "tries=0", "tries=x", "from=x", "to=2026-13-01"],
)
async def test_a_filter_that_is_none_is_refused_beside_its_field(
    owner: SignedInPerson, world: World, query: str
) -> None:
    await world.endpoint("https://shop.example/hook")
    page = (await owner.get(f"/webhooks?{query}", status=422)).text
    name = query.partition("=")[0]
    assert f'<a href="#f-{name}">' in page
    assert f'id="w-{name}"' in page
    assert f'aria-describedby="w-{name}"' in page
    assert "Nothing is listed until the filter is changed." in page


async def test_every_wrong_filter_is_named_and_a_long_reference_is_not_cut(owner: SignedInPerson, world: World) -> None:
    await world.endpoint("https://shop.example/hook")
    page = (await owner.get(f"/webhooks?answer=x&from=x&reference={'a' * 101}", status=422)).text
    assert re.findall(r'<a href="#f-(\w+)">', page) == ["answer", "reference", "from"]


async def test_older_keeps_every_filter(owner: SignedInPerson, world: World, admin: Any) -> None:
    endpoint = (await world.endpoint("https://shop.example/hook")).endpoint.id
    await world.event(EXAMPLE, reference="R")
    await world.sender.fan_out()
    await admin.execute("UPDATE webhook_delivery SET attempts = 2, answer = 5")
    await admin.execute(
        """
        INSERT INTO event (business_id, id, type, cause, payload, reference, created_at, is_fanned_out)
        SELECT business_id, 'event-' || number, type, 'cause-' || number, payload, reference, created_at, true
          FROM event, generate_series(1, 60) AS number
        """
    )
    await admin.execute(
        """
        INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, reference, priority, due_at,
                                      created_at, attempts, answer)
        SELECT business_id, id - number, endpoint_id, 'event-' || number, event_type, reference, 0, due_at, created_at,
               2, 5
          FROM webhook_delivery, generate_series(1, 60) AS number
        """
    )
    day = f"{world.clock.now():%Y-%m-%d}"
    query = {"status": "pending", "event": "charge.successful", "endpoint": endpoint, "reference": "R"}
    query |= {"answer": "5xx", "tries": "2", "from": day, "to": day}
    page = (await owner.get(f"/webhooks?{urlencode(query)}")).text
    older = re.findall(r'<a class="button plain" href="([^"]+)">Older', page)[0]
    kept = dict(parse_qsl(unescape(older).partition("?")[2]))
    assert {name: kept.get(name) for name in query} == query
    assert (await owner.client.get(unescape(older))).text.count('<th scope="row">') == 11


async def test_home_counts_the_events_of_each_failing_endpoint_and_links_to_them(
    owner: SignedInPerson, world: World, receiver: Receiver
) -> None:
    for path in ("/bad", "/worse"):
        await world.endpoint(receiver.url(path))
    receiver.behaviour = answer(503, b"down")
    await world.event(EXAMPLE, reference="LCR-7")
    await world.walk()
    home = (await owner.get()).text
    addresses = [unescape(found) for found in re.findall(r'href="([^"]*/webhooks\?status=pending[^"]*)"', home)]
    assert (len(set(addresses)), home.count("1 event waits")) == (2, 2)
    for address in addresses:
        page = (await owner.client.get(address)).text
        assert len(re.findall(r'/webhooks/deliveries/dlv_\d+"', page)) == 1


async def test_a_form_gives_no_address_a_second_endpoint(owner: SignedInPerson, shop: Shop, admin: Any) -> None:
    url, other, headers = "https://a.example.com/", "https://b.example.com/", {"api-key": shop.secret_key}
    for one in (url, other):
        assert (await shop.client.post("/webhooks/endpoints", json={"url": one}, headers=headers)).status_code == 201
    first, second = [row["id"] for row in await admin.fetch("SELECT id FROM webhook_endpoint ORDER BY url")]
    await admin.execute("UPDATE member_session SET stepped_up_at = NULL")
    # Said before a factor is asked for.
    for below, fields in (("/webhooks/endpoints", {}), (f"/webhooks/endpoints/{second}", {"what": "change"})):
        answer = await owner.post(below, {**await owner.fields("/webhooks"), "url": url, **fields})
        assert (answer.status_code, "There is an endpoint with this address already" in answer.text) == (409, True)
    assert await admin.fetchval("SELECT count(*) FROM webhook_endpoint") == 2
    # A deleted one makes room.
    await shop.client.delete(f"/webhooks/endpoints/{first}", headers=headers)
    await admin.execute("UPDATE member_session SET stepped_up_at = now()")
    answer = await owner.post("/webhooks/endpoints", {**await owner.fields("/webhooks"), "url": url})
    assert answer.status_code in (200, 303), answer.text[-500:]
