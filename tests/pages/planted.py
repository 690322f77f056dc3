"""Pages with faults, under the security policy of our own pages, to prove that each fault is seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from serving import serving_app
from tidegate.infra.http.application import Application
from tidegate.infra.http.client import client_of
from tidegate.infra.http.routing import answering
from tidegate.infra.page.security import page_headers
from tidegate.infra.telemetry import Meter

PAGE = """<!doctype html>
<html lang="en"><title>Planted</title><link rel="icon" href="data:,">
<main><h1>Planted</h1>{body}</main>
"""
NONCE = 'nonce="planted"'
BODIES = {
    "clean": "<p>All is well.</p>",
    "console": f"<script {NONCE}>console.error('planted')</script>",
    "uncaught": f"<script {NONCE}>throw new Error('planted')</script>",
    "rejected": f"<script {NONCE}>Promise.reject(new Error('planted'))</script>",
    "inline-style": "<p style='color: red'>Red</p>",
    "inline-script": "<script>document.title = 'Changed'</script>",
    "foreign-image": "<img src='https://elsewhere.example/pixel.png' alt='A pixel'>",
    "untrusted-text": f"<script {NONCE}>document.querySelector('h1').innerHTML = '<b>Bold</b>'</script>",
    "missing-file": "<img src='/no-such.png' alt='Nothing'>",
    "script": f"<script {NONCE}>document.title = 'Changed'</script><noscript><p>Without scripts</p></noscript>",
    "listening": f"<script {NONCE}>new EventSource('/stream').onopen = () => document.title = 'Open'</script>",
    "image-alt": "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' width='40' height='40'>",
    "color-contrast": f"<style {NONCE}>p {{ color: #bbb; background: #fff }}</style><p>Hardly to be seen</p>",
    "target-size": f"<style {NONCE}>button {{ display: block; width: 9px; height: 9px; padding: 0; border: 0 }}</style>"
    + "".join(f"<button aria-label='{number}'></button>" for number in range(3)),
}


async def _page(request: Request) -> Response:
    guarding = page_headers("planted", reports_to="/reports")
    headers = {name.decode(): value.decode() for name, value in guarding}
    return HTMLResponse(PAGE.format(body=BODIES[request.path_params["name"]]), headers=headers)


async def _careless(_: Request) -> Response:
    """A page without any policy, which loads from elsewhere."""
    return HTMLResponse(PAGE.format(body=BODIES["foreign-image"]))


async def _who(request: Request) -> Response:
    return HTMLResponse(PAGE.format(body=f"<p>{client_of(request.scope)}</p>"))


async def _stream(_: Request) -> Response:
    async def forever() -> AsyncIterator[bytes]:
        yield b": open\n\n"
        await asyncio.Event().wait()

    return StreamingResponse(forever(), media_type="text/event-stream")


@asynccontextmanager
async def _nothing_to_open() -> AsyncIterator[None]:
    yield


def serving_planted() -> AbstractAsyncContextManager[tuple[str, Application]]:
    routes = [
        answering("/planted/{name}", _page),
        answering("/careless", _careless),
        answering("/who", _who),
        answering("/stream", _stream),
    ]
    return serving_app(lambda _: Application(routes, lifespan=_nothing_to_open, meter=Meter(), trusted_proxies=1))
