"""Proposals in the console: forms that propose, and what an approver reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from tidegate.approval import store as approval_store
from tidegate.approval.model import ApprovalRequest, Proposal
from tidegate.console.shell import ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Malformed
from tidegate.core.money import Money
from tidegate.dashboard.format import ahead_words, amount
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval import proposals
from tidegate.staff_approval.model import ProposalFact

_VERSION = re.compile("[0-9]{1,19}")


async def propose(
    shell: ConsoleShell, visitor: ConsoleVisitor, command: str, business_id: str, subject: str, *,
    arguments: msgspec.Struct = staff_approvals.NOTHING, version: int | None = None,
    then: str = "/approvals?said=proposed",
) -> Html:  # fmt: skip
    """The form has why, its key, and the version that was looked at where there was one. Refused when the approval
    would be refused too."""
    proposal = await proposal_in(shell, visitor, command, business_id, subject, arguments=arguments, version=version)

    async def act(tx: Tx) -> str:
        await staff_approvals.propose(tx, proposal, by=visitor.by, now=visitor.now)
        return then

    return await shell.once(visitor, act)


async def proposal_in(
    shell: ConsoleShell, visitor: ConsoleVisitor, command: str, business_id: str, subject: str, *,
    arguments: msgspec.Struct, version: int | None = None,
) -> Proposal:  # fmt: skip
    wanted = staff_approvals.proposal_of(
        command, business_id, subject, version_in(visitor, "version") if version is None else version,
        why=visitor.form.get("why", ""), asked_by=visitor.staff.member.id, arguments=arguments,
    )  # fmt: skip
    return await staff_approvals.checked(shell.approvals, wanted)


def version_in(visitor: ConsoleVisitor, field: str) -> int:
    """The hidden field has it; a form without it is not ours."""
    text = visitor.form.get(field, "")
    if not _VERSION.fullmatch(text):
        raise Malformed("this form is incomplete; open its page again and fill it in there")
    return int(text)


async def decided_by(tx: Tx, business_id: str, topic: str, subject: str) -> ApprovalRequest | None:
    """By whom: who proposed and who approved what was decided last. None for what was decided without the staff."""
    found = await approval_store.list_decisions(tx, business_id, topic, subject)
    return found[0] if found else None


def clock_ahead(shell: ConsoleShell, business_id: str) -> str:
    return ahead_words(shell.clock.now_of(business_id), shell.clock.now())


class ShownFact(msgspec.Struct, frozen=True):
    label: str
    text: str
    before: str
    page: str


class ShownProposal(msgspec.Struct, frozen=True, kw_only=True):
    """Ready for a template."""

    request: ApprovalRequest
    words: str
    merchant: str
    facts: list[ShownFact]
    page: str
    is_void: bool
    # Which buttons it has.
    may_approve: bool
    may_decline: bool
    may_take_back: bool


async def show_proposals(
    shell: ConsoleShell, visitor: ConsoleVisitor, tx: Tx, requests: Sequence[ApprovalRequest]
) -> list[ShownProposal]:
    described = await proposals.describe_all(shell.approvals, tx, requests)
    decides = visitor.may(StaffPermission.APPROVE)
    return [
        ShownProposal(
            request=one.request,
            words=one.words,
            merchant=one.merchant or "",
            facts=[_shown(fact) for fact in one.facts],
            page=one.page,
            is_void=one.is_void or (one.request.status == "open" and not one.request.is_open(visitor.now)),
            may_approve=decides and not one.is_void and not _is_own(visitor, one.request),
            may_decline=decides and not _is_own(visitor, one.request),
            may_take_back=_is_own(visitor, one.request),
        )
        for one in described
    ]


def _is_own(visitor: ConsoleVisitor, request: ApprovalRequest) -> bool:
    return request.asked_by == visitor.staff.member.id


def _shown(fact: ProposalFact) -> ShownFact:
    return ShownFact(fact.label, _text(fact.value), _text(fact.before), fact.page or "")


def _text(value: str | Money | None) -> str:
    return amount(value) if isinstance(value, Money) else value or ""
