"""Proposes an erasure: what is asked for and its proposal are one transaction."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.audit.model import Actor
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx
from tidegate.retention import erasure
from tidegate.retention.erase import PayerIdentity
from tidegate.staff_approval import commands
from tidegate.staff_approval.model import StaffApprovalDeps
from tidegate.staff_approval.proposals import facts_to_keep

# Of a new request.
VERSION = 1


async def propose(
    deps: StaffApprovalDeps, tx: Tx, who: PayerIdentity, only_of: str | None, *, why: str, asked_by: str, by: Actor,
    now: datetime,
) -> int:  # fmt: skip
    """The number of the approval."""
    erasure_id = await erasure.ask(tx, who, only_of, now=now)
    proposal = commands.proposal_of(
        erasure.COMMAND, PLATFORM_BUSINESS_ID, erasure_id, VERSION, why=why, asked_by=asked_by
    )
    facts = await facts_to_keep(deps, tx, proposal)
    return await commands.propose(tx, msgspec.structs.replace(proposal, facts=facts), by=by, now=now)
