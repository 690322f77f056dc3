"""What emulators share: ports, and answers that suffer a fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import web

from tidegate.emulator.faults import FaultKind

_HTML = "<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>"
_HUGE_BYTES = 10 * 1024 * 1024
SLOW_S = 0.5
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body{{font:16px sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem}}button{{font:inherit;margin:.2rem}}
input{{font:inherit}}</style><h1>{title}</h1>{body}</html>"""

ApiHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def page(title: str, body: str) -> web.Response:
    return web.Response(text=_PAGE.format(title=title, body=body), content_type="text/html")


def middleware_of(answer: Callable[[web.Request, ApiHandler], Awaitable[web.StreamResponse]]) -> Any:
    """Of an API that answers each request itself, with what the request's handler answers."""

    @web.middleware
    async def guard(request: web.Request, handler: ApiHandler) -> web.StreamResponse:
        return await answer(request, handler)

    return guard


def hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def spoilt(request: web.Request, answer: web.StreamResponse, fault: FaultKind | None) -> web.StreamResponse:
    """The work is done; the answer suffers."""
    match fault:
        case FaultKind.SLOW:
            await asyncio.sleep(SLOW_S)
        case FaultKind.LOST:
            return hang_up(request)
        case FaultKind.HTML | FaultKind.PAGE:
            return web.Response(text=_HTML, status=200 if fault is FaultKind.PAGE else 502, content_type="text/html")
        case FaultKind.HUGE:
            return web.Response(body=b'{"status":true,"data":"' + b"x" * _HUGE_BYTES, content_type="application/json")
        case FaultKind.CUT if isinstance(answer, web.Response) and isinstance(answer.body, bytes):
            return web.Response(body=answer.body[: len(answer.body) // 2], content_type="application/json")
    return answer


@asynccontextmanager
async def listening(apps: Sequence[web.Application], *, host: str, ports: Sequence[int]) -> AsyncIterator[list[str]]:
    """The address of each. Port 0 is one of the system's choice."""
    runners = [web.AppRunner(app, access_log=None, shutdown_timeout=1.0) for app in apps]
    try:
        yield [await _listen(runner, host, port) for runner, port in zip(runners, ports, strict=True)]
    finally:
        for runner in runners:
            await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> str:
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    return f"http://{host}:{runner.addresses[0][1]}"


@asynccontextmanager
async def beside(run: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Runs until the end of the block."""
    task = asyncio.ensure_future(run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
