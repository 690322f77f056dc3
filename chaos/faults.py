"""The faults, chosen by the seed: what, when, how long."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial

from chaos.client import Caller, Shop
from chaos.deployment import API, WORKER, Deployment
from chaos.disk import Disk
from chaos.proxy import CommitCut
from chaos.receivers import POISONS, WebhookLog

GAP_S = (0.2, 2.0)
# Acknowledged between one fault and the next, so that there is something to lose; not waited for longer than this.
PROGRESS = (0, 1, 4, 8)
PROGRESS_WITHIN_S = 20.0
COMMIT_CUTS_AT_ONCE = 8
JUMPS = ("10s", "1m", "6m", "30m", "2h")


class Faults:
    def __init__(self, deployment: Deployment, by: Caller, shops: list[Shop], log: WebhookLog) -> None:
        self._deployment = deployment
        self._by = by
        self._shops = shops
        self._log = log
        self.counts: Counter[str] = Counter()
        self._kinds: dict[str, tuple[Callable[[random.Random], Coroutine[None, None, None]], int]] = {
            "API process killed": (self._kill_api, 4),
            "worker killed": (self._kill_worker, 4),
            "PostgreSQL killed": (self._kill_postgres, 2),
            "commits to be cut": (self._cut_at_commit, 8),
            "connections cut": (self._cut, 2),
            "connections slowed": (self._slow, 1),
            "connections held": (self._stall, 1),
            "process frozen": (self._freeze, 1),
            "sandbox clock moved": (self._move_clock, 1),
            "receivers poisoned": (self._poison, 2),
        }
        if deployment.disk is not None:
            self._kinds["disk full"] = (partial(self._fill, deployment.disk), 2)

    async def run(self, chance: random.Random, is_over: Callable[[], bool]) -> None:
        """One begins while others last."""
        names, weights = list(self._kinds), [weight for _, weight in self._kinds.values()]
        async with asyncio.TaskGroup() as lasting:
            while not is_over():
                [name] = chance.choices(names, weights)
                self.counts[name] += 1
                # Chance of its own, so that what happens meanwhile does not change which fault is next.
                lasting.create_task(self._kinds[name][0](random.Random(chance.getrandbits(64))))
                await asyncio.sleep(chance.uniform(*GAP_S))
                await self._progress(chance.choice(PROGRESS))

    async def _progress(self, more: int) -> None:
        before = self._by.model.done.total()
        with suppress(TimeoutError):
            async with asyncio.timeout(PROGRESS_WITHIN_S):
                while self._by.model.done.total() < before + more:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)

    async def _kill_api(self, chance: random.Random) -> None:
        await self._deployment.signal_child(self._deployment.parents[0], chance, signal.SIGKILL)

    async def _kill_worker(self, chance: random.Random) -> None:
        await self._deployment.signal_child(chance.choice(self._deployment.workers), chance, signal.SIGKILL)

    async def _kill_postgres(self, _: random.Random) -> None:
        await self._deployment.kill_postgres()

    async def _cut_at_commit(self, chance: random.Random) -> None:
        count = chance.randint(1, COMMIT_CUTS_AT_ONCE)
        proxy = self._deployment.proxies[chance.choice((API, WORKER))]
        proxy.armed.extend(chance.choices(list(CommitCut), k=count))

    async def _cut(self, chance: random.Random) -> None:
        for proxy in self._deployment.proxies.values():
            proxy.cut(chance.randint(0, 15))

    async def _slow(self, chance: random.Random) -> None:
        proxy = chance.choice(list(self._deployment.proxies.values()))
        proxy.delay_s = chance.uniform(0.01, 0.15)
        await asyncio.sleep(chance.uniform(1.0, 4.0))
        proxy.delay_s = 0.0

    async def _stall(self, chance: random.Random) -> None:
        proxy = chance.choice(list(self._deployment.proxies.values()))
        proxy.flows.clear()
        await asyncio.sleep(chance.uniform(0.5, 6.0))
        proxy.flows.set()

    async def _freeze(self, chance: random.Random) -> None:
        """It goes on in the middle of what it did, after others have taken over."""
        parent = chance.choice(self._deployment.parents)
        pid = await self._deployment.signal_child(parent, chance, signal.SIGSTOP)
        await asyncio.sleep(chance.uniform(1.0, 6.0))
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    async def _move_clock(self, chance: random.Random) -> None:
        shop = chance.choice(self._shops)
        await self._by.ask("POST", "/sandbox/clock", {"advance": chance.choice(JUMPS)}, **shop.headers)

    async def _poison(self, chance: random.Random) -> None:
        self._log.poison = POISONS[chance.choice(list(POISONS))]
        await asyncio.sleep(chance.uniform(1.0, 5.0))
        self._log.poison = None

    async def _fill(self, disk: Disk, chance: random.Random) -> None:
        """PostgreSQL ends itself when it cannot write its log."""
        await asyncio.to_thread(disk.fill)
        await asyncio.sleep(chance.uniform(0.5, 5.0))
        disk.clear()
        await self._deployment.start_postgres()
