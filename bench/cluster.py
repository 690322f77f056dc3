"""What an operation costs on three nodes with Citus, beside one PostgreSQL. All are on this machine and share its
processors, so the processor time of an operation tells more than how many there are in a second.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from local_cluster.nodes import NoCitus, Nodes, find_bin

from bench import traffic
from bench.create import ORDER, PATH, requests
from bench.environment import CONNECTIONS, Environment, Options
from bench.notifications import HOLDER, INTAKE, PAYER, arrival
from bench.reads import CARD
from bench.report import Finding, Sample, Section
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OPERATOR, OURSELVES
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.core.money import Currency, Money
from tidegate.deployment import commands as deployment
from tidegate.rail.event import Notification
from tidegate.rail.sandbox import signed_notification
from tidegate.runtime import Runtime
from tidegate.settings import Settings

TITLE = "an operation on three nodes with Citus, beside one PostgreSQL"
ROUNDS = 3
SECONDS = 2.0
# More than a machine can do in that time.
CHARGES, NOTIFICATIONS = 1_500, 8_000
VERIFIED_PER_SHOP = 20
PAID_CARD = {"type": "card", "card": {"number": "5319317801366660", **CARD}}

Operation = Callable[[Environment], Sample]


class ClusterEnvironment(Environment):
    """On three nodes, which count as one PostgreSQL."""

    def __init__(self, home: Path, nodes: Nodes, options: Options, ending: ExitStack) -> None:
        self._nodes = nodes
        super().__init__(home, nodes, options, ending)

    def watched(self, **others: int) -> dict[str, int]:
        return {**others, **{f"postgres {number}": pid for number, pid in self._nodes.pids.items()}}


def section(environment: Environment) -> Section:
    try:
        folder = find_bin()
    except NoCitus as missing:
        return Section("cluster", TITLE, [], note=str(missing))
    findings: list[Finding] = []
    with _on_nodes(folder, environment.options) as nodes:
        for name, operation in OPERATIONS.items():
            rounds = [(operation(environment), operation(nodes)) for _ in range(ROUNDS)]
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


@contextmanager
def _on_nodes(folder: Path, options: Options) -> Iterator[Environment]:
    with ExitStack() as ending:
        data, home = (Path(tempfile.mkdtemp(prefix=f"tidegate-bench-{name}-")) for name in ("nodes", "logs"))
        ending.callback(shutil.rmtree, data, ignore_errors=True)
        ending.callback(shutil.rmtree, home, ignore_errors=True)
        nodes = Nodes(data, folder)
        ending.callback(nodes.stop)
        nodes.start()
        url = asyncio.run(nodes.make_database("tidegate"))
        asyncio.run(deployment.prepare(url, Mode.SANDBOX))
        yield ClusterEnvironment(home, nodes, options, ending)


def _create(environment: Environment) -> Sample:
    return traffic.send(environment, environment.api, requests(environment), 201, SECONDS)


def _verify(environment: Environment) -> Sample:
    asked = []
    for shop in environment.shops:
        for _ in range(VERIFIED_PER_SHOP):
            reference = ids.new_event_id()
            environment.api.post(PATH, {**ORDER, "reference": reference}, shop.create_headers)
            path = f"{PATH}/merchant-reference/{reference}"
            asked.append(traffic.request("GET", path, shop.verify_headers))
    return traffic.send(environment, environment.api, asked, 200, SECONDS)


def _charge(environment: Environment) -> Sample:
    """By card: the attempt, the rail of the sandbox, the settlement."""
    charges = []
    for number in range(CHARGES):
        shop = environment.shops[number % len(environment.shops)]
        made = environment.api.post(PATH, {**ORDER, "reference": ids.new_event_id()}, shop.create_headers)
        pay_code = made["payCode"]
        # Payers are limited by address.
        headers = {"x-forwarded-for": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"}
        charges.append(traffic.request("POST", f"{PATH}/{pay_code}/charge", headers, json.dumps(PAID_CARD)))
    return traffic.send(environment, environment.api, charges, 200, SECONDS, is_each_once=True)


def _inflow(environment: Environment) -> Sample:
    secret: bytes = environment.fetchrow("SELECT secret FROM deployment")["secret"]
    numbers = asyncio.run(_account_numbers(environment))
    now = datetime.now(UTC)
    asked = []
    for serial in range(NOTIFICATIONS):
        number = numbers[serial % len(numbers)]
        arrived = arrival(number, Money(100_00, Currency.EUR), payer=PAYER, payee=HOLDER, now=now)
        raw = signed_notification.sign(
            signed_notification.write(Notification(id=ids.new_event_id(), event=arrived)), secret, now=now
        )
        headers = {signed_notification.SIGNATURE_HEADER: raw.headers[signed_notification.SIGNATURE_HEADER]}
        asked.append(traffic.request("POST", INTAKE, headers, raw.body.decode()))
    return traffic.send(environment, environment.api, asked, 200, SECONDS, is_each_once=True)


async def _account_numbers(environment: Environment) -> list[str]:
    """One of each shop."""
    runtime = Runtime.of(Settings(database_url=environment.url))
    now = SystemClock().now()
    numbers = []
    async with runtime.open():
        for shop in environment.shops:
            draft = Account(
                business_id=shop.business_id, id=ids.new_account_id(), currency=Currency.EUR,
                settlement_currency=Currency.EUR, account_type=AccountType.INDIVIDUAL, holder=HOLDER,
                created_at=now, updated_at=now,
            )  # fmt: skip
            await accounts.request(runtime.db, draft, by=OURSELVES, now=now)
            approved = await accounts.approve(runtime.deps, draft.id, by=OPERATOR, now=now)
            assert approved.details is not None
            numbers.append(approved.details.account_number)
    return numbers


OPERATIONS: dict[str, Operation] = {"create": _create, "verify": _verify, "card": _charge, "inflow": _inflow}
