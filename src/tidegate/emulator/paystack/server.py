"""The emulated Paystack as a running program: its API and pages on one port, its control on another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
from aiohttp import web

from tidegate.emulator.control import plain_refusals
from tidegate.emulator.http import beside, listening, middleware_of
from tidegate.emulator.paystack.api import PaystackApi
from tidegate.emulator.paystack.control import PaystackControl
from tidegate.emulator.paystack.model import EmulatedAccount
from tidegate.emulator.paystack.page import PATH, PaystackPage
from tidegate.emulator.paystack.service import PaystackService

TICK_S = 0.05


class RunningPaystack(NamedTuple):
    service: PaystackService
    api_url: str
    page_url: str
    control_url: str


@asynccontextmanager
async def running(
    account: EmulatedAccount, *, host: str = "127.0.0.1", port: int = 0, page_port: int = 0, control_port: int = 0
) -> AsyncIterator[RunningPaystack]:
    """On ports of the system's choice, where none is given."""
    service = PaystackService(account)
    api = PaystackApi(service)
    api_app = web.Application(middlewares=[middleware_of(api.answer)])
    api_app.add_routes(api.routes())
    page_app, control_app = web.Application(), web.Application(middlewares=[plain_refusals])
    page_app.add_routes(PaystackPage(service).routes())
    control_app.add_routes(PaystackControl(service).routes())
    apps, ports = (api_app, page_app, control_app), (port, page_port, control_port)
    async with listening(apps, host=host, ports=ports) as urls, beside(lambda: _tick(service)):
        service.page_url = urls[1] + PATH
        yield RunningPaystack(service, *urls)


async def _tick(service: PaystackService) -> None:
    """What becomes due, and the notifications of it."""
    async with aiohttp.ClientSession() as session:
        while True:
            service.tick()
            await service.notifier.send_due(session, now=service.now())
            await asyncio.sleep(TICK_S)
