"""Commands on businesses and their keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, BinaryIO

import click
from rich.table import Table

from tidegate import settings as settings_module
from tidegate.audit.model import OPERATOR
from tidegate.cli.business_settings import brand_json, brand_options, checked, name_and_brand, note_on
from tidegate.cli.console import as_json_option, fail, print_json, reports_errors, show_table
from tidegate.cli.database import run_on_database
from tidegate.cli.merchant_cards import cards
from tidegate.cli.merchant_keys import key_json, keys, show_facts, state_of
from tidegate.cli.merchant_webhooks import clock_of, webhook_deps_of
from tidegate.cli.proposal import act_or_propose, act_or_propose_all, by_option, known, why_option
from tidegate.cli.webhook import SHOWN_ONCE, adding, changing
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.fee import DEFAULT_FEE_RULES, FeeBearer, FeeOnRefund, FeeRule, basis_points_in
from tidegate.core.method import PRICED, priced_in
from tidegate.core.money import Currency
from tidegate.infra.address import WebUrl
from tidegate.infra.db import Database
from tidegate.merchant import commands, logo
from tidegate.merchant.field import EmailAddress, PersonName, remark_in
from tidegate.merchant.model import ApiKey, Business, BusinessStatus, NamePolicy
from tidegate.staff_approval.arguments import EndpointChanges, PriceArguments, SettingArguments
from tidegate.staff_approval.commands import StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps
from tidegate.webhook import commands as webhooks
from tidegate.webhook.model import Endpoint, EndpointStatus, NewEndpoint, WithSecret


@click.group()
def merchant() -> None:
    """Businesses, their settings and keys."""


merchant.add_command(keys)
merchant.add_command(cards)


@merchant.command()
@click.argument("name")
@click.option("--email", required=True, help="Contact of the business; shown to payers until support is set.")
@as_json_option
@reports_errors
def create(name: str, email: str, as_json: bool) -> None:
    """Create a business. Its secret key is shown only once."""
    settings = settings_module.from_environment()
    for check, value, what in ((PersonName, name, "NAME"), (EmailAddress, email, "--email")):
        try:
            check.parse(value)
        except ValueError as error:
            fail(f"{what} {error}.")

    async def run(db: Database) -> commands.NewBusiness:
        now = SystemClock().now()
        return await commands.create(db, name=name, email=email, mode=settings.mode, now=now, by=OPERATOR)

    new = run_on_database(settings, run)
    facts = {"businessId": new.business.id, "secretKey": new.secret_key, "publicKey": new.public_key}
    show_facts(facts, as_json, note="Keep the secret key safe: it is not stored and cannot be shown again.")


@merchant.command(name="list")
@as_json_option
@reports_errors
def list_(as_json: bool) -> None:
    """List the businesses and their keys."""
    settings = settings_module.from_environment()

    async def run(db: Database) -> tuple[list[tuple[Business, list[ApiKey]]], Clock]:
        found = [(business, await commands.keys_of(db, business.id)) for business in await commands.list_all(db)]
        return found, await clock_of(settings, db)

    found, clock = run_on_database(settings, run)
    if as_json:
        print_json([_business_json(business, its_keys) for business, its_keys in found])
        return
    table = Table()
    for heading in ("Business", "Name", "Status", "Key", "Kind", "Ends in", "State"):
        table.add_column(heading, no_wrap=heading == "Business")  # Not wrapped: the id is copied into other commands.
    for business, its_keys in found:
        for key in its_keys:
            head = (business.id, name_and_brand(business), business.status.value)
            state = state_of(key, clock.now_of(business.id))
            table.add_row(*head, str(key.id), key.kind.value, f"…{key.last_four}", state)
    show_table(table, "No business yet: `tidegate merchant create NAME --email …` makes one.")


@merchant.command(name="set")
@click.argument("business_id")
@click.option("--name")
@click.option("--email")
@click.option("--status", type=click.Choice([status.value for status in BusinessStatus]))
@click.option("--reason", metavar="TEXT", help="Why it is suspended; required with --status suspended.")
@click.option("--rate-per-second", type=click.IntRange(1, 100_000), help="API requests per second.")
@click.option("--rate-burst", type=click.IntRange(1, 100_000), help="API requests at once.")
@click.option("--session-minutes", type=click.IntRange(15, 1440), help="Minutes for which a checkout stays open.")
@click.option("--fee-bearer", type=click.Choice([one.value for one in FeeBearer]),
              help="Who pays the fee of a payment or a link that does not say it.")  # fmt: skip
@click.option("--variance-policy", type=click.Choice(["accept", "top_up", "return"]),
              help="Policy for transfers of too little or too much.")  # fmt: skip
@click.option("--variance-tolerance-minor", type=click.IntRange(0, 10**12),
              help="Largest difference that counts as exact, in minor units.")  # fmt: skip
@click.option("--inflow-name-policy", type=click.Choice([policy.value for policy in NamePolicy]),
              help="Inflows with a close or missing name: hold them, or return them at once (strict).")  # fmt: skip
@click.option("--redirect-host", "redirect_hosts", multiple=True,
              help="Allow only this host in redirectUrl; repeat for several, '' for any.")  # fmt: skip
@click.option("--checkout-origin", "checkout_origins", multiple=True,
              help="A page that may open the checkout in a dialog, such as https://shop.example.com; repeat for "
              "several, '' for none.")  # fmt: skip
@click.option("--receipts-by-mail/--no-receipts-by-mail", default=None,
              help="Whether payers are sent their receipt by e-mail, also of a refund.")  # fmt: skip
@click.option("--webhook-url", help="URL of its first webhook endpoint, which is created when there is none.")
@brand_options
@why_option
@by_option
@as_json_option
@reports_errors
def set_(
    *,
    business_id: str,
    as_json: bool,
    logo_file: BinaryIO | None,
    no_logo: bool,
    why: str | None,
    by: str | None,
    **changes: Any,
) -> None:
    """Change a business's settings. In live mode, those that widen its rights or what is credited need an approver."""
    settings = settings_module.from_environment()
    for name in ("redirect_hosts", "checkout_origins"):
        given: tuple[str, ...] = changes.pop(name)
        changes[name] = [one.lower() for one in given if one] if given else None
    reason = _reason_in(changes)
    _refuse_unclear({**changes, "reason": reason}, logo_file=logo_file, no_logo=no_logo)
    changes = checked(changes, settings.mode)
    url = changes.pop("webhook_url")
    widening, changes = _widening(changes)
    # One byte over the limit shows that the file is too large; an endless file is not read.
    picture = logo_file.read(logo.BYTES_MAX + 1) if logo_file else None

    async def run(db: Database) -> Business:
        # Everything that can be refused first, before any change.
        if url is not None:
            await webhooks.refuse_forbidden(webhook_deps_of(settings, db).guard, url)
        now = (await clock_of(settings, db)).now_of(business_id)
        if picture is not None:
            await commands.set_logo(db, business_id, picture, now=now)
        elif no_logo:
            await commands.remove_logo(db, business_id, now=now)
        business = await _change(db, business_id, changes, now)
        if reason:
            business = await commands.suspend(db, business_id, reason, by=OPERATOR, now=now)
        return business

    business = run_on_database(settings, run)
    finds = [known("merchant.settings", business_id, business_id, why=why, arguments=widening)]
    finds = [*finds[: bool(widening.changes)], *([_sending_to(business_id, url, why)] if url else [])]
    business, secrets = _outcome(business, act_or_propose_all(finds, by=by, as_json=as_json) if finds else [])
    notes = [note_on(changes["accent"]), SHOWN_ONCE if "webhookSecret" in secrets else ""]
    show_facts({**_business_json(business, []), **secrets}, as_json, note="\n".join(note for note in notes if note))


