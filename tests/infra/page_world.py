"""A small site behind the real application and server, and a real browser."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import httpx

from browser_install import require_browser
from serving import serving_app
from tidegate.core.errors import Refusal
from tidegate.infra.http.application import Application
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.routing import Route
from tidegate.infra.page.response import Html
from tidegate.infra.page.router import PageHandler, PageRequest, PageRoute, PageRouter
from tidegate.infra.telemetry import Meter

BROWSER_WITHIN_S = 180.0

STYLE = b"".join(b".c%d{margin:%dpx;color:#%06x}\n" % (n, n % 7, n * 7919 % 2**24) for n in range(300))


@asynccontextmanager
async def nothing_to_open() -> AsyncIterator[None]:
    yield


@asynccontextmanager
async def visiting(
    make_routes: Callable[[str], list[Route]], *, trusted_proxies: int = 0
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server with these routes, made when its address is known."""

    def build(url: str) -> Application:
        routes = make_routes(url)
        return Application(routes, lifespan=nothing_to_open, meter=Meter(), trusted_proxies=trusted_proxies)

    async with serving_app(build) as (url, _), httpx.AsyncClient(base_url=url, timeout=60, verify=False) as client:
        yield client


def error_page(refusal: Refusal, status: int, request: PageRequest) -> Html:
    return Html(f"<!doctype html><title>{status}</title><p>{refusal.message}</p>".encode())


def site_of(*pages: tuple[str, str, PageHandler]) -> list[Route]:
    router = PageRouter(error_page)
    return [*router.routes(PageRoute(method, path, handler.__name__, handler) for method, path, handler in pages)]


def headers_of(*pairs: tuple[str, str]) -> Headers:
    return Headers([(name.lower().encode(), value.encode("latin-1")) for name, value in pairs])


@asynccontextmanager
async def browser_at(url: str) -> AsyncIterator[None]:
    """A real browser has the page open. Whatever it does shows in what it sends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = await asyncio.create_subprocess_exec(
            require_browser(),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-port=0",  # Without it there is nobody to stay open for.
            f"--user-data-dir={profile}",
            url,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(BROWSER_WITHIN_S):
                yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(browser.pid, signal.SIGKILL)
            await browser.wait()


@asynccontextmanager
async def elsewhere(body: bytes) -> AsyncIterator[str]:
    """Another site, with none of our headers. To a browser, localhost is not 127.0.0.1."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # Browsers open connections that they never use.
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n" + body)
        writer.close()

    async with await asyncio.start_server(answer, "localhost", 0) as server:
        yield f"http://localhost:{server.sockets[0].getsockname()[1]}/"
