"""`tidegate listen`: forwards the sandbox's events to a developer's server, and shows each of them.

Uses only the merchant's API, so it needs no access to the database. Events come to this machine, so the sandbox's
worker must run on it.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from dataclasses import replace

import click
import msgspec

from tidegate.cli.console import as_json_option, err, fail, out, plain, reports_errors, write_json
from tidegate.cli.forward import Forwarder, ForwardReply, ReceivedEvent
from tidegate.cli.merchant_client import MerchantAccount, MerchantClient, account_of, api_options
from tidegate.cli.verify_signature import show_check
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Refusal
from tidegate.infra.address import WebUrl
from tidegate.infra.http.operation import encode
from tidegate.infra.timestamp import to_iso
from tidegate.webhook.explain import PUBLISHED, STANDARD, TIMESTAMP, Explanation
from tidegate.webhook.model import EVENTS

ENDPOINTS = "/webhooks/endpoints"
# Identifies the endpoints of earlier runs that were killed.
DESCRIPTION = "tidegate listen, until it ends"
PROVEN_WITHIN_S = 10.0


@click.command()
@click.option(
    "--forward-to",
    metavar="URL",
    help="Your server, such as http://localhost:3000/hook; without it, events are only shown.",
)
@click.option(
    "--events",
    metavar="NAMES",
    help="Separated by commas; all by default. charge.successful and collection.successful are always included.",
)
@click.option(
    "--secret",
    envvar="WEBHOOK_SECRET",
    help="whsec_…, the one that your server verifies with. By default WEBHOOK_SECRET, or the sandbox's own.",
)
@click.option("--payload", "with_payload", is_flag=True, help="Show the payloads too.")
@api_options
@as_json_option
@reports_errors
def listen(forward_to: str | None, events: str | None, with_payload: bool, as_json: bool, **given: str | None) -> None:
    """Forward the sandbox's events to your server, and show each with its signatures and your server's answer.

    Needs a running sandbox on this machine. Events are signed with WEBHOOK_SECRET where it is set, else with the
    sandbox's own secret: your server answers 401 unless it verifies with the same. Its answer is passed back to
    Tidegate: failures are retried.
    """
    account = account_of(given["api_url"], given["api_key"])
    if secret := given["secret"]:
        account = replace(account, webhook_secret=secret)
    forwarder = Forwarder(
        _target_in(forward_to) if forward_to else None,
        SystemClock(),
        show_as_json if as_json else lambda arrival: show(arrival, with_payload=with_payload),
    )
    names = [name.strip() for name in events.split(",")] if events else list(EVENTS)
    asyncio.run(_until_signal(account, forwarder, names, is_quiet=as_json))


async def _until_signal(account: MerchantAccount, forwarder: Forwarder, names: list[str], *, is_quiet: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await run(account, forwarder, names, stop, is_quiet=is_quiet)


async def run(
    account: MerchantAccount, forwarder: Forwarder, names: list[str], stop: asyncio.Event, *, is_quiet: bool
) -> None:
    """The endpoint is deleted when the command ends."""
    async with MerchantClient.open(account) as api, forwarder.open():
        await _remove_dead(api)
        body = {"url": forwarder.url, "events": names, "description": DESCRIPTION, "secret": account.webhook_secret}
        endpoint = await api.call("POST", ENDPOINTS, body)
        forwarder.secret = endpoint["secret"]
        try:
            proving = asyncio.create_task(_prove(api, forwarder, endpoint["id"], is_quiet=is_quiet))
            if not is_quiet:
                _greet(forwarder, account)
            await stop.wait()
            proving.cancel()
        finally:
            await _remove(api, endpoint["id"], forwarder.url)


async def _remove_dead(api: MerchantClient) -> None:
    for endpoint in (await api.call("GET", ENDPOINTS))["results"]:
        if endpoint["description"] == DESCRIPTION and not await api.is_live(endpoint["url"]):
            await api.call("DELETE", f"{ENDPOINTS}/{endpoint['id']}")


async def _remove(api: MerchantClient, endpoint_id: str, url: str) -> None:
    """Unless its URL was changed meanwhile: the business's webhook URL is that of its first endpoint."""
    try:
        if (await api.call("GET", f"{ENDPOINTS}/{endpoint_id}"))["url"] == url:
            await api.call("DELETE", f"{ENDPOINTS}/{endpoint_id}")
    except Refusal as refusal:
        err.print(
            f"[yellow]The endpoint stays until the next `tidegate listen`: {plain(refusal.message)}[/]", soft_wrap=True
        )


