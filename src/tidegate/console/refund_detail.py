"""One refund of any merchant: what it is of, its parts at the rails, its bookings, and its end by hand."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.approval import store as approval_store
from tidegate.console import refund_store
from tidegate.console.approvals import AT_SUBJECT
from tidegate.console.proposing import show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Invalid, NotFound, Refusal
from tidegate.core.money import Money
from tidegate.dashboard import ledger_store
from tidegate.dashboard.ledger_store import JournalView
from tidegate.dashboard.payment_page import failure_words
from tidegate.dashboard.payment_store import EntryFact, JournalFact
from tidegate.dashboard.refunds import STATUS_WORDS
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.rail import pause_store
from tidegate.refund import commands
from tidegate.refund.model import RefundView
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission

JOURNAL_WORDS = {
    "refund_started": "refund started",
    "refund_done": "refund done",
    "refund_failed": "refund failed",
}


@dataclass(frozen=True)
class RefundDetailPages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self.page(visitor)

    async def page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        """Of a refund, or of one of its parts: the page is that of the whole."""
        business = await merchants.get(self.shell.db, visitor.request.path["business"])
        view = await self._refund(business.id, visitor.request.path["reference"])
        async with self.shell.db.connection() as tx:
            parts = await refund_store.list_parts(tx, business.id, view.refund.id)
            references = [one.reference for one in parts]
            journals = await ledger_store.list_of_causes(tx, business.id, [view.refund.reference, *references])
            open_ones = await approval_store.list_about(tx, business.id, *references)
            proposed = await show_proposals(self.shell, visitor, tx, open_ones)
            paused = await pause_store.list_open(tx)
            names = await staff_store.list_names(tx) if paused else {}
        word, tint = STATUS_WORDS[view.refund.status]
        return self.shell.page(
            visitor, "refund_detail.html", title=f"Refund {view.refund.reference}", section="Refunds & returns",
            wrong=wrong, status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
            business=business, refund=view.refund, subject=view.subject, refund_parts=parts, word=word, tint=tint,
            words={status.value: words for status, words in STATUS_WORDS.items()}, failure=failure_words,
            proposed=proposed, waiting={one.request.subject for one in proposed if not one.is_void},
            journals=[_fact(one) for one in journals], journal_words=JOURNAL_WORDS, money=Money, at=AT_SUBJECT,
            paused=paused, stopped={one.rail for one in paused}, names=names,
        )  # fmt: skip

    async def _refund(self, business_id: str, reference: str) -> RefundView:
        try:
            return await commands.get(self.shell.db, business_id, reference)
        except NotFound:
            async with self.shell.db.connection() as tx:
                whole = await refund_store.find_reference(tx, business_id, reference)
            if whole is None:
                raise
            return await commands.get(self.shell.db, business_id, whole)

    def routes(self) -> list[ConsoleRoute]:
        at = "/stuck/refund/{business}/{reference}"
        return [ConsoleRoute("GET", at, "showRefundOfMerchant", StaffPermission.SEE, self.show)]


def _fact(journal: JournalView) -> JournalFact:
    entries = [
        EntryFact(one.account, one.amount.minor, one.balance.minor if one.balance else None, one.amount.currency)
        for one in journal.lines
    ]
    return JournalFact(journal.id, journal.kind, journal.created_at, journal.position, entries)
