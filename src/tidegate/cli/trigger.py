"""`tidegate trigger`: makes an event happen in the sandbox, and shows what the merchant's server answered."""

from __future__ import annotations

import asyncio
from difflib import get_close_matches
from typing import Any

import click
import msgspec
from rich.table import Table

from tidegate.cli.console import err, fail, out, plain, reports_errors, show_table
from tidegate.cli.merchant_client import MerchantAccount, MerchantClient, account_of, api_options
from tidegate.cli.trigger_recipe import ASKED_EVERY_S, HAPPENS_WITHIN_S, RECIPES, RecipeContext, names_of
from tidegate.core.errors import Unavailable
from tidegate.webhook.model import ENDPOINTS_MAX, MEANING_OF_EVENT, TEST_EVENT

TIMES_MAX = 100
# After one endpoint has accepted it: a dead one beside it delays nothing.
OTHERS_WITHIN_S = 3.0
_DELIVERIES = "/webhooks/deliveries?perPage=50&event={event}"

Record = dict[str, Any]


@click.command()
@click.argument("event", required=False)
@click.option("--list", "lists", is_flag=True, help="List the events and their meaning.")
@click.option("--endpoint", "endpoint_id", metavar="ID", help="Show this endpoint only; by default all that get it.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Set a field of the first request, such as amount=900.",
)
@click.option("--times", type=click.IntRange(1, TIMES_MAX), default=1, help="How often; 1 by default.")
@api_options
@click.option("--public-key", envvar="TIDEGATE_PUBLIC_KEY", help="A public key; by default the seeded business's.")
@reports_errors
def trigger(event: str | None, lists: bool, endpoint_id: str | None, changes: tuple[str, ...], times: int,
            **api: str | None) -> None:  # fmt: skip
    """Make EVENT happen in the sandbox: money moves as it would, so the API agrees with what the event says.

    It goes to every endpoint that gets this event. Shows each delivery with your server's answer. Ends with status 1
    when no endpoint accepted it.
    """
    if lists or event is None:
        return _list()
    if event not in RECIPES:
        fail(f"{event} is no event. There are: {', '.join(RECIPES)}.")
    wanted = _changes_in(event, changes)
    account = account_of(api["api_url"], api["api_key"], api["public_key"])
    refused = asyncio.run(run(account, event, endpoint_id, wanted, times))
    if refused:
        fail(f"no endpoint accepted {event}{f' ({refused} of {times} times)' if times > 1 else ''}.")
    return None


def _list() -> None:
    table = Table("EVENT", "MEANING")
    for name in RECIPES:
        table.add_row(f"[bold]{name}[/]", MEANING_OF_EVENT[name])
    show_table(table)


def _changes_in(event: str, given: tuple[str, ...]) -> Record:
    found: Record = {}
    names = names_of(RECIPES[event].request)
    for text in given:
        place, sign, value = text.partition("=")
        if not place or not sign:
            fail(f"--set {text} is not FIELD=VALUE, such as amount=900 or customer.email=ada@example.com.")
        if not any(place == name or (name.endswith(".") and place.startswith(name)) for name in names):
            fail(f"--set {place}: {_nearest(place, names)}")
        try:
            found[place] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            found[place] = value
    return found


def _nearest(place: str, names: list[str]) -> str:
    fields = [name for name in names if not name.endswith(".")]
    if not fields:
        return "this event has no field to set."
    alike = get_close_matches(place, fields, n=1)
    guess = f"; did you mean {alike[0]}?" if alike else "."
    return f"there is no such field{guess} There are: {', '.join(fields)}."


async def run(account: MerchantAccount, event: str, endpoint_id: str | None, changes: Record, times: int) -> int:
    """How often no endpoint accepted it, of those that get it."""
    refused = 0
    async with MerchantClient.open(account) as api:
        endpoints = await _endpoints(api, event, endpoint_id)
        if not endpoints:
            err.print(
                f"[yellow]No endpoint gets {event}: create one with it in `events`, or run `tidegate listen`. It "
                "happens all the same.[/]", soft_wrap=True,
            )  # fmt: skip
        for _ in range(times):
            known = {delivery["id"] for delivery in await _deliveries(api, event)}
            await RECIPES[event].make(RecipeContext(api, changes, [*endpoints]))
            if not await _show_deliveries(api, event, endpoints, known) and endpoints:
                refused += 1
    return refused


async def _endpoints(api: MerchantClient, event: str, endpoint_id: str | None) -> dict[str, str]:
    """Their URLs by their ids."""
    found = (await api.call("GET", "/webhooks/endpoints"))["results"]
    if endpoint_id and endpoint_id not in [one["id"] for one in found]:
        fail(f"there is no endpoint {endpoint_id}: `tidegate webhook list` shows them.")
    return {
        one["id"]: one["url"]
        for one in found
        if one["status"] == "enabled"
        and (event in one["events"] or event == TEST_EVENT)
        and endpoint_id in (None, one["id"])
    }


async def _deliveries(api: MerchantClient, event: str) -> list[Record]:
    """The newest: as many as one event has at most."""
    path = _DELIVERIES.format(event=event)
    page = await api.call("GET", path)
    found: list[Record] = page["results"]
    while page["nextCursor"] and len(found) < ENDPOINTS_MAX:
        page = await api.call("GET", f"{path}&cursor={page['nextCursor']}")
        found += page["results"]
    return found


async def _show_deliveries(api: MerchantClient, event: str, endpoints: dict[str, str], known: set[str]) -> bool:
    """The new one of each endpoint after its first attempt, and which endpoints have had none. Whether one accepted."""
    waiting, is_accepted = dict(endpoints), False
    now = asyncio.get_running_loop().time
    until = now() + HAPPENS_WITHIN_S
    while waiting and now() < until:
        for delivery in await _deliveries(api, event):
            is_new = delivery["id"] not in known and delivery["endpointId"] in waiting
            if is_new and delivery["attemptsMade"]:
                del waiting[delivery["endpointId"]]
                _show(event, delivery)
                if delivery["status"] == "delivered":
                    is_accepted, until = True, min(until, now() + OTHERS_WITHIN_S)
        await asyncio.sleep(ASKED_EVERY_S if waiting else 0)
    if endpoints and waiting == endpoints:
        raise Unavailable(
            f"{event} happened, but within {HAPPENS_WITHIN_S:.0f} s it was sent to no endpoint "
            f"({', '.join(endpoints.values())}). Is a worker running? `tidegate dev` has one. An endpoint that has "
            "failed often is tried more rarely"
        )
    for url in waiting.values():
        out.print(f"[bold]{event}[/]  {plain(url)}  [yellow]→ no answer yet[/]", soft_wrap=True)
    return is_accepted


def _show(event: str, delivery: Record) -> None:
    last = delivery["attempts"][-1]
    is_well = delivery["status"] == "delivered"
    answer = last["statusCode"] or last["error"]
    again = "" if is_well else f"  again at {delivery['nextAttemptAt']}"
    out.print(
        f"[bold]{event}[/]  {plain(delivery['reference'] or '–')}  [dim]{delivery['eventId']}[/]  "
        f"{plain(delivery['url'])}  [{'green' if is_well else 'bold red'}]→ {plain(str(answer))}[/]{again}",
        soft_wrap=True,
    )  # fmt: skip
