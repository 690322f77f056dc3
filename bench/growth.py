"""What listing inflows costs among many, over what it costs among few: asked over HTTP, in turn, in the same minutes.

Growth is not speed: the ratio of two medians of the same question, each with its own database and its own API process,
everything else alike. One question is under way at a time.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import time
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from bench import process
from bench.data import HOME, SMALL_ROWS, Databases, open_databases
from bench.environment import Environment, with_connection
from bench.inflow_data import SPAN
from bench.process import Server
from bench.report import BenchFailed, Finding, Section
from tidegate.collection.list_store import CollectionFilter, first_id_of
from tidegate.core.ids import Mode
from tidegate.core.money import Currency
from tidegate.deployment import commands as deployment
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.timestamp import to_iso

AIM = 1.3
HOW_TO_LOAD = "No inflows to compare are loaded; `make bench-data` loads 10,000,000 in half an hour, ROWS=200000 fewer."
WARM_UP_CALLS, CALLS = 20, 300
PER_PAGE = 10
CURRENCY = Currency.EUR
# Another place for every call, spread over the whole list: steps by the golden ratio never come close to one another.
GOLDEN = 0.618033988749895


class ListingClient:
    """One of the databases with the API in front of it, asked by the owner of the large account."""

    def __init__(self, owner: Mapping[str, Any], server: Server) -> None:
        self.business_id, self.account_id, self._key = owner["business_id"], owner["account_id"], owner["secret_key"]
        self._began_at: datetime = owner["began_at"]
        self._connection = http.client.HTTPConnection(process.HOST, server.port, timeout=process.TIMEOUT_S)

    def path(self, **fields: str) -> str:
        asked = {"business": self.business_id, "perPage": str(PER_PAGE), **fields}
        return f"/collections?{urllib.parse.urlencode(asked)}"

    def account(self, **fields: str) -> str:
        return self.path(virtualAccount=self.account_id, **fields)

    def currency(self, **fields: str) -> str:
        return self.path(destinationCurrency=CURRENCY, **fields)

    def cursor(self, number: int, wanted: CollectionFilter) -> str:
        """As the API would give it out, anywhere in the list but with a full page after it."""
        moment = self._began_at + (0.02 + 0.96 * (number * GOLDEN % 1.0)) * SPAN
        return Cursor.of(first_id_of(moment), scope=f"{self.business_id} {wanted}")

    def part_days(self, number: int) -> dict[str, str]:
        """From a time of one day to a time of another, half a year later."""
        start = self._began_at + (number * GOLDEN % 1.0) * (SPAN / 2 - timedelta(days=2))
        return {"dateFrom": to_iso(start), "dateTo": to_iso(start + SPAN / 2)}

    def ask_ms(self, question: str, number: int) -> float:
        path = QUESTIONS[question](self, number)
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"api-key": self._key})
        answer = self._connection.getresponse()
        body = answer.read()
        took_ms = 1000 * (time.perf_counter() - began)
        if answer.status != 200:
            raise BenchFailed(f"{question}: the API answered {answer.status} {body.decode(errors='replace')}")
        refuse_other_length(question, body)
        return took_ms


# Given the number of the call.
QUESTIONS: dict[str, Callable[[ListingClient, int], str]] = {
    "first page of an account": lambda listed, _: listed.account(),
    "first page of a currency": lambda listed, _: listed.currency(),
    "first page of a rare status": lambda listed, _: listed.path(status="reversed"),
    "page of an account by cursor, anywhere": lambda listed, number: listed.account(
        cursor=listed.cursor(number, CollectionFilter(account_id=listed.account_id))
    ),
    "page of a currency by cursor, anywhere": lambda listed, number: listed.currency(
        cursor=listed.cursor(number, CollectionFilter(destination_currency=CURRENCY))
    ),
    "page and total of an account, part days": lambda listed, number: listed.account(**listed.part_days(number)),
    "page and total of a currency, part days": lambda listed, number: listed.currency(**listed.part_days(number)),
}


def refuse_other_length(question: str, body: bytes) -> None:
    """A list that is empty, or shorter on one side, would compare two different things."""
    found = len(json.loads(body)["data"]["results"])
    if found != PER_PAGE:
        raise BenchFailed(f"{question}: {found} rows came instead of {PER_PAGE}")


def section(environment: Environment) -> Section:
    if not HOME.exists():
        return Section("growth", "nothing is loaded", [], HOW_TO_LOAD)
    with ExitStack() as ending:
        databases = ending.enter_context(open_databases())
        sizes = databases.sizes()
        if SMALL_ROWS not in sizes or sizes[-1] <= SMALL_ROWS:
            return Section("growth", "nothing is loaded", [], HOW_TO_LOAD)
        small, large = (_serve(environment, databases, rows, ending) for rows in (SMALL_ROWS, sizes[-1]))
        return Section(
            name="growth",
            title=f"{sizes[-1]:,} inflows, a tenth of them of one account, over {SMALL_ROWS:,}",
            findings=[_compare(question, small, large) for question in QUESTIONS],
        )


def _serve(environment: Environment, databases: Databases, rows: int, ending: ExitStack) -> ListingClient:
    url = databases.url_of(rows)
    asyncio.run(deployment.prepare(url, Mode.SANDBOX))
    owner = with_connection(url, lambda connection: connection.fetchrow("SELECT * FROM bench_owner"))
    server = process.start_server(
        ["tidegate", "serve"],
        ready_path="/readyz",
        log=environment.home / f"growth-{rows}.log",
        env=environment.settings | {"DATABASE_URL": url},
    )
    ending.callback(process.stop, server.process)
    return ListingClient(owner, server)


def _compare(question: str, small: ListingClient, large: ListingClient) -> Finding:
    times_ms: dict[ListingClient, list[float]] = {small: [], large: []}
    for number in range(WARM_UP_CALLS + CALLS):
        # In turn, and in changing order, so that whatever disturbs the machine disturbs both.
        for listed in (small, large) if number % 2 else (large, small):
            times_ms[listed].append(listed.ask_ms(question, number))
    few_ms, many_ms = (median(times_ms[listed][WARM_UP_CALLS:]) for listed in (small, large))
    return Finding(f"{question}, {few_ms:.2f} and {many_ms:.2f} ms", many_ms / few_ms, at_most=AIM, decimals=2)
