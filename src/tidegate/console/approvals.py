"""What waits for a second person, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.approval import store
from tidegate.approval.model import ApprovalRequest
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import (
    AccessDenied,
    Conflict,
    InsufficientBalance,
    Invalid,
    NotFound,
    RefundExceedsAvailable,
    Refusal,
)
from tidegate.dashboard.paging import number_in
from tidegate.infra.page.response import Html
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.model import StaffApprovalDeps
from tidegate.staff_approval.table import STAFF_COMMANDS, words_of

PAGE = 100


@dataclass(frozen=True)
class ApprovalPages:
    shell: ConsoleShell
    deps: StaffApprovalDeps

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor, None)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None, *, link: str = "") -> Html:
        async with self.shell.db.connection() as tx:
            waiting = await store.list_of_staff(tx, is_open=True, limit=PAGE)
            decided = await store.list_of_staff(tx, is_open=False, limit=PAGE)
        return self.shell.page(
            visitor, "staff_approvals.html", title="Approvals", section="Approvals", wrong=wrong, link=link,
            status=409 if wrong else 200, waiting=[_shown(one) for one in waiting if one.is_open(visitor.now)],
            decided=[_shown(one) for one in decided],
        )  # fmt: skip

    async def approve(self, visitor: ConsoleVisitor) -> Html:
        business_id, approval_id = _key_in(visitor)
        try:
            done = await staff_approvals.approve(
                self.deps, business_id, approval_id, person_id=visitor.staff.member.id, by=visitor.by
            )
        except (Conflict, Invalid, InsufficientBalance, RefundExceedsAvailable) as wrong:
            return await self._page(visitor, wrong)
        if done.link:
            return await self._page(visitor, None, link=done.link)
        return self.shell.to("/approvals?said=approved")

    async def decline(self, visitor: ConsoleVisitor) -> Html:
        business_id, approval_id = _key_in(visitor)
        await staff_approvals.decline(
            self.shell.db, business_id, approval_id, person_id=visitor.staff.member.id, by=visitor.by, now=visitor.now
        )
        return self.shell.to("/approvals?said=declined")

    async def withdraw(self, visitor: ConsoleVisitor) -> Html:
        """Only one's own."""
        business_id, approval_id = _key_in(visitor)
        async with self.shell.db.connection() as tx:
            waiting = await store.list_of_staff(tx, is_open=True, limit=PAGE)
        own = {(one.business_id, one.id) for one in waiting if one.asked_by == visitor.staff.member.id}
        if (business_id, approval_id) not in own:
            raise AccessDenied("only the person who proposed this takes it back; an approver declines it")
        return await self.decline(visitor)

    def routes(self) -> list[ConsoleRoute]:
        at = "/approvals/{business}/{approval}"
        return [
            ConsoleRoute("GET", "/approvals", "showStaffApprovals", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", f"{at}/approve", "approveProposal", StaffPermission.APPROVE, self.approve),
            ConsoleRoute("POST", f"{at}/decline", "declineProposal", StaffPermission.APPROVE, self.decline),
            ConsoleRoute("POST", f"{at}/withdraw", "withdrawProposal", StaffPermission.PROPOSE, self.withdraw),
        ]


def _shown(one: ApprovalRequest) -> tuple[ApprovalRequest, str, str]:
    """With its words, and the page of its subject."""
    return one, words_of(one), STAFF_COMMANDS[one.command].page(one)


def _key_in(visitor: ConsoleVisitor) -> tuple[str, int]:
    number = number_in(visitor.request.path["approval"])
    if number is None:
        raise NotFound("there is nothing at this address")
    return visitor.request.path["business"], number
