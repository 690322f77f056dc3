"""`tidegate bank payout`: returns and refunds by the bank, approved by one person and named by another."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from tidegate.bank_file import payout as payouts
from tidegate.bank_file import payout_store
from tidegate.bank_file.payout_store import ProposedPayout
from tidegate.bank_file.record import rail_in
from tidegate.cli.console import as_json_option, fail, out, plain, print_record, show_table, speaks_plainly
from tidegate.cli.operator import limit_option, with_payment_deps, words
from tidegate.core.clock import Clock
from tidegate.infra.timestamp import to_iso
from tidegate.rail.deps import PaymentDeps

by_option = click.option("--by", required=True, metavar="NAME", help="Who does it; kept in the audit trail.")
_references = click.argument("references", nargs=-1, required=True, metavar="REFERENCE…")


@click.group()
def payout() -> None:
    """Payments to the bank: list, approve, export as pain.001."""


@payout.command(name="list")
@click.option("--all", "is_all", is_flag=True, help="Also those that have ended.")
@limit_option
@as_json_option
@speaks_plainly
def list_(is_all: bool, limit: int, as_json: bool) -> None:
    """List payments that have not ended, the oldest first."""

    async def run(deps: PaymentDeps, _: Clock) -> list[ProposedPayout]:
        async with deps.db.connection() as tx:
            return await payout_store.list_payouts(tx, is_open=not is_all, limit=limit)

    found = with_payment_deps(run)
    if as_json:
        print_record([_record(one) for one in found])
        return
    table = Table()
    for heading in ("Reference", "Amount", "To", "Status", "By"):
        table.add_column(heading, no_wrap=heading in ("Reference", "Amount"), overflow="fold")
    for one in found:
        to = f"{one.payee_name or 'not known'}\n{one.payee_account or 'tidegate bank payout amend says where'}"
        state = one.status + (f"\n{one.why}" if one.why else f"\n{one.bank_status}" if one.bank_status else "")
        people = f"{one.proposed_by}\n{one.approved_by or ''}"
        table.add_row(one.reference, str(one.amount), plain(to), plain(state), plain(people))
    show_table(table, "[green]✓[/] No payment is under way.")


@payout.command()
@_references
@by_option
@speaks_plainly
def approve(references: tuple[str, ...], by: str) -> None:
    """Approve payments. The person who said where one goes may not approve it."""
    name = words("--by", by)

    async def run(deps: PaymentDeps, clock: Clock) -> list[ProposedPayout]:
        return [await payouts.approve(deps.db, one, by=name, now=clock.now()) for one in references]

    for one in with_payment_deps(run):
        out.print(f"[green]✓[/] {one.reference}: {one.amount} to {plain(one.payee_name or '')} approved.")


@payout.command()
@click.argument("reference")
@click.option("--name", required=True, help="Of the recipient.")
@click.option("--account", required=True, help="The IBAN or number.")
@click.option("--bank", help="The BIC or the national code of the bank.")
@by_option
@speaks_plainly
def amend(reference: str, name: str, account: str, bank: str | None, by: str) -> None:
    """Say where a payment goes, when the bank did not report the payer. Another person must approve it."""
    who, recipient = words("--by", by), words("--name", name)

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        await payouts.amend(deps.db, reference, name=recipient, account=account, bank=bank, by=who, now=clock.now())

    with_payment_deps(run)
    out.print(f"[green]✓[/] {reference} goes to {plain(recipient)}; another person than {plain(who)} must approve it.")


@payout.command()
@click.argument("reference")
@click.option("--why", required=True, help="The reason; the return or refund fails with it.")
@by_option
@speaks_plainly
def refuse(reference: str, why: str, by: str) -> None:
    """Refuse a payment that was not exported: the return or refund fails."""
    who, reason = words("--by", by), words("--why", why)

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        await payouts.refuse(deps, reference, why=reason, by=who, now=clock.now())

    with_payment_deps(run)
    out.print(f"[green]✓[/] {reference} is refused.")


@payout.command()
@by_option
@speaks_plainly
def export(by: str) -> None:
    """Write approved payments as pain.001 into the folder out/, a file for each account."""
    who = words("--by", by)
    written: list[tuple[Path, int]] = []

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        rail = rail_in(deps)
        if rail is None:
            fail("The rail bankfiles is not configured: TIDEGATE_RAILS must name it, in live mode.")
        await payouts.export(
            deps, rail.settings, by=who, now=clock.now(), on_written=lambda path, count: written.append((path, count))
        )

    with_payment_deps(run)
    for path, count in written:
        out.print(f"[green]✓[/] {plain(str(path))}: {count} {'payment' if count == 1 else 'payments'}.", soft_wrap=True)
    if not written:
        out.print("Nothing is approved.")


def _record(one: ProposedPayout) -> dict[str, object]:
    return {
        "reference": one.reference,
        "businessId": one.business_id,
        "kind": one.kind,
        "amount": one.amount.major,
        "currency": one.amount.currency,
        "payeeName": one.payee_name,
        "payeeAccount": one.payee_account,
        "payeeBank": one.payee_bank,
        "status": one.status,
        "bankStatus": one.bank_status,
        "why": one.why,
        "proposedBy": one.proposed_by,
        "proposedAt": to_iso(one.proposed_at),
        "approvedBy": one.approved_by,
        "file": one.export_id,
    }
