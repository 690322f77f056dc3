"""Refunds from the dashboard: done at once, or asked for and then allowed by another person."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.approval import store
from tidegate.approval.four_eyes import open_request, undecided
from tidegate.approval.model import LASTS, Proposal, RefundArguments, RefundStep, default_limit, step_for
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import ChangedElsewhere, Conflict
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.member.permission import Role
from tidegate.member.realm import DASHBOARD
from tidegate.payment import store as payments
from tidegate.payment.model import Payment
from tidegate.payment.store import PaymentKey
from tidegate.refund import commands as refunds
from tidegate.refund.model import RefundRequest


class RefundAsked(NamedTuple):
    """Of which payment, as it was seen; how much; why."""

    payment: Payment
    version: int
    amount: Money
    reason: str | None
    note: str | None


class RefundTerms(NamedTuple):
    limit: Money
    other_approvers: int

    def step(self, role: Role, amount: Money) -> RefundStep:
        return step_for(role, amount, limit=self.limit, other_approvers=self.other_approvers)


async def terms(tx: Tx, business_id: str, currency: Currency, person_id: str) -> RefundTerms:
    limit_minor = await store.find_limit(tx, business_id, currency)
    return terms_of(limit_minor, currency, await store.count_other_approvers(tx, business_id, person_id))


def terms_of(limit_minor: int | None, currency: Currency, other_approvers: int) -> RefundTerms:
    """`limit_minor` is None where the business has set none."""
    limit = default_limit(currency) if limit_minor is None else Money(limit_minor, currency)
    return RefundTerms(limit, other_approvers)


async def refund(
    tx: Tx, asked: RefundAsked, *, role: Role, person_id: str, by: Actor, now: datetime
) -> tuple[RefundStep, str]:
    """What was done, and the reference of the refund or the number of the approval."""
    payment = asked.payment
    if payment.version != asked.version:
        raise ChangedElsewhere("this payment has changed since the page was drawn; look again and decide anew")
    step = (await terms(tx, payment.business_id, asked.amount.currency, person_id)).step(role, asked.amount)
    if step is RefundStep.DO:
        return step, await _begin(tx, asked, by=by, now=now)
    arguments = RefundArguments(
        currency=asked.amount.currency, amount_minor=asked.amount.minor, reason=asked.reason, note=asked.note
    )
    proposal = Proposal(
        business_id=payment.business_id, realm=DASHBOARD, command="refund", topic="refund", subject=payment.pay_code,
        version=payment.version, arguments=arguments, reason=asked.note or asked.reason or "", asked_by=person_id,
    )  # fmt: skip
    approval_id = await store.insert(tx, proposal, now=now, expires_at=now + LASTS)
    await audit.insert(
        tx, payment.business_id, by, action="refund.proposed", subject=payment.pay_code,
        details={"amount": str(asked.amount), "approval": approval_id}, now=now,
    )  # fmt: skip
    return step, str(approval_id)


async def _begin(tx: Tx, asked: RefundAsked, *, by: Actor, now: datetime) -> str:
    request = RefundRequest(
        reference=asked.payment.pay_code,
        amount=asked.amount.major,
        currency=asked.amount.currency,
        reason=asked.reason,
        note=asked.note,
    )
    view = await refunds.begin(tx, asked.payment.business_id, request, by=by, now=now)
    return view.refund.reference


async def approve(tx: Tx, business_id: str, approval_id: int, *, person_id: str, by: Actor, now: datetime) -> str:
    """Runs once. Void once the payment has changed. The reference of the refund."""
    found = await open_request(tx, business_id, approval_id, DASHBOARD, by=person_id, now=now)
    payment = await payments.find(tx, PaymentKey(business_id, found.subject))
    if payment is None or payment.version != found.subject_version:
        raise Conflict("the payment has changed since this was asked for; decline it, look again and ask anew")
    asked = RefundAsked(payment, payment.version, found.amount, found.refund.reason, found.refund.note)
    reference = await _begin(tx, asked, by=by, now=now)
    await store.decide(tx, found, status="approved", by=person_id, outcome=reference, now=now)
    await audit.insert(
        tx, business_id, by, action="refund.approved", subject=reference,
        details={"asked_by": f"person/{found.asked_by}", "amount": str(found.amount)}, now=now,
    )  # fmt: skip
    return reference


async def decline(tx: Tx, business_id: str, approval_id: int, *, person_id: str, by: Actor, now: datetime) -> None:
    """Only the person who asked may take it back."""
    found = await undecided(tx, business_id, approval_id, DASHBOARD)
    await store.decide(tx, found, status="declined", by=person_id, outcome=None, now=now)
    await audit.insert(
        tx, business_id, by, action="refund.declined", subject=found.subject,
        details={"amount": str(found.amount)}, now=now,
    )  # fmt: skip
