"""The losses of `make failover`: how each begins and ends, and how long creates may stand still."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import click

from chaos.disk import Disk
from chaos.failover.cluster import Cluster
from chaos.failover.network import Machines
from chaos.model import Model

CLIENTS = 4
# Shorter than the outage that is allowed, so that clients see its end.
REQUEST_TIMEOUT_S = 2.5
ACCEPTED_AGAIN_WITHIN_S = 30.0
# The fault lasts until creates have been accepted again for a while, judged by this many.
CREATES_AFTER = 15
SYNCHRONOUS_WITHIN_S = 180.0
# More than twice Patroni's ttl: whoever would be promoted has been by then.
ALONE_S = 45.0
# libfaketime allocates memory in PostgreSQL's signal handlers, which can end it: not there for the other faults alone.
CLOCK_STOPPED = "clock of the primary stopped"


class Happening(Protocol):
    @property
    def name(self) -> str: ...

    async def happen(self, cluster: Cluster, model: Model) -> None: ...


@dataclass(frozen=True)
class Loss:
    """A fault of the machine that leads, and how it ends."""

    name: str
    begin: Callable[[int], Awaitable[None] | None]
    end: Callable[[int], None]
    is_of_standby: bool = False

    async def happen(self, cluster: Cluster, model: Model) -> None:
        leader = await _leader(cluster, model)
        victim = 3 - leader if self.is_of_standby else leader
        began = time.monotonic()
        awaited = self.begin(victim)
        if awaited is not None:
            await awaited
        await _creates(model, CREATES_AFTER)
        pause_s = model.longest_pause_s(began)
        healed = time.monotonic()
        self.end(victim)
        await cluster.until(cluster.is_synchronous, SYNCHRONOUS_WITHIN_S)
        click.echo(
            f"{self.name}: creates accepted again after {pause_s:.1f} s, "
            f"synchronous again {time.monotonic() - healed:.1f} s after the end"
        )
        _judge_pause(self.name, pause_s, model)


class SecondFault:
    """The standby is lost, the primary acknowledges alone, and is lost too.

    The standby, which comes back first, must not lead: it lacks what was acknowledged without it. Nothing is answered
    until the primary is back.
    """

    name = "standby lost, then the primary"

    async def happen(self, cluster: Cluster, model: Model) -> None:
        primary = await _leader(cluster, model)
        standby = 3 - primary
        began = time.monotonic()
        cluster.turn_off(standby)
        await _creates(model, CREATES_AFTER)
        pause_s = model.longest_pause_s(began)
        cluster.turn_off(primary)
        cluster.turn_on(standby)
        await self._nothing_is_answered(cluster, model, standby)
        back = time.monotonic()
        cluster.turn_on(primary)
        await _creates(model, CREATES_AFTER)
        again_s = model.longest_pause_s(back)
        await cluster.until(cluster.is_synchronous, SYNCHRONOUS_WITHIN_S)
        synchronous_s = time.monotonic() - back
        click.echo(
            f"{self.name}: creates accepted again after {pause_s:.1f} s, without a standby; none beside the old "
            f"standby; {again_s:.1f} s after the primary came back, synchronous again after {synchronous_s:.1f} s"
        )
        _judge_pause(self.name, pause_s, model)
        _judge_pause(f"{self.name}, which came back", again_s, model)

    async def _nothing_is_answered(self, cluster: Cluster, model: Model, standby: int) -> None:
        # Then whatever the primary has answered has arrived.
        await asyncio.sleep(REQUEST_TIMEOUT_S)
        before = model.done.copy()
        await cluster.until(lambda: cluster.is_replica(standby))
        await asyncio.sleep(ALONE_S)
        if not await cluster.is_replica(standby):
            model.find(f"{self.name}: the old standby, which lacks what was acknowledged, did not stay a standby")
        if model.done != before:
            model.find(f"{self.name}: answered without a primary: {model.done - before}")


def losses_of(machines: Machines, cluster: Cluster, disks: Mapping[int, Disk | None]) -> list[Happening]:
    nothing: Callable[[int], None] = lambda _: None  # noqa: E731
    mounted = {number: disk for number, disk in disks.items() if disk is not None}
    full = Loss(
        "disk of the primary full",
        lambda number: cluster.fill_disk(number, mounted[number]),
        lambda number: mounted[number].clear(),
    )
    stopped = Loss(CLOCK_STOPPED, cluster.stop_clock, lambda number: cluster.clocks[number].go_on())
    return [
        *([full] if len(mounted) == len(disks) else []),
        *([stopped] if cluster.clocks else []),
        Loss("kill -9 of PostgreSQL", cluster.kill_postgres, nothing),
        Loss("kill -9 of one session of PostgreSQL", cluster.kill_session, nothing),
        Loss("kill -9 of PostgreSQL and Patroni", cluster.kill_machine, cluster.start_patroni),
        Loss("network of the primary cut", machines.cut, machines.heal),
        Loss(
            "primary frozen",
            lambda number: cluster.freeze(number, signal.SIGSTOP),
            lambda number: cluster.freeze(number, signal.SIGCONT),
        ),
        Loss("planned switchover", cluster.switch_over, nothing),
        Loss("network of the standby cut", machines.cut, machines.heal, is_of_standby=True),
        SecondFault(),
    ]


async def _leader(cluster: Cluster, model: Model) -> int:
    """Once creates are accepted, and etcd is led where no database is."""
    await _creates(model, CREATES_AFTER)
    await asyncio.to_thread(cluster.lead_by_vote)
    leader = await cluster.leader()
    assert leader is not None, "there was no primary before the fault"
    return leader


async def _creates(model: Model, more: int) -> None:
    """Begun after this moment, most of them: as many as there are clients may have been under way."""
    before = model.done["created"]
    async with asyncio.timeout(SYNCHRONOUS_WITHIN_S):
        while model.done["created"] < before + CLIENTS + more:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def _judge_pause(name: str, pause_s: float, model: Model) -> None:
    if pause_s > ACCEPTED_AGAIN_WITHIN_S:
        model.find(f"{name}: creates were accepted again only after {pause_s:.1f} s")
