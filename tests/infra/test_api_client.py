"""The client for rails' APIs, against a server that does what it should not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from process import free_port
from tidegate.emulator import http as emulator
from tidegate.emulator.faults import FaultKind
from tidegate.emulator.http import listening, spoilt
from tidegate.infra.api_client import ApiClient, NoAnswer, NotSent


class Server:
    """`POST /<fault>` works and answers with this fault."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application()
        app.add_routes([web.post("/done/{fault}", self._work), web.post("/moved", self._moved)])
        return app

    async def _work(self, request: web.Request) -> web.StreamResponse:
        self.done.append(request.match_info["fault"])
        return await spoilt(request, web.json_response({"status": True}), FaultKind(request.match_info["fault"]))

    async def _moved(self, request: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("/done/slow")


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    async with listening([made.app()], host="127.0.0.1", ports=[0]) as [made.url]:
        yield made


async def call(url: str, path: str, *, total_s: float = 30.0) -> tuple[int, bytes]:
    client = ApiClient(url, {}, total_s=total_s)
    await client.open()
    try:
        answer = await client.call("POST", path, body={})
    finally:
        await client.close()
    return answer.status, answer.body


async def test_a_slow_answer_is_waited_for(server: Server) -> None:
    assert await call(server.url, "/done/slow") == (200, b'{"status": true}')


@pytest.mark.parametrize(("fault", "total_s"), [("slow", 1.0), ("lost", 30.0), ("huge", 30.0)])
async def test_without_a_whole_answer_the_work_may_be_done(
    server: Server, fault: str, total_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after 10 MiB, of which the first MiB is read."""
    monkeypatch.setattr(emulator, "SLOW_S", 10.0)
    with pytest.raises(NoAnswer):
        await call(server.url, f"/done/{fault}", total_s=total_s)
    assert server.done == [fault]


async def test_without_a_connection_nothing_was_sent() -> None:
    with pytest.raises(NotSent):
        await call(f"http://127.0.0.1:{free_port()}", "/done/slow")


async def test_a_redirect_is_an_answer_and_not_followed(server: Server) -> None:
    status, _ = await call(server.url, "/moved")
    assert (status, server.done) == (307, [])
