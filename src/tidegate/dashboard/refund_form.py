"""The form that refunds a payment or an inflow: what it offers, what it says before, and what was sent."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from tidegate.approval import commands as approvals
from tidegate.approval.commands import RefundAsked, RefundTerms
from tidegate.approval.model import RefundStep
from tidegate.core.errors import (
    ChangedElsewhere,
    Conflict,
    InsufficientBalance,
    Invalid,
    Problem,
    RefundExceedsAvailable,
    Refusal,
)
from tidegate.core.fee import FeeOnRefund
from tidegate.core.money import Currency, Money
from tidegate.dashboard import equivalent_command
from tidegate.dashboard.format import amount
from tidegate.dashboard.format import typed as format_typed
from tidegate.dashboard.payment_page import failure_words
from tidegate.dashboard.payment_store import RefundFact
from tidegate.dashboard.shell import DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission, Role
from tidegate.merchant.field import remark_in
from tidegate.payment.variance import Variance
from tidegate.refund.model import Subject, fee_to_return

AMOUNT_CHARS_MAX = 20
_WORDS = {"excess": "The excess", "all": "Everything"}
# What a refund is refused with; the form is shown again.
REFUSED = (Invalid, Conflict, InsufficientBalance, RefundExceedsAvailable)
_AMOUNT = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,4})?")
_VERSION = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class RefundChoice:
    value: str
    label: str
    amount: Money
    # The fee that a refund returns stays in the wallet.
    wallet_after: Money
    needs_second: bool


@dataclass(frozen=True)
class FailedRefund:
    amount: Money
    # As typed into the form.
    typed: str
    # Why, in words.
    failure: str
    reason: str
    note: str
    needs_second: bool


@dataclass(frozen=True)
class RefundForm:
    """What the template draws."""

    version: int
    currency: Currency
    # The right one first.
    choices: list[RefundChoice]
    # The first that the wallet has enough for; another amount where there is none.
    preselected: str
    wallet: Money
    fee_on_refund: FeeOnRefund
    # Whether another amount is refunded at once, in words.
    another: str
    # Of the button; neutral where the choices differ.
    act: str
    # Whether any choice is done at once, and so asks for a factor.
    is_done_at_once: bool
    failed: FailedRefund | None
    code: str


def form_of(
    shell: DashboardShell, visitor: DashboardVisitor, subject: Subject, terms: RefundTerms, *,
    refunds: Sequence[RefundFact], wallet_minor: int | None,
) -> RefundForm | None:  # fmt: skip
    """None where this person may not refund, or nothing is left to."""
    wallet = Money(wallet_minor or 0, subject.received.currency)
    role = visitor.membership.role
    choices = choices_of(subject, wallet, terms, role) if visitor.may(Permission.REFUND) else []
    if not choices:
        return None
    smallest = Money(1, subject.received.currency)
    # Everything is among the choices, so no amount needs a second person where none of them does.
    needs = {terms.step(role, smallest) is RefundStep.PROPOSE, *(choice.needs_second for choice in choices)}
    return RefundForm(
        version=subject.version,
        currency=subject.received.currency,
        choices=choices,
        preselected=next((one.value for one in choices if one.wallet_after.minor >= 0), "part"),
        wallet=wallet,
        fee_on_refund=subject.fee_on_refund,
        another=_another(needs, terms.limit),
        act="Continue" if len(needs) == 2 else "Ask for the refund" if True in needs else "Refund",
        is_done_at_once=False in needs,
        failed=_failed(visitor, refunds, subject, terms),
        code=equivalent_command.refund(shell.site.base_url, subject.reference, choices[0].amount),
    )


def _another(needs: Set[bool], limit: Money) -> str:
    if len(needs) == 2:
        return f"up to {amount(limit)} at once; above, a second person approves"
    return "a second person approves" if True in needs else "at once"


def choices_of(subject: Subject, wallet: Money, terms: RefundTerms, role: Role) -> list[RefundChoice]:
    """The right one first."""
    return [
        RefundChoice(
            value=value,
            label="All that is left" if value == "all" and subject.refunded.minor else _WORDS[value],
            amount=money,
            wallet_after=wallet - money + fee_to_return(subject, money).total,
            needs_second=terms.step(role, money) is RefundStep.PROPOSE,
        )
        for value, money in amounts_of(subject).items()
    ]


def amounts_of(subject: Subject) -> dict[str, Money]:
    """The excess of an overpayment first, otherwise everything. What was converted is refunded by the operator."""
    left = subject.left
    if subject.block_reason is not None or subject.conversion is not None or left.minor <= 0:
        return {}
    excess = subject.received - subject.expected - subject.refunded
    if subject.variance == Variance.OVERPAYMENT and 0 < excess.minor < left.minor:
        return {"excess": excess, "all": left}
    return {"all": left}


def _failed(
    visitor: DashboardVisitor, refunds: Sequence[RefundFact], subject: Subject, terms: RefundTerms
) -> FailedRefund | None:
    """The newest refund, where it failed and its amount is still there to be given back."""
    newest = refunds[-1] if refunds else None
    if newest is None or newest.status != "failed" or newest.amount_minor > subject.left.minor:
        return None
    given = Money(newest.amount_minor, subject.received.currency)
    return FailedRefund(
        amount=given,
        typed=format_typed(given),
        failure=failure_words(newest.failure),
        reason=newest.reason or "",
        note=newest.note or "",
        needs_second=terms.step(visitor.membership.role, given) is RefundStep.PROPOSE,
    )


async def problem(shell: DashboardShell, visitor: DashboardVisitor, subject: Subject) -> Refusal | None:
    """What is wrong with the form; nothing where it was sent before, and leads to what it made."""
    if await shell.was_sent(visitor):
        return None
    try:
        asked, role, person_id = asked_in(visitor, subject), visitor.membership.role, visitor.session.member.id
        async with shell.db.connection() as tx:
            await approvals.next_step(tx, asked, role=role, person_id=person_id, now=visitor.now)
    except REFUSED as wrong:
        return wrong
    return None


async def confirms(shell: DashboardShell, visitor: DashboardVisitor, subject: Subject, payer: str) -> str:
    """What a factor confirms, of a form without a problem: one that was sent before only leads to what it made."""
    try:
        asked = asked_in(visitor, subject)
    except REFUSED:
        return "Go on to the refund that this form has made"
    async with shell.db.connection() as tx:
        terms = await approvals.terms(tx, subject.business_id, asked.amount.currency, visitor.session.member.id)
    is_asked = terms.step(visitor.membership.role, asked.amount) is RefundStep.PROPOSE
    what = f"{amount(asked.amount)} of {subject.merchant_reference or subject.reference}"
    whom = f" to {payer}" if payer else ""
    return f"Ask another person to approve the refund of {what}{whom}" if is_asked else f"Refund {what}{whom}"


async def send(shell: DashboardShell, visitor: DashboardVisitor, subject: Subject) -> Html:
    """Raises one of REFUSED."""

    async def act(tx: Tx) -> str:
        # A form that was sent before has changed what is left: it leads to what it made.
        asked = asked_in(visitor, subject)
        step, made = await approvals.refund(
            tx, asked, role=visitor.membership.role, person_id=visitor.session.member.id, by=visitor.by,
            now=visitor.now,
        )  # fmt: skip
        return f"/refunds/{made}" if step is RefundStep.DO else "/refunds?tab=approve"

    return await shell.once(visitor, act)


def status_of_refusal(wrong: Refusal | None) -> int:
    return 200 if wrong is None else 409 if isinstance(wrong, Conflict) else 422


def asked_in(visitor: DashboardVisitor, subject: Subject) -> RefundAsked:
    """Raises Invalid. What the browser says about the amount of a choice is not believed: it is computed again."""
    form, currency = visitor.form, subject.received.currency
    version = form.get("version", "")
    if not _VERSION.fullmatch(version):
        raise ChangedElsewhere(f"this form is incomplete; look at the {subject.kind} again")
    choices = amounts_of(subject)
    what = form.get("what", "")
    if what == "part":
        refunded = amount_in(form.get("amount", ""), currency)
        if choices and refunded.minor > (left := max(choice.minor for choice in choices.values())):
            most = amount(Money(left, currency))
            raise Invalid(Problem("amount", f"At most {most} is left to refund; enter no more than that."))
    elif what in choices:
        refunded = choices[what]
    elif what in _WORDS:
        raise ChangedElsewhere(f"this {subject.kind} has changed meanwhile; look again and decide anew")
    else:
        raise Invalid(Problem("what", "Choose how much to refund."))
    return RefundAsked(
        subject,
        int(version),
        refunded,
        text_in(form.get("reason", ""), "reason"),
        text_in(form.get("note", ""), "note"),
    )


def amount_in(text: str, currency: Currency, field: str = "amount") -> Money:
    text = text.strip()
    hint = f"Enter an amount in {currency}, such as {'2500.50' if currency.exponent else '2500'}, without commas."
    if len(text) > AMOUNT_CHARS_MAX or not _AMOUNT.fullmatch(text):
        raise Invalid(Problem(field, hint))
    try:
        minor = Decimal(text).scaleb(currency.exponent)
    except InvalidOperation:
        raise Invalid(Problem(field, hint)) from None
    if minor != int(minor) or minor <= 0:
        raise Invalid(Problem(field, hint))
    return Money(int(minor), currency)


def text_in(text: str, field: str) -> str | None:
    """One line without a card number, or nothing."""
    return remark_in(field, text) if text.strip() else None
