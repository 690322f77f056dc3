"""The sandbox in one process: our own PostgreSQL as a child, API and worker on one event loop."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import uvloop
from rich.panel import Panel
from rich.table import Table

from tidegate import app, worker
from tidegate.cli.console import err, out
from tidegate.cli.database import prepare, with_database, with_encryption_key
from tidegate.house import House
from tidegate.infra import memory, telemetry
from tidegate.infra.embedded import EmbeddedPostgres, EmbeddedPostgresFailed
from tidegate.infra.http.server import GentleServer, bind, configure, stop_on_terminate
from tidegate.infra.reference.routes import SandboxKeys
from tidegate.sandbox.seed import FILE_NAME, seed
from tidegate.settings import Settings

WATCH_EVERY_S = 1.0
# Who presses Ctrl-C does not want to wait for a receiver that hangs.
GRACE_S = 1.0


def run(settings: Settings) -> None:
    # A busy port is found out before anything else is started.
    listening = bind(settings.host, settings.port)
    telemetry.configure_logs(as_json=False, level="warning")
    stop_on_terminate()
    starting = out.status("Starting PostgreSQL …")
    with starting, with_database(settings) as (ready, postgres):
        prepare(ready)
        starting.stop()
        with suppress(KeyboardInterrupt):
            uvloop.run(_run(with_encryption_key(ready), postgres, listening))
    out.print("Stopped.")


async def _run(settings: Settings, postgres: EmbeddedPostgres | None, listening: socket.socket) -> None:
    house = House.of(settings, statement_timeout_ms=worker.STATEMENT_TIMEOUT_MS)
    async with house.open(), asyncio.TaskGroup() as background:
        sandbox = await seed(house.office, house.till, settings, now=house.clock.now())
        keys = SandboxKeys(sandbox["secretKey"], sandbox["publicKey"], sandbox["businessId"])
        meter = telemetry.Meter()
        server = GentleServer(configure(app.build(settings, sandbox_keys=keys, meter=meter)))
        courier = house.courier(meter).run(grace_s=GRACE_S)
        working = worker.run(house.till, house.clock, meter, worker.SANDBOX_LOOPS, courier)
        tasks = [background.create_task(working)]
        if postgres is not None:
            tasks.append(background.create_task(_keep_alive(postgres)))
        memory.settle()
        _greet(settings, sandbox)
        try:
            await server.serve(sockets=[listening])
        finally:
            for task in tasks:
                task.cancel()


async def _keep_alive(postgres: EmbeddedPostgres) -> None:
    """Starts PostgreSQL again when it dies. On the event loop's own thread, since the server ends with the thread."""
    while True:
        await asyncio.sleep(WATCH_EVERY_S)
        if not postgres.is_running():
            err.print("[yellow]PostgreSQL has stopped; starting it again.[/]")
            with suppress(EmbeddedPostgresFailed):
                postgres.start()


def _greet(settings: Settings, sandbox: dict[str, Any]) -> None:
    links = Table.grid(padding=(0, 2))
    for name, value in (
        ("API", settings.base_url),
        ("Reference", f"{settings.base_url}/docs"),
        ("Business", sandbox["businessId"]),
        ("Secret key", sandbox["secretKey"]),
        ("Public key", sandbox["publicKey"]),
        ("Webhook secret", sandbox["webhookSecret"]),
        *(
            (f"{currency} account", f"{account['accountNumber']}  {account['accountName']}")
            for currency, account in sandbox["virtualAccounts"].items()
        ),
        ("Also in", str(settings.home / FILE_NAME)),
    ):
        links.add_row(f"[dim]{name}[/]", value)
    out.print(Panel(links, title="[bold green]Tidegate sandbox is ready[/]", expand=False, border_style="green"))
    out.print("[bold]Create a payment[/], in another terminal:\n")
    # Printed bare, so that the terminal's width puts no line breaks into it.
    print(_create_line(settings, sandbox), end="\n\n", flush=True)
    out.print("[bold]Verify it[/]:\n")
    print(_verify_line(settings, sandbox), end="\n\n", flush=True)
    out.print("[dim]Ctrl-C stops it; the data stays for the next start.[/]")


def _create_line(settings: Settings, sandbox: dict[str, Any]) -> str:
    return (
        "REF=ORDER-$(date +%s)\n"
        f"curl -s {settings.base_url}/checkout/payments \\\n"
        f"  -H 'api-key: {sandbox['secretKey']}' \\\n"
        f"  -H 'x-pub-key: {sandbox['publicKey']}' \\\n"
        "  -H 'content-type: application/json' \\\n"
        '  -d \'{"amount": 2500, "currency": "NGN", "reference": "\'$REF\'",'
        ' "customer": {"name": "Ada Obi", "email": "ada@example.com"}}\''
    )


def _verify_line(settings: Settings, sandbox: dict[str, Any]) -> str:
    return (
        f"curl -s {settings.base_url}/checkout/payments/merchant-reference/$REF \\\n"
        f"  -H 'api-key: {sandbox['secretKey']}' \\\n"
        f"  -H 'x-business-id: {sandbox['businessId']}'"
    )
