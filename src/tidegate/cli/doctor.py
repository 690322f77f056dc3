"""`tidegate doctor`: checks the settings, the database and the invariants."""

from __future__ import annotations

from itertools import groupby

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, out, plain, print_json, reports_errors, show_table
from tidegate.cli.database import known_encryption_keys, run_on_database
from tidegate.cli.merchant_webhooks import running_settings
from tidegate.core.clock import SystemClock
from tidegate.core.finding import Finding
from tidegate.core.money import Currency, Money
from tidegate.doctor.cluster import examine_nodes
from tidegate.doctor.commands import examine, examine_audit_trail, examine_books, examine_rails
from tidegate.doctor.installation import examine_installation
from tidegate.infra.db import Database
from tidegate.infra.vault import Vault
from tidegate.ledger.books import BooksSum
from tidegate.settings import Settings


@click.command()
@click.option(
    "--books", "with_books", is_flag=True, help="Also verify the ledger and the audit trail, and print a trial balance."
)
@click.option(
    "--deep", "is_deep", is_flag=True, help="Also check the public address, the server, standbys, archive and mail."
)
@as_json_option
@reports_errors
def doctor(with_books: bool, is_deep: bool, as_json: bool) -> None:
    """Check the settings, the database and the invariants. Exits with 1 when something is wrong."""
    settings = running_settings()
    # A lost key is a finding; a generated one would hide it.
    vault = Vault(known_encryption_keys(settings))

    async def run(db: Database) -> tuple[list[Finding], list[BooksSum] | None]:
        unreachable = await _unreachable_nodes(db)
        return (unreachable, None) if unreachable else await _examined(db, settings, vault, with_books, is_deep)

    findings, sums = run_on_database(settings, run)
    if as_json:
        print_json(_to_json(findings, sums, with_books))
    else:
        for finding in findings:
            show_finding(finding)
        if sums is not None:
            show_table(_trial_balance(sums), "Nothing is booked yet.")
        elif with_books:
            out.print("The books could not be read.")
    if not all(finding.is_well for finding in findings):
        raise SystemExit(1)


async def _examined(
    db: Database, settings: Settings, vault: Vault, with_books: bool, is_deep: bool
) -> tuple[list[Finding], list[BooksSum] | None]:
    """The sums of the books: None where they were not asked for."""
    now = SystemClock().now()
    findings = [finding async for finding in examine(db, settings, vault, now=now)]
    findings += await examine_rails(db, settings, now=now)
    if is_deep:
        findings += [finding async for finding in examine_installation(db, settings, now=now)]
    if not with_books:
        return findings, None
    of_books, sums = await examine_books(db, now=now)
    return [*findings, *of_books, await examine_audit_trail(db, now=now)], sums


async def _unreachable_nodes(db: Database) -> list[Finding]:
    """With a node down, most of the other questions have no answer."""
    if not db.is_cluster:
        return []
    async with db.connection() as tx:
        nodes = await examine_nodes(tx)
    return [] if nodes.is_well else [nodes]


def _to_json(findings: list[Finding], sums: list[BooksSum] | None, with_books: bool) -> object:
    listed = [finding.to_json() for finding in findings]
    if not with_books:
        return listed
    if sums is None:
        return {"findings": listed, "trialBalance": None}
    balance = [{"currency": s.currency, "account": s.account, "amountMinor": s.minor} for s in sums]
    return {"findings": listed, "trialBalance": balance}


def show_finding(finding: Finding) -> None:
    mark = "[green]✓[/]" if finding.is_well else "[bold red]✗[/]"
    out.print(f"{mark} [bold]{finding.subject:<20}[/] {plain(finding.what)}")
    if not finding.is_well:
        out.print(f"  {'':<20} [yellow]→ {finding.advice}[/]")


def _trial_balance(sums: list[BooksSum]) -> Table:
    table = Table("Currency", "Account", title="Trial balance", title_justify="left")
    table.add_column("Debit", justify="right")
    table.add_column("Credit", justify="right")
    for currency, of_currency in groupby(sums, key=lambda s: s.currency):
        lines = list(of_currency)
        for line in lines:
            debit, credit = _amount(-line.minor, currency), _amount(line.minor, currency)
            table.add_row(currency, line.account, debit if line.minor < 0 else "", credit if line.minor >= 0 else "")
        debits, credits_ = (sum(max(sign * line.minor, 0) for line in lines) for sign in (-1, 1))
        style = "bold" if debits == credits_ else "bold red"
        table.add_row(currency, "all", _amount(debits, currency), _amount(credits_, currency), style=style)
        table.add_section()
    return table


def _amount(minor: int, currency: str) -> str:
    """Minor units for an unknown currency: the doctor must be able to show corrupt rows."""
    return str(Money(minor, Currency(currency))) if currency in Currency.__members__ else f"{minor} minor"
