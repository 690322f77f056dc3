"""Requests that no HTTP library would write: slow, endless, contradictory, or with a second one hidden inside."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from build import Shop, order
from payment.raw_http import CHUNKED, Wire, ask, chunk, head, open_wire
from payment.refusal import assert_refused, assert_says_no, rows_in
from tidegate.infra.http import application, protocol
from tidegate.infra.http import body as request_body

QUICKLY_S = 0.3
MALFORMED = "MALFORMED_REQUEST"


def body(**changes: Any) -> bytes:
    return json.dumps(order(**changes)).encode()


def whole(shop: Shop, *more: bytes, content: bytes | None = None) -> bytes:
    """A request that is right in every way, but for what is added."""
    content = body() if content is None else content
    return head(shop, *more, length=len(content)) + content


@pytest.fixture
async def wire(base_url: str) -> AsyncIterator[Wire]:
    async with open_wire(base_url) as opened:
        yield opened


@pytest.fixture
def short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for before the wire, since a deadline runs from the moment the wire is open."""
    monkeypatch.setattr(request_body, "BODY_TIMEOUT_S", QUICKLY_S)
    monkeypatch.setattr(protocol, "HEADER_TIMEOUT_S", QUICKLY_S)


# Too much.


async def test_a_body_whose_declared_length_is_too_large_is_not_read(shop: Shop, admin: Any, wire: Wire) -> None:
    await wire.send(head(shop, length=64 * 1024 + 1))
    await assert_refused(admin, wire.answer(), 413, "BODY_TOO_LARGE")
    assert await wire.is_closed()


@pytest.mark.parametrize("megabytes", [1, 20])
async def test_a_client_that_sends_too_much_still_gets_the_answer(
    shop: Shop, admin: Any, wire: Wire, megabytes: int
) -> None:
    """The connection ends without a reset, which could destroy the answer before the client has read it."""
    await wire.send(head(shop, length=megabytes * 1_000_000))
    for _ in range(megabytes):
        await wire.send(b"x" * 1_000_000)
    await assert_refused(admin, wire.answer(), 413, "BODY_TOO_LARGE")
    assert await wire.is_closed()


async def test_a_chunked_body_is_measured_as_it_arrives(shop: Shop, admin: Any, wire: Wire) -> None:
    await wire.send(head(shop, CHUNKED))
    for _ in range(40):
        await wire.send(chunk(b" " * 4_096))
    await assert_refused(admin, wire.answer(), 413, "BODY_TOO_LARGE")
    assert await wire.is_closed()


async def test_a_compressed_body_is_not_decompressed(shop: Shop, admin: Any, base_url: str) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    for coding in ((b"content-encoding: gzip",), (b"content-encoding: gzip",) * 2, (b"content-encoding: GZIP",)):
        sending = ask(base_url, whole(shop, *coding, content=bomb))
        await assert_refused(admin, sending, 415, "UNSUPPORTED_MEDIA_TYPE")
    chunked = ask(base_url, head(shop, b"transfer-encoding: gzip, chunked") + chunk(bomb) + chunk(b""))
    await assert_refused(admin, chunked, 415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([b"x-long: " + b"a" * 32_768], id="header of 32 kB"),
        pytest.param([b"x" * 32_768 + b": a"], id="header name of 32 kB"),
        pytest.param([b"x-%d: a" % n for n in range(200)], id="200 headers"),
        pytest.param([b"x: " + b"a" * 1_000] * 20, id="many long headers"),
    ],
)
async def test_headers_have_a_limit(shop: Shop, admin: Any, wire: Wire, lines: list[bytes]) -> None:
    await wire.send(whole(shop, *lines))
    await assert_refused(admin, wire.answer(), 431, "HEADERS_TOO_LARGE")
    assert await wire.is_closed()


async def test_a_header_that_never_ends_is_cut_long_before_the_memory_is_full(admin: Any, wire: Wire) -> None:
    await wire.send(b"GET /healthz HTTP/1.1\r\nx-long: ")
    for _ in range(20):
        await wire.send(b"a" * 65_536)
    await assert_refused(admin, wire.answer(), 431, "HEADERS_TOO_LARGE")
    assert await wire.is_closed()


