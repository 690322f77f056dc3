"""What an operation costs on three nodes with Citus, beside one PostgreSQL. All are on this machine and share its
processors, so the processor time of an operation tells more than how many there are in a second.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from statistics import median

from local_cluster.nodes import NoCitus, Nodes, find_bin

from bench import traffic
from bench.create import ORDER, PAID_CARD, PATH, create
from bench.environment import CONNECTIONS, Environment, temporary_folder
from bench.inflow_data import HOLDER, open_account
from bench.notifications import INTAKE, PAYER, arrival, signed
from bench.reads import browser, make_verifiable
from bench.report import Finding, Sample, Section
from tidegate.core import ids
from tidegate.core.money import Currency, Money
from tidegate.runtime import Runtime
from tidegate.settings import Settings

TITLE = "an operation on three nodes with Citus, beside one PostgreSQL"
ROUNDS = 3
SECONDS = 2.0
# More than a machine can do in that time.
CHARGES, NOTIFICATIONS = 1_500, 8_000

Operation = Callable[[Environment], Sample]


def section(environment: Environment) -> Section:
    try:
        folder = find_bin()
    except NoCitus as missing:
        return Section("cluster", TITLE, [], note=str(missing))
    findings: list[Finding] = []
    with ExitStack() as ending:
        nodes = Nodes(temporary_folder(ending), folder)
        ending.callback(nodes.stop)
        nodes.start()
        asyncio.run(nodes.make_database("tidegate"))
        on_nodes = Environment(nodes, environment.options, ending)
        for name, operation in OPERATIONS.items():
            rounds = [(operation(environment), operation(on_nodes)) for _ in range(ROUNDS)]
            findings += _findings(name, rounds)
    note = f"Medians of {ROUNDS} runs of {SECONDS:.0f} s in turn, with {CONNECTIONS} connections to one API process."
    return Section("cluster", TITLE, findings, note=note)


def _findings(name: str, rounds: Sequence[tuple[Sample, Sample]]) -> list[Finding]:
    one, three = (median(_postgres_us(sample) for sample in side) for side in zip(*rounds, strict=True))
    ratio = median(_postgres_us(on_nodes) / max(_postgres_us(alone), 1.0) for alone, on_nodes in rounds)
    speed = median(on_nodes.per_second / alone.per_second for alone, on_nodes in rounds)
    return [
        Finding(f"{name}: CPU of PostgreSQL, one server", one, "µs"),
        Finding(f"{name}: CPU of PostgreSQL, three nodes", three, "µs"),
        Finding(f"{name}: over one server", ratio, "times", decimals=1),
        Finding(f"{name}: in a second, over one server", speed, "times", decimals=2),
    ]


def _postgres_us(sample: Sample) -> float:
    return sum(us for name, us in sample.usage.cpu_us.items() if name.startswith("postgres"))


def _verify(environment: Environment) -> Sample:
    asked = [traffic.request("GET", path, headers) for path, headers in make_verifiable(environment)]
    return traffic.send(environment, environment.api, asked, 200, SECONDS)


def _charge(environment: Environment) -> Sample:
    """By card: the attempt, the rail of the sandbox, the settlement."""
    charges = []
    for number in range(CHARGES):
        shop = environment.shops[number % len(environment.shops)]
        made = environment.api.post(PATH, {**ORDER, "reference": ids.new_event_id()}, shop.create_headers)
        path = f"{PATH}/{made['payCode']}/charge"
        charges.append(traffic.request("POST", path, browser(number), json.dumps(PAID_CARD)))
    return traffic.send(environment, environment.api, charges, 200, SECONDS, is_each_once=True)


def _inflow(environment: Environment) -> Sample:
    secret: bytes = environment.fetchrow("SELECT secret FROM deployment")["secret"]
    numbers = asyncio.run(_account_numbers(environment))
    now = datetime.now(UTC)
    asked = []
    for serial in range(NOTIFICATIONS):
        number = numbers[serial % len(numbers)]
        arrived = arrival(number, Money(100_00, Currency.EUR), payer=PAYER, payee=HOLDER, now=now)
        asked.append(traffic.request("POST", INTAKE, *signed(arrived, secret, now=now)))
    return traffic.send(environment, environment.api, asked, 200, SECONDS, is_each_once=True)


async def _account_numbers(environment: Environment) -> list[str]:
    """One of each shop."""
    runtime = Runtime.of(Settings(database_url=environment.url))
    async with runtime.open():
        opened = [await open_account(runtime, shop, Currency.EUR) for shop in environment.shops]
    return [account.details.account_number for account in opened if account.details is not None]


OPERATIONS: dict[str, Operation] = {
    "create": partial(create, seconds=SECONDS),
    "verify": _verify,
    "card": _charge,
    "inflow": _inflow,
}
