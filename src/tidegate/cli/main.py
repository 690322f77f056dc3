"""The list of commands. Each is imported on use: `tidegate --help` loads none of them."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword

import click

from tidegate import __version__

# In the order of the help: what each is for, and the module that has it.
_SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "dev": ("the whole sandbox: database, API, worker, a business", "run"),
        "env": ("the sandbox's address, keys and accounts, for a shell", "env"),
        "docs": ("write the documentation as files", "docs"),
    },
    "Integrate, in the sandbox": {
        "listen": ("forward events to your server, and show each", "listen"),
        "trigger": ("make an event happen", "trigger"),
        "verify-signature": ("verify a webhook, and say what is wrong", "verify_signature"),
        "sandbox": ("fill the sandbox with a month of trade", "sandbox"),
        "emulate": ("a rail's emulator, to try live mode without the rail", "emulate"),
    },
    "Run it": {
        "init": ("write a complete environment file for live mode", "init"),
        "migrate": ("bring the database up to date", "run"),
        "serve": ("run the API", "serve"),
        "worker": ("run the background work", "worker"),
        "doctor": ("check settings, database and every cent", "doctor"),
        "backup": ("check that a backup can be restored", "backup"),
        "reencrypt": ("re-encrypt stored secrets with a new key", "reencrypt"),
        "alarm": ("open alarms: what needs a person now", "alarm"),
        "audit": ("who did what: list, verify, export", "audit"),
        "job": ("background work that failed", "job"),
        "erase": ("erase a payer's personal data", "erase"),
    },
    "Merchants and people": {
        "merchant": ("businesses, their settings and keys", "merchant"),
        "dashboard": ("people and links of the merchant's dashboard", "dashboard"),
        "console": ("a link into the operator's console", "staff"),
        "staff": ("people of the operator's console", "staff"),
        "approval": ("what waits for a second person", "approval"),
        "webhook": ("webhook endpoints and their secrets", "webhook"),
        "events": ("webhook deliveries: list, show, resend, replay", "events"),
    },
    "Money": {
        "payment": ("find checkout payments, look at one", "payment"),
        "link": ("payment links", "link"),
        "refund": ("refunds of payments and inflows", "refund"),
        "account": ("virtual accounts: approve, decline, suspend, close", "account"),
        "inflow": ("inflows held for review: credit or return", "inflow"),
        "suspense": ("money without an owner: assign, return, close", "suspense"),
        "quarantine": ("notifications in which a rail contradicts itself", "quarantine"),
        "return": ("money on its way back to payers", "money_return"),
        "dispute": ("payments that payers dispute with their bank", "dispute"),
        "rail": ("rails: pause and resume", "rail"),
        "wallet": ("balances", "wallet"),
        "statement": ("a wallet's statement", "statement"),
        "rate": ("exchange rates", "rate"),
        "bank": ("a bank's files: import, gaps, payments to upload", "bank"),
        "reconcile": ("compare a rail's statement with our books", "reconcile"),
    },
}
COMMANDS = {name: module for section in _SECTIONS.values() for name, (_, module) in section.items()}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name.replace("-", "_")
        command = getattr(import_module(f"tidegate.cli.{COMMANDS[cmd_name]}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), purpose) for name, (purpose, _) in commands.items()])


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tidegate")
def main() -> None:
    """Hosted checkout and foreign-currency inflows that anyone can run.

    Start with `tidegate dev`: a sandbox with its own database and a seeded business. `tidegate COMMAND --help` tells
    more.
    """
