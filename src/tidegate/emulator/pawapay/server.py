"""The emulated pawaPay as a running program: its API, the payers' phones, and its control, each on a port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
from aiohttp import web

from tidegate.emulator.control import plain_refusals
from tidegate.emulator.http import beside, listening, middleware_of
from tidegate.emulator.pawapay.api import PawapayApi
from tidegate.emulator.pawapay.control import PawapayControl
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount
from tidegate.emulator.pawapay.page import PawapayPage
from tidegate.emulator.pawapay.service import PawapayService

TICK_S = 0.05


class RunningPawapay(NamedTuple):
    service: PawapayService
    api_url: str
    page_url: str
    control_url: str


@asynccontextmanager
async def running(
    account: EmulatedPawapayAccount,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    page_port: int = 0,
    control_port: int = 0,
) -> AsyncIterator[RunningPawapay]:
    """On ports of the system's choice, where none is given."""
    service = PawapayService(account)
    api = PawapayApi(service)
    api_app = web.Application(middlewares=[middleware_of(api.answer)])
    api_app.add_routes(api.routes())
    page_app, control_app = web.Application(), web.Application(middlewares=[plain_refusals])
    page_app.add_routes(PawapayPage(service).routes())
    control_app.add_routes(PawapayControl(service).routes())
    apps, ports = (api_app, page_app, control_app), (port, page_port, control_port)
    async with listening(apps, host=host, ports=ports) as urls, beside(lambda: _tick(service)):
        yield RunningPawapay(service, *urls)


async def _tick(service: PawapayService) -> None:
    """What becomes due, and the callbacks of it."""
    async with aiohttp.ClientSession() as session:
        while True:
            service.tick()
            await service.callbacks.send_due(session, now=service.now())
            await asyncio.sleep(TICK_S)
