"""A business with webhooks, a sender that the test runs step by step, and a clock that the test moves."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from conftest import ENCRYPTION_KEY
from settable_clock import SettableClock
from tidegate.audit.model import OPERATOR
from tidegate.core import ids
from tidegate.core.ids import Mode
from tidegate.infra.address import WebUrl
from tidegate.infra.db import Database
from tidegate.infra.egress import Egress
from tidegate.infra.guard import Guard, Lookup
from tidegate.infra.telemetry import Meter
from tidegate.infra.vault import Vault
from tidegate.merchant import commands as merchants
from tidegate.webhook import commands, log_store
from tidegate.webhook.commands import WebhookDeps
from tidegate.webhook.deliver import Sender
from tidegate.webhook.model import Delivery, DeliveryResult, NewEndpoint, WithSecret

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
OWN_URL = "http://127.0.0.1:1"
PAYLOAD = b'{"event":"charge.successful","data":{"amount":100.50,"name":"\xc3\x84da"}}'
_numbers = itertools.count(1)


@dataclass
class World:
    db: Database
    webhook_deps: WebhookDeps
    clock: SettableClock
    sender: Sender
    business_id: str

    def later(self, **by: float) -> None:
        self.clock.advance(timedelta(**by))

    async def endpoint(self, url: str, *, business_id: str | None = None, **fields: Any) -> WithSecret:
        new = NewEndpoint(url=str(WebUrl.parse(url)), **fields)
        business_id = business_id or self.business_id
        async with self.db.transaction() as tx:
            return await commands.create(
                tx, self.webhook_deps.vault, business_id, new, by=OPERATOR, now=self.clock.now()
            )

    async def event(self, payload: bytes = PAYLOAD, **changes: Any) -> str:
        """As a change writes it."""
        event_id = ids.new_event_id()
        columns = {
            "business_id": self.business_id,
            "type": "charge.successful",
            "reference": f"ORD-{next(_numbers)}",
            "created_at": self.clock.now(),
            **changes,
        }
        async with self.db.connection() as tx:
            await tx.execute(
                """
                INSERT INTO event (business_id, id, type, cause, payload, reference, created_at)
                VALUES ($1, $2, $3, $2, $4, $5, $6)
                """,
                columns["business_id"], event_id, columns["type"], payload, columns["reference"],
                columns["created_at"],
            )  # fmt: skip
        return event_id

    async def walk(self) -> list[DeliveryResult]:
        """Once to every endpoint that has something due, and what was answered is written down."""
        await self.sender.fan_out()
        deliveries = await self.sender.take()
        results = list(await asyncio.gather(*map(self.sender.send, deliveries)))
        if results:
            await self.sender.finish(results)
        return results

    async def deliver(self) -> list[DeliveryResult]:
        """All that is due now."""
        results: list[DeliveryResult] = []
        while some := await self.walk():
            results += some
        return results

    async def deliveries(self, **wanted: Any) -> list[Delivery]:
        async with self.db.connection() as tx:
            return await log_store.list_deliveries(
                tx, self.business_id, log_store.DeliveryFilter(**wanted), limit=1_000
            )

    async def delivery(self) -> Delivery:
        [only] = await self.deliveries()
        return only


@asynccontextmanager
async def make_world(
    db: Database, *, mode: Mode = Mode.SANDBOX, lookup: Lookup | None = None, **egress: Any
) -> AsyncIterator[World]:
    clock = SettableClock(NOW)
    business = await new_business(db)
    guard = Guard(mode, OWN_URL if mode is Mode.SANDBOX else "https://api.example.com", lookup)
    webhook_deps = WebhookDeps(db, Vault([ENCRYPTION_KEY]), guard)
    way_out = Egress(guard, **egress)
    sender = Sender(db, way_out, webhook_deps.vault, clock, Meter())
    async with way_out.open():
        yield World(db, webhook_deps, clock, sender, business)


async def new_business(db: Database) -> str:
    new = await merchants.create(db, name="Shop", email="shop@example.com", mode=Mode.SANDBOX, now=NOW)
    return new.business.id
