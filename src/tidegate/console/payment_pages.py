"""A payment of any merchant: what happened to it, by which rail, and what came of its refunds and webhooks."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tidegate.approval import store as approval_store
from tidegate.console.proposing import show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import NotFound
from tidegate.core.money import Money
from tidegate.dashboard import payment_store
from tidegate.dashboard.delivery_filter import STATUS_WORDS as DELIVERY_WORDS
from tidegate.dashboard.payment_page import (
    JOURNAL_WORDS,
    METHOD_WORDS,
    TimelineReader,
    difference_of,
    failure_words,
    sentence_of,
    status_of,
    timeline_of,
)
from tidegate.dashboard.payment_store import PaymentHistory
from tidegate.dashboard.refunds import STATUS_WORDS as REFUND_WORDS
from tidegate.dispute import store as dispute_store
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.payment.store import PaymentKey
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission

ATTEMPT_WORDS = {
    "starting": ("Starting", ""),
    "waiting": ("Waiting", "warn"),
    "running": ("Running", "warn"),
    "succeeded": ("Succeeded", "good"),
    "failed": ("Failed", "bad"),
    "replaced": ("Replaced", ""),
    "expired": ("Ran out of time", ""),
}
RECEIPT_WORDS = {
    "settled": ("Settled", "good"),
    "held": ("Held for the rest", "warn"),
    "returned": ("Sent back", ""),
}
RETURN_WORDS = {
    "asked": ("Asked for", "warn"),
    "sent": ("On its way", "warn"),
    "confirmed": ("Arrived", "good"),
    "failed": ("Failed", "bad"),
}


@dataclass(frozen=True)
class MerchantPaymentPages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        business = await merchants.get(self.shell.db, visitor.request.path["business"])
        async with self.shell.db.connection() as tx:
            found = await payment_store.find(tx, PaymentKey(business.id, visitor.request.path["payment"]))
            if found is None:
                raise NotFound(f"{business.name} has no payment with this reference or pay code")
            won = await dispute_store.list_won(tx, business.id, found.payment.id)
            open_ones = await approval_store.list_about(tx, business.id, found.payment.pay_code)
            proposed = await show_proposals(self.shell, visitor, tx, open_ones)
            staff = await staff_store.list_names(tx)
        payment, subject, history = found
        at = f"/webhooks/{business.id}/deliveries/dlv_{{}}"
        reader = TimelineReader(whose="the merchant’s", journal="", refund="", delivery=at)
        word, tint = status_of(payment)
        return self.shell.page(
            visitor, "payment.html", title=sentence_of(payment), section="Merchants", business=business,
            payment=payment, word=word, tint=tint, difference=difference_of(payment), subject=subject,
            method=METHOD_WORDS.get(str(payment.method_chosen), ""), why_unpaid=why_unpaid(history),
            steps=timeline_of(payment, _with_names(history, staff), business, is_masked=False, reader=reader),
            disputes=[f"{one.sentence[:1].upper()}{one.sentence[1:]}." for one in subject.disputes],
            won=won,
            history=history, proposed=proposed, money=Money, journal_words=JOURNAL_WORDS, failure=failure_words,
            method_words=METHOD_WORDS, attempt_words=ATTEMPT_WORDS, receipt_words=RECEIPT_WORDS,
            refund_words=REFUND_WORDS, return_words=RETURN_WORDS, delivery_words=DELIVERY_WORDS,
        )  # fmt: skip

    def routes(self) -> list[ConsoleRoute]:
        at = "/payments/{business}/{payment}"
        return [ConsoleRoute("GET", at, "showPaymentOfMerchant", StaffPermission.SEE, self.show)]


def why_unpaid(history: PaymentHistory) -> str:
    """Of the newest attempt, where it failed."""
    newest = history.attempts[-1] if history.attempts else None
    return failure_words(newest.failure) if newest is not None and newest.status == "failed" else ""


def _with_names(history: PaymentHistory, staff: dict[str, str]) -> PaymentHistory:
    """The merchant's page does not name the operator's people."""
    acts = [msgspec.structs.replace(act, who=staff.get(act.who, act.who)) for act in history.acts]
    return msgspec.structs.replace(history, acts=acts)
