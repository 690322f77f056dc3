"""`tidegate docs`: the documentation as static files."""

from __future__ import annotations

from pathlib import Path

import click

from tidegate import app
from tidegate import settings as settings_module
from tidegate.cli.console import reports_errors
from tidegate.docs import export
from tidegate.runtime import Runtime


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@reports_errors
def docs(folder: Path) -> None:
    """Write the documentation to FOLDER, for any web server: relative links, no keys, no Run."""
    settings = settings_module.from_environment()
    runtime = Runtime.of(settings)
    site = app.docs_of(app.operations_of(runtime), settings.base_url, runtime.deps.names)
    count = export.write(folder, site)
    click.echo(f"{count} pages written. Open {folder / 'index.html'}.")
