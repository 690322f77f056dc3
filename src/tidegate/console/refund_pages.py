"""A refund for a merchant: what can be refunded, at which rate, and what it would debit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tidegate.approval import store as approval_store
from tidegate.collection.rate import rate_words
from tidegate.console.merchants import MerchantPages
from tidegate.console.proposing import clock_ahead, propose, show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem, RefundExceedsAvailable, Refusal
from tidegate.core.money import Money
from tidegate.core.visible import visible
from tidegate.dashboard import refund_form
from tidegate.dashboard.format import amount
from tidegate.dashboard.payment_page import sentence_of
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.payment import store as payments
from tidegate.payment.model import Payment, PaymentStatus
from tidegate.payment.store import PaymentKey
from tidegate.rail import pause_store
from tidegate.rail.deps import PaymentDeps
from tidegate.refund import commands, model
from tidegate.refund.model import RefundExchange, RefundRate, Subject
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.arguments import OperatorRefund
from tidegate.staff_approval.describe import exchange_words

REFERENCE_CHARS_MAX = 100
_COMMAND = "refund.create"


@dataclass(frozen=True)
class RefundForMerchantPages:
    shell: ConsoleShell
    deps: PaymentDeps
    merchants: MerchantPages

    async def find(self, visitor: ConsoleVisitor) -> Html:
        """From the merchant's page, where the reference is typed."""
        reference = visible(visitor.request.query.get("reference", "")).strip()[:REFERENCE_CHARS_MAX]
        business = await merchants.get(self.shell.db, visitor.request.path["business"])
        try:
            subject = await self._subject(business.id, reference)
        except (NotFound, Conflict):
            sentence = f"{business.name} has no payment or inflow called “{reference}”. Type its whole reference."
            return await self.merchants.page(visitor, business.id, Invalid(Problem("reference", sentence)))
        return self.shell.to(f"/refunds/{business.id}/{subject.reference}")

    async def _subject(self, business_id: str, reference: str) -> Subject:
        lasts, now = self.deps.inflow_terms.rate_lasts, self.shell.clock.now_of(business_id)
        async with self.shell.db.connection() as tx:
            return await commands.look_at(tx, business_id, reference, rate_lasts=lasts, now=now)

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        business = await merchants.get(self.shell.db, visitor.request.path["business"])
        subject = await self._subject(business.id, visitor.request.path["reference"])
        async with self.shell.db.connection() as tx:
            key = PaymentKey(business.id, subject.reference)
            payment = await payments.find(tx, key) if subject.payment_id is not None else None
            version = await staff_approvals.version_of(tx, _COMMAND, business.id, subject.reference)
            found = await approval_store.list_about(tx, business.id, subject.reference)
            proposed = await show_proposals(self.shell, visitor, tx, found)
            paused = await pause_store.list_of_rails(tx, [one.rail for one in subject.transfers])
            names = await staff_store.list_names(tx) if paused else {}
        return self.shell.page(
            visitor, "refund.html", title=f"Refund {subject.reference}", section="Refunds & returns",
            ahead=clock_ahead(self.shell, business.id), wrong=wrong,
            status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409, business=business,
            subject=subject, version=version, proposed=proposed, rates=rate_choices(subject),
            paused=paused, names=names,
            is_proposed=any(one.request.command == _COMMAND and not one.is_void for one in proposed),
            refusal=refusal_of(subject, payment), disputes=[_sentence(one.sentence) for one in subject.disputes],
        )  # fmt: skip

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        business_id, reference = visitor.request.path["business"], visitor.request.path["reference"]
        try:
            subject = await self._subject(business_id, reference)
            wanted = refund_in(visitor, subject)
            return await propose(self.shell, visitor, _COMMAND, business_id, reference, arguments=wanted)
        except (Invalid, ChangedElsewhere, Conflict, RefundExceedsAvailable) as wrong:
            return await self._page(visitor, wrong)

    def routes(self) -> list[ConsoleRoute]:
        at = "/refunds/{business}/{reference}"
        return [
            ConsoleRoute("GET", "/refunds/{business}", "findRefundable", StaffPermission.SEE, self.find),
            ConsoleRoute("GET", at, "showRefundable", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", at, "proposeRefund", StaffPermission.PROPOSE, self.decide),
        ]


def refusal_of(subject: Subject, payment: Payment | None) -> str:
    """Why nothing can be refunded; empty where something can. Disputes are said beside it."""
    if payment is not None and payment.status is not PaymentStatus.SUCCESS:
        return f"{sentence_of(payment)}."
    if subject.block_reason:
        return _sentence(subject.block_reason)
    if subject.left.minor:
        return ""
    if not subject.disputes:
        return "All of it was refunded."
    return "What is not disputed was refunded." if subject.refunded.minor else "All of it is disputed."


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


class RateChoice(NamedTuple):
    """What refunding all that is left would debit at a rate, and what is booked on the account exchange."""

    value: str
    label: str
    rate: str
    debited: Money
    booked: str


def rate_choices(subject: Subject) -> list[RateChoice]:
    """Of an inflow that was converted."""
    if subject.conversion is None or subject.conversion.today is None or not subject.left.minor:
        return []
    base, quote = subject.received.currency, subject.conversion.worth.currency
    rates = {
        RefundRate.CREDIT: ("The rate of its credit", subject.conversion.rate),
        RefundRate.TODAY: ("Today’s rate", subject.conversion.today.rate),
    }
    found = [(one, model.exchange_of(subject, subject.left, one)) for one in RefundRate]
    return [
        RateChoice(
            one.value, rates[one][0], rate_words(base, rates[one][1], quote), exchange.debited, _booked(exchange)
        )
        for one, exchange in found
        if exchange
    ]


def _booked(exchange: RefundExchange) -> str:
    label, value = exchange_words(exchange)
    return f"{label.lower()} of {amount(value)}" if isinstance(value, Money) else "no exchange gain or loss"


def refund_in(visitor: ConsoleVisitor, subject: Subject) -> OperatorRefund:
    form = visitor.form
    rate, typed = form.get("rate", ""), form.get("amount", "")
    if rate not in set(RefundRate) and (rate or subject.conversion is not None):
        raise Invalid(Problem("rate", "Choose at which rate the wallet pays."))
    return OperatorRefund(
        amount=refund_form.amount_in(typed, subject.received.currency).major if typed.strip() else None,
        reason=refund_form.text_in(form.get("reason", ""), "reason"),
        rate=RefundRate(rate) if rate else None,
    )
