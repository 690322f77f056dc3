"""`tidegate emulate`: the services behind the rails, as programs on this machine."""

from __future__ import annotations

import asyncio
import signal

import click

from tidegate.cli.console import out, speaks_plainly
from tidegate.emulator.paystack import server
from tidegate.emulator.paystack.model import EmulatedAccount

TEST_KEY = "sk_test_emulated0000000000"


@click.group()
def emulate() -> None:
    """Emulate a service behind a rail, to try live mode without money."""


@emulate.command()
@click.option("--port", default=9301, show_default=True, help="Of its API.")
@click.option("--page-port", default=9302, show_default=True, help="Of the page to pay on; / shows all payments.")
@click.option("--control-port", default=9303, show_default=True, help="Of the controls: clock, faults, payers.")
@click.option("--key", default=TEST_KEY, show_default=True, help="The secret key that it accepts.")
@click.option("--webhook-url", metavar="URL", help="Where it sends notifications: <base URL>/intake/paystack.")
@speaks_plainly
def paystack(port: int, page_port: int, control_port: int, key: str, webhook_url: str | None) -> None:
    """Emulate Paystack, until stopped. No money moves, and nothing is kept."""

    async def run() -> None:
        stopped = asyncio.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, stopped.set)
        account = EmulatedAccount(key, webhook_url)
        async with server.running(account, port=port, page_port=page_port, control_port=control_port) as emulated:
            out.print(f"Paystack's API     {emulated.api_url}\nIts page to pay on {emulated.page_url}")
            out.print(f"Control            {emulated.control_url}")
            await stopped.wait()

    asyncio.run(run())
