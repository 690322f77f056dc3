"""`tidegate erase`: a payer's personal data goes, on request; the books stay."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, fail, out, print_json, reports_errors, show_table
from tidegate.cli.operator import any_business_option, with_payment_deps
from tidegate.core.clock import Clock
from tidegate.merchant import commands as merchants
from tidegate.rail.deps import PaymentDeps
from tidegate.retention import erase as erasing
from tidegate.retention.erase import Eraser, FoundData, PayerIdentity

_WORDS = {
    "payments": "payments, with attempts, receipts, refunds and events",
    "inflows": "inflows sent from the payer's bank accounts, or that name the payer",
    "accounts": "virtual accounts that the payer holds, with what was asked about the holder",
    "notifications": "notifications of rails",
    "answers": "answers kept under an Idempotency-Key",
}
_LEFT = {
    "open": "still open: a session, refund, return, dispute or review, money in suspense, an account not closed",
    "undelivered": "with an event that is still being sent to the merchant",
    "disputed": "notifications in suspense or quarantine, to be settled with the rail first",
}


@click.command()
@click.option(
    "--email", "emails", multiple=True, metavar="ADDRESS", help="E-mail address of the payer; repeat for several."
)
@click.option(
    "--phone",
    "phones",
    multiple=True,
    metavar="NUMBER",
    help="Phone number of the payer, as it was given; repeat for several.",
)
@any_business_option
@click.option("--yes", "is_sure", is_flag=True, help="Erase; without it the command only shows what it would erase.")
@as_json_option
@reports_errors
def erase(
    emails: tuple[str, ...], phones: tuple[str, ...], business_id: str | None, is_sure: bool, as_json: bool
) -> None:
    """Erase a payer's personal data. Only shows what it would erase without --yes.

    Amounts, references and the books stay. What is still needed is left; run the command again later.
    """
    try:
        who = PayerIdentity.parse(emails, phones)
    except ValueError as error:
        fail(f"{error}.")

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[FoundData, dict[str, int]]:
        if business_id is not None:
            await merchants.get(deps.db, business_id)
        found = await erasing.find(deps.db, who, business_id)
        return found, await Eraser(deps.db, clock, who).erase(found) if is_sure else found.counts()

    found, counts = with_payment_deps(run)
    left = {why: found.block_reasons.count(why) for why in _LEFT}
    if as_json:
        print_json({**counts, "left": left, "erased": is_sure})
        return
    _show(counts, left, is_sure=is_sure)


def _show(counts: dict[str, int], left: dict[str, int], *, is_sure: bool) -> None:
    table = Table("Erased" if is_sure else "To erase", "")
    for kind, words in _WORDS.items():
        table.add_row(f"{counts[kind]:,}", words)
    show_table(table)
    for why, count in left.items():
        if count:
            out.print(f"[yellow]{count:,} left:[/] {_LEFT[why]}. Run this again later.", soft_wrap=True)
    if is_sure:
        out.print("[green]✓[/] Done; the audit trail has the counts.")
    else:
        out.print("Nothing has been erased. Add --yes to erase; it cannot be undone.")
