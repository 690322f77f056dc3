"""The sandbox: a parent process runs the embedded PostgreSQL, and a child with API and worker on one event loop."""

from __future__ import annotations

import socket
from functools import partial
from typing import Any

from rich.panel import Panel
from rich.table import Table

from tidegate.cli.console import out
from tidegate.cli.database import mend, prepare, run_async, with_database, with_encryption_key
from tidegate.docs.routes import SandboxKeys
from tidegate.infra import telemetry
from tidegate.infra.http.server import BACKLOG, bind
from tidegate.infra.run_lock import run_lock
from tidegate.infra.supervisor import Supervisor, stop_on_terminate
from tidegate.runtime import Runtime
from tidegate.sandbox.seed import FILE_NAME, seed
from tidegate.settings import Settings


def run(settings: Settings) -> None:
    # Fails before anything is started: on a folder whose sandbox is running, and on a busy port.
    with run_lock(settings.home) as lock:
        listening = bind(settings.host, settings.port)
        settings = settings.on_port(listening.getsockname()[1])
        lock.note_address(settings.base_url)
        _run(settings, listening)
    out.print("Stopped.")


def _run(settings: Settings, listening: socket.socket) -> None:
    telemetry.configure_logs(as_json=False, level="warning")
    stop_on_terminate()
    starting = out.status("Starting PostgreSQL …")
    with (
        starting,
        telemetry.showing_metrics(settings.host, settings.metrics_port) as on_end,
        with_database(settings, may_create=True) as (found, postgres),
    ):
        prepare(found)
        ready = with_encryption_key(found)
        sandbox = run_async(_seed(ready))
        starting.stop()
        listening.listen(BACKLOG)  # Clients wait while the process restarts, instead of being refused.
        _greet(ready, sandbox)
        keys = SandboxKeys(sandbox["secretKey"], sandbox["publicKey"], sandbox["businessId"])
        child = "tidegate.cli.dev_process:run"
        Supervisor(child, ready, keys, listening, look=partial(mend, postgres), on_end=on_end).run()


async def _seed(settings: Settings) -> dict[str, Any]:
    runtime = Runtime.of(settings)
    async with runtime.open():
        return await seed(runtime.webhook_deps, runtime.deps, settings, runtime.clock)


def _greet(settings: Settings, sandbox: dict[str, Any]) -> None:
    links = Table.grid(padding=(0, 2))
    for name, value in (
        ("API", settings.base_url),
        ("Mail", sandbox["mailUrl"]),
        *([("Reference", f"{settings.base_url}/docs")] if settings.has_docs else []),
        *([("Metrics", f"http://localhost:{settings.metrics_port}/metrics")] if settings.metrics_port else []),
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
    # Printed bare, so that they are neither wrapped nor cut.
    out.print("[bold]Open the dashboard[/] (once; `tidegate dashboard link` prints another):\n")
    print(sandbox["dashboardUrl"], end="\n\n", flush=True)
    out.print("[bold]Open the operator's console[/] (once; `tidegate console link` prints another):\n")
    print(sandbox["consoleUrl"], end="\n\n", flush=True)
    out.print("[bold]Create a payment[/], in another terminal:\n")
    print(_create_line(settings, sandbox), end="\n\n", flush=True)
    out.print("[bold]Verify it[/]:\n")
    print(_verify_line(settings, sandbox), end="\n\n", flush=True)
    out.print("[dim]Ctrl-C stops it; the data stays for the next start.[/]")


def _create_line(settings: Settings, sandbox: dict[str, Any]) -> str:
    return (
        "REF=ORDER-$(openssl rand -hex 8)\n"
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
