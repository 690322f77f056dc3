"""Webhooks over HTTP: endpoints, the log, resends; nothing of another business is shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from build import Shop
from conftest import MakeShop
from payment.refusal import assert_refused, assert_says_no, without_request_id
from receiver import OK, Receiver, answer, receiving
from tidegate.core import ids
from tidegate.infra.egress import Egress
from tidegate.infra.telemetry import Meter
from tidegate.runtime import Runtime
from tidegate.sandbox import clock as sandbox_clock
from tidegate.webhook import api, commands
from tidegate.webhook.api import RESENDS_BURST
from tidegate.webhook.deliver import Sender
from tidegate.webhook.model import Event
from tidegate.webhook.wire import DELIVERIES_PER_PAGE_MAX


@dataclass
class Merchant:
    """A shop that calls the API, and everything behind it that a test needs to make happen."""

    shop: Shop
    runtime: Runtime
    receiver: Receiver

    async def call(
        self, method: str, path: str, body: Any = None, shop: Shop | None = None, **more: Any
    ) -> httpx.Response:
        shop = shop or self.shop
        headers = {"api-key": shop.secret_key, **more.pop("headers", {})}
        return await shop.client.request(method, f"/webhooks{path}", json=body, headers=headers, **more)

    async def data(self, method: str, path: str, body: Any = None, status: int = 200, **more: Any) -> Any:
        given = await self.call(method, path, body, **more)
        assert given.status_code == status, given.text
        assert given.json()["success"] is True
        return given.json()["data"]

    async def endpoint(self, path: str = "/hook", **body: Any) -> dict[str, Any]:
        made: dict[str, Any] = await self.data(
            "POST", "/endpoints", {"url": self.receiver.url(path), "ratePerSecond": 1_000, **body}, status=201
        )
        return made

    async def events(self, count: int, shop: Shop | None = None, **columns: Any) -> list[str]:
        made = [ids.new_event_id() for _ in range(count)]
        at = columns.get("created_at", self.runtime.clock.now())
        async with self.runtime.db.connection() as tx:
            for event_id in made:
                await tx.execute(
                    """
                    INSERT INTO event (business_id, id, type, cause, payload, reference, created_at)
                    VALUES ($1, $2, $3, $2, '{"event":"x","data":{}}', $4, $5)
                    """,
                    (shop or self.shop).business_id, event_id, columns.get("type", "charge.successful"),
                    columns.get("reference"), at,
                )  # fmt: skip
        return made

    async def deliver(self) -> None:
        way_out = Egress(self.runtime.webhook_deps.guard)
        sender = Sender(self.runtime.db, way_out, self.runtime.webhook_deps.vault, self.runtime.clock, Meter())
        async with way_out.open():
            await sender.fan_out()
            while deliveries := await sender.take():
                await sender.finish(list(await asyncio.gather(*map(sender.send, deliveries))))

    async def list(self, **query: Any) -> Any:
        return await self.data("GET", "/deliveries", params=query)


@pytest.fixture
async def merchant(shop: Shop, runtime: Runtime) -> AsyncIterator[Merchant]:
    async with receiving() as receiver:
        yield Merchant(shop, runtime, receiver)


# Endpoints.


async def test_the_life_of_an_endpoint(merchant: Merchant) -> None:
    made = await merchant.endpoint(description="Orders", events=["refund.failed", "refund.failed"])
    assert made["secret"].startswith("whsec_")
    assert (made["status"], made["description"]) == ("enabled", "Orders")
    assert made["events"] == ["charge.successful", "collection.successful", "refund.failed"]
    path = f"/endpoints/{made['id']}"
    shown = {name: value for name, value in made.items() if name != "secret"}
    assert await merchant.data("GET", path) == shown
    assert await merchant.data("GET", "/endpoints") == {"results": [shown]}
    changed = await merchant.data(
        "PATCH", path, {"status": "disabled", "description": None, "events": ["charge.successful"]}
    )
    assert (changed["status"], changed["disabledReason"], changed["description"]) == ("disabled", "merchant", None)
    assert changed["events"] == ["charge.successful", "collection.successful"]
    assert (await merchant.data("PATCH", path, {}))["status"] == "disabled"
    assert (await merchant.data("PATCH", path, {"status": "enabled"}))["disabledReason"] is None
    assert await merchant.data("DELETE", path) == {"id": made["id"]}
    assert await merchant.data("GET", "/endpoints") == {"results": []}
    assert_says_no(await merchant.call("GET", path), 404, "RESOURCE_NOT_FOUND")
    assert_says_no(await merchant.call("DELETE", path), 404, "RESOURCE_NOT_FOUND")


async def test_a_secret_is_shown_once(merchant: Merchant) -> None:
    made = await merchant.endpoint()
    await merchant.events(1)
    await merchant.deliver()
    turned = await merchant.data("POST", f"/endpoints/{made['id']}/rotate")
    assert turned["secret"] != made["secret"]
    for method, path in (
        ("GET", "/endpoints"), ("GET", f"/endpoints/{made['id']}"), ("PATCH", f"/endpoints/{made['id']}"),
        ("GET", "/deliveries"), ("POST", f"/endpoints/{made['id']}/test"), ("DELETE", f"/endpoints/{made['id']}"),
    ):  # fmt: skip
        text = (await merchant.call(method, path, {} if method == "PATCH" else None)).text
        assert "secret" not in text.lower()
        assert made["secret"] not in text
        assert turned["secret"] not in text


async def test_one_idempotency_key_makes_one_endpoint_and_shows_its_secret_once(merchant: Merchant, admin: Any) -> None:
    headers = {"Idempotency-Key": "once"}
    body = {"url": merchant.receiver.url()}
    first, second = [await merchant.call("POST", "/endpoints", body, headers=headers) for _ in range(2)]
    facts = first.json()["data"]
    secret = facts.pop("secret")
    assert second.json()["data"] == facts
    assert (second.status_code, second.headers["idempotent-replayed"]) == (201, "true")
    assert (await merchant.data("GET", "/endpoints"))["results"] == [facts]
    kept = await admin.fetchval("SELECT body FROM idempotency_key")
    assert kept == second.content
    assert secret.encode() not in kept


async def test_one_idempotency_key_rotates_once_and_shows_the_secret_once(merchant: Merchant, admin: Any) -> None:
    made = await merchant.endpoint()
    path, headers = f"/endpoints/{made['id']}/rotate", {"Idempotency-Key": "turn"}
    first, second = [await merchant.data("POST", path, headers=headers) for _ in range(2)]
    assert first.pop("secret") not in ("", made["secret"])
    assert first == second
    assert await admin.fetchval("SELECT count(*) FROM webhook_secret WHERE endpoint_id = $1", made["id"]) == 2


async def test_a_business_has_a_hundred_endpoints_at_most(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "ENDPOINTS_MAX", 3)
    for number in range(3):
        await merchant.endpoint(f"/{number}")
    refused = await merchant.call("POST", "/endpoints", {"url": merchant.receiver.url("/4")})
    assert_says_no(refused, 409, "CONFLICT")


async def test_what_waits_goes_to_the_new_address(merchant: Merchant) -> None:
    merchant.receiver.behaviour = answer(500)
    made = await merchant.endpoint("/old")
    await merchant.events(1)
    await merchant.deliver()
    merchant.receiver.behaviour = OK
    await merchant.data("PATCH", f"/endpoints/{made['id']}", {"url": merchant.receiver.url("/new")})
    delivery = (await merchant.list())["results"][0]
    await merchant.data("POST", f"/deliveries/{delivery['id']}/resend")
    await merchant.deliver()
    attempts = (await merchant.data("GET", f"/deliveries/{delivery['id']}"))["attempts"]
    assert [attempt["url"] for attempt in attempts] == [merchant.receiver.url("/old"), merchant.receiver.url("/new")]


async def test_a_test_event_goes_to_its_endpoint_alone(merchant: Merchant) -> None:
    made, _ = await merchant.endpoint("/tested"), await merchant.endpoint("/other")
    queued = await merchant.data("POST", f"/endpoints/{made['id']}/test")
    await merchant.deliver()
    assert [(got.path, got.event_id) for got in merchant.receiver.received] == [("/tested", queued["eventId"])]
    shown = await merchant.data("GET", f"/deliveries/{queued['id']}")
    assert (shown["status"], shown["event"], shown["payload"]["event"]) == ("delivered", "webhook.test", "webhook.test")
    await merchant.data("PATCH", f"/endpoints/{made['id']}", {"status": "disabled"})
    assert_says_no(await merchant.call("POST", f"/endpoints/{made['id']}/test"), 409, "CONFLICT")


def test_an_event_that_no_endpoint_could_subscribe_to_cannot_be_made() -> None:
    with pytest.raises(ValueError, match=r"charge\.lost is not in EVENTS"):
        Event(id="evt_1", type="charge.lost", cause="payment/1", reference="order-1", payload=b"{}")


# The log.


async def test_the_log_tells_what_was_sent_and_what_was_answered(merchant: Merchant) -> None:
    merchant.receiver.script = [answer(503, b"<h1>busy</h1>")]
    endpoint = await merchant.endpoint()
    [event_id] = await merchant.events(1, reference="ORD-1")
    await merchant.deliver()
    [shown] = (await merchant.list())["results"]
    assert shown["eventId"] == event_id
    assert shown["event"] == "charge.successful"
    assert (shown["reference"], shown["endpointId"], shown["url"]) == ("ORD-1", endpoint["id"], merchant.receiver.url())
    assert (shown["status"], shown["attemptsMade"], shown["deliveredAt"]) == ("pending", 1, None)
    assert shown["nextAttemptAt"] > shown["createdAt"]
    assert shown["payload"] == {"event": "x", "data": {}}
    [attempt] = shown["attempts"]
    assert (attempt["number"], attempt["statusCode"], attempt["error"]) == (1, 503, None)
    assert attempt["responseBody"] == "<h1>busy</h1>"
    assert attempt["durationMs"] >= 0
    assert await merchant.data("GET", f"/deliveries/{shown['id']}") == shown


async def test_every_filter_narrows(merchant: Merchant) -> None:
    a, b = await merchant.endpoint("/a"), await merchant.endpoint("/b", events=["refund.failed"])
    await merchant.events(2, reference="ORD-1")
    await merchant.events(1, type="refund.failed", reference="ORD-2")
    await merchant.deliver()
    merchant.receiver.behaviour = answer(500)
    await merchant.events(1, reference="ORD-3")
    await merchant.deliver()

    async def count(**query: Any) -> int:
        return len((await merchant.list(**query))["results"])

    assert await count() == 7
    assert await count(reference="ORD-1") == 4
    assert await count(reference="ORD-1", endpointId=a["id"]) == 2
    assert await count(event="refund.failed") == 1
    assert await count(endpointId=b["id"]) == 4
    assert await count(status="pending") == 2
    assert await count(status="delivered") == 5
    assert await count(status="exhausted") == await count(status="cancelled") == 0
    assert await count(status="pending", reference="ORD-1") == 0
    assert await count(reference="nobody") == 0
    assert await count(endpointId="we_0000000000000000000000") == 0
    today = datetime.now(UTC)
    yesterday, tomorrow = (today + timedelta(days=days) for days in (-1, 1))
    assert await count(dateFrom=f"{yesterday:%Y-%m-%d}", dateTo=f"{tomorrow:%Y-%m-%d}") == 7
    assert await count(dateFrom=f"{tomorrow:%Y-%m-%d}") == 0
    assert await count(dateTo=f"{yesterday - timedelta(days=1):%Y-%m-%d}") == 0
    assert await count(dateFrom=f"{yesterday:%Y-%m-%dT%H:%M:%S}+01:00", status="pending") == 2


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("colour=red", "colour"),
        ("status=pending&status=delivered", "status"),
        ("status=lost", "status"),
        ("status=", "status"),
        ("status=null", "status"),
        ("event=%00", "event"),
        ("endpointId=x", "endpointId"),
        ("reference=a%2Fb", "reference"),
        ("reference=", "reference"),
        ("dateFrom=2026-01-32", "dateFrom"),
        ("dateFrom=0000-01-01", "dateFrom"),
        ("dateFrom=99999-01-01", "dateFrom"),
        ("dateFrom=9999-12-31", "dateFrom"),
        ("dateFrom=2026-01-01T10:00:00", "dateFrom"),
        ("dateFrom=2026-01-02&dateTo=2026-01-01", "dateTo"),
        ("dateTo=yesterday", "dateTo"),
        ("perPage=0", "perPage"),
        (f"perPage={DELIVERIES_PER_PAGE_MAX + 1}", "perPage"),
        ("perPage=1.0", "perPage"),
        ("perPage=1e1", "perPage"),
        ("perPage=99999999999999999999999", "perPage"),
        ("cursor=abc", "cursor"),
        ("sort=id;drop", "sort"),
    ],
)
async def test_a_filter_is_never_silently_ignored(merchant: Merchant, admin: Any, query: str, field: str) -> None:
    sending = merchant.call("GET", f"/deliveries?{query}")
    await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field=field)


@pytest.mark.parametrize("query", ["reference=%ff", "reference=%C3%28", "&".join(f"a{n}=1" for n in range(60))])
async def test_a_query_that_cannot_be_read_is_malformed(merchant: Merchant, admin: Any, query: str) -> None:
    await assert_refused(admin, merchant.call("GET", f"/deliveries?{query}"), 400, "MALFORMED_REQUEST")


async def test_pages_neither_skip_nor_repeat_while_more_arrives(merchant: Merchant) -> None:
    await merchant.endpoint()
    before = await merchant.events(23)
    await merchant.deliver()
    seen: list[str] = []
    query: dict[str, Any] = {"perPage": 5}
    while True:
        page = await merchant.list(**query)
        seen += [delivery["eventId"] for delivery in page["results"]]
        if page["nextCursor"] is None:
            break
        query["cursor"] = page["nextCursor"]
        await merchant.events(3)
        await merchant.deliver()
    assert len(seen) == 23
    assert set(seen) == set(before)


async def test_a_page_that_is_just_full_is_the_last(merchant: Merchant) -> None:
    await merchant.endpoint()
    await merchant.events(4)
    await merchant.deliver()
    assert (await merchant.list(perPage=4))["nextCursor"] is None
    assert (await merchant.list(perPage=3))["nextCursor"] is not None


async def test_a_cursor_fits_its_own_list_only(merchant: Merchant, new_shop: MakeShop) -> None:
    await merchant.endpoint()
    await merchant.events(4)
    await merchant.deliver()
    cursor = (await merchant.list(perPage=2))["nextCursor"]
    assert len((await merchant.list(perPage=50, cursor=cursor))["results"]) == 2
    changed = ("A" if cursor[0] != "A" else "B") + cursor[1:]
    other = await new_shop(rate_per_second=100_000, rate_burst=100_000)
    for given in (
        await merchant.call("GET", "/deliveries", params={"cursor": changed}),
        await merchant.call("GET", "/deliveries", params={"cursor": cursor, "status": "delivered"}),
        await merchant.call("GET", "/deliveries", params={"cursor": cursor}, shop=other),
    ):
        assert_says_no(given, 400, "MALFORMED_REQUEST")


# Sending again.


async def test_a_resend_has_the_same_id_and_body_and_leaves_a_trace(merchant: Merchant, admin: Any) -> None:
    await merchant.endpoint()
    await merchant.events(1)
    await merchant.deliver()
    [delivery] = (await merchant.list())["results"]
    queued = await merchant.data("POST", f"/deliveries/{delivery['id']}/resend")
    assert (queued["status"], queued["id"]) == ("pending", delivery["id"])
    await merchant.deliver()
    first, second = merchant.receiver.received
    assert (first.event_id, first.body) == (second.event_id, second.body)
    assert (await merchant.data("GET", f"/deliveries/{delivery['id']}"))["attemptsMade"] == 2
    row = await admin.fetchrow("SELECT * FROM audit WHERE action = 'webhook.resent'")
    assert row["actor"].startswith("key/")
    assert (row["origin"], row["subject"]) == ("127.0.0.1", delivery["id"].removeprefix("dlv_"))
    assert row["business_id"] == merchant.shop.business_id


async def test_what_cannot_be_sent_again_says_why(merchant: Merchant) -> None:
    made = await merchant.endpoint()
    await merchant.events(1)
    await merchant.deliver()
    [delivery] = (await merchant.list())["results"]
    path = f"/deliveries/{delivery['id']}/resend"
    await merchant.data("PATCH", f"/endpoints/{made['id']}", {"status": "disabled"})
    refused = await merchant.call("POST", path)
    assert_says_no(refused, 409, "CONFLICT")
    assert "enable it first" in refused.json()["message"]
    await merchant.data("DELETE", f"/endpoints/{made['id']}")
    refused = await merchant.call("POST", path)
    assert "deleted" in refused.json()["message"]
    assert len((await merchant.list())["results"]) == 1


async def test_resends_a_second_are_limited(merchant: Merchant, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # No allowance comes back while the requests run.
    monkeypatch.setattr(api, "RESENDS_PER_SECOND", 0.001)
    await merchant.endpoint()
    await merchant.events(1)
    await merchant.deliver()
    [delivery] = (await merchant.list())["results"]
    answers: list[httpx.Response] = []
    for _ in range(RESENDS_BURST // 3 + 2):
        resends = (merchant.call("POST", f"/deliveries/{delivery['id']}/resend") for _ in range(3))
        answers += await asyncio.gather(*resends)
    done = [given for given in answers if given.status_code == 200]
    late = [given for given in answers if given.status_code == 429]
    assert len(done) + len(late) == len(answers)
    assert RESENDS_BURST <= len(done) < len(answers)
    assert_says_no(late[0], 429, "RATE_LIMITED")
    assert int(late[0].headers["retry-after"]) >= 1
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'webhook.resent'") == len(done)
    assert (await merchant.data("GET", f"/deliveries/{delivery['id']}"))["status"] == "pending"


async def test_a_replay_counts_first_and_sends_when_it_is_confirmed(merchant: Merchant, admin: Any) -> None:
    start = merchant.runtime.clock.now()
    early = await merchant.events(2, created_at=start - timedelta(hours=2))
    await merchant.events(1, created_at=start - timedelta(days=3))
    await merchant.events(1, created_at=start - timedelta(hours=1), type="refund.failed")
    await merchant.deliver()
    await merchant.endpoint("/new")
    window = {"dateFrom": _text(start - timedelta(hours=3)), "dateTo": _text(start)}
    assert await merchant.data("POST", "/replays", window) == {"count": 2, "sent": False, "erased": 0}
    await merchant.deliver()
    assert merchant.receiver.received == []
    assert await merchant.data("POST", "/replays", {**window, "confirm": True}) == {
        "count": 2,
        "sent": True,
        "erased": 0,
    }
    await merchant.deliver()
    assert sorted(got.event_id for got in merchant.receiver.received) == sorted(early)
    assert await merchant.data("POST", "/replays", {**window, "undeliveredOnly": True}) == {
        "count": 0,
        "sent": False,
        "erased": 0,
    }
    # Once more, to the very same deliveries.
    assert await merchant.data("POST", "/replays", {**window, "confirm": True}) == {
        "count": 2,
        "sent": True,
        "erased": 0,
    }
    await merchant.deliver()
    assert len(merchant.receiver.received) == 4
    assert len((await merchant.list())["results"]) == 2
    rows = await admin.fetch("SELECT details FROM audit WHERE action = 'webhook.replayed'")
    assert len(rows) == 2
    assert '"count": 2' in rows[0]["details"]


async def test_a_replay_can_be_of_some_events_to_one_endpoint(merchant: Merchant) -> None:
    a = await merchant.endpoint("/a", events=["refund.failed"])
    await merchant.endpoint("/b")
    start = merchant.runtime.clock.now()
    await merchant.events(2)
    await merchant.events(1, type="refund.failed")
    await merchant.deliver()
    merchant.receiver.received.clear()
    window = {"dateFrom": _text(start), "dateTo": _text(start + timedelta(hours=1))}
    assert (await merchant.data("POST", "/replays", window))["count"] == 5
    assert (await merchant.data("POST", "/replays", {**window, "endpointId": a["id"]}))["count"] == 3
    narrow = {**window, "endpointId": a["id"], "events": ["refund.failed"], "confirm": True}
    assert (await merchant.data("POST", "/replays", narrow))["count"] == 1
    await merchant.deliver()
    assert [got.path for got in merchant.receiver.received] == ["/a"]


async def test_one_idempotency_key_replays_once(merchant: Merchant, admin: Any) -> None:
    await merchant.endpoint()
    body = {"dateFrom": "2026-01-01", "dateTo": "2026-01-02", "confirm": True}
    for _ in range(2):
        await merchant.data("POST", "/replays", body, headers={"Idempotency-Key": "again"})
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'webhook.replayed'") == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "dateFrom"),
        ({"dateFrom": "2026-01-01"}, "dateTo"),
        ({"dateFrom": "2026-01-02", "dateTo": "2026-01-01"}, "dateTo"),
        ({"dateFrom": "2026-01-01", "dateTo": "2026-01-01", "confirm": "yes"}, "confirm"),
        ({"dateFrom": 20260101, "dateTo": "2026-01-01"}, "dateFrom"),
        ({"dateFrom": "2026-01-01", "dateTo": "2026-01-01", "endpointId": "../x"}, "endpointId"),
        ({"dateFrom": "2026-01-01", "dateTo": "2026-01-01", "events": ["webhook.test"]}, "events[0]"),
    ],
)
async def test_a_replay_of_nothing_clear_is_refused(
    merchant: Merchant, admin: Any, body: dict[str, Any], field: str
) -> None:
    await assert_refused(admin, merchant.call("POST", "/replays", body), 422, "VALIDATION_FAILED", field=field)


async def test_a_replay_has_a_limit(merchant: Merchant, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "REPLAY_MAX", 3)
    await merchant.endpoint()
    start = merchant.runtime.clock.now()
    await merchant.events(4)
    await merchant.deliver()
    body = {"dateFrom": _text(start), "dateTo": _text(start + timedelta(hours=1)), "confirm": True}
    await assert_refused(admin, merchant.call("POST", "/replays", body), 422, "VALIDATION_FAILED", field="dateTo")


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


# Whose is what.


async def test_a_business_cannot_reach_endpoints_of_another(merchant: Merchant, new_shop: MakeShop, admin: Any) -> None:
    made = await merchant.endpoint()
    await merchant.events(1)
    await merchant.deliver()
    [delivery] = (await merchant.list())["results"]
    other = await new_shop(rate_per_second=100_000, rate_burst=100_000)
    endpoint, nobodys = f"/endpoints/{made['id']}", "/endpoints/we_0000000000000000000000"
    sent, never_sent = f"/deliveries/{delivery['id']}", "/deliveries/dlv_1"
    for method, body, paths in (
        ("GET", None, (endpoint, nobodys)),
        ("PATCH", {"status": "disabled"}, (endpoint, nobodys)),
        ("DELETE", None, (endpoint, nobodys)),
        ("POST", None, (f"{endpoint}/rotate", f"{nobodys}/rotate")),
        ("POST", None, (f"{endpoint}/test", f"{nobodys}/test")),
        ("GET", None, (sent, never_sent)),
        ("POST", None, (f"{sent}/resend", f"{never_sent}/resend")),
    ):
        # Somebody else's and nobody's get the same answer.
        theirs, none = [
            await assert_refused(admin, merchant.call(method, path, body, shop=other), 404, "RESOURCE_NOT_FOUND")
            for path in paths
        ]
        assert without_request_id(theirs) == without_request_id(none)
    window = {"dateFrom": "2026-01-01", "dateTo": "2026-01-02", "endpointId": made["id"]}
    await assert_refused(admin, merchant.call("POST", "/replays", window, shop=other), 404, "RESOURCE_NOT_FOUND")
    assert (await merchant.data("GET", "/endpoints", shop=other)) == {"results": []}
    assert (await merchant.data("GET", "/deliveries", shop=other))["results"] == []
    assert (await merchant.data("GET", f"/endpoints/{made['id']}"))["status"] == "enabled"


@pytest.mark.parametrize(
    "name", ["x", "dlv_0", "dlv_-1", "dlv_99999999999999999999", "dlv_9223372036854775808", "%00", "dlv_1%0a"]
)
async def test_an_id_that_cannot_be_is_not_found(merchant: Merchant, admin: Any, name: str) -> None:
    await assert_refused(admin, merchant.call("GET", f"/deliveries/{name}"), 404, "RESOURCE_NOT_FOUND")


async def test_every_operation_wants_a_key(merchant: Merchant, client: httpx.AsyncClient) -> None:
    for method, path in (
        ("POST", "/endpoints"), ("GET", "/endpoints"), ("GET", "/endpoints/x"), ("PATCH", "/endpoints/x"),
        ("DELETE", "/endpoints/x"), ("POST", "/endpoints/x/rotate"), ("POST", "/endpoints/x/test"),
        ("GET", "/deliveries"), ("GET", "/deliveries/x"), ("POST", "/deliveries/x/resend"), ("POST", "/replays"),
    ):  # fmt: skip
        assert (await client.request(method, f"/webhooks{path}")).status_code == 401


async def test_a_reset_keeps_endpoints_and_forgets_deliveries(merchant: Merchant) -> None:
    made = await merchant.endpoint()
    merchant.receiver.behaviour = answer(500)
    await merchant.events(3)
    await merchant.deliver()
    emptied = await merchant.shop.client.post("/sandbox/reset", headers={"api-key": merchant.shop.secret_key})
    assert emptied.status_code == 200, emptied.text
    assert (await merchant.list())["results"] == []
    assert [shown["id"] for shown in (await merchant.data("GET", "/endpoints"))["results"]] == [made["id"]]
    merchant.receiver.behaviour = OK
    merchant.receiver.received.clear()
    await merchant.events(1)
    await merchant.deliver()
    assert len(merchant.receiver.received) == 1


async def test_the_sandbox_clock_moves_retries(merchant: Merchant) -> None:
    merchant.receiver.script = [answer(500), answer(500)]
    await merchant.endpoint()
    await merchant.events(1)
    await merchant.deliver()
    for advance in ("10s", "10m"):
        moved = await merchant.shop.client.post(
            "/sandbox/clock", json={"advance": advance}, headers={"api-key": merchant.shop.secret_key}
        )
        assert moved.status_code == 200, moved.text
        await sandbox_clock.catch_up(merchant.runtime.db, merchant.runtime.clock)  # type: ignore[arg-type]
        await merchant.deliver()
    [delivery] = (await merchant.list())["results"]
    assert (delivery["status"], delivery["attemptsMade"]) == ("delivered", 3)
