"""The answer while too many requests are in flight, whatever a client does with its connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from conftest import ENCRYPTION_KEY
from payment.raw_http import ANSWER_WITHIN_S, CHUNKED, Wire, ask, chunk, open_wire
from serving import metrics_of, serving, serving_app
from tidegate.infra.db import Database
from tidegate.infra.http import in_flight, protocol
from tidegate.infra.http.application import Application
from tidegate.infra.http.protocol import GuardedProtocol
from tidegate.infra.http.routing import answering
from tidegate.infra.telemetry import Meter
from tidegate.settings import Settings

GET = b"GET /thing HTTP/1.1\r\nhost: test\r\n\r\n"
HEAD = GET.replace(b"GET", b"HEAD")
LAST = b"GET /thing HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n"


def post(*lines: bytes) -> bytes:
    return b"\r\n".join([b"POST /thing HTTP/1.1", b"host: test", *lines]) + b"\r\n\r\n"


async def _thing(_: Request) -> Response:
    return Response(b"a thing", media_type="text/plain")


@asynccontextmanager
async def _nothing_to_open() -> AsyncIterator[None]:
    yield


def _build(meter: Meter) -> Application:
    return Application([answering("/thing", _thing)], lifespan=_nothing_to_open, meter=meter)


@pytest.fixture
def is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", 0)


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
async def full_url(is_full: None, meter: Meter) -> AsyncIterator[str]:
    """Of a server that admits no request."""
    async with serving_app(lambda _: _build(meter)) as (url, _):
        yield url


@pytest.fixture
async def wire(full_url: str) -> AsyncIterator[Wire]:
    async with open_wire(full_url) as opened:
        yield opened


async def all_that_comes(wire: Wire) -> bytes:
    async with asyncio.timeout(ANSWER_WITHIN_S):
        return await wire._reader.read()


def refused(meter: Meter) -> float:
    lines = metrics_of(meter).splitlines()
    counts = [line for line in lines if line.startswith("tidegate_request_seconds_count") and '"503"' in line]
    return sum(float(line.split()[-1]) for line in counts)


async def is_open(wire: Wire) -> bool:
    await wire.send(GET)
    return (await wire.answer()).status_code in (200, 503)


# The answer.


async def test_a_refusal_is_an_answer_like_any_other(wire: Wire, meter: Meter) -> None:
    await wire.send(GET)
    answer = await wire.answer()
    said = answer.json()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert (said["success"], said["errorType"], said["errors"]) == (False, "SERVICE_UNAVAILABLE", [])
    assert said["requestId"] == answer.headers["x-request-id"]
    assert refused(meter) == 1


async def test_a_refusal_has_the_headers_that_every_answer_has(
    wire: Wire, full_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await wire.send(GET)
    answer = await wire.answer()
    monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", 1)
    async with httpx.AsyncClient() as client:
        served = await client.get(f"{full_url}/nothing")
    assert served.status_code == 404
    assert set(answer.headers) == {*served.headers, "retry-after"}
    same = ("api-version", "x-content-type-options", "referrer-policy", "strict-transport-security", "cache-control")
    for name in (*same, "content-type"):
        assert answer.headers[name] == served.headers[name]


async def test_each_refusal_has_a_request_id_of_its_own(wire: Wire) -> None:
    await wire.send(GET + GET)
    first, second = await wire.answer(), await wire.answer()
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_head_is_answered_without_a_body(wire: Wire) -> None:
    await wire.send(HEAD + LAST)
    said = await all_that_comes(wire)
    assert said.count(b"HTTP/1.1 503") == 2
    assert said.count(b'"errorType"') == 1


async def test_a_refused_client_may_retry_on_the_same_connection(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    await wire.send(GET)
    assert (await wire.answer()).status_code == 503
    monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", 1)
    await wire.send(GET)
    assert (await wire.answer()).content == b"a thing"


async def test_a_client_that_does_not_wait_is_not_read(full_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its requests cost nothing meanwhile, and those of others are answered."""
    monkeypatch.setattr(protocol, "PAUSE_WHEN_FULL_S", 3_600.0)
    monkeypatch.setattr(GuardedProtocol, "_read_again_at", 0.0)  # Given back at the end.
    async with open_wire(full_url) as hasty, open_wire(full_url) as other:
        await hasty.send(GET)
        assert (await hasty.answer()).status_code == 503
        monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", 1)
        await hasty.send(GET)
        await other.send(GET)
        assert (await other.answer()).content == b"a thing"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await hasty.answer()


