"""One request id from the answer of the API to the webhook that it caused, and both in one trace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from aiohttp import web

from build import make_shop, order
from checkout.paying import card
from conftest import ENCRYPTION_KEY
from receiver import receiving
from serving import serving
from tidegate.infra.db import Database
from tidegate.infra.telemetry import Meter
from tidegate.infra.trace import CLIENT, SERVER, trace_id_of
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from tidegate.worker import sender_of

WAIT_S = 120


class Collector:
    """As an OpenTelemetry collector takes traces."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.url = ""
        self._came = asyncio.Condition()

    async def take(self, request: web.Request) -> web.Response:
        given = json.loads(await request.read())
        async with self._came:
            for resource in given["resourceSpans"]:
                [service] = resource["resource"]["attributes"]
                for scope in resource["scopeSpans"]:
                    self.spans += [{**span, "service": service["value"]["stringValue"]} for span in scope["spans"]]
            self._came.notify_all()
        return web.json_response({})

    async def spans_of(self, trace_id: str, count: int) -> list[dict[str, Any]]:
        def found() -> list[dict[str, Any]]:
            return [span for span in self.spans if span["traceId"] == trace_id]

        async with asyncio.timeout(WAIT_S), self._came:
            await self._came.wait_for(lambda: len(found()) >= count)
        return found()


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    collector.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield collector
    finally:
        await runner.cleanup()


async def test_a_webhook_is_in_the_trace_of_the_request_that_caused_it(database_url: str, db: Database) -> None:
    async with collecting() as collector, receiving() as receiver:
        settings = Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,), traces_url=collector.url)
        async with serving(settings) as (base_url, _), httpx.AsyncClient(base_url=base_url, timeout=WAIT_S) as client:
            shop = await make_shop(db, client)
            made = await client.post(
                "/webhooks/endpoints", json={"url": receiver.url()}, headers={"api-key": shop.secret_key}
            )
            assert made.status_code == 201, made.text
            pay_code = (await shop.create(order())).json()["data"]["payCode"]
            charged = await client.post(f"/checkout/payments/{pay_code}/charge", json=card())
            assert charged.status_code == 200, charged.text
            request_id = charged.headers["x-request-id"]

            sender = asyncio.create_task(sender_of(Runtime.on(db, settings), Meter()).run(grace_s=1))
            await receiver.got(1, timeout_s=WAIT_S)
            spans = await collector.spans_of(trace_id_of(request_id), 2)
            sender.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sender
    by_kind = {span["kind"]: span for span in spans}
    assert by_kind[SERVER]["service"] == "tidegate-api"
    assert by_kind[CLIENT]["service"] == "tidegate-worker"
    for span in spans:
        assert {"key": "tidegate.request_id", "value": {"stringValue": request_id}} in span["attributes"]
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    [event] = [one async for one in _events(db)]
    assert event == request_id


async def _events(db: Database) -> AsyncIterator[str]:
    async with db.connection() as tx:
        for row in await tx.fetch("SELECT request_id FROM event WHERE type = 'charge.successful'"):
            yield row["request_id"]


def test_without_a_collector_there_is_no_tracer(db: Database) -> None:
    assert Runtime.on(db, Settings()).tracer("tidegate-api") is None
