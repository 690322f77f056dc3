"""Files of any length: whole or visibly broken, made only while somebody takes them, in nobody's way."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import pytest

from infra.operation_world import calling, make_find
from tidegate.core.errors import NotFound
from tidegate.docs.reference import ApiReference
from tidegate.infra.http import body, download, in_flight, lingering, openapi, protocol
from tidegate.infra.http.csv_text import row
from tidegate.infra.http.operation import Call, Csv, Operation, Stream

AS_CSV = {"accept": "text/csv"}
WITHIN_S = 120.0
REQUEST = b"GET /things?name=a HTTP/1.1\r\nhost: localhost\r\naccept: text/csv\r\n\r\n"

Chunks = AsyncGenerator[bytes, None]


class Tap:
    """Gives chunks as a test lets it, and tells what became of it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.closed = asyncio.Event()
        self.go_on = asyncio.Event()

    async def few(self) -> Chunks:
        async for chunk in self._given([row(["a", 1]), row(["=b", -2]), row(["c,d", None])]):
            yield chunk

    async def nothing(self) -> Chunks:
        async for chunk in self._given([]):
            yield chunk

    async def refused(self) -> Chunks:
        if not self.go_on.is_set():
            raise NotFound("there is no such thing")
        yield b""

    async def broken_at_once(self) -> Chunks:
        if not self.go_on.is_set():
            raise RuntimeError("broken")
        yield b""

    async def broken(self) -> Chunks:
        try:
            yield row(["a", 1])
            await self.go_on.wait()
            raise RuntimeError("broken")
        finally:
            self.closed.set()

    async def waiting(self) -> Chunks:
        try:
            yield row(["a", 1])
            self.begun.set()
            await self.go_on.wait()
            yield row(["b", 2])
        finally:
            self.closed.set()

    async def endless(self) -> Chunks:
        try:
            while True:
                yield row(["x" * 10_000, 1]) * 10
                self.begun.set()
        finally:
            self.closed.set()

    async def _given(self, chunks: list[bytes]) -> Chunks:
        self.begun.set()
        for chunk in chunks:
            yield chunk
        self.closed.set()


def listed(make: Callable[[], Chunks]) -> Operation:
    async def handler(call: Call) -> Stream:
        return Stream(make(), filename="things-2026.csv")

    return make_find(group="Payments", csv=Csv(("name", "count"), handler))


@pytest.fixture
def tap() -> Tap:
    return Tap()