# Where requests end, and where they do not.


async def test_a_body_that_comes_after_the_refusal_does_not_cost_the_connection(wire: Wire) -> None:
    await wire.send(post(CHUNKED))
    assert "connection" not in (await wire.answer()).headers
    await wire.send(chunk(b"some") + chunk(b"thing"))
    await wire.send(chunk(b""))
    assert await is_open(wire)


async def test_requests_in_a_row_are_all_answered(wire: Wire, meter: Meter) -> None:
    await wire.send(GET + post(b"content-length: 4") + b"body" + GET)
    assert [(await wire.answer()).status_code for _ in range(3)] == [503, 503, 503]
    assert await is_open(wire)
    assert refused(meter) == 4


async def test_a_body_that_never_comes_is_not_waited_for_for_ever(
    full_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEADER_TIMEOUT_S", 0.1)
    async with open_wire(full_url) as wire:
        await wire.send(post(b"content-length: 1000") + b"the beginning")
        assert (await wire.answer()).status_code == 503
        assert await wire.is_cut()


async def test_a_body_that_waits_to_be_asked_for_is_not_asked_for(wire: Wire) -> None:
    await wire.send(post(b"content-length: 1000", b"expect: 100-continue"))
    assert (await wire.answer()).status_code == 503


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(LAST, id="close"),
        pytest.param(b"GET /thing HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", id="HTTP/1.0"),
    ],
)
async def test_a_client_that_wants_one_answer_gets_one_and_the_end(wire: Wire, request_: bytes) -> None:
    await wire.send(request_)
    assert (await wire.answer()).headers["connection"] == "close"
    assert await wire.is_closed()


async def test_an_offer_of_http_2_is_refused_like_any_request(wire: Wire) -> None:
    await wire.send(post(b"connection: upgrade", b"upgrade: h2c", b"content-length: 4") + b"body")
    assert (await wire.answer()).status_code == 503
    assert await is_open(wire)


@pytest.mark.parametrize(
    "nonsense",
    [
        pytest.param(b"this is not HTTP\r\n\r\n", id="no HTTP"),
        pytest.param(post(b"content-length: 6", CHUNKED) + chunk(b"") + GET, id="two ends"),
        pytest.param(post(CHUNKED) + b"zz\r\n" + GET, id="broken chunks"),
    ],
)
async def test_what_is_no_request_gets_one_answer_and_nothing_behind_it_is_read(wire: Wire, nonsense: bytes) -> None:
    await wire.send(nonsense)
    assert (await wire.answer()).status_code in (400, 503)
    assert await wire.is_closed()


async def test_empty_lines_are_no_request(wire: Wire, full_url: str, meter: Meter) -> None:
    await wire.send(b"\r\n\r\n")
    assert (await ask(full_url, GET)).status_code == 503
    assert refused(meter) == 1
    assert await is_open(wire)


async def test_a_browser_too_gets_the_short_json(wire: Wire) -> None:
    """A page would cost more than the refusal saves."""
    await wire.send(GET.replace(b"\r\n\r\n", b"\r\naccept: text/html\r\n\r\n"))
    assert (await wire.answer()).json()["errorType"] == "SERVICE_UNAVAILABLE"


# Answered all the same.


async def test_a_full_server_is_alive_and_ready(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,))
    async with serving(settings) as (url, _), httpx.AsyncClient(base_url=url) as client:
        monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", 0)
        assert (await client.get("/healthz")).status_code == 200
        # On a busy machine the database may once take longer than a check of readiness waits.
        assert 200 in [(await client.get("/readyz")).status_code for _ in range(5)]
        assert (await client.get("/healthzz")).status_code == 503
        assert (await client.get("/openapi.json")).status_code == 503
