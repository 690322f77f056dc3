"""The command that runs the worker. A module of its own: it needs neither web server nor pages."""

from __future__ import annotations

from functools import partial

import click

from tidegate import settings as settings_module
from tidegate.cli.console import reports_errors
from tidegate.cli.database import check, mend, prepare_embedded, with_database, with_encryption_key
from tidegate.infra import telemetry
from tidegate.infra.supervisor import Supervisor, stop_on_terminate


@click.command()
@reports_errors
def worker() -> None:
    """Run the background work. Any number of workers may run."""
    settings = settings_module.from_environment()
    telemetry.configure_logs(as_json=settings.log_as_json, level=settings.log_level)
    stop_on_terminate()
    with with_database(settings) as (ready, postgres):
        prepare_embedded(ready, postgres)
        check(ready)
        with telemetry.showing_metrics(settings.host, settings.metrics_port) as on_end:
            Supervisor(
                "tidegate.cli.worker_process:run",
                with_encryption_key(ready),
                look=partial(mend, postgres),
                on_end=on_end,
            ).run()
