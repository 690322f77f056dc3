"""Refunds: the list, one refund, and what waits for a second person; and the entries of a journal."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.approval import commands as approvals
from tidegate.approval import store as approval_store
from tidegate.approval.four_eyes import NO_APPROVAL
from tidegate.core.errors import Conflict, InsufficientBalance, NotFound, RefundExceedsAvailable
from tidegate.core.money import Money
from tidegate.dashboard import ledger_store
from tidegate.dashboard.audit_words import page_of
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.refund import commands as refund_commands
from tidegate.refund import list_store
from tidegate.refund.list_store import RefundFilter
from tidegate.refund.model import RefundStatus

PAGE = 50
STATUS_WORDS = {
    RefundStatus.PROCESSING: ("On its way", ""),
    RefundStatus.SUCCESSFUL: ("Arrived", "good"),
    RefundStatus.FAILED: ("Failed", "bad"),
}


@dataclass(frozen=True)
class RefundPages:
    shell: DashboardShell

    async def show_list(self, visitor: DashboardVisitor) -> Html:
        query, business_id = visitor.request.query, visitor.business.id
        if query.get("tab") == "approve":
            return await self._approvals(visitor, None)
        status = next((one for one in RefundStatus if one.value == query.get("status")), None)
        before = query.get("before", "")
        before_id = number_in(before)
        async with self.shell.db.connection() as tx:
            found = await list_store.list_page(
                tx, business_id, RefundFilter(status=status), before_id=before_id, limit=PAGE + 1
            )
        more = f"status={status.value}&" if status else ""
        older = f"{visitor.path('/refunds')}?{more}before={found[PAGE - 1].refund.id}" if len(found) > PAGE else None
        return self.shell.page(
            visitor, "refunds.html", title="Refunds", section="Refunds", views=found[:PAGE], words=STATUS_WORDS,
            older=older, status=200, wanted=status,
        )  # fmt: skip

    async def _approvals(self, visitor: DashboardVisitor, wrong: Conflict | None) -> Html:
        async with self.shell.db.connection() as tx:
            waiting, decided = [
                await approval_store.list_newest(tx, visitor.business.id, is_open=is_open, now=visitor.now, limit=PAGE)
                for is_open in (True, False)
            ]
        return self.shell.page(
            visitor, "approvals.html", title="To approve", section="Refunds", wrong=wrong,
            status=409 if wrong else 200, waiting=waiting, decided=decided,
            page_of=page_of,
        )  # fmt: skip

    async def show(self, visitor: DashboardVisitor) -> Html:
        view = await refund_commands.get(self.shell.db, visitor.business.id, visitor.request.path["refund"])
        word, tint = STATUS_WORDS[view.refund.status]
        failure = view.refund.failure.meaning if view.refund.failure else ""
        return self.shell.page(
            visitor, "refund.html", title=f"Refund {view.refund.reference}", section="Refunds", refund=view.refund,
            subject=view.subject, word=word, tint=tint, failure=failure,
        )  # fmt: skip

    async def approve(self, visitor: DashboardVisitor) -> Html:
        number = self._number(visitor)

        async def act(tx: Tx) -> str:
            reference = await approvals.approve(
                tx, visitor.business.id, number, person_id=visitor.session.member.id, by=visitor.by, now=visitor.now
            )
            return f"/refunds/{reference}"

        try:
            return await self.shell.once(visitor, act)
        except (Conflict, InsufficientBalance, RefundExceedsAvailable) as wrong:
            return await self._approvals(visitor, Conflict(wrong.message))

    async def decline(self, visitor: DashboardVisitor) -> Html:
        async with self.shell.db.transaction() as tx:
            await approvals.decline(
                tx, visitor.business.id, self._number(visitor), role=visitor.membership.role,
                person_id=visitor.session.member.id, by=visitor.by, now=visitor.now,
            )  # fmt: skip
        return self.shell.to(visitor, "/refunds?tab=approve")

    def _number(self, visitor: DashboardVisitor) -> int:
        number = number_in(visitor.request.path["approval"])
        if number is None:
            raise NotFound(NO_APPROVAL)
        return number

    async def show_journal(self, visitor: DashboardVisitor) -> Html:
        number, journal = number_in(visitor.request.path["journal"]), None
        if number is not None:
            async with self.shell.db.connection() as tx:
                journal = await ledger_store.find_journal(tx, visitor.business.id, number)
        if journal is None:
            raise NotFound("there is nothing at this address")
        return self.shell.page(
            visitor, "journal.html", title=f"Journal {journal.id}", section="Wallets", journal=journal, money=Money
        )

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("GET", "/refunds", "showRefunds", Permission.SEE, self.show_list),
            DashboardRoute("GET", "/refunds/{refund}", "showRefundDetail", Permission.SEE, self.show),
            DashboardRoute("POST", "/approvals/{approval}/approve", "approveRefund", Permission.APPROVE, self.approve),
            DashboardRoute("POST", "/approvals/{approval}/decline", "declineRefund", Permission.REFUND, self.decline),
            DashboardRoute("GET", "/ledger/{journal}", "showJournal", Permission.SEE, self.show_journal),
        ]