class Reader:
    """The client's end of a connection that has asked for the file."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def send_until_refused(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            while True:
                await self.send(b" ")
                await asyncio.sleep(0.02)

    async def until(self, text: bytes) -> bytes:
        return await asyncio.wait_for(self._reader.readuntil(text), WITHIN_S)

    async def rest(self) -> bytes:
        return await asyncio.wait_for(self._reader.read(), WITHIN_S)


@asynccontextmanager
async def asking(client: httpx.AsyncClient) -> AsyncIterator[Reader]:
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    opened = Reader(reader, writer)
    await opened.send(REQUEST)
    try:
        yield opened
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def happens(event: asyncio.Event) -> bool:
    return await asyncio.wait_for(event.wait(), WITHIN_S)


# Whole.


async def test_a_file_has_its_head_line_and_every_row(tap: Tap) -> None:
    async with calling(listed(tap.few)) as (client, _):
        answer = await client.get("/things?name=a", headers=AS_CSV)
    assert answer.status_code == 200
    assert list(csv.reader(io.StringIO(answer.text, newline=""))) == [
        ["name", "count"],
        ["a", "1"],
        ["'=b", "-2"],
        ["c,d", ""],
    ]
    headers = answer.headers
    assert headers["content-type"] == "text/csv; charset=utf-8"
    assert headers["content-disposition"] == 'attachment; filename="things-2026.csv"'
    assert headers["cache-control"] == "no-store"
    assert headers["vary"] == "accept"
    assert headers["transfer-encoding"] == "chunked"
    assert headers["x-request-id"].startswith("req_")
    assert "content-length" not in headers


async def test_a_file_without_rows_has_its_head_line(tap: Tap) -> None:
    async with calling(listed(tap.nothing)) as (client, _):
        assert (await client.get("/things?name=a", headers=AS_CSV)).content == b"name,count\r\n"


async def test_the_connection_serves_on_afterwards(tap: Tap) -> None:
    async with calling(listed(tap.few)) as (client, _), asking(client) as wire:
        assert (await wire.until(b"0\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await wire.send(REQUEST.replace(b"text/csv", b"*/*"))
        assert b'"name":"a"' in await wire.until(b"}}")


async def test_rows_are_sent_as_they_are_made(tap: Tap) -> None:
    async with (
        calling(listed(tap.waiting)) as (client, _),
        client.stream("GET", "/things?name=a", headers=AS_CSV) as answer,
    ):
        chunks = answer.aiter_bytes()
        assert await anext(chunks) == b"name,count\r\na,1\r\n"
        tap.go_on.set()
        assert b"".join([chunk async for chunk in chunks]) == b"b,2\r\n"


async def test_everybody_else_gets_json_that_varies_too(tap: Tap) -> None:
    async with calling(listed(tap.few)) as (client, _):
        for accept in ("*/*", "application/json", "text/csv;q=0.5, application/json"):
            answer = await client.get("/things?name=a", headers={"accept": accept})
            assert answer.json()["data"]["name"] == "a"
            assert answer.headers["vary"] == "accept"
    assert not tap.begun.is_set()


async def test_an_operation_without_a_file_answers_json_to_all() -> None:
    async with calling(make_find()) as (client, _):
        answer = await client.get("/things?name=a", headers=AS_CSV)
    assert answer.json()["data"]["name"] == "a"
    assert "vary" not in answer.headers


async def test_only_the_head_is_asked_for_and_nothing_is_made(tap: Tap) -> None:
    async with calling(listed(tap.few)) as (client, _):
        answer = await client.head("/things?name=a", headers=AS_CSV)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert answer.content == b""
        assert (await client.get("/things?name=a")).status_code == 200  # On the same connection.
    assert not tap.begun.is_set()


@pytest.mark.parametrize("name", ["", 'a".csv', "a\r\nb: c", "a/b.csv", "ä.csv", ".csv", "a" * 101])
async def test_a_name_that_would_not_fit_its_header_is_refused(tap: Tap, name: str) -> None:
    with pytest.raises(ValueError, match="header"):
        Stream(tap.few(), filename=name)


# Broken.


async def test_what_is_wrong_before_the_first_byte_is_said_as_ever(tap: Tap) -> None:
    async with calling(listed(tap.refused)) as (client, _):
        answer = await client.get("/things?name=a", headers=AS_CSV)
        assert (answer.status_code, answer.json()["message"]) == (404, "there is no such thing")
        answer = await client.get("/things?name=a&sort=x", headers=AS_CSV)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "sort")
    async with calling(listed(tap.broken_at_once)) as (client, _):
        answer = await client.get("/things?name=a", headers=AS_CSV)
        assert (answer.status_code, answer.json()["errorType"]) == (500, "INTERNAL_ERROR")


async def test_what_breaks_later_breaks_the_connection(tap: Tap) -> None:
    async with calling(listed(tap.broken)) as (client, _):
        async with client.stream("GET", "/things?name=a", headers=AS_CSV) as answer:
            chunks = answer.aiter_bytes()
            assert await anext(chunks) == b"name,count\r\na,1\r\n"
            tap.go_on.set()
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
                await anext(chunks)
        assert tap.closed.is_set()


async def test_the_mark_of_the_end_is_never_sent_for_half_a_file(tap: Tap) -> None:
    rest = b""
    async with calling(listed(tap.broken)) as (client, _), asking(client) as wire:
        await wire.until(b"name,count\r\na,1\r\n\r\n")
        tap.go_on.set()
        with suppress(ConnectionError):
            rest = await wire.rest()
    assert rest == b""


# Nobody takes it.


async def test_a_client_that_leaves_while_rows_are_made_stops_them(tap: Tap) -> None:
    async with calling(listed(tap.waiting)) as (client, _):
        async with asking(client):
            await happens(tap.begun)
        assert await happens(tap.closed)


async def test_a_client_that_leaves_in_the_middle_of_the_file_stops_it(tap: Tap) -> None:
    async with calling(listed(tap.endless)) as (client, _):
        async with asking(client) as wire:
            await wire.until(b"name,count")
        assert await happens(tap.closed)


async def test_a_client_that_reads_nothing_is_cut_off(tap: Tap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "STALLED_AFTER_S", 0.2)
    monkeypatch.setattr(lingering, "FLUSH_S", 0.2)
    async with calling(listed(tap.endless)) as (client, _), asking(client) as wire:
        assert await happens(tap.closed)
        with pytest.raises(ConnectionError):  # Nothing waits for this client any more.
            await wire.send_until_refused()


async def test_a_long_wait_for_rows_is_no_reason_to_cut(tap: Tap, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (download, "STALLED_AFTER_S"),
        (body, "BODY_TIMEOUT_S"),
        (protocol, "HEADER_TIMEOUT_S"),
        (lingering, "FLUSH_S"),
    ):
        monkeypatch.setattr(module, name, 1.5)  # Long enough for a busy machine to send a request.
    async with calling(listed(tap.waiting)) as (client, _):
        downloading = asyncio.create_task(client.get("/things?name=a", headers=AS_CSV))
        await happens(tap.begun)
        await asyncio.sleep(2.0)
        tap.go_on.set()
        assert (await downloading).content.endswith(b"b,2\r\n")


# In nobody's way.


async def test_a_download_does_not_count_as_a_request_in_flight(tap: Tap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", 1)
    async with calling(listed(tap.waiting)) as (client, _), asking(client):
        await happens(tap.begun)
        assert (await client.get("/things?name=a")).status_code == 200


async def test_a_caller_has_a_few_downloads_at_once(tap: Tap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "DOWNLOADS_OF_ONE_CALLER_MAX", 1)
    async with calling(listed(tap.waiting)) as (client, _):
        async with asking(client):
            await happens(tap.begun)
            answer = await client.get("/things?name=a", headers=AS_CSV)
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "10")
            assert (await client.get("/things?name=a")).status_code == 200
            assert (await client.head("/things?name=a", headers=AS_CSV)).status_code == 200
            tap.go_on.set()
            other = await client.get("/things?name=a", headers={**AS_CSV, "x-caller": "another"})
            assert other.status_code == 200
        await happens(tap.closed)
        assert (await client.get("/things?name=a", headers=AS_CSV)).status_code == 200


async def test_all_callers_together_have_a_limit(tap: Tap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "DOWNLOADS_MAX", 1)
    async with calling(listed(tap.waiting)) as (client, _), asking(client):
        await happens(tap.begun)
        answer = await client.get("/things?name=a", headers={**AS_CSV, "x-caller": "another"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
        assert answer.json()["errorType"] == "SERVICE_UNAVAILABLE"


# Described.


def test_the_file_is_a_second_media_type_of_the_answer(tap: Tap) -> None:
    operation = listed(tap.few)
    document = openapi.document([operation], title="", server_url="http://localhost")
    described = document["paths"]["/things"]["get"]
    assert list(described["responses"]["200"]["content"]) == ["application/json", "text/csv"]
    assert described["responses"]["200"]["content"]["text/csv"]["example"] == "name,count\r\n"
    assert "`Accept: text/csv`" in described["description"]
    shown = ApiReference(document, [operation]).operation(operation)
    assert shown.file == "name,count\r\n"
    assert "`Accept: text/csv`" in shown.description
