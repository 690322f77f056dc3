"""`tidegate trigger`: makes an event happen in the sandbox, and shows what the merchant's server answered."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec
from rich.table import Table

from tidegate.cli.console import err, fail, out, plain, show_table, speaks_plainly
from tidegate.cli.merchant_client import MerchantAccount, MerchantClient, account_of, api_options
from tidegate.cli.trigger_recipe import ASKED_EVERY_S, RECIPES, Occasion, happening
from tidegate.webhook.model import MEANING_OF_EVENT, TEST_EVENT

TIMES_MAX = 100
# As many as the API lists at once; a run makes fewer.
_DELIVERIES = "/webhooks/deliveries?perPage=50&event={event}"

Record = dict[str, Any]


@click.command()
@click.argument("event", required=False)
@click.option("--list", "lists", is_flag=True, help="List the events and their meaning.")
@click.option("--endpoint", "endpoint_id", metavar="ID", help="Show this endpoint only; by default all that get it.")
@click.option("--set", "changes", multiple=True, metavar="FIELD=VALUE", help="Of the first request; amount=900.")
@click.option("--times", type=click.IntRange(1, TIMES_MAX), default=1, help="How often; 1 by default.")
@api_options
@click.option("--public-key", envvar="TIDEGATE_PUBLIC_KEY", help="The business's; by default the seeded business's.")
@speaks_plainly
def trigger(event: str | None, lists: bool, endpoint_id: str | None, changes: tuple[str, ...], times: int,
            **api: str | None) -> None:  # fmt: skip
    """Make EVENT happen in the sandbox: money moves as it would, so the API agrees with what the event says.

    It goes to every endpoint that gets this event. Shows each delivery with your server's answer.
    """
    if lists or event is None:
        return _list()
    if event not in RECIPES:
        fail(f"{event} is no event. There are: {', '.join(RECIPES)}.")
    account = account_of(api["api_url"], api["api_key"], api["public_key"])
    asyncio.run(run(account, event, endpoint_id, _changes_in(changes), times))
    return None


def _list() -> None:
    table = Table("EVENT", "MEANING")
    for name in RECIPES:
        table.add_row(f"[bold]{name}[/]", MEANING_OF_EVENT[name])
    show_table(table)


def _changes_in(given: tuple[str, ...]) -> Record:
    found: Record = {}
    for text in given:
        place, sign, value = text.partition("=")
        if not place or not sign:
            fail(f"--set {text} is not FIELD=VALUE, such as amount=900 or customer.email=ada@example.com.")
        try:
            found[place] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            found[place] = value
    return found


async def run(account: MerchantAccount, event: str, endpoint_id: str | None, changes: Record, times: int) -> None:
    async with MerchantClient.open(account) as api:
        endpoints = await _endpoints(api, event, endpoint_id)
        if not endpoints:
            err.print(
                f"[yellow]No endpoint gets {event}: create one with it in `events`, or run `tidegate listen`. It "
                "happens all the same.[/]", soft_wrap=True,
            )  # fmt: skip
        for _ in range(times):
            known = {delivery["id"] for delivery in await _deliveries(api, event)}
            await RECIPES[event](Occasion(api, changes, endpoints))
            for delivery in await _made(api, event, endpoints, known):
                _show(event, delivery)


async def _endpoints(api: MerchantClient, event: str, endpoint_id: str | None) -> list[str]:
    found = (await api.call("GET", "/webhooks/endpoints"))["results"]
    if endpoint_id and endpoint_id not in [one["id"] for one in found]:
        fail(f"there is no endpoint {endpoint_id}: `tidegate webhook list` shows them.")
    return [
        one["id"]
        for one in found
        if one["status"] == "enabled"
        and (event in one["events"] or event == TEST_EVENT)
        and endpoint_id in (None, one["id"])
    ]


async def _deliveries(api: MerchantClient, event: str) -> list[Record]:
    found: list[Record] = (await api.call("GET", _DELIVERIES.format(event=event)))["results"]
    return found


async def _made(api: MerchantClient, event: str, endpoints: list[str], known: set[str]) -> list[Record]:
    """The new deliveries to those endpoints, each after its first attempt."""
    async with happening(f"the delivery of {event}"):
        while True:
            new = [
                delivery
                for delivery in await _deliveries(api, event)
                if delivery["id"] not in known and delivery["endpointId"] in endpoints and delivery["attemptsMade"]
            ]
            if len(new) >= len(endpoints):
                return new
            await asyncio.sleep(ASKED_EVERY_S)


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
