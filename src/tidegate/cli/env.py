"""`tidegate env`: the sandbox's address and keys as shell variables."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tidegate import settings as settings_module
from tidegate.cli.console import fail, reports_errors
from tidegate.sandbox.seed import FILE_NAME, SECRET_FIELD, SECRET_VARIABLE, VARIABLES


@click.command()
@reports_errors
def env() -> None:
    """Print the sandbox's address, keys and accounts as shell variables: eval "$(tidegate env)".

    A WEBHOOK_SECRET that is set already is kept: it may be the one that your endpoint has.
    """
    path = settings_module.from_environment().home / FILE_NAME
    try:
        sandbox = json.loads(path.read_text())
        lines = [f"export {name}={shlex.quote(value)}" for name, value in _variables(sandbox)]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        fail(without_file(path))
    click.echo("\n".join(lines))
    if os.environ.get(SECRET_VARIABLE, sandbox[SECRET_FIELD]) != sandbox[SECRET_FIELD]:
        click.echo(f"{SECRET_VARIABLE} is set already and stays; unset it first to get the sandbox's own.", err=True)


def without_file(path: Path) -> str:
    """Why there are no keys, and what to do."""
    if not path.exists():
        return (
            f"There is no sandbox here: {path} is missing. If one runs from another folder, go there or set "
            "TIDEGATE_HOME to its .tidegate; else start one with `make run`. If the file of this one was deleted, its "
            "next start writes it again, with new keys for the same business."
        )
    return f"{path} cannot be read. The next `make run` writes it again, with new keys for the same business."


def _variables(sandbox: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for variable, name in VARIABLES.items():
        yield variable, sandbox[name]
    if SECRET_VARIABLE not in os.environ:
        yield SECRET_VARIABLE, sandbox[SECRET_FIELD]
    for currency, account in sandbox["virtualAccounts"].items():
        yield f"{currency}_ACCOUNT", account["accountNumber"]
