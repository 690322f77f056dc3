"""The limit of a merchant's key over three machines: real processes, which tell each other what they let pass."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest

from build import Shop, make_shop
from process import api
from tidegate.core.clock import monotonic_s
from tidegate.infra.db import Database

MACHINES, CLIENTS_OF_EACH = 3, 2
PER_SECOND, BURST = 25, 50
ASKED_FOR_S = 20.0


async def ask(shop: Shop, answers: Counter[int], ends_at: float) -> None:
    while monotonic_s() < ends_at:
        answers[(await shop.verify("no-such-order")).status_code] += 1


async def test_three_machines_let_pass_what_one_would(database_url: str, db: Database) -> None:
    with ExitStack() as machines:
        addresses = [machines.enter_context(api(database_url))[0] for _ in range(MACHINES)]
        async with httpx.AsyncClient(timeout=60) as client:
            shop = await make_shop(db, client, rate_per_second=PER_SECOND, rate_burst=BURST)
            answers: Counter[int] = Counter()
            began = monotonic_s()
            clients = [httpx.AsyncClient(base_url=one, timeout=60) for one in addresses for _ in range(CLIENTS_OF_EACH)]
            await asyncio.gather(*(ask(replace(shop, client=one), answers, began + ASKED_FOR_S) for one in clients))
            allowed = PER_SECOND * (monotonic_s() - began) + BURST
            for one in clients:
                await one.aclose()
    assert set(answers) == {404, 429}
    assert answers[404] == pytest.approx(min(allowed, answers.total()), rel=0.1)
