"""Verifying with bad input: nothing of another business is shown, and no input causes an error."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from build import Shop, order
from conftest import MakeShop
from payment.raw_http import ask, head
from payment.refusal import assert_each_refused, assert_refused, assert_says_no, without_request_id
from tidegate.core.clock import monotonic_s
from tidegate.infra import rate_limit

NOT_FOUND = "RESOURCE_NOT_FOUND"
PATH = "/checkout/payments/merchant-reference"


@pytest.fixture
async def created(shop: Shop) -> dict[str, Any]:
    """A payment of the shop with the reference ORD-1."""
    answer = await shop.create(order(reference="ORD-1"))
    assert answer.status_code == 201
    return answer.json()["data"]  # type: ignore[no-any-return]


async def verify_raw(base_url: str, shop: Shop, path: str) -> httpx.Response:
    """The path exactly as it is written here, with nothing put right on the way."""
    business = f"x-business-id: {shop.business_id}".encode()
    return await ask(base_url, head(shop, business, line=f"GET {path} HTTP/1.1".encode()))


async def test_an_unknown_reference_is_not_found(shop: Shop, admin: Any, created: dict[str, Any]) -> None:
    await assert_refused(admin, shop.verify("ORD-2"), 404, NOT_FOUND)
    await assert_refused(admin, shop.verify("ord-1"), 404, NOT_FOUND)


async def test_another_business_reference_looks_like_an_unknown_one(
    shop: Shop, new_shop: MakeShop, admin: Any, created: dict[str, Any]
) -> None:
    other = await new_shop()
    theirs = await assert_refused(admin, other.verify("ORD-1"), 404, NOT_FOUND)
    unknown = await assert_refused(admin, other.verify("ORD-2"), 404, NOT_FOUND)
    assert without_request_id(theirs) == without_request_id(unknown)


async def test_a_payment_is_verified_by_its_pay_code_too_but_only_by_its_business(
    shop: Shop, new_shop: MakeShop, admin: Any, created: dict[str, Any]
) -> None:
    by_reference, by_pay_code = await shop.verify("ORD-1"), await shop.verify(created["payCode"])
    assert by_pay_code.status_code == 200
    assert by_pay_code.json() == by_reference.json()
    other = await new_shop()
    await assert_refused(admin, other.verify(created["payCode"]), 404, NOT_FOUND)


NO_BUSINESS_IDS: dict[str, str | None] = {
    "missing": None, "empty": "", "a number": "1", "too short": "0" * 23, "too long": "0" * 25,
    "not hexadecimal": "G" * 24, "capitals": "A" * 24, "SQL": "' OR '1'='1", "a star": "*",
}  # fmt: skip


async def test_a_malformed_business_id_is_no_credential(shop: Shop, admin: Any, created: dict[str, Any]) -> None:
    headers = {
        name: {"api-key": shop.secret_key} | ({} if business_id is None else {"x-business-id": business_id})
        for name, business_id in NO_BUSINESS_IDS.items()
    }
    path = f"{PATH}/ORD-1"
    refusal = (401, "UNAUTHENTICATED", None)
    await assert_each_refused(
        admin, ((name, shop.client.get(path, headers=given), refusal) for name, given in headers.items())
    )


async def test_another_business_id_is_forbidden_whether_it_exists_or_not(
    shop: Shop, new_shop: MakeShop, admin: Any, created: dict[str, Any]
) -> None:
    other = await new_shop()
    answers = set()
    for business_id in (other.business_id, "0" * 24):
        asking = shop.client.get(f"{PATH}/ORD-1", headers={"api-key": shop.secret_key, "x-business-id": business_id})
        answers.add(without_request_id(await assert_refused(admin, asking, 403, "ACCESS_DENIED")))
    assert len(answers) == 1


async def test_a_business_id_given_twice_is_no_credential(
    shop: Shop, admin: Any, base_url: str, created: dict[str, Any]
) -> None:
    twice = [f"x-business-id: {shop.business_id}".encode()] * 2
    asking = ask(base_url, head(shop, *twice, line=f"GET {PATH}/ORD-1 HTTP/1.1".encode()))
    await assert_refused(admin, asking, 401, "UNAUTHENTICATED")


async def test_a_business_id_alone_is_no_credential(shop: Shop, admin: Any, created: dict[str, Any]) -> None:
    for headers in (
        {"x-business-id": shop.business_id},
        {"x-business-id": shop.business_id, "api-key": shop.public_key},
        {"x-business-id": shop.business_id, "x-pub-key": shop.public_key},
    ):
        asking = shop.client.get(f"{PATH}/ORD-1", headers=headers)
        await assert_refused(admin, asking, 401, "UNAUTHENTICATED")


NO_REFERENCES: dict[str, str] = {
    "SQL": "'%20OR%20'1'='1", "SQL after a reference": "ORD-1'--", "SQL in escapes": "%27--",
    "a second statement": ";drop%20table%20payment", "a wildcard": "%25", "another wildcard": "ORD-_",
    "a template": "%24%7B7*7%7D", "U+0000": "%00", "U+0000 at the end": "ORD-1%00",
    "a byte that is not UTF-8": "%ff", "an escape that is none": "%zz", "half an escape": "%",
    "a way up": "%2e%2e%2f", "a way up to somewhere": "..%2f..%2fhealthz", "a slash in escapes": "a%2Fb",
    "a line feed": "ORD-1%0A", "a header": "ORD-1%0d%0aset-cookie:a=b", "a full-width letter": "%EF%BC%AFRD-1",
    "a surrogate": "%ed%a0%80", "a space": "ORD-1%20", "101 characters": "a" * 101, "8,000 characters": "a" * 8_000,
    "nothing": "", "a double slash": "/ORD-1", "two trailing slashes": "ORD-1//",
    "a path parameter": "ORD-1;jsessionid=1", "a dot": "./ORD-1", "a detour": "../merchant-reference/ORD-1",
    "another host": "/evil.example.com/%2f..",
}  # fmt: skip


async def test_a_path_that_names_no_reference_finds_nothing(
    shop: Shop, admin: Any, base_url: str, created: dict[str, Any]
) -> None:
    paths = {name: f"{PATH}/{reference}" for name, reference in NO_REFERENCES.items()}
    rows = ((name, verify_raw(base_url, shop, path), (404, NOT_FOUND, None)) for name, path in paths.items())
    for answer in await assert_each_refused(admin, rows):
        assert "location" not in answer.headers


async def test_a_reference_of_10_000_characters_is_too_long(shop: Shop, admin: Any, base_url: str) -> None:
    await assert_refused(admin, verify_raw(base_url, shop, f"{PATH}/{'a' * 10_000}"), 414, "URI_TOO_LONG")


@pytest.mark.parametrize("path", [f"//checkout{PATH[9:]}/ORD-1", f"{PATH.upper()}/ORD-1", f"/x/..{PATH}/ORD-1"])
async def test_a_path_is_not_normalised(
    shop: Shop, admin: Any, base_url: str, created: dict[str, Any], path: str
) -> None:
    await assert_refused(admin, verify_raw(base_url, shop, path), 404, NOT_FOUND)


async def test_a_query_changes_nothing(shop: Shop, created: dict[str, Any]) -> None:
    plain = await shop.verify("ORD-1")
    assert (await shop.verify("ORD-1?reference=ORD-2&status=success")).json()["data"] == plain.json()["data"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
async def test_a_record_is_read_only(shop: Shop, admin: Any, created: dict[str, Any], method: str) -> None:
    asking = shop.client.request(method, f"{PATH}/ORD-1", headers=shop.verify_headers)
    answer = await assert_refused(admin, asking, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, HEAD"


async def test_head_answers_like_get_without_the_body(shop: Shop, created: dict[str, Any]) -> None:
    get = await shop.verify("ORD-1")
    answer = await shop.client.head(f"{PATH}/ORD-1", headers=shop.verify_headers)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len(get.content))
    nobody = await shop.client.head(f"{PATH}/ORD-2", headers=shop.verify_headers)
    assert (nobody.status_code, nobody.content) == (404, b"")


async def test_a_body_on_a_get_is_not_read(shop: Shop, created: dict[str, Any]) -> None:
    answer = await shop.client.request(
        "GET", f"{PATH}/ORD-1", headers=shop.verify_headers, content=b'{"status":"success"}'
    )
    assert answer.json()["data"]["status"] == "initiated"


async def test_nothing_is_received_before_the_payer_pays(shop: Shop, created: dict[str, Any]) -> None:
    answer = await shop.verify("ORD-1")
    assert answer.status_code == 200
    record = answer.json()["data"]
    assert (record["status"], record["amountReceived"], record["varianceType"]) == ("initiated", 0, None)
    assert (record["message"], record["actionRequired"]) == (None, None)


async def receive(admin: Any, received_minor: int, variance: str | None) -> None:
    """In one statement, as the settlement of a payment does it. Nothing received takes it all back."""
    is_paid = received_minor > 0
    changes: dict[str, Any] = {
        "received_minor": received_minor,
        "variance": variance,
        "status": "success" if is_paid else "initiated",
        "settled_minor": received_minor if is_paid else None,
        "fee_minor": 0 if is_paid else None,
        "vat_minor": 0 if is_paid else None,
        "method": "bank_transfer" if is_paid else None,
        "paid_at": datetime.now(UTC) if is_paid else None,
    }
    known = await admin.fetch("SELECT attname FROM pg_attribute WHERE attrelid = 'payment'::regclass")
    names = [name for name in changes if name in {row["attname"] for row in known}]
    assignments = ", ".join(f"{name} = ${place}" for place, name in enumerate(names, 1))
    await admin.execute(f"UPDATE payment SET {assignments}", *(changes[name] for name in names))


@pytest.mark.parametrize(
    ("received_minor", "variance"),
    [
        pytest.param(9_950, "underpayment", id="less than expected"),
        pytest.param(10_001, "overpayment", id="more than expected"),
    ],
)
async def test_a_variance_is_shown_with_what_to_do(
    shop: Shop, admin: Any, created: dict[str, Any], received_minor: int, variance: str
) -> None:
    await receive(admin, received_minor, variance)
    answer = await shop.verify("ORD-1")
    assert answer.status_code == 200
    record = answer.json()["data"]
    assert (record["status"], record["varianceType"], record["message"]) == ("success", variance, "INCORRECT_AMOUNT")
    assert "refund" in record["actionRequired"]
    assert record["amountReceived"] == received_minor / 100
    assert (record["amountReceived"] > record["amountExpected"]) == (variance == "overpayment")


async def test_a_record_read_during_a_change_is_from_before_or_after_it(
    shop: Shop, admin: Any, created: dict[str, Any]
) -> None:
    async def flip() -> None:
        for _ in range(20):
            await receive(admin, 10_001, "overpayment")
            await receive(admin, 0, None)

    flipping = asyncio.create_task(flip())
    answers = []
    while not flipping.done():
        answers += await asyncio.gather(*(shop.verify("ORD-1") for _ in range(20)))
    await flipping
    names = ("status", "amountReceived", "varianceType", "message")
    seen = {tuple(answer.json()["data"][name] for name in names) for answer in answers}
    assert seen <= {("initiated", 0, None, None), ("success", 100.01, "overpayment", "INCORRECT_AMOUNT")}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"if-none-match": "*"}, id="If-None-Match"),
        pytest.param(
            {"if-none-match": '"x"', "if-modified-since": "Thu, 01 Jan 2099 00:00:00 GMT"}, id="If-Modified-Since"
        ),
        pytest.param({"if-match": '"x"'}, id="If-Match"),
        pytest.param({"range": "bytes=0-1"}, id="Range"),
        pytest.param({"accept": "text/html"}, id="Accept"),
        pytest.param({"accept-encoding": "gzip"}, id="Accept-Encoding"),
        pytest.param({"x-http-method-override": "DELETE"}, id="method override"),
        pytest.param({"x-forwarded-host": "evil.com", "x-original-url": "/healthz"}, id="forwarded"),
    ],
)
async def test_headers_that_would_change_the_answer_are_ignored(
    shop: Shop, created: dict[str, Any], headers: dict[str, str]
) -> None:
    plain = await shop.verify("ORD-1")
    answer = await shop.client.get(f"{PATH}/ORD-1", headers={**shop.verify_headers, **headers})
    assert without_request_id(answer) == without_request_id(plain)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"


async def test_verifying_is_rate_limited_too(new_shop: MakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    now = monotonic_s()
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: now)  # No allowance comes back meanwhile.
    shop = await new_shop(rate_per_second=1, rate_burst=2)
    answers = await asyncio.gather(*(shop.verify("ORD-1") for _ in range(10)))
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 8
    for answer in refused:
        assert_says_no(answer, 429, "RATE_LIMITED")


async def test_a_suspended_business_cannot_verify(new_shop: MakeShop, admin: Any) -> None:
    shop = await new_shop(status="suspended")
    await assert_refused(admin, shop.verify("ORD-1"), 403, "ACCESS_DENIED")