async def test_a_trailer_that_never_ends_is_cut_too(shop: Shop, admin: Any, wire: Wire) -> None:
    await wire.send(head(shop, CHUNKED) + chunk(body()) + b"0\r\nx-long: ")
    for _ in range(20):
        await wire.send(b"a" * 65_536)
    await assert_refused(admin, wire.answer(), 431, "HEADERS_TOO_LARGE")
    assert await wire.is_closed()


@pytest.mark.parametrize("start", [b"/", b"/?q="])
@pytest.mark.parametrize("length", [10_000, 65_000, 70_000, 200_000])
async def test_an_address_has_a_limit(admin: Any, wire: Wire, shop: Shop, start: bytes, length: int) -> None:
    await wire.send(head(shop, line=b"GET " + start + b"a" * length + b" HTTP/1.1"))
    await assert_refused(admin, wire.answer(), 414, "URI_TOO_LONG")
    assert await wire.is_closed()


async def test_an_address_that_never_ends_is_cut(admin: Any, wire: Wire) -> None:
    await wire.send(b"GET /")
    for _ in range(20):
        await wire.send(b"a" * 65_536)
    await assert_refused(admin, wire.answer(), 414, "URI_TOO_LONG")
    assert await wire.is_closed()


# Too slow.


@pytest.mark.parametrize(
    "start",
    [
        pytest.param((CHUNKED, b"1\r\na\r\n", chunk(b" ")), id="chunks without end"),
        pytest.param((CHUNKED, b"fff\r\n", b" "), id="a chunk byte by byte"),
        pytest.param((b"content-length: 1000", b"{", b" "), id="a body byte by byte"),
        pytest.param((b"content-length: 1000", b"", b""), id="a body that never begins"),
    ],
)
async def test_a_slow_body_is_cut_at_the_deadline(
    shop: Shop, admin: Any, short_deadlines: None, wire: Wire, start: tuple[bytes, bytes, bytes]
) -> None:
    framing, first, then = start
    await wire.send(head(shop, framing) + first)
    dripping = asyncio.create_task(wire.drip(then, every_s=0.02))
    assert (await shop.create()).status_code == 201  # Meanwhile everybody else is served.
    await assert_refused(admin, wire.answer(), 408, "REQUEST_TIMEOUT")
    assert await wire.is_closed()
    dripping.cancel()


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param(b"", b"", id="silence"),
        pytest.param(b"POST /checkout/payments HTTP/1.1\r\n", b"", id="silence after the first line"),
        pytest.param(b"POST /checkout/payments HTTP/1.1\r\nx: ", b"a", id="a header byte by byte"),
        pytest.param(b"POST /checkout/payments HTTP/1.1\r\n", b"x: a\r\n", id="header after header"),
        pytest.param(b"", b"\r\n", id="empty lines"),
    ],
)
async def test_a_slow_head_is_cut_at_the_deadline(short_deadlines: None, wire: Wire, first: bytes, then: bytes) -> None:
    await wire.send(first)
    dripping = asyncio.create_task(wire.drip(then, every_s=0.02))
    assert await wire.is_cut()
    dripping.cancel()


async def test_a_slow_body_after_the_answer_is_cut_too(admin: Any, short_deadlines: None, wire: Wire) -> None:
    """Without a key the answer comes before the body; the body has a deadline all the same."""
    await wire.send(head(None, CHUNKED))
    await assert_refused(admin, wire.answer(), 401, "UNAUTHENTICATED")
    dripping = asyncio.create_task(wire.drip(chunk(b" "), every_s=0.02))
    assert await wire.is_cut()
    dripping.cancel()


@pytest.mark.parametrize("then", [pytest.param(b"\r\n", id="empty lines"), pytest.param(b"G", id="one letter")])
async def test_a_used_connection_is_not_kept_by_crumbs(short_deadlines: None, wire: Wire, then: bytes) -> None:
    assert await wire.is_open()
    await wire.send(then)
    assert await wire.is_closed()


async def test_a_connection_whose_body_came_late_is_not_kept_for_ever(short_deadlines: None, wire: Wire) -> None:
    content = body()
    await wire.send(head(None, length=len(content)))
    assert (await wire.answer()).status_code == 401
    await wire.send(content)
    assert await wire.is_closed()


async def test_a_connection_can_be_used_again_after_a_refusal(shop: Shop, wire: Wire) -> None:
    await wire.send(whole(shop, content=body(amount=0)))
    assert_says_no(await wire.answer(), 422, "VALIDATION_FAILED", field="amount")
    await wire.send(head(None, length=5) + b"12345")
    assert_says_no(await wire.answer(), 401, "UNAUTHENTICATED")
    assert await wire.is_open()