def _outcome(business: Business, done: list[object]) -> tuple[Business, dict[str, str]]:
    """The business as it now is, and what is shown of its endpoint."""
    secrets: dict[str, str] = {}
    for one in done:
        if isinstance(one, Business):
            business = one
        elif isinstance(one, WithSecret):
            secrets = {"webhookUrl": one.endpoint.url, "webhookSecret": one.secret}
        elif isinstance(one, Endpoint):
            secrets = {"webhookUrl": one.url}
    return business, secrets


async def _change(db: Database, business_id: str, changes: dict[str, Any], now: datetime) -> Business:
    if all(value is None for value in changes.values()):
        return await commands.get(db, business_id)
    return await commands.change(db, business_id, changes, now=now)


def _reason_in(changes: dict[str, Any]) -> str | None:
    """Of a suspension, which stops money: one person does it, at once."""
    reason: str | None = changes.pop("reason")
    if changes["status"] != BusinessStatus.SUSPENDED:
        if reason:
            fail("--reason goes with --status suspended only.")
        return None
    if not reason:
        fail("Say why with --reason; it is kept until the business is reinstated.")
    changes["status"] = None
    return remark_in("reason", reason)


def _refuse_unclear(changes: dict[str, Any], *, logo_file: BinaryIO | None, no_logo: bool) -> None:
    if logo_file is not None and no_logo:
        fail("--logo and --no-logo contradict each other.")
    if not (logo_file or no_logo or any(value is not None for value in changes.values())):
        fail("Nothing to change; `tidegate merchant set --help` lists the settings.")


