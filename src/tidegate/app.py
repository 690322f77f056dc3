"""The composition root: settings become a database, a gate, and the routes of the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.routing import BaseRoute

from tidegate import settings as settings_module
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.method import MethodNames
from tidegate.infra import migrate, telemetry
from tidegate.infra.db import Database
from tidegate.infra.http import openapi, reference
from tidegate.infra.http.endpoint import routes_of
from tidegate.infra.http.health import Health
from tidegate.infra.http.operation import Operation
from tidegate.infra.http.server import drain_on_signal
from tidegate.infra.http.service import Service
from tidegate.infra.rate_limit import RateLimit
from tidegate.merchant.gate import Gate
from tidegate.merchant.keyring import Keyring
from tidegate.payment.api import PaymentApi
from tidegate.settings import Settings

TITLE = "Tidegate"


class SchemaTooOld(Exception):
    """The message says what to do."""


def operations_of(settings: Settings, db: Database, clock: Clock) -> list[Operation]:
    names = MethodNames(ussd=settings.ussd_method)
    return [
        *PaymentApi(db, clock, names, settings.mode, settings.checkout_url).operations(),
    ]


def build(
    settings: Settings, *, clock: Clock | None = None, sandbox_keys: reference.SandboxKeys | None = None
) -> Service:
    clock = clock or SystemClock()
    db = Database(settings.database_url or "", connections_max=settings.connections_max)
    keyring = Keyring(db, clock)
    gate = Gate(keyring, RateLimit(settings.rate_limit_file), settings.mode)
    meter = telemetry.Meter()
    operations = operations_of(settings, db, clock)
    document = openapi.document(operations, title=TITLE, server_url=settings.base_url)
    health = Health(db, clock, meter)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        await db.open()
        try:
            await _refuse_old_schema(db)
            await keyring.refresh()
            watch = asyncio.create_task(keyring.watch())
            try:
                yield
            finally:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch
        finally:
            await db.close()

    routes: list[BaseRoute] = [
        *routes_of(operations, gate.admit),
        *health.routes(),
        *reference.routes(document, operations, sandbox_keys),
    ]
    service = Service(routes, lifespan=lifespan, meter=meter)
    health.watch(service)
    return service


async def _refuse_old_schema(db: Database) -> None:
    async with db.connection() as tx:
        version = await migrate.applied_version(tx)
    if version < migrate.latest_version():
        raise SchemaTooOld(
            f"the database is at migration {version} and this program needs {migrate.latest_version()}: "
            "run `tidegate migrate` first"
        )


def from_environment() -> Service:
    """What each API process of `tidegate serve` loads."""
    settings = settings_module.from_environment()
    telemetry.configure_logs(as_json=settings.log_as_json, level=settings.log_level)
    service = build(settings)
    drain_on_signal(service)
    return service
