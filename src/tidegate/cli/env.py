"""`tidegate env`: the sandbox's address and keys as shell variables."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tidegate import settings as settings_module
from tidegate.cli.console import fail, reports_errors
from tidegate.sandbox.seed import FILE_NAME, VARIABLES


@click.command()
@reports_errors
def env() -> None:
    """Print the sandbox's address, keys and accounts as shell variables: eval "$(tidegate env)"."""
    path = settings_module.from_environment().home / FILE_NAME
    try:
        sandbox = json.loads(path.read_text())
        lines = [f"export {name}={shlex.quote(value)}" for name, value in _variables(sandbox)]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        fail(without_file(path))
    click.echo("\n".join(lines))


def without_file(path: Path) -> str:
    """Why there are no keys, and what to do."""
    if not path.exists():
        return (
            f"There is no sandbox here: {path} is missing. Start one with `make run`, or set TIDEGATE_HOME. If one is "
            "running, stop it first: the next start writes the file again, with new keys for the same business."
        )
    return f"{path} cannot be read. The next `make run` writes it again, with new keys for the same business."


def _variables(sandbox: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for variable, name in VARIABLES.items():
        yield variable, sandbox[name]
    for currency, account in sandbox["virtualAccounts"].items():
        yield f"{currency}_ACCOUNT", account["accountNumber"]
