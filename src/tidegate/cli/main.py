"""The list of commands."""

from __future__ import annotations

import click

from tidegate import __version__
from tidegate.cli.doctor import doctor
from tidegate.cli.events import events
from tidegate.cli.listen import listen
from tidegate.cli.merchant import merchant
from tidegate.cli.run import dev, migrate, serve, worker
from tidegate.cli.verify_signature import verify_signature
from tidegate.cli.webhook import webhook


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tidegate")
def main() -> None:
    """Hosted checkout and foreign-currency inflows that anyone can run.

    Start with `tidegate dev`: a sandbox with its own database, ready to be called.
    """


for command in (dev, serve, worker, migrate, merchant, doctor, listen, events, webhook, verify_signature):
    main.add_command(command)
