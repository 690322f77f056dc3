"""How the server listens, and that it stops listening."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from payment.raw_http import open_wire
from serving import serving_app
from tidegate.infra.http import server
from tidegate.infra.http.application import Application
from tidegate.infra.telemetry import Meter


@asynccontextmanager
async def _nothing_to_open() -> AsyncIterator[None]:
    yield


def _build(_: str) -> Application:
    return Application([], lifespan=_nothing_to_open, meter=Meter())


async def test_a_crowd_of_new_clients_is_let_in() -> None:
    async with serving_app(_build) as (url, _), AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(open_wire(url)) for _ in range(3 * server.LISTENERS)]
        for wire in wires:
            await wire.send(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
        answers = await asyncio.gather(*(wire.answer() for wire in wires))
    assert {answer.status_code for answer in answers} == {404}


async def test_a_server_that_has_stopped_listens_nowhere() -> None:
    async with serving_app(_build) as (url, _):
        port = int(url.rpartition(":")[2])
        with pytest.raises(server.PortTaken, match=f"port {port} is in use"):
            server.bind("127.0.0.1", port)
    server.bind("127.0.0.1", port).close()


def test_one_listening_socket_becomes_several() -> None:
    with server.bind("127.0.0.1", 0) as listening:
        several = server.listeners([listening])
        assert len({one.fileno() for one in several}) == server.LISTENERS
        assert {one.getsockname() for one in several} == {listening.getsockname()}
        for one in several[1:]:
            one.close()


def test_as_many_connections_are_allowed_as_the_administrator_allows() -> None:
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most - 1, most))
    try:
        server.allow_many_connections()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def test_one_more_process_does_not_make_the_others_wait_in_accept() -> None:
    """The mode belongs to what all processes share. Where it waits, one that has let somebody in stands still until the
    next one comes."""
    with server.bind("127.0.0.1", 0) as listening:
        assert not os.get_blocking(listening.fileno())
        # As a child gets it.
        given = socket.socket(listening.family, listening.type, listening.proto, fileno=os.dup(listening.fileno()))
        made = server.listeners([given])
        assert not os.get_blocking(listening.fileno())
        for each in made:
            each.close()
