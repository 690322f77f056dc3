"""The list of commands. Each is imported on use: `tidegate merchant list` needs no web server."""

from __future__ import annotations

from importlib import import_module

import click

from tidegate import __version__

# In the order of the help: the module, and the command's name in it.
_COMMANDS: dict[str, tuple[str, str]] = {
    "dev": ("run", "dev"),
    "serve": ("serve", "serve"),
    "worker": ("worker", "worker"),
    "migrate": ("run", "migrate"),
    "init": ("init", "init"),
    "env": ("env", "env"),
    "merchant": ("merchant", "merchant"),
    "dashboard": ("dashboard", "dashboard"),
    "console": ("staff", "console"),
    "staff": ("staff", "staff"),
    "approval": ("approval", "approval"),
    "payment": ("payment", "payment"),
    "link": ("link", "link"),
    "account": ("account", "account"),
    "inflow": ("inflow", "inflow"),
    "suspense": ("suspense", "suspense"),
    "rate": ("rate", "rate"),
    "refund": ("refund", "refund"),
    "reconcile": ("reconcile", "reconcile"),
    "bank": ("bank", "bank"),
    "wallet": ("wallet", "wallet"),
    "statement": ("statement", "statement"),
    "doctor": ("doctor", "doctor"),
    "backup": ("backup", "backup"),
    "erase": ("erase", "erase"),
    "job": ("job", "job"),
    "sandbox": ("sandbox", "sandbox"),
    "emulate": ("emulate", "emulate"),
    "listen": ("listen", "listen"),
    "trigger": ("trigger", "trigger"),
    "events": ("events", "events"),
    "webhook": ("webhook", "webhook"),
    "verify-signature": ("verify_signature", "verify_signature"),
    "docs": ("docs", "docs"),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        command = getattr(import_module(f"tidegate.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tidegate")
def main() -> None:
    """Hosted checkout and foreign-currency inflows that anyone can run.

    Start with `tidegate dev`: a sandbox with its own database and a seeded business.
    """
