"""`tidegate webhook`: a business's webhook endpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import click
from rich.table import Table

from tidegate import settings as settings_module
from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, fail, out, plain, print_record, reports_errors, show_table
from tidegate.cli.merchant_webhooks import WebhookCommand, business_option, business_or_seeded, visit
from tidegate.cli.proposal import act_or_propose, by_option, why_option
from tidegate.core.ids import Mode
from tidegate.infra.address import WebUrl
from tidegate.infra.http.read import read
from tidegate.infra.timestamp import to_iso
from tidegate.merchant import commands as merchants
from tidegate.staff_approval.arguments import EndpointArguments, EndpointChanges
from tidegate.staff_approval.commands import StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps
from tidegate.webhook import commands, wire
from tidegate.webhook.model import (
    EVENTS_ALWAYS,
    EVENTS_ON_REQUEST,
    RATE_PER_SECOND,
    RATE_PER_SECOND_MAX,
    Delivery,
    Endpoint,
    EndpointStatus,
    NewEndpoint,
    WithSecret,
)

SHOWN_ONCE = "Keep the secret safe: it is stored encrypted and cannot be shown again."

events_option = click.option(
    "--event",
    "events",
    multiple=True,
    metavar="NAME",
    help=f"In addition to charge.successful and collection.successful; repeat for several: "
    f"{', '.join(EVENTS_ON_REQUEST)}.",
)
rate_option = click.option(
    "--rate-per-second",
    type=click.IntRange(1, RATE_PER_SECOND_MAX),
    help=f"Requests per second; {RATE_PER_SECOND} for a new endpoint.",
)


@click.group()
def webhook() -> None:
    """Webhook endpoints and their secrets."""


@webhook.command(name="list")
@business_option
@as_json_option
@reports_errors
def list_(business_id: str | None, as_json: bool) -> None:
    """List the endpoints, the oldest first: that one is the business's webhook URL."""

    async def run(here: WebhookCommand) -> list[Endpoint]:
        return await commands.list_all(here.webhook_deps.db, here.business_id)

    endpoints = visit(business_id, run)
    if as_json:
        print_record([wire.record_of(endpoint) for endpoint in endpoints])
        return
    table = Table()
    for heading in ("Endpoint", "URL", "Events", "Status", "Per second"):
        table.add_column(heading, no_wrap=heading == "Endpoint", overflow="fold")
    for endpoint in endpoints:
        what = plain(endpoint.url) + (f"\n[dim]{plain(endpoint.description)}[/]" if endpoint.description else "")
        table.add_row(endpoint.id, what, "\n".join(endpoint.events), _state_of(endpoint), str(endpoint.rate_per_second))
    show_table(table, "No endpoint yet: `tidegate webhook add URL` creates one.")


@webhook.command()
@click.argument("url")
@events_option
@click.option("--description", help="Your own text, shown in lists.")
@rate_option
@business_option
@why_option
@by_option
@as_json_option
@reports_errors
def add(*, url: str, business_id: str | None, why: str | None, by: str | None, as_json: bool, **options: Any) -> None:
    """Create an endpoint for URL. Its signing secret is shown only once. In live mode an approver approves it, and the
    merchant makes the secret by rotating it.
    """
    request = read(_wire_names(url=url, **options), wire.CreateEndpoint)
    made = act_or_propose(adding(business_or_seeded(business_id), wire.new_endpoint_from(request), why=why), by=by,
                    as_json=as_json)  # fmt: skip
    assert isinstance(made, WithSecret)
    _show(wire.record_with_secret(made), as_json, note=SHOWN_ONCE)


def adding(
    business_id: str, new: NewEndpoint, *, why: str | None
) -> Callable[[StaffApprovalDeps], Awaitable[StaffCommandRequest]]:
    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        await merchants.get(deps.db, business_id)
        await commands.refuse_forbidden(deps.webhooks().guard, WebUrl(new.url))
        wanted = EndpointArguments(
            url=new.url, events=new.events, description=new.description, rate_per_second=new.rate_per_second
        )
        return StaffCommandRequest(
            command="webhook.add", business_id=business_id, subject=new.url, reason=why, arguments=wanted
        )

    return find


def changing(
    business_id: str, endpoint_id: str, wanted: EndpointChanges, *, why: str | None
) -> Callable[[StaffApprovalDeps], Awaitable[StaffCommandRequest]]:
    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        await commands.get(deps.db, business_id, endpoint_id)
        if wanted.url is not None:
            await commands.refuse_forbidden(deps.webhooks().guard, WebUrl(wanted.url))
        return StaffCommandRequest(
            command="webhook.change", business_id=business_id, subject=endpoint_id, reason=why, arguments=wanted
        )

    return find


