"""`make failover`: the primary is killed, cut off, frozen, switched, its clock stopped; nothing acknowledged is lost.

Needs root: each machine is a network namespace.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import click
import httpx

from chaos.client import Caller
from chaos.failover.cluster import SERVICE, Cluster
from chaos.failover.losses import CLIENTS, CLOCK_STOPPED, REQUEST_TIMEOUT_S, Happening, losses_of
from chaos.failover.network import Machines
from chaos.load import Load
from chaos.model import Model, words
from chaos.receivers import WebhookLog
from chaos.service import Service
from chaos.verdict import Verdict
from chaos.world import open_shops
from process import ENCRYPTION_KEY
from receiver import receiving

PORT = 8080
PROGRAMS = ("ip", "etcd", "etcdctl", "haproxy", "pgbouncer", "setpriv")


class FailoverService(Service):
    def __init__(self, home: Path, cluster: Cluster) -> None:
        super().__init__(home, f"http://127.0.0.1:{PORT}")
        self._cluster = cluster

    @property
    def url(self) -> str:
        return self._cluster.owner_url

    def environment_of(self, command: str) -> dict[str, str]:
        return {
            "DATABASE_URL": self._cluster.pooled_url,
            "DATABASE_DIRECT_URL": self._cluster.owner_url if command == "migrate" else self._cluster.direct_url,
            "PGSSLROOTCERT": str(self._cluster.authority),
            "PORT": str(PORT),
            "TIDEGATE_BASE_URL": self.base_url,
            "TIDEGATE_ENCRYPTION_KEY": ENCRYPTION_KEY,
            "TIDEGATE_HOME": str(self.home),
            "TIDEGATE_LOG_LEVEL": "warning",
            "TIDEGATE_POOLER": "none" if command in ("migrate", "doctor") else "transaction",
            "TIDEGATE_TRUSTED_PROXIES": "1",
        }


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--rounds", type=click.IntRange(1, 1_000), default=1, help="How often each fault happens.")
@click.option("--seed", type=click.IntRange(0), help="Repeats the order of a run; a new one when absent.")
@click.option("--only", help="Only faults with this in their name.")
@click.option(
    "--patroni", type=click.Path(path_type=Path, exists=True), required=True, help="Its program, 4.1 or later."
)
def main(rounds: int, seed: int | None, only: str | None, patroni: Path) -> None:
    """The loss of a database under load; afterwards model = database = webhooks = books."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if missing or os.geteuid() != 0 or not binaries:
        raise click.ClickException(f"needs root, PostgreSQL of the system's packages, and {', '.join(PROGRAMS)}")
    seed = secrets.randbits(32) if seed is None else seed
    home = Path(tempfile.mkdtemp(prefix="tidegate-failover-"))
    home.chmod(0o755)
    click.echo(f"seed {seed}, logs in {home}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    model = Model()
    with Machines(f"tg{os.getpid()}-", SERVICE).joined() as machines:
        machines.enter(SERVICE)
        has_clocks = not only or only in CLOCK_STOPPED
        cluster = Cluster(machines, home, patroni.resolve(), binaries[-1], has_clocks=has_clocks)
        with cluster.disks() as disks:
            losses = losses_of(machines, cluster, disks)
            chosen = [one for one in losses if not only or only in one.name] * rounds
            random.Random(seed).shuffle(chosen)
            try:
                asyncio.run(_run(model, cluster, home, seed, chosen))
            finally:
                cluster.stop()
    if model.findings:
        click.echo("\n".join(["", f"Found {len(model.findings)}; the logs stay in {home}:", *model.findings]))
        sys.exit(1)
    shutil.rmtree(home, ignore_errors=True)
    click.echo("Nothing was lost, nothing was doubled: model = database = webhooks = books.")


async def _run(model: Model, cluster: Cluster, home: Path, seed: int, chosen: Sequence[Happening]) -> None:
    service = FailoverService(home, cluster)
    log = WebhookLog()
    async with AsyncExitStack() as ending:
        receiver = await ending.enter_async_context(receiving())
        log.watch(receiver)
        await cluster.start()
        code, said = await service.run("migrate")
        if code:
            raise SystemExit(said)
        await cluster.make_login()
        ending.push_async_callback(service.stop_service)
        await service.start_service()
        http = await ending.enter_async_context(httpx.AsyncClient(base_url=service.base_url, timeout=REQUEST_TIMEOUT_S))
        by = Caller(http, model, random.Random(seed))
        shops = await open_shops(service, by, receiver)
        done = asyncio.Event()
        load = Load(by, shops)
        clients = [asyncio.create_task(load.run_until(done)) for _ in range(CLIENTS)]
        for loss in chosen:
            await loss.happen(cluster, model)
        done.set()
        await asyncio.gather(*clients)
        verdict = Verdict(service, model, log)
        await verdict.settle(by, shops)
        await verdict.judge()
        click.echo(f"\nSeed {seed}, {CLIENTS} clients. Acknowledged: {words(model.done)}")
        click.echo(f"Asked again: {words(model.unknown)}")
        click.echo(f"Webhooks: {len(log.accepted)} events accepted")


if __name__ == "__main__":
    main()
