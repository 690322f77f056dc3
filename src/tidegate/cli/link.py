"""`tidegate link`: payment links of a business."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

import click
from rich.table import Table

from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, out, plain, print_record, reports_errors, show_table
from tidegate.cli.merchant_webhooks import running_settings
from tidegate.cli.operator import any_or_only_business, business_and, limit_option, with_payment_deps
from tidegate.core.clock import Clock
from tidegate.core.money import CHECKOUT_OFFERS
from tidegate.infra.http.read import read
from tidegate.merchant import commands as merchants
from tidegate.payment_link import commands, wire
from tidegate.payment_link.model import LinkKind, LinkView
from tidegate.rail.choice import methods_taken
from tidegate.rail.deps import PaymentDeps


@click.group()
def link() -> None:
    """Payment links: a page and a QR code to share, paid once or by many."""


@link.command()
@click.argument("words", metavar="[BUSINESS] NAME", nargs=-1, required=True)
@click.option("--currency", type=click.Choice([currency.value for currency in CHECKOUT_OFFERS]), required=True)
@click.option("--amount", type=int, help="In major units; without it the customer chooses.")
@click.option("--min", "amountMin", type=int, help="The least that the customer may choose.")
@click.option("--max", "amountMax", type=int, help="The most that the customer may choose.")
@click.option("--once", is_flag=True, help="Paid once, by one customer.")
@click.option("--count", "paymentsMax", type=int, help="How often it may be paid.")
@click.option("--until", "endsAt", metavar="DATE", help="It takes payments up to and including this day, in UTC.")
@click.option("--redirect", "redirectUrl", metavar="URL", help="Where the customer returns to.")
@click.option("--message", "successMessage", metavar="TEXT", help="Shown after a successful payment.")
@as_json_option
@reports_errors
def create(words: tuple[str, ...], once: bool, as_json: bool, **fields: Any) -> None:
    """Create a payment link. NAME is what is paid for. BUSINESS may be left out where there is one."""
    business_id, name = business_and(words)
    settings = running_settings()

    async def run(deps: PaymentDeps, clock: Clock) -> wire.LinkRecord:
        business = await merchants.get_or_only(deps.db, business_id)
        now = clock.now_of(business.id)
        kind = LinkKind.ONE_OFF if once else LinkKind.REUSABLE
        value = {name: given for name, given in fields.items() if given is not None} | {
            "name": name,
            "kind": kind.value,
        }
        check = partial(
            wire.problems_with, value=value, business=business, names=deps.names, mode=settings.mode,
            taken=partial(methods_taken, deps.rails), now=now,
        )  # fmt: skip
        terms = wire.terms_from(read(value, wire.CreateLink, check), business, deps.names)
        async with deps.db.transaction() as tx:
            view = await commands.create(tx, business, terms, by=OPERATOR, now=now)
        return wire.record_of(view, deps.names, settings.links_url, now=now)

    record = with_payment_deps(run)
    if as_json:
        print_record(record)
        return
    out.print(f"[green]✓[/] {record.link}", soft_wrap=True)
    out.print(f"[dim]QR code[/] {record.qr_svg}", soft_wrap=True)


@link.command(name="list")
@any_or_only_business
@limit_option
@as_json_option
@reports_errors
def list_(business_id: str | None, limit: int, as_json: bool) -> None:
    """List the payment links of a business, the newest first."""

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[PaymentDeps, list[LinkView], datetime]:
        business = await merchants.get_or_only(deps.db, business_id)
        now = clock.now_of(business.id)
        page = await commands.list_page(deps.db, business.id, is_ended=None, before_number=None, limit=limit, now=now)
        return deps, page.views, now

    deps, views, now = with_payment_deps(run)
    links_url = running_settings().links_url
    if as_json:
        print_record([wire.record_of(view, deps.names, links_url, now=now) for view in views])
        return
    table = Table()
    for heading in ("Link", "Name", "Amount", "State", "Paid", "Received"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "Link")
    for view in views:
        terms, use = view.link.terms, view.use
        amount = str(terms.asked) if terms.asked else f"{terms.least} to {terms.most}"
        paid = f"{use.paid} of {use.made}"
        state = view.state(now=now).value
        table.add_row(view.link.id, plain(terms.name), amount, state, paid, str(use.received))
    show_table(table, "There are no payment links; `tidegate link create` makes one.")


@link.command()
@click.argument("words", metavar="[BUSINESS] LINK", nargs=-1, required=True)
@as_json_option
@reports_errors
def end(words: tuple[str, ...], as_json: bool) -> None:
    """End a payment link: it takes no new payments."""
    business_id, link_id = business_and(words)

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[PaymentDeps, LinkView, datetime]:
        business = await merchants.get_or_only(deps.db, business_id)
        now = clock.now_of(business.id)
        return deps, await commands.end(deps.db, business.id, link_id, by=OPERATOR, now=now), now

    deps, view, now = with_payment_deps(run)
    if as_json:
        print_record(wire.record_of(view, deps.names, running_settings().links_url, now=now))
        return
    out.print(f"[green]✓[/] {link_id} takes no new payments.")
