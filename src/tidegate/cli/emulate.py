"""`tidegate emulate`: the services behind the rails, as programs on this machine."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import click
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from tidegate.cli.console import out, reports_errors
from tidegate.emulator.bank import server as bank_server
from tidegate.emulator.bank.service import BankService
from tidegate.emulator.pawapay import server as pawapay_server
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount
from tidegate.emulator.paystack import server as paystack_server
from tidegate.emulator.paystack.model import EmulatedAccount

TEST_KEY = "sk_test_emulated0000000000"
TEST_ACCESS = "emulated-pawapay-token"


class Emulated(Protocol):
    @property
    def api_url(self) -> str: ...
    @property
    def page_url(self) -> str: ...
    @property
    def control_url(self) -> str: ...


def _run(name: str, emulated: AbstractAsyncContextManager[Emulated]) -> None:
    async def run() -> None:
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        async with emulated as running:
            out.print(f"{name}'s API".ljust(19) + running.api_url)
            out.print(f"Its page to pay on {running.page_url}\nControl            {running.control_url}")
            await stopped.wait()

    asyncio.run(run())


@click.group()
def emulate() -> None:
    """Emulate a service behind a rail, to try live mode without money."""


@emulate.command()
@click.option("--port", default=9301, show_default=True, help="Port of the API.")
@click.option("--page-port", default=9302, show_default=True, help="Port of the page to pay on; / shows all payments.")
@click.option("--control-port", default=9303, show_default=True, help="Port of the controls: clock, faults, payers.")
@click.option("--key", default=TEST_KEY, show_default=True, help="Secret key that the API accepts.")
@click.option("--webhook-url", metavar="URL", help="Where notifications are sent: <base URL>/intake/paystack.")
@reports_errors
def paystack(port: int, page_port: int, control_port: int, key: str, webhook_url: str | None) -> None:
    """Emulate Paystack, until stopped. No money moves, and nothing is kept."""
    account = EmulatedAccount(key, webhook_url)
    _run("Paystack", paystack_server.running(account, port=port, page_port=page_port, control_port=control_port))


@emulate.command()
@click.option("--port", default=9311, show_default=True, help="Port of the API.")
@click.option("--page-port", default=9312, show_default=True, help="Port of the payers' phones, to approve on.")
@click.option("--control-port", default=9313, show_default=True, help="Port of the controls: clock, faults, operators.")
@click.option("--token", default=TEST_ACCESS, show_default=True, help="Token that the API accepts.")
@click.option("--callback-url", metavar="URL", help="Where callbacks are sent: <base URL>/intake/pawapay.")
@click.option("--merchant-key", metavar="FILE", help="Your public key in PEM: the API then takes signed requests only.")
@click.option(
    "--merchant-key-id",
    default="1",
    show_default=True,
    help="Id of that key: the value of TIDEGATE_PAWAPAY_SIGNING_KEY_ID.",
)
@reports_errors
def pawapay(
    *,
    port: int,
    page_port: int,
    control_port: int,
    token: str,
    callback_url: str | None,
    merchant_key: str | None,
    merchant_key_id: str,
) -> None:
    """Emulate pawaPay, until stopped. No money moves, and nothing is kept."""
    account = EmulatedPawapayAccount(token, callback_url)
    if merchant_key is not None:
        account.merchant_keys[merchant_key_id] = _public_key(merchant_key)
        account.signed_requests_only = True
    _run("pawaPay", pawapay_server.running(account, port=port, page_port=page_port, control_port=control_port))


@emulate.command()
@click.option(
    "--folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the files: the value of TIDEGATE_BANKFILES_DIR.",
)
@click.option(
    "--account",
    "accounts",
    multiple=True,
    required=True,
    metavar="NUMBER=CURRENCY",
    help="An account of the bank; may be repeated.",
)
@click.option("--page-port", default=9308, show_default=True, help="Port of the page to make transfers on.")
@click.option("--control-port", default=9309, show_default=True, help="Port of the controls.")
@click.option(
    "--version",
    default="8",
    show_default=True,
    type=click.Choice(["2", "3", "4", "8"]),
    help="Version of the camt files.",
)
@reports_errors
def bank(*, folder: Path, accounts: tuple[str, ...], page_port: int, control_port: int, version: str) -> None:
    """Emulate a bank of files, until stopped: transfers become camt.054 and camt.053 in FOLDER/in, and pain.001 in
    FOLDER/out is answered with pain.002 and debits.
    """
    known = dict(one.split("=", 1) for one in accounts if "=" in one)
    if len(known) != len(accounts):
        raise click.BadParameter("--account must be like DE89370400440532013000=EUR, each number once")
    service = BankService(folder, known, version=int(version))
    _run("Bank", bank_server.running(service, page_port=page_port, control_port=control_port))


def _public_key(path: str) -> ec.EllipticCurvePublicKey:
    try:
        key = load_pem_public_key(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{path} is not a public key in PEM: {error}") from None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise click.BadParameter(f"{path} is not an EC key; give an EC public key in PEM")
    return key
