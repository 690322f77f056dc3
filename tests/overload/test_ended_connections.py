"""A connection that has ended is freed at once: what waits for the garbage collector adds up to tens of megabytes."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.responses import Response

from payment.raw_http import open_wire
from serving import serving_app
from tidegate.infra.http import in_flight
from tidegate.infra.http.application import Application
from tidegate.infra.http.protocol import GuardedProtocol
from tidegate.infra.http.routing import answering
from tidegate.infra.telemetry import Meter

GET = b"GET / HTTP/1.1\r\nhost: test\r\n\r\n"
WAIT = GET.replace(b"/", b"/wait", 1)
FREED_WITHIN_S = 60.0

Made = list[weakref.ref[GuardedProtocol]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """All connections of the test, none of which the garbage collector may free."""
    connections: Made = []
    connection_made = GuardedProtocol.connection_made

    def note(self: GuardedProtocol, transport: asyncio.Transport) -> None:
        connections.append(weakref.ref(self))
        connection_made(self, transport)

    monkeypatch.setattr(GuardedProtocol, "connection_made", note)
    gc.collect()
    gc.disable()
    yield connections
    gc.enable()


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async def answer(_: Request) -> Response:
        return Response(b"well")

    async def wait(request: Request) -> Response:
        """As a stream of events does, for as long as somebody listens."""
        while (await request.receive())["type"] != "http.disconnect":
            pass
        return Response(b"")

    application = Application(
        [answering("/", answer), answering("/wait", wait)], lifespan=_nothing_to_open, meter=Meter()
    )
    async with serving_app(lambda _: application) as (url, _):
        yield url


@asynccontextmanager
async def _nothing_to_open() -> AsyncIterator[None]:
    yield


def alive(made: Made) -> list[GuardedProtocol]:
    return [connection for each in made if (connection := each()) is not None]


async def all_are_freed(made: Made) -> bool:
    async with asyncio.timeout(FREED_WITHIN_S):
        while alive(made):  # noqa: ASYNC110 - it happens in the server
            await asyncio.sleep(0.01)
    return len(made) > 0


async def test_after_an_answer(url: str, made: Made) -> None:
    for _ in range(3):
        async with open_wire(url) as wire:
            await wire.send(GET)
            assert (await wire.answer()).status_code == 200
    assert await all_are_freed(made)


async def test_after_nothing_was_asked(url: str, made: Made) -> None:
    async with open_wire(url):
        pass
    assert await all_are_freed(made)


async def test_after_a_refusal(url: str, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", 0)
    async with open_wire(url) as wire:
        await wire.send(GET)
        assert (await wire.answer()).status_code == 503
    assert await all_are_freed(made)


async def test_after_a_request_that_cannot_be_read(url: str, made: Made) -> None:
    async with open_wire(url) as wire:
        await wire.send(b"what?\r\n\r\n")
        assert (await wire.answer()).status_code == 400
    assert await all_are_freed(made)


async def test_after_a_reset(url: str, made: Made) -> None:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(GET)
    await reader.readuntil(b"well")
    # Closing without lingering is a reset.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    assert await all_are_freed(made)


async def test_while_requests_wait_behind_one_that_runs(url: str, made: Made) -> None:
    """The request that runs is told that its client has gone, though others wait behind it."""
    async with open_wire(url) as wire:
        await wire.send(WAIT + GET + GET)
        async with asyncio.timeout(FREED_WITHIN_S):
            while not any(connection.pipeline for connection in alive(made)):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
    assert await all_are_freed(made)