# Contradictions about where a request ends.


SMUGGLED = b"DELETE /checkout/payments HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "framing",
    [
        pytest.param([b"content-length: 6", CHUNKED], id="length and chunks"),
        pytest.param([CHUNKED, b"content-length: 6"], id="chunks and length"),
        pytest.param([b"content-length: 5", b"content-length: 6"], id="two lengths"),
        pytest.param([b"content-length: 6", b"content-length: 6"], id="one length twice"),
        pytest.param([b"content-length: 6, 6"], id="a list of lengths"),
        pytest.param([b"content-length: +6"], id="length with a plus"),
        pytest.param([b"content-length: -6"], id="length with a minus"),
        pytest.param([b"content-length: 0x6"], id="length in hexadecimal"),
        pytest.param([b"content-length: 6_0"], id="length as Python writes it"),
        pytest.param([b"content-length:"], id="no length"),
        pytest.param([b"content-length: 99999999999999999999"], id="length beyond counting"),
        pytest.param([b"content-length : 6"], id="space before the colon"),
        pytest.param([b"transfer-encoding : chunked"], id="space before the colon of chunks"),
        pytest.param([b"transfer-encoding: xchunked"], id="xchunked"),
        pytest.param([b"transfer-encoding: chunked, identity"], id="chunked, then identity"),
        pytest.param([CHUNKED, b"transfer-encoding: identity"], id="two codings"),
        pytest.param([b"transfer-encoding: \x0bchunked"], id="vertical tab before chunked"),
        pytest.param([b"x: y\r\n transfer-encoding: chunked"], id="folded header"),
        pytest.param([b"x: y\ntransfer-encoding: chunked"], id="bare line feed"),
        pytest.param([b"x: y\rtransfer-encoding: chunked"], id="bare carriage return"),
        pytest.param([b"x: \x00"], id="U+0000 in a header"),
        pytest.param([b"no colon"], id="header without a colon"),
        pytest.param([b": nameless"], id="header without a name"),
    ],
)
async def test_a_request_with_two_ends_is_refused_and_the_connection_with_it(
    shop: Shop, admin: Any, wire: Wire, framing: list[bytes]
) -> None:
    await wire.send(head(shop, *framing) + chunk(b"") + SMUGGLED)
    await assert_refused(admin, wire.answer(), 400, MALFORMED)
    assert await wire.is_closed()


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param(b"zz\r\n", id="size that is no number"),
        pytest.param(b"-1\r\n", id="negative size"),
        pytest.param(b"0x5\r\nhello\r\n", id="size with a prefix"),
        pytest.param(b"f" * 17 + b"\r\n", id="size beyond counting"),
        pytest.param(b"5\nhello\n0\n\n", id="bare line feeds"),
        pytest.param(b"5\r\nhelloXX0\r\n\r\n", id="chunk longer than its size"),
        pytest.param(b"5 \r\nhello\r\n0\r\n\r\n", id="space after the size"),
    ],
)
async def test_broken_chunks_are_refused_and_the_connection_with_them(
    shop: Shop, admin: Any, wire: Wire, chunks: bytes
) -> None:
    await wire.send(head(shop, CHUNKED) + chunks + SMUGGLED)
    await assert_refused(admin, wire.answer(), 400, MALFORMED)
    assert await wire.is_closed()


async def test_broken_chunks_are_refused_where_no_body_is_read(shop: Shop, admin: Any, wire: Wire) -> None:
    await wire.send(head(shop, CHUNKED, line=b"GET /checkout/payments HTTP/1.1") + b"zz\r\n" + SMUGGLED)
    await assert_refused(admin, wire.answer(), 400, MALFORMED)
    assert await wire.is_closed()


async def test_chunks_that_break_after_the_answer_end_the_connection(admin: Any, wire: Wire) -> None:
    await wire.send(head(None, CHUNKED))
    await assert_refused(admin, wire.answer(), 401, "UNAUTHENTICATED")
    await wire.send(b"zz\r\n" + SMUGGLED)
    assert await wire.is_closed()


async def test_a_body_cut_by_its_length_is_refused_and_the_rest_is_no_request(
    shop: Shop, admin: Any, wire: Wire
) -> None:
    content = body()
    await wire.send(head(shop, length=len(content) - 20) + content)
    await assert_refused(admin, wire.answer(), 400, MALFORMED)
    assert await wire.is_closed()


