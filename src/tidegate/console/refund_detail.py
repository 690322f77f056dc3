"""One refund of any merchant: what it is of, its parts at the rails, its bookings, and its end by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.approval import store as approval_store
from tidegate.console import refund_store
from tidegate.console.approvals import AT_SUBJECT
from tidegate.console.proposing import clock_ahead, show_proposals
from tidegate.console.refund_store import RefundPart
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Invalid, NotFound, Refusal
from tidegate.core.money import Money
from tidegate.dashboard import ledger_store
from tidegate.dashboard import refund_store as listed_refunds
from tidegate.dashboard.audit_words import who_of
from tidegate.dashboard.ledger_store import JournalView
from tidegate.dashboard.payment_page import failure_words
from tidegate.dashboard.payment_store import EntryFact, JournalFact
from tidegate.dashboard.refund_store import ListedRefund, RefundOrigin
from tidegate.dashboard.refunds import STATUS_WORDS
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.intake import request_again
from tidegate.merchant import commands as merchants
from tidegate.rail import notification_store, pause_store
from tidegate.refund.commands import NO_REFUND
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission

JOURNAL_WORDS = {
    "refund_started": "refund started",
    "refund_done": "refund done",
    "refund_failed": "refund failed",
}

_LEFT = "a former member of the staff"


@dataclass(frozen=True)
class RefundDetailPages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self.page(visitor)

    async def page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        """Of a refund, or of one of its parts: the page is that of the whole."""
        business = await merchants.get(self.shell.db, visitor.request.path["business"])
        async with self.shell.db.connection() as tx:
            view, origin = await self._refund(tx, business.id, visitor.request.path["reference"])
            parts = await refund_store.list_parts(tx, business.id, view.refund.id)
            references = [one.reference for one in parts]
            journals = await ledger_store.list_of_causes(tx, business.id, [view.refund.reference, *references])
            open_ones = await approval_store.list_about(tx, business.id, *references)
            proposed = await show_proposals(self.shell, visitor, tx, open_ones)
            doubts = await notification_store.list_doubts(tx, _in_doubt(parts))
            under_way = [one.rail for one in parts if one.completed_at is None]
            paused = await pause_store.list_of_rails(tx, under_way)
            names = await staff_store.list_names(tx)
        word, tint = STATUS_WORDS[view.refund.status]
        asked_by, approved_by = people_of(origin, names)
        return self.shell.page(
            visitor, "refund_detail.html", title=f"Refund {view.refund.reference}", section="Refunds & returns",
            ahead=clock_ahead(self.shell, business.id),
            wrong=wrong, status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
            business=business, refund=view.refund, subject=view.subject, refund_parts=parts, word=word, tint=tint,
            words={status.value: words for status, words in STATUS_WORDS.items()}, failure=failure_words,
            proposed=proposed, waiting={one.request.subject for one in proposed if not one.is_void},
            journals=[_fact(one) for one in journals], journal_words=JOURNAL_WORDS, money=Money, at=AT_SUBJECT,
            paused=paused, stopped={one.rail: one for one in paused}, names=names, asked_by=asked_by,
            approved_by=approved_by, doubts=doubts, repeatable=request_again.RAILS,
        )  # fmt: skip

    async def _refund(self, tx: Tx, business_id: str, reference: str) -> ListedRefund:
        if found := await listed_refunds.find(tx, business_id, reference):
            return found
        whole = await refund_store.find_reference(tx, business_id, reference)
        found = await listed_refunds.find(tx, business_id, whole) if whole else None
        if found is None:
            raise NotFound(NO_REFUND)
        return found

    def routes(self) -> list[ConsoleRoute]:
        at = "/stuck/refund/{business}/{reference}"
        return [ConsoleRoute("GET", at, "showRefundOfMerchant", StaffPermission.SEE, self.show)]


def _in_doubt(parts: Sequence[RefundPart]) -> list[str]:
    """The ids under which the quarantine has them. Other rails know a repeat, and leave no doubt."""
    return [notification_store.refund_in_doubt(one.reference) for one in parts if one.rail in request_again.RAILS]


def people_of(origin: RefundOrigin, names: Mapping[str, str]) -> tuple[str, str]:
    """Who asked for a refund, and who approved it; `names` are those of the staff."""
    actor = origin.actor or ""
    if origin.proposed_by:
        return names.get(origin.proposed_by, _LEFT), names.get(actor, _LEFT)
    asked_by = names.get(actor) or who_of(actor, name=origin.asked_by, key_name=origin.key_name) if actor else "–"
    return asked_by, origin.approved_by or "not needed"


def _fact(journal: JournalView) -> JournalFact:
    entries = [
        EntryFact(one.account, one.amount.minor, one.balance.minor if one.balance else None, one.amount.currency)
        for one in journal.lines
    ]
    return JournalFact(journal.id, journal.kind, journal.created_at, journal.position, entries)
