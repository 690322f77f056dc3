"""Refunds from the dashboard: done at once, or asked for and then allowed by another person."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.approval import store
from tidegate.approval.four_eyes import NO_APPROVAL, When, in_utc, refuse_approval, refuse_decided, undecided
from tidegate.approval.model import (
    LASTS,
    ApprovalRequest,
    Proposal,
    RefundArguments,
    RefundStep,
    default_limit,
    step_for,
)
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import AccessDenied, ChangedElsewhere, Conflict, Invalid, NotFound, Problem
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.member.permission import Permission, Role, may
from tidegate.member.realm import DASHBOARD
from tidegate.refund import commands as refunds
from tidegate.refund import model, subject_store
from tidegate.refund.model import RefundRequest, Subject
from tidegate.refund.subject_store import SubjectKey


class RefundAsked(NamedTuple):
    """Of which payment or inflow; its version when it was seen; how much; why."""

    subject: Subject
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
    limit_minor, other_approvers = await store.find_terms(tx, business_id, currency, person_id)
    limit = default_limit(currency) if limit_minor is None else Money(limit_minor, currency)
    return RefundTerms(limit, other_approvers)


async def refund(
    tx: Tx, asked: RefundAsked, *, role: Role, person_id: str, by: Actor, now: datetime
) -> tuple[RefundStep, str]:
    """What was done, and the reference of the refund or the number of the approval."""
    step, subject = await next_step(tx, asked, role=role, person_id=person_id, now=now), asked.subject
    if step is RefundStep.DO:
        return step, await _begin(tx, asked, by=by, now=now)
    # Of two who ask at once, the second finds what the first one asks for.
    await subject_store.lock(tx, SubjectKey(subject.business_id, subject.payment_id, subject.collection_id))
    await _refuse_more_than_waits_for(tx, asked, now=now)
    arguments = RefundArguments(
        currency=asked.amount.currency, amount_minor=asked.amount.minor, reason=asked.reason, note=asked.note
    )
    proposal = Proposal(
        business_id=subject.business_id, realm=DASHBOARD, command="refund", topic="refund", subject=subject.reference,
        version=subject.version, arguments=arguments, reason=asked.note or asked.reason or "", asked_by=person_id,
    )  # fmt: skip
    approval_id = await store.insert(tx, proposal, now=now, expires_at=now + LASTS)
    await audit.insert(
        tx, subject.business_id, by, action="refund.proposed", subject=subject.reference,
        details={"amount": str(asked.amount), "approval": approval_id}, now=now,
    )  # fmt: skip
    return step, str(approval_id)


async def next_step(tx: Tx, asked: RefundAsked, *, role: Role, person_id: str, now: datetime) -> RefundStep:
    """Raises what a proposal would be refused with as it is now. Locks nothing."""
    _refuse_outdated(asked)
    subject = asked.subject
    step = (await terms(tx, subject.business_id, asked.amount.currency, person_id)).step(role, asked.amount)
    if step is RefundStep.PROPOSE:
        # What cannot be refunded is not proposed.
        model.exchange_of(subject, model.amount_of(subject, asked.amount), None)
        await _refuse_more_than_waits_for(tx, asked, now=now)
    return step


async def _refuse_more_than_waits_for(tx: Tx, asked: RefundAsked, *, now: datetime) -> None:
    subject = asked.subject
    waiting_minor = await store.sum_waiting(tx, subject.business_id, subject.reference, subject.version, now=now)
    waiting = Money(waiting_minor, asked.amount.currency)
    if not waiting_minor or waiting + asked.amount <= subject.left:
        return
    rest = subject.left - waiting
    then = f"Ask for at most {rest} more" if rest.minor > 0 else "Nothing more is left to ask for"
    waits = f"Of this {subject.kind}, {waiting} of {subject.left} waits for a second person already."
    raise Invalid(Problem("amount", f"{waits} {then}, or have that declined or taken back first."))


def _refuse_outdated(asked: RefundAsked) -> None:
    if asked.subject.version != asked.version:
        raise ChangedElsewhere(
            f"this {asked.subject.kind} has changed since the page was drawn; look again and decide anew"
        )


async def _begin(tx: Tx, asked: RefundAsked, *, by: Actor, now: datetime) -> str:
    request = RefundRequest(
        reference=asked.subject.reference,
        amount=asked.amount.major,
        currency=asked.amount.currency,
        reason=asked.reason,
        note=asked.note,
    )
    view = await refunds.begin(tx, asked.subject.business_id, request, by=by, now=now, version=asked.version)
    return view.refund.reference


async def approve(
    tx: Tx, business_id: str, approval_id: int, *, person_id: str, by: Actor, now: datetime, when: When = in_utc
) -> str:
    """Runs once. Void once the payment or inflow has changed. The reference of the refund."""
    found = await undecided(tx, business_id, approval_id, DASHBOARD, when=when)
    asked = await _approvable(tx, found, person_id=person_id, now=now)
    reference = await _begin(tx, asked, by=by, now=now)
    await store.decide(tx, found, status="approved", by=person_id, outcome=reference, now=now)
    await audit.insert(
        tx, business_id, by, action="refund.approved", subject=reference,
        details={"asked_by": f"person/{found.asked_by}", "amount": str(found.amount), "approval": found.id}, now=now,
    )  # fmt: skip
    return reference


async def _approvable(tx: Tx, found: ApprovalRequest, *, person_id: str, now: datetime) -> RefundAsked:
    refuse_approval(found, by=person_id, now=now)
    key = await subject_store.find_key(tx, found.business_id, found.subject)
    subject = await subject_store.get(tx, key) if key else None
    if subject is None or subject.version != found.subject_version:
        what = subject.kind if subject else "payment"
        raise Conflict(f"the {what} has changed since this was asked for; decline it, look again and ask anew")
    return RefundAsked(subject, subject.version, found.amount, found.refund.reason, found.refund.note)


async def refuse_to_approve(
    tx: Tx, business_id: str, approval_id: int, *, person_id: str, now: datetime, when: When = in_utc
) -> None:
    """What `approve` would be refused with as it is now. Locks nothing."""
    found = await get(tx, business_id, approval_id)
    refuse_decided(found, when)
    await _approvable(tx, found, person_id=person_id, now=now)


async def refuse_to_decline(
    tx: Tx, business_id: str, approval_id: int, *, role: Role, person_id: str, when: When = in_utc
) -> None:
    """What `decline` would be refused with as it is now. Locks nothing."""
    found = await get(tx, business_id, approval_id)
    refuse_decided(found, when)
    _refuse_stranger(found, role=role, person_id=person_id)


async def get(tx: Tx, business_id: str, approval_id: int) -> ApprovalRequest:
    """Of a merchant's people."""
    found = await store.find(tx, business_id, approval_id, DASHBOARD)
    if found is None:
        raise NotFound(NO_APPROVAL)
    return found


def _refuse_stranger(found: ApprovalRequest, *, role: Role, person_id: str) -> None:
    if found.asked_by != person_id and not may(role, Permission.APPROVE):
        raise AccessDenied("only an approver can decline a request; only the person who made it can take it back")


async def decline(
    tx: Tx, business_id: str, approval_id: int, *, role: Role, person_id: str, by: Actor, now: datetime,
    when: When = in_utc,
) -> None:  # fmt: skip
    """By the person who asked, or by one who could approve it."""
    found = await undecided(tx, business_id, approval_id, DASHBOARD, when=when)
    _refuse_stranger(found, role=role, person_id=person_id)
    await store.decide(tx, found, status="declined", by=person_id, outcome=None, now=now)
    action = "refund.taken_back" if found.asked_by == person_id else "refund.declined"
    await audit.insert(
        tx, business_id, by, action=action, subject=found.subject,
        details={"amount": str(found.amount), "approval": found.id}, now=now,
    )  # fmt: skip
