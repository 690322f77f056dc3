"""What waits for a second person, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.approval import store
from tidegate.approval.four_eyes import NO_APPROVAL
from tidegate.approval.model import ApprovalRequest
from tidegate.console.proposing import show_proposals
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
from tidegate.member.realm import CONSOLE
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.table import STAFF_COMMANDS

# What each needs is read for itself, so a page has few.
PAGE = 50
DECIDED = 30
# Of the form on the page of the subject, which it comes back to.
AT_SUBJECT = "subject"


@dataclass(frozen=True)
class ApprovalPages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor, None)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None) -> Html:
        async with self.shell.db.connection() as tx:
            found = await store.list_of_staff(tx, is_open=True, limit=PAGE)
            waiting = await show_proposals(self.shell, visitor, tx, found)
            found = await store.list_of_staff(tx, is_open=False, limit=DECIDED)
            decided = await show_proposals(self.shell, visitor, tx, found)
        return self.shell.page(
            visitor, "staff_approvals.html", title="Approvals", section="Approvals", wrong=wrong,
            status=409 if wrong else 200, waiting=[one for one in waiting if not one.is_void],
            void=[one for one in waiting if one.is_void], decided=decided, most=PAGE,
        )  # fmt: skip

    async def approve(self, visitor: ConsoleVisitor) -> Html:
        request = await self._request(visitor)
        try:
            await staff_approvals.approve(
                self.shell.approvals, request.business_id, request.id, person_id=visitor.staff.member.id, by=visitor.by
            )
        except (Conflict, Invalid, NotFound, InsufficientBalance, RefundExceedsAvailable) as wrong:
            return await self._page(visitor, wrong)
        waits = staff_approvals.waits_for_its_link(self.shell.approvals, request.command)
        return self._back(visitor, request, "no_mail" if waits else "approved")

    async def confirms_approval(self, visitor: ConsoleVisitor) -> str:
        return f"Approve {await self._words(visitor)}"

    async def confirms_decline(self, visitor: ConsoleVisitor) -> str:
        return f"Decline {await self._words(visitor)}"

    async def _words(self, visitor: ConsoleVisitor) -> str:
        request = await self._request(visitor)
        async with self.shell.db.connection() as tx:
            [shown] = await show_proposals(self.shell, visitor, tx, [request])
        of = f" of {shown.merchant}" if shown.merchant else ""
        return f"what {request.asked_by_name} proposed{of}: {shown.words}"

    async def decline(self, visitor: ConsoleVisitor) -> Html:
        return await self._end(visitor, await self._request(visitor))

    async def withdraw(self, visitor: ConsoleVisitor) -> Html:
        """Only one's own."""
        request = await self._request(visitor)
        if request.asked_by != visitor.staff.member.id:
            raise AccessDenied("only the person who proposed this can take it back; an approver can decline it")
        return await self._end(visitor, request)

    async def _end(self, visitor: ConsoleVisitor, request: ApprovalRequest) -> Html:
        try:
            is_own = await staff_approvals.decline(
                self.shell.db, request.business_id, request.id, person_id=visitor.staff.member.id, by=visitor.by,
                now=visitor.now,
            )  # fmt: skip
        except Conflict as wrong:
            return await self._page(visitor, wrong)
        return self._back(visitor, request, "taken_back" if is_own else "declined")

    def _back(self, visitor: ConsoleVisitor, request: ApprovalRequest, said: str) -> Html:
        is_of_subject = visitor.form.get("at") == AT_SUBJECT
        page = STAFF_COMMANDS[request.command].page(request) if is_of_subject else "/approvals"
        return self.shell.to(f"{page}{'&' if '?' in page else '?'}said={said}")

    async def _request(self, visitor: ConsoleVisitor) -> ApprovalRequest:
        number = number_in(visitor.request.path["approval"])
        if number is None:
            raise NotFound(NO_APPROVAL)
        async with self.shell.db.connection() as tx:
            found = await store.find(tx, visitor.request.path["business"], number, CONSOLE)
        if found is None:
            raise NotFound(NO_APPROVAL)
        return found

    def routes(self) -> list[ConsoleRoute]:
        at = "/approvals/{business}/{approval}"
        return [
            ConsoleRoute("GET", "/approvals", "showStaffApprovals", StaffPermission.SEE, self.show),
            ConsoleRoute(
                "POST",
                f"{at}/approve",
                "approveProposal",
                StaffPermission.APPROVE,
                self.approve,
                confirms=self.confirms_approval,
            ),
            ConsoleRoute(
                "POST",
                f"{at}/decline",
                "declineProposal",
                StaffPermission.APPROVE,
                self.decline,
                confirms=self.confirms_decline,
            ),
            ConsoleRoute("POST", f"{at}/withdraw", "withdrawProposal", StaffPermission.SEE, self.withdraw),
        ]
