"""Propose, approve, decline. An approval and its effect are one transaction: killed in the middle, neither happened."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.approval import store as approvals
from tidegate.approval.four_eyes import open_request, undecided
from tidegate.approval.model import LASTS, ApprovalRequest, Proposal
from tidegate.audit import store as audit
from tidegate.audit.model import OPERATOR, Actor
from tidegate.core.card_number import contains_card_number
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem
from tidegate.core.ids import Mode
from tidegate.infra.db import Database, Tx
from tidegate.infra.same_transaction import nothing_else
from tidegate.member.realm import CONSOLE
from tidegate.staff_approval import store
from tidegate.staff_approval.arguments import NoArguments
from tidegate.staff_approval.model import ProposalCheck, StaffApprovalDeps, StaffCommandRun
from tidegate.staff_approval.proposals import facts_to_keep
from tidegate.staff_approval.table import STAFF_COMMANDS, business_for

WHY_CHARS_MAX = 300
CHANGED = "it has changed since this page was drawn; look again and decide anew"
NOTHING = NoArguments()


def _gone(command: str, subject: str) -> str:
    return f"nothing is to be decided about {subject or command}: it does not exist, or was decided already"


async def version_of(tx: Tx, command: str, business_id: str, subject: str) -> int:
    found = await _version_now(tx, command, business_id, subject)
    if found is None:
        raise NotFound(_gone(command, subject))
    return found


async def _version_now(tx: Tx, command: str, business_id: str, subject: str) -> int | None:
    return await STAFF_COMMANDS[command].version(tx, business_for(command, business_id), subject)


async def checked(deps: StaffApprovalDeps, proposal: Proposal) -> Proposal:
    """Refused as the approval would be now. Its subject gets the one name that all proposals about it have."""
    command = STAFF_COMMANDS[proposal.command]
    async with deps.db.connection() as tx:
        subject = await command.name(tx, proposal.business_id, proposal.subject)
        named = msgspec.structs.replace(proposal, subject=subject)
        try:
            await command.check(ProposalCheck(tx, deps, named), named.arguments)
        except NotFound as missing:
            raise Conflict(missing.message) from None
        return msgspec.structs.replace(named, facts=await facts_to_keep(deps, tx, named))


async def propose(tx: Tx, proposal: Proposal, *, by: Actor, now: datetime) -> int:
    """Bound to the version that was looked at."""
    if not (why := proposal.reason.strip()):
        raise Invalid(Problem("why", "Say why; it is kept."))
    if len(why) > WHY_CHARS_MAX:
        raise Invalid(Problem("why", f"This has {len(why)} characters; shorten it to at most {WHY_CHARS_MAX}."))
    if contains_card_number(proposal.reason):
        raise Invalid(Problem("why", "This looks like a card number; never write card data here."))
    version = await _version_now(tx, proposal.command, proposal.business_id, proposal.subject)
    if version is None:
        raise Conflict(_gone(proposal.command, proposal.subject))
    if version != proposal.version:
        raise ChangedElsewhere(CHANGED)
    approval_id = await approvals.insert(tx, proposal, now=now, expires_at=now + LASTS)
    if approval_id is None:
        rival = await approvals.find_rival(tx, proposal)
        raise Conflict(_waits(rival) if rival else "another proposal about it was made at the same moment; look again")
    await audit.insert(
        tx, proposal.business_id, by, action=f"{proposal.command}.proposed", subject=proposal.subject,
        details={"approval": approval_id, **_remark(proposal.command, proposal.reason)}, now=now,
    )  # fmt: skip
    return approval_id


def _remark(command: str, why: str) -> dict[str, str]:
    """In the audit trail. A note can be erased with its payer: the chain leaves it out."""
    return {"note" if STAFF_COMMANDS[command].is_of_payer else "why": why}


def _waits(rival: ApprovalRequest) -> str:
    command = STAFF_COMMANDS[rival.command]
    words = command.words(msgspec.json.decode(rival.arguments, type=command.arguments))
    return (
        f"this is proposed already: {words}, by {rival.asked_by_name} on {rival.asked_at:%-d %b %Y, %H:%M} UTC. It "
        "waits for an approver, or is taken back first"
    )


def proposal_of(
    command: str, business_id: str, subject: str, version: int, *, why: str, asked_by: str,
    arguments: msgspec.Struct = NOTHING,
) -> Proposal:  # fmt: skip
    return Proposal(
        business_id=business_for(command, business_id), realm=CONSOLE, command=command,
        topic=STAFF_COMMANDS[command].topic or command, subject=subject, version=version,
        arguments=arguments, reason=" ".join(why.split()), asked_by=asked_by,
    )  # fmt: skip


async def approve(
    deps: StaffApprovalDeps, business_id: str, approval_id: int, *, person_id: str, by: Actor
) -> ApprovalRequest:
    """Runs once. Void once its subject has changed. Audited with both names."""
    async with deps.db.transaction() as tx:
        found = await open_request(tx, business_id, approval_id, CONSOLE, by=person_id, now=deps.clock.now())
    command = STAFF_COMMANDS[found.command]
    now = deps.clock.now_of(business_id)
    arguments = msgspec.json.decode(found.arguments, type=command.arguments)

    async def decide(tx: Tx) -> None:
        locked = await open_request(tx, business_id, approval_id, CONSOLE, by=person_id, now=deps.clock.now())
        if await _version_now(tx, locked.command, business_id, locked.subject) != locked.subject_version:
            raise Conflict("it has changed since this was proposed; decline it, look again and propose anew")
        await approvals.decide(
            tx, locked, status="approved", by=person_id, outcome=locked.subject, now=deps.clock.now()
        )
        await audit.insert(
            tx, business_id, by, action=f"{locked.command}.approved", subject=locked.subject,
            details={"approval": approval_id, "proposedBy": f"staff/{locked.asked_by}",
                     **_remark(locked.command, locked.reason)},
            now=deps.clock.now(),
        )  # fmt: skip

    run = StaffCommandRun(
        deps,
        business_id,
        found.subject,
        found.reason,
        found.asked_at,
        Actor(f"staff/{found.asked_by}"),
        by,
        now,
        decide,
    )
    await command.run(run, arguments)
    return found


def waits_for_its_link(deps: StaffApprovalDeps, command: str) -> bool:
    """An invitation that no mail brings."""
    return STAFF_COMMANDS[command].link is not None and deps.payment.mail is None


async def decline(
    db: Database, business_id: str, approval_id: int, *, person_id: str, by: Actor, now: datetime
) -> bool:
    """By an approver, or taken back by the one who proposed it: True."""
    async with db.transaction() as tx:
        found = await undecided(tx, business_id, approval_id, CONSOLE)
        is_own = found.asked_by == person_id
        await approvals.decide(tx, found, status="declined", by=person_id, outcome=None, now=now)
        step = "taken_back" if is_own else "declined"
        await audit.insert(
            tx, business_id, by, action=f"{found.command}.{step}", subject=found.subject,
            details={"approval": approval_id, "proposedBy": f"staff/{found.asked_by}"}, now=now,
        )  # fmt: skip
    return is_own


# Changes of the staff are by two approvers; until there are two, the command line adds them.
APPROVERS_MIN = 2


class StaffCommandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    command: str
    business_id: str
    subject: str
    reason: str | None = None
    arguments: msgspec.Struct = NOTHING


class Proposed(msgspec.Struct, frozen=True):
    """Instead of the effect: the number of the approval that it waits for."""

    number: int


async def acts_at_once(deps: StaffApprovalDeps, command: str) -> bool:
    """Whether the command line does it alone: in a sandbox, which has no real money, and for the first of the staff."""
    if deps.mode is Mode.SANDBOX:
        return True
    if not command.startswith("staff."):
        return False
    async with deps.db.connection() as tx:
        return await store.count_approvers(tx) < APPROVERS_MIN


async def act(deps: StaffApprovalDeps, request: StaffCommandRequest, *, by: Actor = OPERATOR) -> object:
    """Without an approval; only where `acts_at_once` says so."""
    business_id = business_for(request.command, request.business_id)
    now = deps.clock.now_of(business_id)
    run = StaffCommandRun(deps, business_id, request.subject, request.reason, now, by, by, now, nothing_else)
    return await STAFF_COMMANDS[request.command].run(run, request.arguments)


async def propose_request(
    deps: StaffApprovalDeps, request: StaffCommandRequest, *, asked_by: str, by: Actor
) -> Proposed:
    """From the command line: on the version of this moment."""
    wanted = proposal_of(
        request.command, request.business_id, request.subject, 0, why=request.reason or "", asked_by=asked_by,
        arguments=request.arguments,
    )  # fmt: skip
    named = await checked(deps, wanted)
    async with deps.db.transaction() as tx:
        version = await version_of(tx, named.command, named.business_id, named.subject)
        proposal = msgspec.structs.replace(named, version=version)
        return Proposed(await propose(tx, proposal, by=by, now=deps.clock.now()))


VOID_ROUND_MAX = 200


async def end_void(db: Database, *, now: datetime) -> int:
    """Of those that are open, the oldest first: what has lapsed, or whose subject has changed, is void."""
    async with db.connection() as tx:
        found = await approvals.list_of_staff(tx, is_open=True, limit=VOID_ROUND_MAX)
        ended = 0
        for one in found:
            is_changed = await _version_now(tx, one.command, one.business_id, one.subject) != one.subject_version
            if is_changed or not one.is_open(now):
                outcome = "changed" if is_changed else "lapsed"
                ended += await approvals.end_void(tx, one, outcome=outcome, now=now)
    return ended