async def test_a_body_shorter_than_its_length_is_waited_for(
    shop: Shop, admin: Any, short_deadlines: None, wire: Wire
) -> None:
    content = body()
    await wire.send(head(shop, length=len(content) + 1) + content)
    await assert_refused(admin, wire.answer(), 408, "REQUEST_TIMEOUT")
    assert await wire.is_closed()


async def test_a_body_that_ends_before_its_length_makes_no_payment(shop: Shop, admin: Any, wire: Wire) -> None:
    content = body()
    await wire.send(head(shop, length=len(content) + 1) + content)
    wire.end()
    assert await wire.is_closed()
    assert await rows_in(admin) == (0, 0)


@pytest.mark.parametrize("pause_s", [0, 0.001, 0.05])
async def test_garbage_after_a_whole_request_does_not_change_its_answer(
    shop: Shop, admin: Any, wire: Wire, pause_s: float
) -> None:
    """A client that reads 400 must be able to trust that nothing was written for the request it sent."""
    await wire.send(whole(shop))
    await asyncio.sleep(pause_s)
    await wire.send(b"this is not HTTP\r\n\r\n")
    assert (await wire.answer()).status_code == 201
    assert_says_no(await wire.answer(), 400, MALFORMED)
    assert await wire.is_closed()
    assert await rows_in(admin) == (1, 0)


async def test_requests_in_a_row_are_answered_in_their_order(shop: Shop, wire: Wire) -> None:
    references = ["ROW-1", "ROW-2", "ROW-3"]
    await wire.send(b"".join(whole(shop, content=body(reference=reference)) for reference in references) + b"junk\r\n")
    answers = [await wire.answer() for _ in references]
    assert [answer.json()["data"]["reference"] for answer in answers] == references
    assert_says_no(await wire.answer(), 400, MALFORMED)
    assert await wire.is_closed()


async def test_a_request_in_a_row_that_breaks_off_does_not_take_the_others_with_it(
    shop: Shop, admin: Any, wire: Wire
) -> None:
    await wire.send(whole(shop) + whole(shop) + head(shop, CHUNKED) + b"zz\r\n")
    assert [(await wire.answer()).status_code for _ in range(2)] == [201, 201]
    assert_says_no(await wire.answer(), 400, MALFORMED)
    assert await wire.is_closed()
    assert await rows_in(admin) == (2, 0)


@pytest.mark.parametrize(
    "second",
    [
        b"GET http://e:99999/ HTTP/1.1\r\nhost: test\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /%s HTTP/1.1\r\nhost: test\r\n\r\n" % (b"a" * 9_000),
        b"nonsense\r\n\r\n",
    ],
    ids=["an address that cannot be read", "no host", "an address that is too long", "no HTTP"],
)
async def test_a_bad_request_does_not_change_the_answer_to_the_one_before(
    shop: Shop, admin: Any, wire: Wire, second: bytes
) -> None:
    await wire.send(whole(shop) + second)
    assert (await wire.answer()).status_code == 201
    assert (await wire.answer()).status_code in (400, 414)
    assert await wire.is_closed()
    assert await rows_in(admin) == (1, 0)


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
        (b"GET /healthz HTTP/1.1\r\nhost:\r\n\r\n", 200),
    ],
)
async def test_a_request_names_one_host(wire: Wire, request_head: bytes, status: int) -> None:
    await wire.send(request_head)
    assert (await wire.answer()).status_code == status


# Credentials and orders from the wrong place.


async def test_a_credential_is_never_read_from_a_trailer(shop: Shop, admin: Any, base_url: str) -> None:
    """A proxy that strips or checks headers has let the trailers pass."""
    trailers = b"".join(f"{name}: {value}\r\n".encode() for name, value in shop.create_headers.items())
    sending = ask(base_url, head(None, CHUNKED) + chunk(body()) + b"0\r\n" + trailers + b"\r\n")
    await assert_refused(admin, sending, 401, "UNAUTHENTICATED")


