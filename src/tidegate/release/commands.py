"""Propose, approve, decline. An approval and its effect are one transaction: killed in the middle, neither happened."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.approval import store as approvals
from tidegate.approval.four_eyes import NO_APPROVAL, open_request
from tidegate.approval.model import LASTS, ApprovalRequest, Proposal
from tidegate.audit import store as audit
from tidegate.audit.model import OPERATOR, Actor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem
from tidegate.core.ids import Mode
from tidegate.infra.db import Database, Tx
from tidegate.member.realm import CONSOLE
from tidegate.release import store
from tidegate.release.arguments import NoArguments
from tidegate.release.table import RELEASES, ReleaseDeps, ReleaseRun, business_for

WHY_CHARS_MAX = 300
CHANGED = "it has changed since this page was drawn; look again and decide anew"
NOTHING = NoArguments()


async def version_of(tx: Tx, command: str, business_id: str, subject: str) -> int:
    found = await RELEASES[command].version(tx, business_for(command, business_id), subject)
    if found is None:
        raise NotFound("there is no such thing to decide about")
    return found


async def propose(tx: Tx, proposal: Proposal, *, by: Actor, now: datetime) -> int:
    """Bound to the version that was looked at."""
    if not 0 < len(proposal.why.strip()) <= WHY_CHARS_MAX:
        raise Invalid(Problem("why", f"Say why in at most {WHY_CHARS_MAX} characters; it is kept for ever."))
    if await version_of(tx, proposal.command, proposal.business_id, proposal.subject) != proposal.version:
        raise ChangedElsewhere(CHANGED)
    try:
        approval_id = await approvals.insert(tx, proposal, now=now, expires_at=now + LASTS)
    except approvals.AlreadyProposed:
        raise Conflict("this is proposed already, and waits for an approver") from None
    await audit.insert(
        tx, proposal.business_id, by, action=f"{proposal.command}.proposed", subject=proposal.subject,
        details={"approval": approval_id, "why": proposal.why}, now=now,
    )  # fmt: skip
    return approval_id


def proposal_of(
    command: str, business_id: str, subject: str, version: int, *, why: str, asked_by: str | None,
    arguments: msgspec.Struct = NOTHING,
) -> Proposal:  # fmt: skip
    return Proposal(
        business_id=business_for(command, business_id), realm=CONSOLE, command=command, subject=subject,
        version=version, arguments=arguments, why=" ".join(why.split()), asked_by=asked_by,
    )  # fmt: skip


async def approve(
    deps: ReleaseDeps, business_id: str, approval_id: int, *, person_id: str, by: Actor
) -> ApprovalRequest:
    """Runs once. Void once its subject has changed. Audited with both names."""
    db = deps.payment.db
    async with db.transaction() as tx:
        found = await open_request(tx, business_id, approval_id, CONSOLE, by=person_id, now=deps.clock.now())
    release = RELEASES[found.command]
    now = deps.clock.now_of(business_id)
    arguments = msgspec.json.decode(found.arguments, type=release.arguments)

    async def decide(tx: Tx) -> None:
        locked = await open_request(tx, business_id, approval_id, CONSOLE, by=person_id, now=deps.clock.now())
        if await version_of(tx, locked.command, business_id, locked.subject) != locked.subject_version:
            raise Conflict("it has changed since this was proposed; decline it, look again and propose anew")
        await approvals.decide(
            tx, locked, status="approved", by=person_id, outcome=locked.subject, now=deps.clock.now()
        )
        await audit.insert(
            tx, business_id, by, action=f"{locked.command}.approved", subject=locked.subject,
            details={"approval": approval_id, "proposedBy": _who(locked.asked_by), "why": locked.why}, now=now,
        )  # fmt: skip

    await release.run(ReleaseRun(deps, found, by, now, decide), arguments)
    return found


async def decline(
    db: Database, business_id: str, approval_id: int, *, person_id: str, by: Actor, now: datetime
) -> None:
    """By an approver, or taken back by the one who proposed it."""
    async with db.transaction() as tx:
        found = await approvals.lock(tx, business_id, approval_id, CONSOLE)
        if found is None or found.status != "open":
            raise NotFound(NO_APPROVAL)
        await approvals.decide(tx, found, status="declined", by=person_id, outcome=None, now=now)
        await audit.insert(
            tx, business_id, by, action=f"{found.command}.declined", subject=found.subject,
            details={"approval": approval_id, "proposedBy": _who(found.asked_by)}, now=now,
        )  # fmt: skip


def _who(person_id: str | None) -> str:
    return f"staff/{person_id}" if person_id else OPERATOR.actor


async def must_propose(db: Database, mode: Mode) -> bool:
    """Whether the command line proposes: in live mode, once there is an approver. A sandbox has no real money."""
    if mode is Mode.SANDBOX:
        return False
    async with db.connection() as tx:
        return await store.count_approvers(tx) > 0


async def propose_from_command_line(
    db: Database, command: str, business_id: str, subject: str, *, why: str, now: datetime,
    arguments: msgspec.Struct = NOTHING,
) -> int:  # fmt: skip
    async with db.transaction() as tx:
        version = await version_of(tx, command, business_id, subject)
        proposal = proposal_of(command, business_id, subject, version, why=why, asked_by=None, arguments=arguments)
        return await propose(tx, proposal, by=OPERATOR, now=now)
