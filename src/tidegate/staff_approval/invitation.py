"""The link of an invitation that was approved, for where no mail is sent. It is printed on the machine of the server
alone: in the console an approver could choose the password of another person with it, and be two people.
"""

from __future__ import annotations

from tidegate.approval import store as approvals
from tidegate.approval.model import ApprovalRequest
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict, NotFound
from tidegate.infra.db import Tx
from tidegate.infra.same_transaction import nothing_else
from tidegate.member import store as people
from tidegate.member import team_store
from tidegate.member.model import INVITATION_LASTS
from tidegate.staff_approval.model import StaffApprovalDeps, StaffCommandRun
from tidegate.staff_approval.table import STAFF_COMMANDS


async def print_link(deps: StaffApprovalDeps, email: str, *, by: Actor) -> str:
    """A new one, which works as long as the first would have."""
    now = deps.clock.now()
    async with deps.db.transaction() as tx:
        found = await _approved(tx, email)
        if found.decided_at is None or found.decided_at + INVITATION_LASTS <= now:
            raise Conflict(f"the invitation of {email} was approved more than three days ago; propose it anew")
        await _refuse_known(tx, found)
        await audit.insert(
            tx, found.business_id, by, action="team.invitation_printed", subject=email, details={"approval": found.id},
            now=now,
        )  # fmt: skip
    run = StaffCommandRun(
        deps, found.business_id, found.subject, found.reason, found.asked_at, Actor(f"staff/{found.asked_by}"), by, now,
        nothing_else,
    )  # fmt: skip
    link = STAFF_COMMANDS[found.command].link
    assert link is not None
    return await link(run)


async def _approved(tx: Tx, email: str) -> ApprovalRequest:
    commands = [name for name, command in STAFF_COMMANDS.items() if command.link is not None]
    found = await approvals.find_last_approved(tx, commands, email)
    if found is None:
        raise NotFound(f"no invitation of {email} was approved; `tidegate approval list` shows what waits")
    return found


async def _refuse_known(tx: Tx, found: ApprovalRequest) -> None:
    """Who has a password signs in, or has it reset by mail."""
    person = await people.find_by_email(tx, found.subject)
    team = await team_store.list_team(tx, found.business_id)
    is_of_staff = STAFF_COMMANDS[found.command].is_of_platform
    if person is not None and person[0].has_password and is_of_staff:
        raise Conflict(f"{found.subject} has chosen a password already")
    if found.subject in {one.member.email for one in team}:
        raise Conflict(f"{found.subject} has joined already")
