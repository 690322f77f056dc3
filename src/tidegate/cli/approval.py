"""`tidegate approval`: what waits for a second person of the staff."""

from __future__ import annotations

import click
import msgspec
from rich.table import Table

from tidegate.approval import store
from tidegate.approval.four_eyes import decided_words
from tidegate.approval.model import ApprovalRequest
from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, fail, out, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import SHOWN_MAX, limit_option
from tidegate.cli.proposal import actor_of, proven, with_staff_approval_deps
from tidegate.core.errors import Conflict, NotFound
from tidegate.infra.timestamp import to_iso
from tidegate.member.model import email_in
from tidegate.staff.permission import StaffPermission, is_granted
from tidegate.staff_approval import commands
from tidegate.staff_approval.invitation import print_link
from tidegate.staff_approval.model import StaffApprovalDeps
from tidegate.staff_approval.proposals import DescribedProposal, describe_all

_number = click.argument("number", type=click.IntRange(1, 2**63 - 1))
_by = click.option("--by", metavar="EMAIL", required=True, help="One of the staff, asked for the password or a code.")


@click.group()
def approval() -> None:
    """Proposals that wait for a second staff member: what lets money out or widens rights."""


@approval.command(name="list")
@limit_option
@as_json_option
@reports_errors
def list_(limit: int, as_json: bool) -> None:
    """List open proposals, the oldest first."""

    async def run(deps: StaffApprovalDeps) -> list[DescribedProposal]:
        async with deps.db.connection() as tx:
            found = await store.list_of_staff(tx, is_open=True, limit=limit)
            waiting = [one for one in found if one.is_open(deps.clock.now())]
            return [one for one in await describe_all(deps, tx, waiting) if not one.is_void]

    found = with_staff_approval_deps(run)
    if as_json:
        print_json([_to_json(one) for one in found])
        return
    table = Table("Number", "What", "Of", "Why", "By", "Until")
    for one in found:
        request = one.request
        table.add_row(
            str(request.id), plain(_words(one)), plain(request.subject), plain(request.reason),
            plain(request.asked_by_name), f"{request.expires_at:%Y-%m-%d %H:%M} UTC",
        )  # fmt: skip
    show_table(table, "[green]✓[/] Nothing waits for a second person.")


def _words(one: DescribedProposal) -> str:
    """As the console shows it: what, for which merchant, and each fact."""
    facts = [f"{fact.label}: {f'{fact.before} → ' if fact.before else ''}{fact.value}" for fact in one.facts]
    return "\n".join([f"{one.words} · {one.merchant}" if one.merchant else one.words, *facts])


def _to_json(described: DescribedProposal) -> dict[str, object]:
    one = described.request
    return {
        "number": one.id,
        "command": one.command,
        "subject": one.subject,
        "businessId": one.business_id,
        "merchant": described.merchant,
        "words": described.words,
        "facts": [
            {"label": fact.label, "before": str(fact.before) if fact.before else None, "value": str(fact.value)}
            for fact in described.facts
        ],
        "arguments": msgspec.json.decode(one.arguments),
        "why": one.reason,
        "proposedBy": one.asked_by_name,
        "proposedAt": to_iso(one.asked_at),
        "expiresAt": to_iso(one.expires_at),
    }


@approval.command()
@_number
@_by
@reports_errors
def approve(number: int, by: str) -> None:
    """Approve and carry out what another person proposed."""

    async def run(deps: StaffApprovalDeps) -> tuple[ApprovalRequest, bool]:
        found = await _open(deps, number)
        async with deps.db.connection() as tx:
            [described] = await describe_all(deps, tx, [found])
        out.print(f"{plain(_words(described))}\n{plain(found.subject)}: {plain(found.reason)}", soft_wrap=True)
        person = await proven(deps, by, StaffPermission.APPROVE)
        by_whom = actor_of(person)
        done = await commands.approve(deps, found.business_id, number, person_id=person.member.id, by=by_whom)
        return done, commands.waits_for_its_link(deps, done.command)

    done, waits = with_staff_approval_deps(run)
    out.print(f"[green]✓[/] approved and done; proposed by {plain(done.asked_by_name)}.")
    if waits:
        out.print(f"No mail is sent here: `tidegate approval link {plain(done.subject)}` prints the link.")


@approval.command()
@click.argument("email")
@reports_errors
def link(email: str) -> None:
    """Print the link of an invitation that was approved, for where no mail is sent. It works once."""
    click.echo(with_staff_approval_deps(lambda deps: print_link(deps, email_in(email), by=OPERATOR)))


@approval.command()
@_number
@_by
@reports_errors
def decline(number: int, by: str) -> None:
    """Decline a proposal, or take back your own. Nothing is carried out."""

    async def run(deps: StaffApprovalDeps) -> bool:
        found = await _open(deps, number)
        person = await proven(deps, by, StaffPermission.SEE)
        if found.asked_by != person.member.id and not is_granted(person.role, StaffPermission.APPROVE):
            fail("Only an approver can decline what another person proposed.")
        return await commands.decline(
            deps.db, found.business_id, number, person_id=person.member.id, by=actor_of(person), now=deps.clock.now()
        )

    is_own = with_staff_approval_deps(run)
    out.print(f"[green]✓[/] {'taken back' if is_own else 'declined'}; nothing was done.")


async def _open(deps: StaffApprovalDeps, number: int) -> ApprovalRequest:
    async with deps.db.connection() as tx:
        waiting = await store.list_of_staff(tx, is_open=True, limit=SHOWN_MAX)
        decided = await store.list_of_staff(tx, is_open=False, limit=SHOWN_MAX)
    for one in waiting:
        if one.id == number:
            return one
    for one in decided:
        if one.id == number:
            raise Conflict(decided_words(one))
    raise NotFound(f"no open proposal has the number {number}; `tidegate approval list` shows them")
