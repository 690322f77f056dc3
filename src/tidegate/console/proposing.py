"""Forms that propose: the same fields and the same answer on every page."""

from __future__ import annotations

import msgspec

from tidegate.console.shell import ConsoleShell, ConsoleVisitor
from tidegate.dashboard.paging import number_in
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.staff_approval import commands as staff_approvals


async def propose(
    shell: ConsoleShell, visitor: ConsoleVisitor, command: str, business_id: str, subject: str, *,
    arguments: msgspec.Struct = staff_approvals.NOTHING, version: int | None = None,
) -> Html:  # fmt: skip
    """The form has why, its key, and the version that was looked at where there was one."""
    if version is None:
        version = number_in(visitor.form.get("version", "")) or 0
    proposal = staff_approvals.proposal_of(
        command, business_id, subject, version, why=visitor.form.get("why", ""),
        asked_by=visitor.staff.member.id, arguments=arguments,
    )  # fmt: skip

    async def act(tx: Tx) -> str:
        await staff_approvals.propose(tx, proposal, by=visitor.by, now=visitor.now)
        return "/approvals?said=proposed"

    return await shell.once(visitor, act)