async def test_an_idempotency_key_is_never_read_from_a_trailer(shop: Shop, admin: Any, base_url: str) -> None:
    request = head(shop, CHUNKED) + chunk(body()) + b"0\r\nidempotency-key: k-1\r\n\r\n"
    assert (await ask(base_url, request)).status_code == 201
    assert await rows_in(admin) == (1, 0)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"PRI * HTTP/2.0", id="HTTP/2"),
        pytest.param(b"POST /checkout/payments HTTP/9.9", id="a version that does not exist"),
        pytest.param(b"POST checkout/payments HTTP/1.1", id="an address without a slash"),
        pytest.param(b"POST /checkout/payments\xff HTTP/1.1", id="an address that is not ASCII"),
        pytest.param(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03", id="TLS on a plain port"),
    ],
)
async def test_a_request_line_that_is_not_http_is_refused(shop: Shop, admin: Any, wire: Wire, line: bytes) -> None:
    await wire.send(head(shop, line=line))
    await assert_refused(admin, wire.answer(), 400, MALFORMED)
    assert await wire.is_closed()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"FETCH /checkout/payments HTTP/1.1", id="a method that does not exist"),
        pytest.param(b"BREW / HTTP/1.1", id="a short one"),
        pytest.param(b"post /checkout/payments HTTP/1.1", id="a method in lower case"),
        pytest.param(b"CONNECT api.example.com:443 HTTP/1.1", id="CONNECT"),
    ],
)
async def test_an_unknown_method_is_named_as_the_problem(shop: Shop, admin: Any, wire: Wire, line: bytes) -> None:
    await wire.send(head(shop, line=line))
    answer = await wire.answer()
    assert_says_no(answer, 501, "METHOD_NOT_IMPLEMENTED")
    assert "use GET, " in answer.json()["message"]
    assert await wire.is_closed()
    assert await rows_in(admin) == (0, 0)


@pytest.mark.parametrize("protocol_name", [b"h2c", b"websocket", b"TLS/1.0"])
async def test_an_offer_to_upgrade_is_declined_by_answering_plainly(
    shop: Shop, wire: Wire, protocol_name: bytes
) -> None:
    """Java's client offers h2c with its first request, also with a body; that body is not another protocol."""
    offer = (b"connection: Upgrade, HTTP2-Settings", b"upgrade: " + protocol_name, b"http2-settings: AAMAAABk")
    await wire.send(whole(shop, *offer))
    assert (await wire.answer()).status_code == 201
    content = body()
    await wire.send(head(shop, *offer, length=len(content)))
    await wire.send(content)
    assert (await wire.answer()).status_code == 201
    assert await wire.is_open()


async def test_a_body_behind_an_upgrade_is_not_taken_for_a_request(admin: Any, wire: Wire) -> None:
    smuggled = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    await wire.send(head(None, b"connection: upgrade", b"upgrade: h2c", length=len(smuggled)))
    await assert_refused(admin, wire.answer(), 401, "UNAUTHENTICATED")
    await wire.send(smuggled + SMUGGLED)
    assert_says_no(await wire.answer(), 405, "METHOD_NOT_ALLOWED")


async def test_expect_100_continue_is_answered_only_for_a_valid_key(shop: Shop, wire: Wire) -> None:
    content = body()
    expect = b"expect: 100-continue"
    await wire.send(head(shop, expect, length=len(content)))
    assert (await wire.answer()).status_code == 100
    await wire.send(content)
    assert (await wire.answer()).status_code == 201
    await wire.send(head(None, expect, length=len(content)))
    assert_says_no(await wire.answer(), 401, "UNAUTHENTICATED")


# Trouble that is not the client's.


async def test_a_log_that_cannot_be_written_costs_no_answer(
    shop: Shop, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(application, "log", SimpleNamespace(info=fail, error=fail))
    await wire.send(whole(shop))
    assert (await wire.answer()).status_code == 201
    assert await wire.is_open()


# Clients that go away.


@pytest.mark.parametrize("pause_s", [0, 0.001, 0.005])
async def test_a_client_that_disconnects_and_retries_has_exactly_one_payment(
    shop: Shop, admin: Any, base_url: str, pause_s: float
) -> None:
    content = body(reference="LEFT-1")
    for _ in range(5):
        async with open_wire(base_url) as wire:
            await wire.send(whole(shop, content=content))
            await asyncio.sleep(pause_s)
    again = await shop.create_raw(content)
    assert again.status_code in (201, 409)
    assert again.json()["data"]["reference"] == "LEFT-1"
    assert await rows_in(admin) == (1, 0)
    assert (await shop.verify("LEFT-1")).json()["data"]["reference"] == again.json()["data"]["payCode"]
