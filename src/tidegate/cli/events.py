"""`tidegate events`: webhook deliveries, their answers, resends and replays."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import click
import msgspec
from rich.table import Table

from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, fail, out, plain, print_json, print_record, reports_errors, show_table
from tidegate.cli.merchant_webhooks import WebhookCommand, business_option, visit
from tidegate.core.errors import NotFound
from tidegate.infra.egress import USER_AGENT
from tidegate.infra.http.read import read
from tidegate.infra.timestamp import to_iso
from tidegate.infra.vault import NoKey
from tidegate.sandbox.wire import Duration
from tidegate.webhook import commands, log_store, secret_store, sign, wire
from tidegate.webhook.field import delivery_id, delivery_id_in
from tidegate.webhook.log_store import ReplayCount
from tidegate.webhook.model import EVENTS, Delivery, DeliveryAttempt, DeliveryStatus

SHOWN, SHOWN_MAX = 20, 500
_COLOURS = {
    DeliveryStatus.PENDING: "yellow",
    DeliveryStatus.DELIVERED: "green",
    DeliveryStatus.EXHAUSTED: "red",
    DeliveryStatus.CANCELLED: "red",
}


@click.group()
def events() -> None:
    """Webhook deliveries: list, show, resend, replay."""


@events.command(name="list")
@click.option("--status", type=click.Choice([status.value for status in DeliveryStatus]))
@click.option("--event", metavar="NAME", help="Such as charge.successful.")
@click.option("--reference", help="The merchant's reference of the payment or other subject.")
@click.option("--endpoint", "endpoint_id", metavar="ID")
@click.option(
    "--since", "date_from", metavar="TIME", help="A date, a time or an age: 2026-11-15, 2026-11-15T09:30:00Z, 2h."
)
@click.option("--until", "date_to", metavar="TIME", help="The same; a date includes the whole day.")
@click.option("--before", metavar="ID", help="Only deliveries older than this one, for the next page.")
@click.option("--limit", type=click.IntRange(1, SHOWN_MAX), default=SHOWN, show_default=True)
@business_option
@as_json_option
@reports_errors
def list_(business_id: str | None, as_json: bool, limit: int, before: str | None, **wanted: Any) -> None:
    """List deliveries, the newest first."""
    before_id = _number_in(before) if before else None

    async def run(here: WebhookCommand) -> tuple[list[Delivery], datetime]:
        request = read(_wire_names(wanted, here.now), wire.ListDeliveries, wire.problems_between)
        filter_ = wire.filter_from(request)
        if before_id is not None:
            filter_ = filter_.older_than(min(before_id, filter_.before_id or before_id))
        async with here.webhook_deps.db.connection() as tx:
            # One more than shown, to know whether there are others.
            return await log_store.list_deliveries(tx, here.business_id, filter_, limit=limit + 1), here.now

    found, now = visit(business_id, run)
    if as_json:
        print_record([wire.delivery_record(delivery) for delivery in found[:limit]])
        return
    nothing = "No deliveries. Use `tidegate events replay` for events from before the endpoint existed."
    show_table(_table_of(found[:limit], now), nothing)
    if len(found) > limit:
        out.print(f"[dim]There are more: --before {delivery_id(found[limit - 1].id)}[/]", soft_wrap=True)


@events.command()
@click.argument("delivery")
@business_option
@as_json_option
@reports_errors
def show(delivery: str, business_id: str | None, as_json: bool) -> None:
    """Show a delivery: the body, the headers, and the answer to each attempt."""
    number = _number_in(delivery)

    async def run(here: WebhookCommand) -> tuple[Delivery, dict[str, str], datetime]:
        found = await commands.get_delivery(here.webhook_deps.db, here.business_id, number)
        return found, await _headers_of(here, found), here.now

    found, headers, now = visit(business_id, run)
    if as_json:
        print_record(
            {**msgspec.to_builtins(wire.delivery_record(found), builtin_types=(msgspec.Raw,)), "headers": headers}
        )
        return
    _show_delivery(found, headers, now)


@events.command()
@click.argument("delivery")
@business_option
@as_json_option
@reports_errors
def resend(delivery: str, business_id: str | None, as_json: bool) -> None:
    """Send a delivery again at once, with the same id and body and a new timestamp."""
    number = _number_in(delivery)

    async def run(here: WebhookCommand) -> Delivery:
        async with here.webhook_deps.db.transaction() as tx:
            return await commands.resend(tx, here.business_id, number, by=OPERATOR, now=here.now)

    record = wire.delivery_record(visit(business_id, run))
    if as_json:
        print_record(record)
        return
    out.print(f"[green]✓[/] {record.event} is queued for {plain(record.url)}.", soft_wrap=True)
    out.print(f"[dim]`tidegate events show {record.id}` shows the answer.[/]", soft_wrap=True)


@events.command()
@click.option("--from", "date_from", required=True, metavar="TIME", help="A date, a time or an age.")
@click.option(
    "--to", "date_to", required=True, metavar="TIME", help="The same; a date includes the whole day, 0s is now."
)
@click.option("--endpoint", "endpoint_id", metavar="ID", help="Only to this endpoint.")
@click.option("--event", "names", multiple=True, type=click.Choice(EVENTS), help="Only this event; repeat for several.")
@click.option("--undelivered", is_flag=True, help="Leave out delivered events.")
@click.option("--confirm", is_flag=True, help="Send them; without it they are only counted.")
@business_option
@as_json_option
@reports_errors
def replay(business_id: str | None, as_json: bool, date_from: str, date_to: str, confirm: bool, **wanted: Any) -> None:
    """Replay the events of a period. Only counts them without --confirm."""

    async def run(here: WebhookCommand) -> ReplayCount:
        asked = {
            "dateFrom": _time_in("--from", date_from, here.now),
            "dateTo": _time_in("--to", date_to, here.now),
            "endpointId": wanted["endpoint_id"],
            "events": list(wanted["names"]) or None,
            "undeliveredOnly": wanted["undelivered"],
        }
        window = wire.window_from(read(asked, wire.ReplayWindow, wire.problems_between))
        async with here.webhook_deps.db.transaction() as tx:
            if confirm:
                return await commands.replay(tx, here.business_id, window, by=OPERATOR, now=here.now)
            return await commands.count_replay(tx, here.business_id, window)

    count, erased = visit(business_id, run)
    if as_json:
        print_json({"count": count, "sent": confirm, "erased": erased})
        return
    many = "1 delivery" if count == 1 else f"{count:,} deliveries"
    out.print(f"[green]✓[/] {many} queued." if confirm else f"{many} would be sent; add --confirm to send.")
    if erased:
        out.print(f"{erased:,} left out: their payloads were erased at the payer's request.")


def _number_in(text: str) -> int:
    number = delivery_id_in(text)
    if number is None:
        raise NotFound(
            f"{text!r} is not a delivery's id; `tidegate events list` shows them, such as dlv_1876543210987654321"
        )
    return number


def _wire_names(wanted: dict[str, Any], now: datetime) -> dict[str, Any]:
    """The options as an API query, so that the same rules apply to both."""
    times = {"dateFrom": ("--since", wanted.pop("date_from")), "dateTo": ("--until", wanted.pop("date_to"))}
    asked = {"endpointId": wanted.pop("endpoint_id"), **wanted}
    asked |= {name: _time_in(option, text, now) for name, (option, text) in times.items() if text}
    return {name: value for name, value in asked.items() if value is not None}


def _time_in(option: str, text: str, now: datetime) -> str:
    if text[:4].isdigit() and text[4:5] == "-":
        return text  # Validated by the API's rules.
    try:
        return to_iso(now - Duration.parse(text).length)
    except ValueError:
        fail(f"{option} must be a date such as 2026-11-15, a time such as 2026-11-15T09:30:00Z, or an age such as 30m.")


def _table_of(deliveries: list[Delivery], now: datetime) -> Table:
    table = Table()
    for heading in ("Time", "Event, delivery", "Reference", "Endpoint", "Status", "Attempts, next"):
        # Not wrapped: the id is copied into other commands.
        table.add_column(heading, no_wrap=heading in ("Time", "Event, delivery"), overflow="fold")
    for delivery in deliveries:
        last = delivery.attempts[-1] if delivery.attempts else None
        table.add_row(
            f"{delivery.created_at:%Y-%m-%d\n%H:%M:%S}",
            f"{plain(delivery.event_type)}\n[dim]{delivery_id(delivery.id)}[/]",
            plain(delivery.reference or "–"),
            plain(delivery.url),
            _coloured(delivery.status) + (f"\n[dim]{_answer_of(last)}[/]" if last else ""),
            f"{delivery.attempts_made}\n[dim]{_until(delivery.due_at, now)}[/]",
        )
    return table


def _show_delivery(delivery: Delivery, headers: dict[str, str], now: datetime) -> None:
    for name, value in (
        ("delivery", delivery_id(delivery.id)),
        ("event", f"{plain(delivery.event_type)}  {delivery.event_id}"),
        ("reference", plain(delivery.reference or "–")),
        ("endpoint", f"{delivery.endpoint_id}  {plain(delivery.url)}"),
        ("status", _coloured(delivery.status)),
        ("created at", to_iso(delivery.created_at)),
        ("delivered", to_iso(delivery.delivered_at) if delivery.delivered_at else "–"),
        ("next attempt", _until(delivery.due_at, now)),
    ):
        out.print(f"[dim]{name:<12}[/] {value}", soft_wrap=True)
    out.print("\n[bold]Headers[/] [dim]if it were sent now; timestamp and webhook-signature are new each time[/]")
    for name, value in headers.items():
        out.print(f"{name}: {plain(value)}", soft_wrap=True)
    _show_payload(delivery.payload)
    for attempt in delivery.attempts:
        _show_attempt(attempt)
    if not delivery.attempts:
        out.print("\n[bold]No attempt yet.[/] Is a worker running?")


def _show_payload(payload: bytes | None) -> None:
    if payload is None:
        out.print("\n[bold]No payload:[/] it was erased at the payer's request.")
        return
    out.print(f"\n[bold]Payload[/] [dim]indented here; sent as {len(payload):,} bytes without spaces[/]")
    out.print(plain(msgspec.json.format(payload, indent=2).decode()), soft_wrap=True)


def _show_attempt(attempt: DeliveryAttempt) -> None:
    took = "" if attempt.duration_ms is None else f" in {attempt.duration_ms} ms"
    at = to_iso(attempt.started_at)
    out.print(f"\n[bold]Attempt {attempt.number}[/]  {at}  {_answer_of(attempt)}{took}  [dim]{plain(attempt.url)}[/]",
              soft_wrap=True)  # fmt: skip
    if attempt.body:
        out.print(plain(attempt.body), soft_wrap=True)


async def _headers_of(here: WebhookCommand, delivery: Delivery) -> dict[str, str]:
    """As the sender would make them now. Without signatures when there is no secret that can be decrypted."""
    headers = {"content-type": "application/json; charset=utf-8", "user-agent": USER_AGENT}
    if delivery.payload is None:
        return {**headers, "webhook-id": delivery.event_id, "webhook-signature": "(the payload was erased)"}
    async with here.webhook_deps.db.connection() as tx:
        sealed = await secret_store.list_valid(tx, here.business_id, delivery.endpoint_id, now=here.now)
    try:
        secrets = [here.webhook_deps.vault.open(one, owner=here.business_id) for one in sealed]
    except NoKey as problem:
        return {**headers, "webhook-id": delivery.event_id, "webhook-signature": f"({problem})"}
    if not secrets:
        return {**headers, "webhook-id": delivery.event_id, "webhook-signature": "(the endpoint was deleted)"}
    made = sign.headers(delivery.event_id, delivery.payload, secrets, timestamp_s=int(here.wall.timestamp()))
    return {**headers, **made}


def _answer_of(attempt: DeliveryAttempt) -> str:
    return " ".join(str(word) for word in (attempt.status_code, attempt.error) if word is not None)


def _coloured(status: DeliveryStatus) -> str:
    return f"[{_COLOURS[status]}]{status}[/]"


def _until(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "–"
    left = moment - now
    if left <= timedelta(0):
        return "now"
    for unit, seconds in (("h", 3600), ("min", 60)):
        if left >= timedelta(seconds=2 * seconds):
            return f"in {left // timedelta(seconds=seconds)} {unit}"
    return f"in {left // timedelta(seconds=1)} s"
