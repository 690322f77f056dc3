"""The Python client with answers that are none, addresses that are wrong, and arguments that cannot be sent."""

from __future__ import annotations

import inspect
import math
import socket
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import httpx2
import pytest

import tidegate_client as tg
from clients.canned_server import DAMAGED, GOOD, SLOW, SLOW_COMPRESSED, TEXT, Canned, answering
from clients.test_python_client import CARD, CUSTOMER, in_thread
from tidegate_client import _operations as ops
from tidegate_client._call import Call, Wait

KINDS = [tg.Tidegate, tg.AsyncTidegate]
kinds = pytest.mark.parametrize("kind", KINDS)


def client_at(kind: Callable[..., Any], url: str, **options: Any) -> Any:
    return kind("sk_test_x", "pk_test_x", "b", base_url=url, **options)


async def done(client: Any, act: Callable[[Any], Any]) -> Any:
    """The server under test is on this event loop, so the sync client waits in a thread."""
    if isinstance(client, tg.AsyncTidegate):
        made = act(client)
        return await made if inspect.isawaitable(made) else made
    return await in_thread(lambda: act(client))


def statement(client: Any) -> Any:
    return client.wallets.statement_csv("NGN")


def closed_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@kinds
@pytest.mark.parametrize("slow", [SLOW, SLOW_COMPRESSED], ids=["plain", "compressed"])
async def test_a_try_ends_in_time_however_slowly_its_answer_comes(kind: Callable[..., Any], slow: Canned) -> None:
    """Each part comes long before the limit, the whole long after it."""
    async with answering(slow) as server:
        client = client_at(kind, server.url, timeout=2, max_retries=0)
        with pytest.raises(tg.APITimeoutError, match=r" in 2 s; base_url"):
            await done(client, statement)


@kinds
async def test_a_damaged_answer_is_none_and_is_asked_for_again(kind: Callable[..., Any]) -> None:
    async with answering(DAMAGED, GOOD) as server:
        assert await done(client_at(kind, server.url), statement) == TEXT
        assert server.requests == 2
    async with answering(DAMAGED) as server:
        client = client_at(kind, server.url)
        with pytest.raises(tg.APIConnectionError, match="DecodingError"):
            await done(client, lambda api: api.checkouts.charge("tg_1", type="card", card=CARD))
        assert server.requests == 1


@kinds
async def test_who_cannot_be_reached_is_named_with_where_to_change_it(kind: Callable[..., Any]) -> None:
    address = closed_address()
    client = client_at(kind, address.replace("//", "//user:hidden@"), max_retries=0)
    with pytest.raises(tg.APIConnectionError) as caught:
        await done(client, lambda api: api.payments.verify("ORDER-1"))
    path = "/checkout/payments/merchant-reference/{reference}"
    assert (
        str(caught.value)
        == f"no answer to GET {address}{path}: ConnectError; base_url or TIDEGATE_URL sets the address"
    )
    assert repr(client).endswith(f"(base_url='{address}')")


@kinds
async def test_a_redirect_says_where_to(kind: Callable[..., Any]) -> None:
    async with answering(Canned(301, {"location": "https://api.example.com/"})) as server:
        with pytest.raises(
            tg.APIError, match=r"answered 301 and names .* https://api.example.com/: base_url"
        ) as caught:
            await done(client_at(kind, server.url), statement)
        assert (caught.value.status, server.requests) == (301, 1)


@kinds
@pytest.mark.parametrize("key", ["größe", "two words", "", "a\nb", "x" * 256])
async def test_an_idempotency_key_that_cannot_be_sent_is_refused(kind: Callable[..., Any], key: str) -> None:
    client = client_at(kind, "http://localhost:9")
    with pytest.raises(tg.ConfigurationError, match="idempotency_key must be 1 to 255 visible ASCII"):
        await done(
            client,
            lambda api: api.payments.create(amount=1, currency="NGN", customer=CUSTOMER, idempotency_key=key),
        )


@kinds
@pytest.mark.parametrize("limit_s", [0, -1, math.inf, math.nan, 86_401])
async def test_a_timeout_that_cannot_be_kept_is_refused(kind: Callable[..., Any], limit_s: float) -> None:
    with pytest.raises(tg.ConfigurationError, match="timeout must be more than 0 and at most 86400 seconds"):
        client_at(kind, "http://localhost:9", timeout=limit_s)
    client = client_at(kind, "http://localhost:9")
    with pytest.raises(tg.ConfigurationError, match="timeout must be"):
        await done(client, lambda api: api.merchant.me(timeout=limit_s))


@pytest.mark.parametrize(
    "url", ["http://localhost:99999", "http://[::1", "http://a b", "ftp://localhost", "localhost", "http://localhost?"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(tg.ConfigurationError, match="base_url must be an address"):
        tg.Tidegate(base_url=url)


def test_white_space_around_an_address_is_no_part_of_it() -> None:
    assert tg.Tidegate(base_url=" http://localhost:9/\n").base_url == "http://localhost:9"


@kinds
@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda api: api.payments.verify("x" * 70_000), "too long"),
        (lambda api: api.collections.list_csv(reference="x" * 70_000), "too long"),
        (lambda api: api.collections.list_csv(reference="\ud800"), "half of a character"),
        (lambda api: api.payments.create(amount=1, currency="NGN", customer=CUSTOMER, reference="\ud800"), "half of"),
    ],
    ids=["path", "query", "text in a query", "text in a body"],
)
async def test_what_cannot_be_sent_is_refused(kind: Callable[..., Any], act: Callable[[Any], Any], why: str) -> None:
    with pytest.raises(tg.ConfigurationError, match=why):
        await done(client_at(kind, "http://localhost:9", max_retries=0), act)


def call() -> Call:
    return Call(ops.MERCHANT_ME, httpx2.URL("http://localhost"), "GET http://localhost", {}, None, 30, 2)


@pytest.mark.parametrize(
    ("said", "at", "seconds"),
    [
        ("Wed, 18 Nov 2026 12:00:30 GMT", "Wed, 18 Nov 2026 12:00:00 GMT", 30),
        ("Wed, 18 Nov 2026 11:00:00 GMT", "Wed, 18 Nov 2026 12:00:00 GMT", 0),
        ("61", None, 61),
        ("1.5", None, None),
        ("-1", None, None),
        ("soon GMT", None, None),
        ("Wed, 99 Nov 2026 12:00:30 GMT", None, None),
    ],
)
def test_a_wait_is_said_in_seconds_or_as_a_date(said: str, at: str | None, seconds: int | None) -> None:
    headers = {"retry-after": said} | ({"date": at} if at else {})
    last = call()
    last.max_retries = 0
    with pytest.raises(tg.RateLimited) as caught:
        last.after_answer(httpx2.Response(429, headers=headers))
    assert caught.value.retry_after == seconds


def test_a_date_without_the_time_of_the_answer_is_by_the_own_clock() -> None:
    last = call()
    last.max_retries = 0
    with pytest.raises(tg.RateLimited) as caught:
        last.after_answer(httpx2.Response(429, headers={"retry-after": formatdate(time.time() + 3000, usegmt=True)}))
    assert caught.value.retry_after is not None
    assert 2000 < caught.value.retry_after <= 3000


def test_waits_are_never_shorter_than_asked_for_and_not_all_alike() -> None:
    waits = [call().after_answer(httpx2.Response(429, headers={"retry-after": "2"})) for _ in range(50)]
    assert all(isinstance(wait, Wait) and 2 <= wait.seconds <= 2.5 for wait in waits)
    assert len({wait.seconds for wait in waits}) > 1
