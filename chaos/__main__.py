"""`make chaos`: starts everything, loads it, injects faults, judges, leaves nothing behind."""

from __future__ import annotations

import asyncio
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click
import httpx

from chaos import goals
from chaos.client import Caller
from chaos.deployment import Deployment, deployed
from chaos.faults import Faults
from chaos.load import Load
from chaos.model import Model, words
from chaos.receivers import WebhookLog
from chaos.verdict import Verdict
from chaos.world import open_shops
from receiver import Receiver, receiving

REQUEST_TIMEOUT_S = 20.0
REPORT_EVERY_S = 30.0


@dataclass(frozen=True)
class Run:
    seed: int
    seconds: float
    clients: int
    # Until the goals are reached, and no longer than that.
    has_goals: bool

    @property
    def words(self) -> str:
        return "until the goals are reached" if self.has_goals else f"{self.seconds / 60:.0f} min"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--minutes", type=click.FloatRange(0.1, 60 * 24 * 7), default=4.0, help="How long faults are injected.")
@click.option("--hours", type=click.FloatRange(0.01, 24 * 7), help="Instead of minutes.")
@click.option("--goals", "has_goals", is_flag=True, help=f"Instead of a time: until {', '.join(goals.words())}.")
@click.option("--seed", type=click.IntRange(0), help="Repeats the faults of a run; a new one when absent.")
@click.option("--clients", type=click.IntRange(1, 200), default=6, help="Merchants and payers at once.")
def main(minutes: float, hours: float | None, has_goals: bool, seed: int | None, clients: int) -> None:
    """Faults at random under load; afterwards model = database = webhooks = books. Fails when anything was found."""
    seconds = goals.REACHED_WITHIN_S if has_goals else 60 * (minutes if hours is None else hours * 60)
    run = Run(secrets.randbits(32) if seed is None else seed, seconds, clients, has_goals)
    # Two folders, since PostgreSQL makes its own unreadable for us unless we are root.
    home, data = (Path(tempfile.mkdtemp(prefix=f"tidegate-chaos-{name}-")) for name in ("logs", "data"))
    click.echo(f"seed {run.seed}, {run.words}, logs in {home}")
    # So that everything is stopped then, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        model = asyncio.run(_run(run, home, data))
    finally:
        shutil.rmtree(data, ignore_errors=True)
    if model.findings:
        click.echo("\n".join(["", f"Found {len(model.findings)}; the logs stay in {home}:", *model.findings]))
        sys.exit(1)
    shutil.rmtree(home, ignore_errors=True)
    click.echo("Nothing was lost, nothing was doubled: model = database = webhooks = books.")


async def _run(run: Run, home: Path, data: Path) -> Model:
    model = Model()
    log = WebhookLog()
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=50)
    async with (
        receiving() as receiver,
        deployed(home, data) as deployment,
        httpx.AsyncClient(base_url=deployment.base_url, timeout=REQUEST_TIMEOUT_S, limits=limits) as http,
    ):
        log.watch(receiver)
        by = Caller(http, model, random.Random(run.seed))
        await _test(run, deployment, by, receiver, log)
    return model


async def _test(run: Run, deployment: Deployment, by: Caller, receiver: Receiver, log: WebhookLog) -> None:
    shops = await open_shops(deployment, by, receiver)
    faults = Faults(deployment, by, shops, log)
    load = Load(by, shops)
    done = asyncio.Event()
    clients = [asyncio.create_task(load.run_until(done)) for _ in range(run.clients)]
    began = time.monotonic()

    def is_over() -> bool:
        is_enough = run.has_goals and goals.are_reached(deployment)
        return is_enough or time.monotonic() > began + run.seconds

    reporting = asyncio.create_task(_report(by.model, faults, deployment))
    await faults.run(random.Random(run.seed), is_over)
    minutes = (time.monotonic() - began) / 60
    if run.has_goals and not goals.are_reached(deployment):
        by.model.find(f"the goals were not reached: {goals.progress(deployment)}")
    for proxy in deployment.proxies.values():
        proxy.armed.clear()
    done.set()
    await asyncio.gather(*clients)
    reporting.cancel()
    await deployment.until_ready()
    verdict = Verdict(deployment, by.model, log)
    await verdict.settle(by, shops)
    await verdict.judge()
    click.echo(f"\nSeed {run.seed}, {run.clients} clients, {minutes:.0f} min of faults")
    _summary(by.model, faults, deployment, log)


async def _report(model: Model, faults: Faults, deployment: Deployment) -> None:
    while True:
        await asyncio.sleep(REPORT_EVERY_S)
        asked = f"{words(model.done)}; asked again: {words(model.unknown)}"
        click.echo(f"{asked}; {words(faults.counts)}; {goals.progress(deployment)}; {len(model.findings)} found")


def _summary(model: Model, faults: Faults, deployment: Deployment, log: WebhookLog) -> None:
    repeats = sum(log.arrivals.values()) - len(log.arrivals)
    click.echo(f"Acknowledged: {words(model.done)}")
    click.echo(f"Asked again: {words(model.unknown)}")
    click.echo(f"Webhooks: {len(log.accepted)} events accepted, {repeats} sent more than once")
    click.echo(f"Faults: {words(faults.counts)}")
    click.echo(f"Goals: {goals.progress(deployment)}")
    if deployment.disk is None:
        click.echo("No disk was full: only root on Linux can mount one for it")
    for name, proxy in deployment.proxies.items():
        cuts = {cut.value: count for cut, count in proxy.cuts.items()}
        click.echo(f"Of {proxy.commits} commits of the {name}, cut: {words(cuts)}")


if __name__ == "__main__":
    main()
