"""`tidegate init`: an environment file for live mode, with fresh secrets."""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import click

from tidegate import settings as settings_module
from tidegate.cli.console import fail, out, plain, reports_errors
from tidegate.rail_settings import is_loopback
from tidegate.settings_guide.file import environment_file
from tidegate.settings_reader import ENCRYPTION_KEY_BYTES

PASSWORD_BYTES = 24


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), default="tidegate.env")
@click.option("--base-url", metavar="URL", default="https://pay.example.com", show_default=True, help="Public address.")
@click.option("--database-host", metavar="HOST", default="localhost", show_default=True, help="Host, or host:port.")
@click.option(
    "--rail", "rails", multiple=True, type=click.Choice(settings_module.LIVE_RAILS), help="May be given several times."
)
@reports_errors
def init(file: Path, base_url: str, database_host: str, rails: tuple[str, ...]) -> None:
    """Write an environment file for live mode, complete and commented, with fresh secrets.

    The file is readable by its owner only. One that exists is never changed.
    """
    chosen = rails or settings_module.LIVE_RAILS
    values = {
        "base_url": base_url.rstrip("/"),
        "host": urlsplit(base_url).hostname or "example.com",
        "database_host": database_host,
        # On this machine a database seldom has a certificate, and needs none.
        "database_tls": "" if is_loopback(f"http://{database_host}") else "?sslmode=verify-full",
        "password": secrets.token_urlsafe(PASSWORD_BYTES),
        "key": base64.b64encode(secrets.token_bytes(ENCRYPTION_KEY_BYTES)).decode(),
        "rails": ",".join(chosen),
    }
    text = environment_file(values, rails=chosen)
    _write(file, text)
    out.print(f"[green]✓[/] {plain(str(file))}, readable by you only", soft_wrap=True)
    for problem in _problems(text):
        out.print(f"  [yellow]→[/] {plain(problem)}", soft_wrap=True)
    out.print("  The login tidegate_service gets the password of DATABASE_URL: see docs/operations.md, Install.")


def _write(file: Path, text: str) -> None:
    try:
        # With the mode from the first moment, and refused when the name is taken.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        fail(f"{file} exists, and its secrets may be in use: nothing was written. Give another name.")
    except OSError as error:
        fail(f"{file} cannot be written: {error.strerror}.")
    with open(descriptor, "w", encoding="utf-8") as writing:
        writing.write(text)


def _problems(text: str) -> list[str]:
    """What the operator has to fill in before the service starts with this file."""
    try:
        settings_module.from_environment(settings_in(text))
    except settings_module.WrongSettings as wrong:
        return wrong.problems
    return []


def settings_in(text: str) -> dict[str, str]:
    """The settings that an environment file of plain lines sets."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {name: value for name, _, value in (line.partition("=") for line in lines)}
