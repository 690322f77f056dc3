"""`tidegate wallet`: the balances of a business."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate import settings as settings_module
from tidegate.cli.console import as_json_option, print_record, reports_errors, show_table
from tidegate.cli.database import run_on_database
from tidegate.core.money import Money
from tidegate.infra.db import Database
from tidegate.infra.timestamp import to_iso
from tidegate.merchant import commands as merchants
from tidegate.merchant.model import Business
from tidegate.wallet import commands, wire
from tidegate.wallet.model import Holding
from tidegate.wallet.statement import figure


@click.group()
def wallet() -> None:
    """Wallets of businesses. `tidegate statement` shows their movements."""


@wallet.command(name="list")
@click.argument("business_id", metavar="BUSINESS")
@as_json_option
@reports_errors
def list_(business_id: str, as_json: bool) -> None:
    """Show the balances of a business, one wallet per currency."""

    async def run(db: Database) -> tuple[Business, list[Holding]]:
        return await merchants.get(db, business_id), await commands.list_holdings(db, business_id)

    business, holdings = run_on_database(settings_module.from_environment(), run)
    if as_json:
        print_record([wire.wallet_record(holding, business) for holding in holdings])
        return
    table = Table()
    table.add_column("Wallet", no_wrap=True)
    table.add_column("Currency")
    for heading in ("Available", "Locked", "Total", "Held for review"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Changed")
    for holding in holdings:
        held = holding.wallet
        amounts: tuple[Money, ...] = (held.balance, held.locked, held.balance + held.locked, holding.pending)
        figures = [figure(amount) for amount in amounts]
        table.add_row(str(held.number), held.balance.currency, *figures, to_iso(held.updated_at))
    show_table(table, "No wallet yet: the first money received in a currency creates one.")