def _widening(changes: dict[str, Any]) -> tuple[SettingArguments, dict[str, Any]]:
    """Those that need an approver, and the others."""
    names = {name for name in SettingArguments.__struct_fields__ if name in changes}
    return (
        SettingArguments(**{name: changes[name] for name in names}),
        {name: value for name, value in changes.items() if name not in names},
    )


def _sending_to(
    business_id: str, url: WebUrl, why: str | None
) -> Callable[[StaffApprovalDeps], Awaitable[StaffCommandRequest]]:
    """The specification's single webhook URL is the first endpoint."""

    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        endpoints = await webhooks.list_all(deps.db, business_id)
        if not endpoints:
            return await adding(business_id, NewEndpoint(url=str(url)), why=why)(deps)
        wanted = EndpointChanges(url=str(url), status=EndpointStatus.ENABLED)
        return await changing(business_id, endpoints[0].id, wanted, why=why)(deps)

    return find


@merchant.command()
@click.argument("business_id")
@click.argument("currency", type=click.Choice(sorted({currency.value for currency, _ in DEFAULT_FEE_RULES})))
@click.argument("method", type=click.Choice([method.value for method in PRICED]))
@click.option("--percent", required=True, help="Percentage of the amount, such as 1.4.")
@click.option("--fixed-minor", type=click.IntRange(0), default=0, help="Added to the percentage, in minor units.")
@click.option("--cap-minor", type=click.IntRange(0), help="The highest fee, in minor units.")
@click.option(
    "--on-refund",
    type=click.Choice([choice.value for choice in FeeOnRefund]),
    help="Whether a refund returns the fee to the business; by default as it is now.",
)
@click.option("--vat-percent", help="Tax on the fee, such as 7.5; by default as it is now.")
@why_option
@by_option
@as_json_option
@reports_errors
def fee(
    *, business_id: str, currency: str, method: str, as_json: bool, why: str | None, by: str | None, **price: Any
) -> None:
    """Set a business's own fee for new payments. Existing payments keep theirs."""
    key = Currency(currency), priced_in(method)
    if key not in DEFAULT_FEE_RULES:
        fail(f"{method} is not offered in {currency}.")
    points, vat = _basis_points(price["percent"]), price["vat_percent"]
    vat_points = None if vat is None else _basis_points(vat)

    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        now = (await commands.get(deps.db, business_id)).fee_rule_for(*key)
        wanted = PriceArguments(
            currency=key[0],
            method=method,
            basis_points=points,
            vat_basis_points=now.vat_basis_points if vat_points is None else vat_points,
            fixed_minor=price["fixed_minor"],
            cap_minor=price["cap_minor"],
            on_refund=FeeOnRefund(price["on_refund"] or now.on_refund),
        )
        return StaffCommandRequest(
            command="merchant.price", business_id=business_id, subject=business_id, reason=why, arguments=wanted
        )

    made = act_or_propose(find, by=by, as_json=as_json)
    assert isinstance(made, FeeRule)
    show_facts({"businessId": business_id, "feeRule": made.id, "currency": currency, "method": method}, as_json)


def _basis_points(percent: str) -> int:
    points = basis_points_in(percent)
    if points is None:
        fail(f"{percent!r} is not a percentage: give a number from 0 to 100 with at most two decimals.")
    return points


def _business_json(business: Business, its_keys: list[ApiKey]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "businessId": business.id,
        "name": business.name,
        "email": business.email,
        "status": business.status.value,
        "ratePerSecond": business.rate_per_second,
        "rateBurst": business.rate_burst,
        "sessionMinutes": business.session_minutes,
        "variancePolicy": business.variance_policy,
        "varianceToleranceMinor": business.variance_tolerance_minor,
        "inflowNamePolicy": business.inflow_name_policy.value,
        "redirectHosts": list(business.redirect_hosts),
        "checkoutOrigins": list(business.checkout_origins),
        "receiptsByMail": business.receipts_by_mail,
        "feeBearer": business.fee_bearer.value,
        **brand_json(business),
    }
    if its_keys:
        facts["keys"] = [key_json(key) for key in its_keys]
    return facts
