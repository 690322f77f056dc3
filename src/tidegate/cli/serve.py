"""The command that runs the API. A module of its own: only the processes it starts import the API."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from tidegate import settings as settings_module
from tidegate.cli.console import reports_errors
from tidegate.cli.database import check, mend, prepare_embedded, with_database, with_encryption_key
from tidegate.infra import telemetry
from tidegate.infra.http.server import BACKLOG, bind
from tidegate.infra.supervisor import Supervisor, stop_on_terminate

port_option = click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; PORT by default.")


def settings_for(port: int | None = None) -> settings_module.Settings:
    environment = dict(os.environ)
    if port is not None:
        environment["PORT"] = str(port)
    return settings_module.from_environment(environment)


@click.command()
@port_option
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="API processes.")
@reports_errors
def serve(port: int | None, workers: int) -> None:
    """Run the API."""
    asked = settings_for(port)
    stop_on_terminate()
    listening = bind(asked.host, asked.port)
    settings = settings_for(listening.getsockname()[1])
    telemetry.configure_logs(as_json=settings.log_as_json, level=settings.log_level)
    with (
        with_database(settings) as (found, postgres),
        tempfile.TemporaryDirectory(prefix="tidegate-") as shared,
        telemetry.showing_metrics(settings.host, settings.metrics_port) as on_end,
    ):
        prepare_embedded(found, postgres)
        check(found)
        ready = replace(with_encryption_key(found), rate_limit_file=Path(shared) / "rate-limit")
        listening.listen(BACKLOG)  # Clients wait while a process restarts, instead of being refused.
        Supervisor(
            "tidegate.app:serve",
            ready,
            listening,
            count=workers,
            drain_s=settings.drain_s,
            look=partial(mend, postgres),
            on_end=on_end,
        ).run()