async def _prove(api: MerchantClient, forwarder: Forwarder, endpoint_id: str, *, is_quiet: bool) -> None:
    """Sends a test event: no output must mean no events, not a broken path."""
    forwarder.proof = asyncio.get_running_loop().create_future()
    try:
        await api.call("POST", f"{ENDPOINTS}/{endpoint_id}/test")
        async with asyncio.timeout(PROVEN_WITHIN_S):
            found = await asyncio.shield(forwarder.proof)
    except Refusal as refusal:
        err.print(f"[yellow]{plain(refusal.message)}[/]", soft_wrap=True)
    except TimeoutError:
        err.print(
            f"[yellow]No test event has arrived in {PROVEN_WITHIN_S:.0f} s. Is a worker running on this machine? "
            "`tidegate dev` has one.[/]", soft_wrap=True,
        )  # fmt: skip
    else:
        if not is_quiet:
            _print_proof(found)


def _target_in(text: str) -> str:
    """Accepts localhost:3000/hook without a scheme."""
    try:
        return str(WebUrl.parse(text if "://" in text else f"http://{text}"))
    except ValueError as error:
        fail(f"--forward-to {error}, such as http://localhost:3000/hook.")


def _greet(forwarder: Forwarder, account: MerchantAccount) -> None:
    out.print(f"[dim]Listening to[/]  {plain(account.api_url)}", soft_wrap=True)
    out.print(
        f"[dim]Passing on to[/] {plain(forwarder.forward_to or 'no server: give one with --forward-to')}",
        soft_wrap=True,
    )
    out.print(f"[dim]Signed with[/]   {forwarder.secret} [dim]your server verifies with the same[/]", soft_wrap=True)
    out.print("[dim]Ctrl-C stops it and deletes its endpoint.[/]")


def _print_proof(found: Explanation) -> None:
    if found.is_well:
        out.print("[green]✓[/] A test event has arrived, and its signatures are valid. Waiting for events …")
        return
    for check in found.checks:
        show_check(check)


def show(arrival: ReceivedEvent, *, with_payload: bool) -> None:
    signed = "  ".join(_mark(arrival.found, header) for header in (STANDARD, PUBLISHED))
    time = f"{arrival.at.astimezone():%H:%M:%S}"
    out.print(
        f"[dim]{time}[/]  [bold]{plain(arrival.event)}[/]  {plain(arrival.reference or '–')}  "
        f"[dim]{plain(arrival.event_id)}[/]  {signed}  {_said(arrival.reply)}", soft_wrap=True,
    )  # fmt: skip
    for check in arrival.found.checks:
        if not check.is_well:
            show_check(check)
    if with_payload:
        with suppress(msgspec.DecodeError):
            out.print(plain(msgspec.json.format(arrival.body, indent=2).decode()), soft_wrap=True)


def _mark(found: Explanation, header: str) -> str:
    is_signed = is_signed_by(found, header)
    return f"[green]✓ {header}[/]" if is_signed else f"[bold red]✗ {header}[/]"


def is_signed_by(found: Explanation, header: str) -> bool:
    """A signature with an expired timestamp proves nothing."""
    return found.is_proven_by(header) and (header != STANDARD or found.is_proven_by(TIMESTAMP))


def _said(reply: ForwardReply | None) -> str:
    if reply is None:
        return "[dim]shown only[/]"
    took = f"[dim]{reply.duration_ms} ms[/]"
    if reply.problem:
        return f"[bold red]→ your server {plain(reply.problem)}; Tidegate gets {reply.status}[/] {took}"
    colour = "green" if 200 <= reply.status <= 299 else "bold red"
    gone = " Tidegate disables an endpoint that answers 410." if reply.status == 410 else ""
    return f"[{colour}]→ {reply.status}[/] {took}{gone}"


def show_as_json(arrival: ReceivedEvent) -> None:
    """One line per event."""
    reply = arrival.reply
    line = {
        "at": to_iso(arrival.at),
        "id": arrival.event_id,
        "event": arrival.event,
        "reference": arrival.reference,
        "isSigned": {header: is_signed_by(arrival.found, header) for header in (STANDARD, PUBLISHED)},
        "answer": reply and {"status": reply.status, "problem": reply.problem, "durationMs": reply.duration_ms},
        "body": arrival.body.decode("utf-8", "replace"),
    }
    write_json(encode(line).decode())
    sys.stdout.flush()
