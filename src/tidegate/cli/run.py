"""Commands that run something: dev, serve, migrate. The worker has a module of its own."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import click

from tidegate import settings as settings_module
from tidegate.cli import dev as dev_module
from tidegate.cli.console import fail, out, speaks_plainly
from tidegate.cli.database import check, prepare, with_database, with_encryption_key
from tidegate.core.ids import Mode
from tidegate.infra.http.server import GentleServer, GentleSupervisor, bind, configure, stop_on_terminate

port_option = click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; PORT by default.")


def _settings(port: int | None = None) -> settings_module.Settings:
    environment = dict(os.environ)
    if port is not None:
        environment["PORT"] = str(port)
    return settings_module.from_environment(environment)


@click.command()
@port_option
@speaks_plainly
def dev(port: int | None) -> None:
    """Start the whole sandbox: database, API, worker, one business with keys."""
    settings = _settings(port)
    if settings.mode is Mode.LIVE:
        fail("`tidegate dev` is the sandbox; use `tidegate serve` and `tidegate worker` in live mode.")
    dev_module.run(settings)


@click.command()
@port_option
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="API processes.")
@speaks_plainly
def serve(port: int | None, workers: int) -> None:
    """Run the API."""
    settings = _settings(port)
    socket = bind(settings.host, settings.port)
    with with_database(settings) as (ready, postgres), tempfile.TemporaryDirectory(prefix="tidegate-") as shared:
        if postgres is not None:
            prepare(ready)
        check(ready)
        # The processes are started afresh and find their settings in the environment.
        os.environ["DATABASE_URL"] = ready.database_url or ""
        os.environ["TIDEGATE_ENCRYPTION_KEY"] = with_encryption_key(ready).encryption_keys_text
        os.environ["PORT"] = str(socket.getsockname()[1])
        os.environ["TIDEGATE_RATE_LIMIT_FILE"] = str(Path(shared) / "rate-limit")
        if workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        config = configure("tidegate.app:from_environment", factory=True, workers=workers)
        stop_on_terminate()
        with suppress(KeyboardInterrupt):
            if workers > 1:
                GentleSupervisor(config, [socket], drain_s=settings.drain_s).run()
            else:
                GentleServer(config, drain_s=settings.drain_s).run(sockets=[socket])


@click.command()
@speaks_plainly
def migrate() -> None:
    """Bring the database up to date. Safe to run from several machines at once."""
    with with_database(_settings()) as (ready, _):
        applied = prepare(ready)
    for migration in applied:
        out.print(f"[green]✓[/] {migration.name}")
    out.print(f"{len(applied)} applied." if applied else "The database is up to date.")
