"""`tidegate merchant keys`: keys of a business, with all rights or restricted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tidegate import settings as settings_module
from tidegate.cli.console import as_json_option, fail, out, plain, print_json, reports_errors, show_table
from tidegate.cli.database import run_on_database
from tidegate.cli.merchant_webhooks import clock_of
from tidegate.cli.operator import ago
from tidegate.cli.proposal import act_or_propose, by_option, known, why_option
from tidegate.core.clock import SystemClock
from tidegate.core.ids import new_secret_key
from tidegate.infra.db import Database
from tidegate.infra.http.query import Moment
from tidegate.merchant import commands
from tidegate.merchant.key_terms import KeyRequest, terms_of
from tidegate.merchant.model import ROLL_OVERLAP, ApiKey, KeyKind, KeyScope, print_of
from tidegate.sandbox.seed import FILE_NAME, keep_rolled_key
from tidegate.staff_approval.arguments import KeyArguments, RollArguments, subject_of_roll

_KEEP_SAFE = "Keep the secret key safe: it is not stored and cannot be shown again."


@click.group()
def keys() -> None:
    """Make, roll and revoke keys."""


@keys.command()
@click.argument("business_id")
@click.argument("name")
@click.option("--scope", "scopes", type=click.Choice([scope.value for scope in KeyScope]), multiple=True, required=True,
              help="Right of the key; repeat for several.")  # fmt: skip
@click.option("--address", "addresses", metavar="ADDRESS", multiple=True,
              help="An address or network that it may be used from; repeat for several.")  # fmt: skip
@click.option("--refund-max", "limits", metavar="CURRENCY=AMOUNT", multiple=True,
              help="The most of one refund, in major units; other currencies are then refused.")  # fmt: skip
@click.option("--until", metavar="DATE", help="The key works until the end of this day, or before this time, in UTC.")
@why_option
@by_option
@as_json_option
@reports_errors
def create(
    *, business_id: str, name: str, scopes: tuple[str, ...], addresses: tuple[str, ...], limits: tuple[str, ...],
    until: str | None, why: str | None, by: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Create a restricted secret key. It is shown only once; in live mode it works once it is approved."""
    request = KeyRequest(
        name=name, scopes=scopes, addresses=addresses, refund_max=dict(map(_limit, limits)),
        expires_at=_moment(until).end if until else None,
    )  # fmt: skip
    secret = new_secret_key(settings_module.from_environment().mode)
    terms_of(request, now=SystemClock().now())
    wanted = KeyArguments(request=request, secret=print_of(secret))
    key = act_or_propose(
        known("merchant.key", business_id, name, why=why, arguments=wanted), by=by, as_json=as_json,
        shown={"secretKey": secret},
    )  # fmt: skip
    assert isinstance(key, ApiKey)
    facts = {"businessId": business_id, "keyId": key.id, "secretKey": secret, "scopes": list(scopes)}
    show_facts(facts, as_json, note=_KEEP_SAFE)


def _limit(text: str) -> tuple[str, int]:
    code, _, amount = text.partition("=")
    if not (amount.isascii() and amount.isdigit() and len(amount) <= 15):
        fail("--refund-max must be a currency and a whole amount, such as NGN=50000.")
    return code, int(amount)


def _moment(text: str) -> Moment:
    try:
        return Moment.parse(text)
    except ValueError as error:
        fail(f"--until {error}.")


@keys.command(name="list")
@click.argument("business_id")
@as_json_option
@reports_errors
def list_(business_id: str, as_json: bool) -> None:
    """List the keys of a business: what each may do, and when it was last used."""
    settings = settings_module.from_environment()

    async def run(db: Database) -> tuple[list[ApiKey], datetime]:
        await commands.get(db, business_id)
        return await commands.keys_of(db, business_id), (await clock_of(settings, db)).now_of(business_id)

    found, now = run_on_database(settings, run)
    if as_json:
        print_json([key_json(key) for key in found])
        return
    table = Table()
    for heading in ("Key", "Name", "Kind", "Ends in", "May", "Last used", "State"):
        table.add_column(heading, overflow="fold")
    for key in found:
        used = f"{ago(key.used_at, now)} from {plain(key.used_from or '?')}" if key.used_at else "–"
        may = ", ".join(sorted(key.scopes)) if key.scopes is not None else "everything"
        may = "–" if key.kind is KeyKind.PUBLIC else may
        row = (str(key.id), plain(key.name or "–"), key.kind.value, f"…{key.last_four}", may, used)
        table.add_row(*row, state_of(key, now))
    show_table(table)


def key_json(key: ApiKey) -> dict[str, Any]:
    limits = key.refund_max
    return {
        "id": key.id,
        "kind": key.kind.value,
        "lastFour": key.last_four,
        "publicKey": key.public_key,
        "name": key.name,
        "scopes": sorted(key.scopes) if key.scopes is not None else None,
        "addresses": [str(network) for network in key.networks],
        "refundMaxMinor": None if limits is None else {code.value: minor for code, minor in limits.items()},
        "lastUsedAt": key.used_at,
        "lastUsedFrom": key.used_from,
        "createdAt": key.created_at,
        "expiresAt": key.expires_at,
        "revokedAt": key.revoked_at,
    }


@keys.command()
@click.argument("business_id")
@click.option("--key", "key_id", type=int, metavar="ID", help="A restricted key; without it, the key with all rights.")
@click.option("--overlap-hours", type=click.FloatRange(0, 720), default=ROLL_OVERLAP / timedelta(hours=1),
              show_default=True, help="Hours for which the old key still works; 0 ends it now.")  # fmt: skip
@why_option
@by_option
@as_json_option
@reports_errors
def roll(
    *, business_id: str, key_id: int | None, overlap_hours: float, why: str | None, by: str | None, as_json: bool
) -> None:
    """Create a new secret key with the rights of the old one, which expires after the overlap. In live mode it works
    once it is approved.
    """
    settings = settings_module.from_environment()
    secret = new_secret_key(settings.mode)
    wanted = RollArguments(secret=print_of(secret), overlap_s=round(overlap_hours * 3600), key_id=key_id)
    act_or_propose(
        known("merchant.roll", business_id, subject_of_roll(key_id), why=why, arguments=wanted), by=by, as_json=as_json,
        shown={"secretKey": secret},
    )  # fmt: skip
    if key_id is None:
        keep_rolled_key(settings.home / FILE_NAME, business_id, secret)
    show_facts({"businessId": business_id, "secretKey": secret}, as_json, note=_KEEP_SAFE)


@keys.command()
@click.argument("business_id")
@click.argument("key_id", type=int)
@reports_errors
def revoke(business_id: str, key_id: int) -> None:
    """Revoke a key at once, in every process."""
    settings = settings_module.from_environment()

    async def run(db: Database) -> None:
        now = (await clock_of(settings, db)).now_of(business_id)
        await commands.revoke_key(db, business_id, key_id, now=now)

    run_on_database(settings, run)
    out.print(f"[green]✓[/] Key {key_id} is revoked; every process refuses it within a second.")


def show_facts(facts: dict[str, Any], as_json: bool, note: str = "") -> None:
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        out.print(f"[dim]{name:<22}[/] {'–' if value is None else escape(str(value))}", soft_wrap=True)
    if note:
        out.print(f"[yellow]{note}[/]", soft_wrap=True)


def state_of(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return "[red]revoked[/]"
    if key.expires_at is not None:
        is_over = key.expires_at <= now
        return "[red]ended[/]" if is_over else f"[yellow]until {key.expires_at:%Y-%m-%d %H:%M} UTC[/]"
    return "[green]valid[/]"
