"""Shared by operators' commands on money: the rails and the clock."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

import click

from tidegate import settings as settings_module
from tidegate.audit.model import OPERATOR, Actor
from tidegate.cli.console import WholeNumber, fail, out
from tidegate.cli.database import run_on_database
from tidegate.core.clock import Clock
from tidegate.infra.db import Database
from tidegate.intake import ask_again
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps
from tidegate.runtime import Runtime

T = TypeVar("T")
SHOWN, SHOWN_MAX = 50, 1_000
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")

any_business_option = click.option("--business", "business_id", metavar="ID", help="Only this business.")
any_or_only_business = click.argument("business_id", metavar="[BUSINESS]", required=False)
limit_option = click.option("--limit", type=WholeNumber(1, SHOWN_MAX), default=SHOWN, show_default=True)


def with_payment_deps(work: Callable[[PaymentDeps, Clock], Awaitable[T]]) -> T:
    settings = settings_module.from_environment()

    async def run(db: Database) -> T:
        runtime = Runtime.on(db, settings)
        await runtime.initialise()
        return await work(runtime.deps, runtime.clock)

    return run_on_database(settings, run)


def ask_at_once(kind: str, business_id: str, reference: str, *, rail: str) -> None:
    """About a return or a part of a refund."""

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        now = clock.now_of(business_id)
        await ask_again.ask(deps.db, kind, business_id, reference, rail=rail, by=OPERATOR, now=now)

    with_payment_deps(run)
    out.print("[green]✓[/] asked within seconds, while a `tidegate worker` runs.")


def business_and(given: tuple[str, ...]) -> tuple[str | None, str]:
    """The business, which may be left out, and what stands after it."""
    if len(given) > 2:
        fail(f"Give at most two words, not {len(given)}; put a text with spaces in quotes.")
    return (given[0] if len(given) == 2 else None), given[-1]


def operator_named(name: str | None) -> Actor:
    """As the audit trail shows who uses the command line."""
    return Actor(f"operator/{remark_in('by', name)}") if name else OPERATOR


def ago(moment: datetime, now: datetime) -> str:
    seconds = int((now - moment).total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit} ago"
    return f"{max(seconds, 0)} s ago"


def number_in(text: str) -> Decimal | str:
    """As people write one: digits, and a point. Anything else is returned as it is, and refused by its name later."""
    return Decimal(text) if _NUMBER.fullmatch(text) else text
