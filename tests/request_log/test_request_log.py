"""The request log: what is in it, what is never in it, and that it is in nobody's way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest

from build import Shop, order
from conftest import MakeShop
from payment.refusal import assert_each_refused
from settable_clock import SettableClock
from tidegate.infra.db import Database
from tidegate.infra.telemetry import Meter
from tidegate.merchant import commands as merchants
from tidegate.merchant.model import Caller
from tidegate.request_log import commands, recorder, store
from tidegate.request_log.model import LoggedRequest, masked
from tidegate.request_log.recorder import RequestRecorder
from waiting import until

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


async def listed(shop: Shop, **query: Any) -> list[dict[str, Any]]:
    answer = await shop.client.get("/requests", params=query, headers={"api-key": shop.secret_key})
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["data"]["results"]
    return results


async def logged(shop: Shop, answer: httpx.Response) -> dict[str, Any]:
    """The entry of a request, once it is there."""
    found: list[dict[str, Any]] = []

    async def is_there() -> bool:
        found[:] = await listed(shop, requestId=answer.headers["x-request-id"])
        return bool(found)

    await until(is_there)
    return found[0]


async def test_a_request_is_in_the_log(shop: Shop) -> None:
    entry = await logged(shop, await shop.create())
    expected = {
        "method": "POST", "path": "/checkout/payments", "operation": "createPayment", "status": 201,
        "errorType": None, "message": None, "body": None, "address": "127.0.0.1",
    }  # fmt: skip
    assert {name: entry[name] for name in expected} == expected
    assert entry["durationMs"] >= 0


async def test_an_error_has_its_message_and_its_masked_body(shop: Shop) -> None:
    customer = {"name": "Ada Obi", "email": "ada@example.com", "phoneNumber": "+2348012345678"}
    answer = await shop.create(order(amount=0, reference="ORDER-7", customer=customer, metadata={"note": "secret"}))
    entry = await logged(shop, answer)
    assert (entry["status"], entry["errorType"]) == (422, "VALIDATION_FAILED")
    assert entry["message"] == answer.json()["message"]
    for private in ("Ada", "ada@", "2348", "secret"):
        assert private not in entry["body"]
    body = msgspec.json.decode(entry["body"])
    assert (body["amount"], body["currency"], body["reference"]) == (0, "NGN", "ORDER-7")
    assert body["customer"]["name"] == "(7 characters)"


async def test_what_a_key_may_not_do_is_in_the_log_of_its_business(shop: Shop, admin: Any) -> None:
    await admin.execute("UPDATE credential SET scopes = '{read}' WHERE kind = 'secret'")
    await admin.execute("UPDATE credential_epoch SET epoch = epoch + 1")
    refused: list[httpx.Response] = []

    async def is_refused() -> bool:
        refused[:] = [await shop.create()]
        return refused[0].status_code == 403

    await until(is_refused)
    entry = await logged(shop, refused[0])
    assert (entry["status"], entry["errorType"]) == (403, "ACCESS_DENIED")


async def test_filters_and_pages(shop: Shop, db: Database) -> None:
    await insert(db, shop, *((number % 3 and 200) or 422 for number in range(9)))
    errors = await listed(shop, outcome="error", operation="made")
    assert {entry["status"] for entry in errors} == {422}
    assert len(errors) == 3
    assert len(await listed(shop, outcome="success", operation="made")) == 6
    assert len(await listed(shop, status=422, operation="made")) == 3
    assert len(await listed(shop, method="DELETE")) == 0
    assert len(await listed(shop, keyId=7)) == 9
    assert len(await listed(shop, keyId=8)) == 0
    assert len(await listed(shop, operation="made", dateFrom="2026-11-15", dateTo="2026-11-15")) == 9
    assert len(await listed(shop, operation="made", dateTo="2026-11-14")) == 0
    ids: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        query: dict[str, Any] = {"perPage": 4, "operation": "made", **cursor}
        data = (await shop.client.get("/requests", params=query, headers={"api-key": shop.secret_key})).json()["data"]
        ids += [entry["requestId"] for entry in data["results"]]
        if data["nextCursor"] is None:
            break
        cursor = {"cursor": data["nextCursor"]}
    assert ids == [request_id(number) for number in range(9)][::-1]


def request_id(number: int) -> str:
    return f"req_{number:016x}"


async def insert(db: Database, shop: Shop, *statuses: int, at: datetime = NOW) -> None:
    made = [
        LoggedRequest(
            business_id=shop.business_id, request_id=request_id(number), key_id=7, method="POST", path="/x",
            operation="made", status=status, duration_ms=1, address="", body=None, created_at=at,
            error_type="VALIDATION_FAILED" if status >= 400 else None, message="no" if status >= 400 else None,
        )
        for number, status in enumerate(statuses)
    ]  # fmt: skip
    async with db.connection() as tx:
        await store.insert_all(tx, made)


async def test_nobody_sees_the_log_of_another(shop: Shop, db: Database, new_shop: MakeShop) -> None:
    await insert(db, shop, 422)
    other = await new_shop()
    assert await listed(other, operation="made") == []
    assert await listed(other, requestId=request_id(0)) == []


async def test_a_bad_filter_is_refused_and_named(shop: Shop, admin: Any) -> None:
    bad = {
        "outcome": "bad", "status": "99", "method": "get", "operation": "a b", "keyId": "0", "requestId": "x",
        "dateFrom": "x", "perPage": "0", "unknown": "1",
    }  # fmt: skip
    rows = [
        (
            name,
            shop.client.get("/requests", params={name: value}, headers={"api-key": shop.secret_key}),
            (422, "VALIDATION_FAILED", name),
        )
        for name, value in bad.items()
    ]
    await assert_each_refused(admin, rows)


async def test_errors_that_are_alike_are_counted_together(shop: Shop, db: Database) -> None:
    await insert(db, shop, 422, 200, 422, 403)
    groups = await commands.list_groups(db, shop.business_id, now=NOW + timedelta(days=1))
    assert [(group.status, group.count) for group in groups] == [(422, 2), (403, 1)]
    assert await commands.list_groups(db, shop.business_id, now=NOW + timedelta(days=8)) == []


# What is in nobody's way.


@pytest.fixture
async def caller(db: Database, shop: Shop) -> Caller:
    business = await merchants.get(db, shop.business_id)
    return Caller(business, (await merchants.keys_of(db, shop.business_id))[0])


def scope_of(caller: Caller | None, body: bytes = b"") -> dict[str, Any]:
    return {
        "tidegate.caller": caller, "tidegate.request_id": "req_1", "tidegate.operation": "noted", "method": "POST",
        "path": "/x\0" + "y" * 300, "tidegate.trusted_proxies": 0, "headers": [], "client": ("192.0.2.1", 1),
        "tidegate.body": body,
    }  # fmt: skip


async def test_more_than_fit_are_dropped_and_counted_and_errors_have_places_of_their_own(
    db: Database, caller: Caller, admin: Any
) -> None:
    meter = Meter()
    noting = RequestRecorder(db, SettableClock(NOW), meter)
    for _ in range(recorder.WAITING_MAX + 50):
        noting.note(scope_of(caller), 200, 0.001)
    noting.note(scope_of(caller, b"not json"), 500, 0.001)
    noting.note(scope_of(None), 200, 0.001)
    await noting.write()
    rows = await admin.fetch("SELECT status, path, body FROM request_log WHERE operation = 'noted'")
    assert sorted(row["status"] for row in rows) == [200] * recorder.WAITING_MAX + [500]
    assert {len(row["path"]) for row in rows} == {200}
    assert next(row["body"] for row in rows if row["status"] == 500) == "(8 bytes that are not JSON)"
    assert meter._dropped_logs._value.get() == 50


async def test_a_database_that_is_away_costs_only_the_log(caller: Caller) -> None:
    meter = Meter()
    noting = RequestRecorder(Database("postgresql://127.0.0.1:1/none"), SettableClock(NOW), meter)
    noting.note(scope_of(caller), 200, 0.001)
    await noting.write()
    assert meter._dropped_logs._value.get() == 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", None),
        (b'{"reference":"4111 1111 1111 1111"}', '{"reference":"(19 characters)"}'),
        (b'{"amount":4111111111111111}', '{"amount":"(a long number)"}'),
        (b'{"a@b.com":1}', '{"(7 characters)":1}'),
        (b'{"currency":"<b>"}', '{"currency":"(3 characters)"}'),
        (b'[[[[[[[[[[["x"]]]]]]]]]]]', '[[[[[[[[["…"]]]]]]]]]'),
        (b"x" * 16_385, "(16385 bytes)"),
        (b"[" * 16_000, "(16000 bytes that are not JSON)"),
        (b'{"paymentMethods":["card"]}', '{"paymentMethods":["card"]}'),
    ],
)
def test_a_body_is_masked(body: bytes, expected: str | None) -> None:
    assert masked(body) == expected


def test_a_masked_body_has_a_limit() -> None:
    assert len(masked(msgspec.json.encode({f"a{n}": "x" for n in range(1_000)})) or "") == 4_000
