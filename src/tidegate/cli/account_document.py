"""`tidegate account document`: documents about the holder of an account, encrypted."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import click
from rich.table import Table

from tidegate import settings as settings_module
from tidegate.account import commands, document, document_store
from tidegate.account.document_store import StoredDocument
from tidegate.audit.model import OPERATOR
from tidegate.cli.console import out, plain, reports_errors, show_table
from tidegate.cli.merchant_webhooks import webhook_deps_of
from tidegate.cli.operator import with_payment_deps
from tidegate.core.clock import Clock
from tidegate.infra.db import Database
from tidegate.infra.vault import Vault
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps

_account = click.argument("account_id", metavar="ACCOUNT")


@click.group(name="document")
def documents() -> None:
    """Documents about the holder of an account: kept encrypted, opened after saying why."""


@documents.command(name="list")
@_account
@reports_errors
def list_(account_id: str) -> None:
    """List the documents of an account; their contents stay closed."""

    async def run(deps: PaymentDeps, _: Clock) -> list[StoredDocument]:
        account = await commands.get_unscoped(deps.db, account_id)
        async with deps.db.connection() as tx:
            return await document_store.list_of(tx, account.business_id, account.id)

    table = Table("Document", "Name", "Type")
    for one in with_payment_deps(run):
        table.add_row(str(one.id), plain(one.name), one.media_type)
    show_table(table, "No documents.")


@documents.command()
@_account
@click.argument("file", type=click.File("rb"))
@click.option("--name", required=True, help="Such as passport.")
@reports_errors
def add(account_id: str, file: BinaryIO, name: str) -> None:
    """Add a PDF, PNG or JPEG of at most 5 MB."""
    body = file.read(document.BYTES_MAX + 1)

    async def run(deps: PaymentDeps, clock: Clock) -> int:
        account = await commands.get_unscoped(deps.db, account_id)
        async with deps.db.transaction() as tx:
            return await document.add(tx, _vault(deps.db), account, name=name, body=body, by=OPERATOR, now=clock.now())

    out.print(f"[green]✓[/] document {with_payment_deps(run)}")


@documents.command(name="open")
@_account
@click.argument("number", type=click.IntRange(1, 2**63 - 1), metavar="DOCUMENT")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--why", required=True, metavar="TEXT", help="Kept in the audit trail, which the merchant reads.")
@reports_errors
def open_(account_id: str, number: int, path: Path, why: str) -> None:
    """Write a document to FILE, after saying why."""
    said = remark_in("why", why)

    async def run(deps: PaymentDeps, clock: Clock) -> bytes:
        account = await commands.get_unscoped(deps.db, account_id)
        async with deps.db.transaction() as tx:
            found = await document.open_with_reason(
                tx, _vault(deps.db), account, number, why=said, by=OPERATOR, now=clock.now()
            )
        return found[1]

    path.write_bytes(with_payment_deps(run))
    out.print(f"[green]✓[/] {plain(str(path))}", soft_wrap=True)


def _vault(db: Database) -> Vault:
    return webhook_deps_of(settings_module.from_environment(), db).vault
