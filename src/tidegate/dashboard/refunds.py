"""Refunds: the list, one refund, and what waits for a second person; and the entries of a journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from tidegate.approval import commands as approvals
from tidegate.approval import store as approval_store
from tidegate.approval.four_eyes import NO_APPROVAL
from tidegate.approval.model import WaitingRequest
from tidegate.core.errors import Conflict, InsufficientBalance, Invalid, NotFound, Problem, RefundExceedsAvailable
from tidegate.core.money import Money
from tidegate.dashboard import ledger_store, refund_store
from tidegate.dashboard.audit_words import page_of, who_of
from tidegate.dashboard.format import amount, many
from tidegate.dashboard.ledger_store import JournalView
from tidegate.dashboard.list_filter import checked_period
from tidegate.dashboard.paging import number_in, place_in, place_of
from tidegate.dashboard.refund_store import ListedRefund, RefundPosition, position_of
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.ledger.model import JournalKind
from tidegate.member.permission import Permission
from tidegate.payment import store as payments
from tidegate.payment.store import PaymentKey
from tidegate.refund.commands import NO_REFUND
from tidegate.refund.list_store import RefundFilter
from tidegate.refund.model import RefundStatus, RefundView

PAGE = 50
TO_APPROVE = "/refunds?tab=approve"
STATUS_WORDS = {
    RefundStatus.PROCESSING: ("On its way", ""),
    RefundStatus.SUCCESSFUL: ("Arrived", "good"),
    RefundStatus.FAILED: ("Failed", "bad"),
}
NAMES = ("status", "tab", "from", "to")
STATUSES = {one.value for one in RefundStatus}
# Of those who may approve; the others are counted.
NAMES_MAX = 2


class RefundRow(NamedTuple):
    view: RefundView
    word: str
    tint: str
    # Who asked for it.
    by: str
    # Who approved it, or that it needed no approval.
    approval: str


def row_of(listed: ListedRefund) -> RefundRow:
    view, origin = listed
    word, tint = STATUS_WORDS[view.refund.status]
    asked_by = who_of(origin.actor, name=origin.asked_by, key_name=origin.key_name) if origin.actor else "–"
    if origin.approved_by:
        approval = origin.approved_by
    else:
        # Two of the operator's staff decide together.
        approval = "by two of its staff" if (origin.actor or "").startswith("staff/") else "not needed"
    return RefundRow(view, word, tint, asked_by, approval)


def filter_in(visitor: DashboardVisitor) -> RefundFilter:
    query = visitor.request.query
    tab, status, problems = query.get("tab", ""), query.get("status", ""), []
    if tab not in ("", "approve") or (status and status not in STATUSES):
        problems.append(Problem("", "Choose one of the tabs."))
    elif tab and status:
        problems.append(Problem("", f"The address has two tabs, “{tab}” and “{status}”. Choose one of them."))
    days = checked_period(query, visitor.times, NAMES, {}, problems)
    return RefundFilter(status=RefundStatus(status) if status else None, start=days.start, end=days.end)


def waiting_words(one: WaitingRequest) -> str:
    if one.is_outdated:
        return "has changed since; decline it and ask anew"
    words = f"waits for {_either(one.approvers)}" if one.approvers else "nobody else may approve it; invite one"
    return (
        f"{words}; approving it voids {many(one.others, 'other request')} about the same money" if one.others else words
    )


def _either(names: Sequence[str]) -> str:
    """Ada Obi, Tunde Bello or 2 others."""
    shown = list(names if len(names) <= NAMES_MAX + 1 else names[:NAMES_MAX])
    more = len(names) - len(shown)
    last = f"{more} others" if more else shown.pop()
    return f"{', '.join(shown)} or {last}" if shown else last


@dataclass(frozen=True)
class RefundPages:
    shell: DashboardShell

    async def show_list(self, visitor: DashboardVisitor) -> Html:
        query, business_id, wrong = visitor.request.query, visitor.business.id, None
        try:
            wanted = filter_in(visitor)
        except Invalid as problem:
            wanted, wrong = RefundFilter(), problem
        if query.get("tab") and wrong is None:
            return await self._approvals(visitor, None)
        before, limit = place_in(query.get("before", "")), 0 if wrong else PAGE + 1
        # What waits is not a refund yet, and has no day.
        is_first = wanted == RefundFilter() and before is None and wrong is None
        async with self.shell.db.connection() as tx:
            found = await refund_store.list_page(
                tx, business_id, wanted, before=RefundPosition(*before) if before else None, limit=limit
            )
            waiting = (
                await approval_store.list_waiting(tx, business_id, now=visitor.now, limit=PAGE) if is_first else []
            )
        kept = {name: query[name] for name in ("status", "from", "to") if query.get(name)}
        last = place_of(*position_of(found[PAGE - 1], wanted)) if len(found) > PAGE else None
        return self.shell.page(
            visitor, "refunds.html", title="Refunds", section="Refunds", rows=[row_of(one) for one in found[:PAGE]],
            waiting=[(one, waiting_words(one)) for one in waiting], page_of=page_of, asked=query, kept=urlencode(kept),
            older=urlencode({**kept, "before": last}) if last else None, is_first=before is None,
            wanted=wanted.status, wrong=wrong, status=422 if wrong else 200,
        )  # fmt: skip

    async def _approvals(self, visitor: DashboardVisitor, wrong: Conflict | None) -> Html:
        async with self.shell.db.connection() as tx:
            waiting = await approval_store.list_waiting(tx, visitor.business.id, now=visitor.now, limit=PAGE)
            decided = await approval_store.list_decided(tx, visitor.business.id, now=visitor.now, limit=PAGE)
        return self.shell.page(
            visitor, "approvals.html", title="To approve", section="Refunds", wrong=wrong,
            status=409 if wrong else 200, waiting=[(one, waiting_words(one)) for one in waiting],
            decided=decided, page_of=page_of,
        )  # fmt: skip

    async def show(self, visitor: DashboardVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            found = await refund_store.find(tx, visitor.business.id, visitor.request.path["refund"])
            if found is None:
                raise NotFound(NO_REFUND)
            refund, subject = found.view.refund, found.view.subject
            journals = await ledger_store.list_of_refund(tx, visitor.business.id, refund.id, refund.reference)
        return self.shell.page(
            visitor, "refund.html", title=f"Refund {refund.reference}", section="Refunds", row=row_of(found),
            refund=refund, subject=subject, failure=refund.failure.meaning if refund.failure else "",
            journals=journals,
        )  # fmt: skip

    async def check_approval(self, visitor: DashboardVisitor) -> Html | None:
        # A form that was sent before leads to what it made.
        if await self.shell.was_sent(visitor):
            return None
        try:
            async with self.shell.db.connection() as tx:
                await approvals.refuse_to_approve(
                    tx, visitor.business.id, self._number(visitor), person_id=visitor.session.member.id,
                    now=visitor.now, when=visitor.times.long,
                )  # fmt: skip
        except Conflict as wrong:
            return await self._approvals(visitor, wrong)
        return None

    async def confirms_approval(self, visitor: DashboardVisitor) -> str:
        return f"Approve {await self._asked_words(visitor)}"

    async def confirms_decline(self, visitor: DashboardVisitor) -> str:
        return f"Decline or take back {await self._asked_words(visitor)}"

    async def _asked_words(self, visitor: DashboardVisitor) -> str:
        async with self.shell.db.connection() as tx:
            found = await approvals.get(tx, visitor.business.id, self._number(visitor))
            paid = await payments.find(tx, PaymentKey(visitor.business.id, found.subject))
        subject = paid.reference if paid else found.subject
        return f"the refund of {amount(found.amount)} of {subject} that {found.asked_by_name} asked for"

    async def approve(self, visitor: DashboardVisitor) -> Html:
        number = self._number(visitor)

        async def act(tx: Tx) -> str:
            reference = await approvals.approve(
                tx, visitor.business.id, number, person_id=visitor.session.member.id, by=visitor.by, now=visitor.now,
                when=visitor.times.long,
            )  # fmt: skip
            return f"/refunds/{reference}"

        try:
            return await self.shell.once(visitor, act)
        except (Conflict, InsufficientBalance, RefundExceedsAvailable) as wrong:
            return await self._approvals(visitor, Conflict(wrong.message))

    async def check_decline(self, visitor: DashboardVisitor) -> Html | None:
        try:
            async with self.shell.db.connection() as tx:
                await approvals.refuse_to_decline(
                    tx, visitor.business.id, self._number(visitor), role=visitor.membership.role,
                    person_id=visitor.session.member.id, when=visitor.times.long,
                )  # fmt: skip
        except Conflict as wrong:
            return await self._approvals(visitor, wrong)
        return None

    async def decline(self, visitor: DashboardVisitor) -> Html:
        try:
            async with self.shell.db.transaction() as tx:
                await approvals.decline(
                    tx, visitor.business.id, self._number(visitor), role=visitor.membership.role,
                    person_id=visitor.session.member.id, by=visitor.by, now=visitor.now, when=visitor.times.long,
                )  # fmt: skip
        except Conflict as wrong:
            return await self._approvals(visitor, wrong)
        return self.shell.to(visitor, TO_APPROVE)

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
            visitor, "journal.html", title=f"Journal {journal.id}", section="Wallets", journal=journal, money=Money,
            what=JournalKind(journal.kind).meaning, about=_subject_of(journal),
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("GET", "/refunds", "showRefunds", Permission.SEE, self.show_list),
            DashboardRoute("GET", "/refunds/{refund}", "showRefundDetail", Permission.SEE, self.show),
            DashboardRoute(
                "POST", "/approvals/{approval}/approve", "approveRefund", Permission.APPROVE, self.approve,
                check=self.check_approval, confirms=self.confirms_approval, page=TO_APPROVE,
            ),
            DashboardRoute(
                "POST", "/approvals/{approval}/decline", "declineRefund", Permission.REFUND, self.decline,
                check=self.check_decline, confirms=self.confirms_decline, page=TO_APPROVE,
            ),
            DashboardRoute("GET", "/ledger/{journal}", "showJournal", Permission.SEE, self.show_journal),
        ]  # fmt: skip


def _subject_of(journal: JournalView) -> tuple[str, str] | None:
    """What it is about: in words, and its page."""
    if journal.refund:
        return f"refund {journal.refund}", f"/refunds/{journal.refund}"
    if journal.pay_code:
        thing, page = f"payment {journal.reference}", f"/payments/{journal.pay_code}"
    elif journal.inflow:
        thing, page = f"inflow {journal.inflow}", f"/inflows/{journal.inflow}"
    else:
        return None
    if journal.dispute:
        return f"dispute {journal.dispute} of {thing}", page
    if journal.money_return:
        return f"return {journal.money_return} of {thing}", page
    return thing, page
