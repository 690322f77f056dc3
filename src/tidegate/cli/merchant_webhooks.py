"""Shared by commands on webhooks: the business, its clock, and the encryption keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

import click

from tidegate import settings as settings_module
from tidegate.cli.console import fail
from tidegate.cli.database import known_encryption_keys, run_on_database, with_encryption_key
from tidegate.core.clock import Clock, ShiftedClock
from tidegate.core.ids import Mode
from tidegate.infra.address import WebUrl
from tidegate.infra.db import Database
from tidegate.infra.vault import Vault
from tidegate.merchant import commands as merchants
from tidegate.runtime import guard_of
from tidegate.sandbox import clock as sandbox_clock
from tidegate.sandbox.seed import FILE_NAME, read_file
from tidegate.settings import Settings, default_base_url
from tidegate.webhook.commands import WebhookDeps

T = TypeVar("T")

business_option = click.option(
    "--business", "business_id", metavar="ID", help="The business; by default the sandbox's seeded one."
)


@dataclass(frozen=True)
class WebhookCommand:
    """One command's context. `now` is the business's clock, in a sandbox perhaps ahead; signatures use real time."""

    webhook_deps: WebhookDeps
    business_id: str
    now: datetime
    wall: datetime


def business_or_seeded(business_id: str | None) -> str:
    settings = settings_module.from_environment()
    chosen = business_id or seeded(settings).get("businessId")
    if not chosen:
        fail(f"Give the business with --business; there is no {settings.home / FILE_NAME} with a default.")
    return chosen


def visit(business_id: str | None, work: Callable[[WebhookCommand], Awaitable[T]]) -> T:
    settings, chosen = settings_module.from_environment(), business_or_seeded(business_id)

    async def run(db: Database) -> T:
        await merchants.get(db, chosen)
        clock = await clock_of(settings, db)
        return await work(
            WebhookCommand(webhook_deps_of(settings, db), chosen, now=clock.now_of(chosen), wall=clock.now())
        )

    return run_on_database(settings, run)


def seeded(settings: Settings) -> dict[str, str]:
    """The content of the sandbox's file; empty without one, and in live mode."""
    return read_file(settings.home / FILE_NAME) if settings.mode is Mode.SANDBOX else {}


def running_settings() -> Settings:
    """With the address of the running sandbox, whose port may be another than this command's default."""
    settings = settings_module.from_environment()
    return replace(settings, base_url=seeded(settings).get("baseUrl") or settings.base_url)


def webhook_deps_of(settings: Settings, db: Database) -> WebhookDeps:
    return WebhookDeps(db, Vault(_keys_of(settings)), guard_of(_as_served(settings)))


def _as_served(settings: Settings) -> Settings:
    """At the sandbox's address, unless this command's environment has one: an endpoint must not lead to the sandbox."""
    try:
        url = WebUrl.parse(seeded(settings).get("baseUrl"))
    except ValueError:
        return settings
    if settings.base_url != default_base_url(Settings.port):
        return settings
    # Behind a proxy, the port of the address is not the one listened on.
    port = url.port if url == default_base_url(url.port) else settings.port
    return replace(settings, base_url=url, port=port)


def _keys_of(settings: Settings) -> tuple[bytes, ...]:
    """A key is generated only for the embedded database: for another, the processes that serve it have theirs."""
    if settings.database_url is None:
        return with_encryption_key(settings).encryption_keys
    return known_encryption_keys(settings)


async def clock_of(settings: Settings, db: Database) -> Clock:
    """With the clock offsets of the sandbox's businesses."""
    clock = ShiftedClock()
    if settings.mode is Mode.SANDBOX:
        await sandbox_clock.catch_up(db, clock)
    return clock
