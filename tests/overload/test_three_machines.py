"""Limits over three machines: real processes, which tell each other what they let pass."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from build import make_shop, order
from process import api
from tidegate.checkout.payer_limit import READ
from tidegate.core.clock import monotonic_s
from tidegate.infra.db import Database

MACHINES, CLIENTS_OF_EACH = 3, 2
PER_SECOND, BURST = 25, 50
ASKED_FOR_S = 10.0
# Many times what is allowed, and little for the machine that runs all of it.
PAUSE_S = 0.02


async def ask(client: httpx.AsyncClient, path: str, answers: Counter[int], ends_at: float) -> None:
    while monotonic_s() < ends_at:
        answers[(await client.get(path)).status_code] += 1
        await asyncio.sleep(PAUSE_S)


@pytest.fixture(scope="module")
def machines(database_url: str) -> Iterator[list[str]]:
    """Their addresses."""
    with ExitStack() as started:
        yield [started.enter_context(api(database_url))[0] for _ in range(MACHINES)]


@pytest.mark.parametrize("whose", ["key", "payer"])
async def test_three_machines_let_pass_what_one_would(machines: list[str], db: Database, whose: str) -> None:
    async with httpx.AsyncClient(base_url=machines[0], timeout=60) as client:
        shop = await make_shop(db, client, rate_per_second=PER_SECOND, rate_burst=BURST)
        pay_code = (await shop.create(order())).json()["data"]["payCode"]
    path, headers, per_second, burst = {
        "key": ("/checkout/payments/merchant-reference/none", shop.verify_headers, PER_SECOND, BURST),
        "payer": (f"/checkout/payments/{pay_code}", {}, READ.per_second, READ.burst),
    }[whose]
    answers: Counter[int] = Counter()
    clients = [
        httpx.AsyncClient(base_url=one, timeout=60, headers=headers) for one in machines for _ in range(CLIENTS_OF_EACH)
    ]
    began = monotonic_s()
    await asyncio.gather(*(ask(client, path, answers, began + ASKED_FOR_S) for client in clients))
    allowed = per_second * (monotonic_s() - began) + burst
    for client in clients:
        await client.aclose()
    refused = answers.pop(429, 0)  # None where the machine asks no faster than is allowed.
    assert len(answers) == 1, answers
    assert answers.total() == pytest.approx(min(allowed, answers.total() + refused), rel=0.1)
