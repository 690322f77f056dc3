"""`tidegate erase`: a payer's personal data goes, on request; the books stay."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, fail, out, print_json, reports_errors, show_table
from tidegate.cli.operator import any_business_option, operator_named
from tidegate.cli.proposal import actor_of, by_option, proven, report, why_option, with_staff_approval_deps
from tidegate.merchant import commands as merchants
from tidegate.retention import erase as erasing
from tidegate.retention import erasure
from tidegate.retention.erase import KINDS, LEFT, Eraser, FoundData, PayerIdentity
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands, erasure_proposal
from tidegate.staff_approval.commands import Proposed
from tidegate.staff_approval.model import StaffApprovalDeps


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
@why_option
@by_option
@as_json_option
@reports_errors
def erase(
    *, emails: tuple[str, ...], phones: tuple[str, ...], business_id: str | None, is_sure: bool, why: str | None,
    by: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Erase a payer's personal data. Only shows what it would erase without --yes; in live mode --yes proposes it, and
    the worker erases once another person has approved.

    Amounts, references and the books stay. What is still needed is left; run the command again later.
    """
    try:
        who = PayerIdentity.parse(emails, phones)
    except ValueError as error:
        fail(f"{error}.")

    async def run(deps: StaffApprovalDeps) -> tuple[FoundData, dict[str, int]] | Proposed:
        if business_id is not None:
            await merchants.get(deps.db, business_id)
        if is_sure and not await commands.acts_at_once(deps, erasure.COMMAND):
            return await _propose(deps, who, business_id, why, by)
        found = await erasing.find(deps.db, who, business_id)
        eraser = Eraser(deps.db, deps.clock, who, by=operator_named(by))
        return found, await eraser.erase(found) if is_sure else found.counts()

    done = with_staff_approval_deps(run)
    if isinstance(done, Proposed):
        report(done, as_json, {})
        return
    found, counts = done
    left = erasure.left_of(found)
    if as_json:
        print_json({**counts, "left": left, "erased": is_sure})
        return
    _show(counts, left, is_sure=is_sure)


async def _propose(
    deps: StaffApprovalDeps, who: PayerIdentity, business_id: str | None, why: str | None, by: str | None
) -> Proposed:
    if not why:
        fail("Give the reason with --why; the approver reads it.")
    person = await proven(deps, by, StaffPermission.PROPOSE)
    async with deps.db.transaction() as tx:
        number = await erasure_proposal.propose(
            deps, tx, who, business_id, why=why, asked_by=person.member.id, by=actor_of(person), now=deps.clock.now()
        )
    return Proposed(number)


def _show(counts: dict[str, int], left: dict[str, int], *, is_sure: bool) -> None:
    table = Table("Erased" if is_sure else "To erase", "")
    for kind, words in KINDS.items():
        table.add_row(f"{counts[kind]:,}", words)
    show_table(table)
    for why, count in left.items():
        if count:
            out.print(f"[yellow]{count:,} left:[/] {LEFT[why]}. Run this again later.", soft_wrap=True)
    if is_sure:
        out.print("[green]✓[/] Done; the audit trail has the counts.")
    else:
        out.print("Nothing has been erased. Add --yes to erase; it cannot be undone.")