@webhook.command(name="set")
@click.argument("endpoint_id")
@click.option("--url", help="The new URL, also for pending deliveries.")
@events_option
@click.option("--no-events", is_flag=True, help="Only charge.successful and collection.successful.")
@click.option("--description", help="Your own text; '' for none.")
@click.option(
    "--status",
    type=click.Choice([status.value for status in EndpointStatus]),
    help="Enabling also resets the endpoint's failures.",
)
@rate_option
@business_option
@why_option
@by_option
@as_json_option
@reports_errors
def set_(
    *,
    endpoint_id: str,
    business_id: str | None,
    why: str | None,
    by: str | None,
    as_json: bool,
    no_events: bool,
    events: tuple[str, ...],
    **options: Any,
) -> None:
    """Change an endpoint. Given events replace the previous ones. In live mode another address, other events and
    enabling it need an approver.
    """
    if no_events and events:
        fail("--event and --no-events contradict each other.")
    asked = _wire_names(events=events, **options) | ({"events": list(EVENTS_ALWAYS)} if no_events else {})
    if not asked:
        fail("Nothing to change; `tidegate webhook set --help` lists the settings.")
    widening, changes = _widening(wire.changes_from(read(asked, wire.ChangeEndpoint)))

    async def run(here: WebhookCommand) -> Endpoint:
        # What can be refused first, before any change.
        found = await commands.get(here.webhook_deps.db, here.business_id, endpoint_id)
        if widening.url is not None:
            await commands.refuse_forbidden(here.webhook_deps.guard, WebUrl(widening.url))
        if not changes:
            return found
        return await commands.change(
            here.webhook_deps.db, here.business_id, endpoint_id, changes, by=OPERATOR, now=here.now
        )

    endpoint = visit(business_id, run)
    if widening.changes:
        find = changing(endpoint.business_id, endpoint_id, widening, why=why)
        done = act_or_propose(find, by=by, as_json=as_json)
        assert isinstance(done, Endpoint)
        endpoint = done
    _show(wire.record_of(endpoint), as_json)


def _widening(changes: dict[str, Any]) -> tuple[EndpointChanges, dict[str, Any]]:
    """What sends data elsewhere, and the rest."""
    names = {name for name in ("url", "events", "status") if name in changes}
    if changes.get("status") == EndpointStatus.DISABLED:
        names.discard("status")
    return (
        EndpointChanges(**{name: changes[name] for name in names}),
        {name: value for name, value in changes.items() if name not in names},
    )


@webhook.command()
@click.argument("endpoint_id")
@business_option
@as_json_option
@reports_errors
def rotate(endpoint_id: str, business_id: str | None, as_json: bool) -> None:
    """Create a new secret. The old one also signs for 24 hours. In live mode the merchant does it in its dashboard."""
    if settings_module.from_environment().mode is Mode.LIVE:
        fail("In live mode only the merchant rotates its secret, in its dashboard or by the API.")

    async def run(here: WebhookCommand) -> WithSecret:
        async with here.webhook_deps.db.transaction() as tx:
            return await commands.rotate(
                tx, here.webhook_deps.vault, here.business_id, endpoint_id, by=OPERATOR, now=here.now
            )

    _show(wire.record_with_secret(visit(business_id, run)), as_json, note=SHOWN_ONCE)


@webhook.command()
@click.argument("endpoint_id")
@business_option
@as_json_option
@reports_errors
def test(endpoint_id: str, business_id: str | None, as_json: bool) -> None:
    """Send an event `webhook.test` to this endpoint only."""

    async def run(here: WebhookCommand) -> Delivery:
        async with here.webhook_deps.db.transaction() as tx:
            return await commands.send_test(tx, here.business_id, endpoint_id, by=OPERATOR, now=here.now)

    record = wire.delivery_record(visit(business_id, run))
    if as_json:
        print_record(record)
        return
    out.print(f"[green]✓[/] Queued. `tidegate events show {record.id}` shows the answer.", soft_wrap=True)


@webhook.command()
@click.argument("endpoint_id")
@business_option
@reports_errors
def remove(endpoint_id: str, business_id: str | None) -> None:
    """Delete an endpoint. Requests in flight may still arrive."""

    async def run(here: WebhookCommand) -> Endpoint:
        return await commands.delete(here.webhook_deps.db, here.business_id, endpoint_id, by=OPERATOR, now=here.now)

    endpoint = visit(business_id, run)
    out.print(f"[green]✓[/] {endpoint.id} is deleted; nothing more is sent to {plain(endpoint.url)}.", soft_wrap=True)


def _wire_names(events: tuple[str, ...] = (), rate_per_second: int | None = None, **others: Any) -> dict[str, Any]:
    """The options as an API request, so that the same rules apply to both."""
    asked = {"events": list(events) or None, "ratePerSecond": rate_per_second, **others}
    return {name: value for name, value in asked.items() if value is not None}


def _show(record: wire.EndpointRecord, as_json: bool, note: str = "") -> None:
    if as_json:
        print_record(record)
        return
    facts = {
        "endpoint": record.id,
        "url": record.url,
        "events": ", ".join(record.events),
        "description": record.description or "–",
        "status": record.status,
        "per second": str(record.rate_per_second),
    }
    if isinstance(record, wire.EndpointWithSecret):
        facts["secret"] = str(record.secret)
    for name, value in facts.items():
        out.print(f"[dim]{name:<12}[/] {plain(value)}", soft_wrap=True)
    if note:
        out.print(f"[yellow]{note}[/]", soft_wrap=True)


def _state_of(endpoint: Endpoint) -> str:
    if endpoint.status is EndpointStatus.ENABLED:
        return "[green]enabled[/]"
    return f"[red]disabled[/]\n{endpoint.disabled_reason}, {to_iso(endpoint.updated_at)[:10]}"
