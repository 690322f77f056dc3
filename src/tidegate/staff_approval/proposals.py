"""Proposals as an approver reads them, in the console and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.approval.model import ApprovalRequest, Proposal
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx
from tidegate.staff_approval import subject_store
from tidegate.staff_approval.model import ProposalContext, ProposalFact, StaffApprovalDeps
from tidegate.staff_approval.table import STAFF_COMMANDS

_facts = msgspec.json.Decoder(list[ProposalFact])


async def facts_to_keep(deps: StaffApprovalDeps, tx: Tx, proposal: Proposal) -> str:
    """As JSON. What can be erased has its place alone."""
    context = ProposalContext(tx, deps, proposal.command, proposal.business_id, proposal.subject, deps.clock.now())
    found = await STAFF_COMMANDS[proposal.command].facts(context, proposal.arguments)
    kept = [ProposalFact(fact.label, "", is_personal=True) if fact.is_personal else fact for fact in found]
    return msgspec.json.encode(kept).decode()


async def _with_names(
    kept: list[ProposalFact], context: ProposalContext, arguments: msgspec.Struct
) -> list[ProposalFact]:
    """Names are read where they are kept; one that is no longer there is left out."""
    if not any(fact.is_personal for fact in kept):
        return kept
    now = {
        fact.label: fact for fact in await STAFF_COMMANDS[context.command].facts(context, arguments) if fact.is_personal
    }
    filled = [now.get(fact.label) if fact.is_personal else fact for fact in kept]
    return [fact for fact in filled if fact is not None]


def _as_change(fact: ProposalFact) -> ProposalFact:
    """What stays as it is has no arrow."""
    return msgspec.structs.replace(fact, before=None) if fact.before == fact.value else fact


class DescribedProposal(msgspec.Struct, frozen=True, kw_only=True):
    request: ApprovalRequest
    words: str
    # None where it is about no merchant.
    merchant: str | None
    facts: list[ProposalFact]
    # Of its subject, below the console.
    page: str
    # Its subject has changed since, or is gone: it cannot be approved.
    is_void: bool


async def describe_all(deps: StaffApprovalDeps, tx: Tx, requests: Sequence[ApprovalRequest]) -> list[DescribedProposal]:
    """A few statements for each; `requests` is one page of them."""
    if not requests:
        return []
    names = await subject_store.names_of(tx, {one.business_id for one in requests} - {PLATFORM_BUSINESS_ID})
    return [await _described(deps, tx, one, names.get(one.business_id)) for one in requests]


async def _described(
    deps: StaffApprovalDeps, tx: Tx, request: ApprovalRequest, merchant: str | None
) -> DescribedProposal:
    command = STAFF_COMMANDS[request.command]
    arguments = msgspec.json.decode(request.arguments, type=command.arguments)
    version = await command.version(tx, request.business_id, request.subject) if request.status == "open" else None
    context = ProposalContext(tx, deps, request.command, request.business_id, request.subject, request.asked_at)
    kept = None if request.status == "open" else _facts.decode(request.facts)
    if kept is None:
        facts = await command.facts(context, arguments)
    else:
        facts = await _with_names(kept, context, arguments)
    return DescribedProposal(
        request=request,
        words=command.words(arguments),
        merchant=merchant,
        facts=[_as_change(fact) for fact in facts],
        page=command.page(request),
        is_void=request.status == "void" or (request.status == "open" and version != request.subject_version),
    )
