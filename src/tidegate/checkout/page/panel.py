"""The panel of each method: a form, or what the payer has to do now."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from tidegate.checkout.page.look import Look
from tidegate.checkout.page.money_format import MoneyParts
from tidegate.checkout.page.scene import Step, attempts_left, step_of
from tidegate.core.fee import FeeBearer, fee_on
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.rail import bank as banks
from tidegate.rail import phone as phones
from tidegate.rail.interface import DialAction, FailureReason, TransferAction

# From this many characters on, the amount is set smaller.
LONG_AMOUNT = 13
_TEMPLATES: dict[tuple[Method, Step], str] = {
    (Method.BANK_TRANSFER, Step.FORM): "transfer_form.html",
    (Method.BANK_TRANSFER, Step.ACCOUNT): "transfer_account.html",
    (Method.BANK_TRANSFER, Step.ACCOUNT_CLOSED): "transfer_closed.html",
    (Method.CARD, Step.FORM): "card_form.html",
    (Method.MOBILE_MONEY, Step.FORM): "mobile_form.html",
    (Method.MOBILE_MONEY, Step.PROMPT): "mobile_prompt.html",
    (Method.USSD, Step.FORM): "ussd_form.html",
    (Method.USSD, Step.DIAL): "ussd_dial.html",
}
# Reasons that are an answer to a question; when they end an attempt, it was asked too often.
_WRONG_ANSWERS = frozenset({FailureReason.WRONG_PIN, FailureReason.WRONG_OTP, FailureReason.WRONG_ADDRESS})


@dataclass(frozen=True)
class Line:
    label: str
    value: str


@dataclass(frozen=True)
class Price:
    """What the payment costs the payer by one method: the customer may bear a fee, and fees differ by method."""

    method: str
    is_selected: bool
    text: str
    parts: MoneyParts
    is_long: bool
    lines: tuple[Line, ...]
    # "Paid" or "Not paid"; nothing while that is open.
    state: str


@dataclass(frozen=True)
class Account:
    number: str
    number_shown: str
    bank_name: str
    name: str
    amount: str
    amount_raw: str
    closes: str
    closes_in_s: int


@dataclass(frozen=True)
class Notice:
    title: str
    text: str


@dataclass(frozen=True)
class Panel:
    """`facts` are what the template of this one step shows."""

    method: str
    label: str
    href: str
    is_selected: bool
    # As the form sends it.
    type: str
    amount: str
    template: str
    notice: Notice | None
    facts: dict[str, Any] = field(default_factory=dict)


def expected_by(look: Look, method: Method) -> Money:
    order = look.situation.payment.order
    if order.fee_bearer is not FeeBearer.CUSTOMER:
        return order.asked
    rule = look.situation.business.fee_rule_for(order.asked.currency, method)
    return order.asked + fee_on(order.asked, rule).total


def price_of(look: Look, method: Method, *, is_selected: bool) -> Price:
    expected = expected_by(look, method)
    total = Line(look.words("summary.total"), look.money(expected))
    return _price(look, method, shown=expected, total=total, is_selected=is_selected)


def price_at_the_end(look: Look, method: Method) -> Price:
    """What was paid, or what would have had to be."""
    payment, words = look.situation.payment, look.words
    is_paid = payment.paid_at is not None
    shown = payment.received if is_paid else payment.expected
    total = Line(words("summary.paid_total") if is_paid else words("row.expected"), look.money(shown))
    state = words("summary.paid") if is_paid else words("summary.not_paid")
    return _price(look, method, shown=shown, total=total, is_selected=True, state=state)


def _parts_of_the_price(look: Look, method: Method) -> list[Line]:
    """What is asked for and what it costs; of another amount than expected, what was expected."""
    words, payment = look.words, look.situation.payment
    asked = payment.order.asked
    first = Line(words("summary.asked"), look.money(asked))
    if payment.variance:
        return [first, Line(words("row.expected"), look.money(payment.expected))]
    if expected_by(look, method) == asked:
        return [first, Line(words("summary.fee"), words("summary.no_fee"))]
    # Once it is paid, as it was taken: prices may have changed since.
    fee = payment.fee or fee_on(asked, look.situation.business.fee_rule_for(asked.currency, method))
    vat = [Line(words("summary.vat"), look.money(fee.vat))] if fee.vat.minor else []
    return [first, Line(words("summary.fee"), look.money(fee.fee)), *vat]


def _price(look: Look, method: Method, *, shown: Money, total: Line, is_selected: bool, state: str = "") -> Price:
    parts = look.words.money_parts(shown)
    lines = [*_parts_of_the_price(look, method), total]
    return Price(
        method=method.value,
        is_selected=is_selected,
        text=look.money(shown),
        parts=parts,
        is_long=len(parts.digits) >= LONG_AMOUNT,
        lines=tuple(lines),
        state=state,
    )


def panel_of(look: Look, method: Method, *, is_selected: bool) -> Panel:
    step = step_of(look.situation, method, now=look.now)
    # The payer wants another number or another bank, in spite of what is under way.
    if look.goes_back and is_selected and step in (Step.PROMPT, Step.DIAL):
        step = Step.FORM
    return Panel(
        method=method.value,
        # words: method.bank_transfer, method.card, method.mobile_money, method.ussd
        label=look.words(f"method.{method.value}"),
        href=look.method_href(method),
        is_selected=is_selected,
        type=look.names.in_request(method),
        amount=look.money(expected_by(look, method)),
        template=_TEMPLATES[method, step],
        notice=_notice(look, method),
        facts=_FACTS[method](look, step),
    )


def _notice(look: Look, method: Method) -> Notice | None:
    """Why the last attempt of this method came to nothing, and what to do."""
    attempt = look.situation.attempt
    if attempt is None or attempt.method is not method or attempt.status is not AttemptStatus.FAILED:
        return None
    reason = attempt.failure or FailureReason.DECLINED
    key = "too_many_tries" if reason in _WRONG_ANSWERS else reason.value
    return Notice(look.words("failure.title"), look.words(f"failure.{key}"))  # words: failure.*


def _transfer(look: Look, step: Step) -> dict[str, Any]:
    policy = look.situation.business.variance_policy
    facts: dict[str, Any] = {"policy": look.words(f"policy.{policy}")}  # words: policy.*
    if step is Step.ACCOUNT:
        facts["account"] = account_of(look)
    return facts


def account_of(look: Look) -> Account:
    """The account that is open for this payment, and what is still to be sent to it."""
    attempt = look.situation.attempt
    assert attempt is not None
    assert isinstance(attempt.action, TransferAction)
    action, amount = attempt.action, attempt.expected - look.situation.payment.held
    closes_at = attempt.expires_at or look.situation.payment.expires_at
    return Account(
        number=action.account_number,
        number_shown=grouped(action.account_number),
        bank_name=action.bank_name,
        name=action.account_name,
        amount=look.money(amount),
        amount_raw=plain_digits(amount),
        closes=look.words.rich("transfer.closes", time=look.time(closes_at)),
        closes_in_s=look.seconds_until(closes_at),
    )


def plain_digits(amount: Money) -> str:
    """As a bank's app wants it typed: 10150.50."""
    return f"{Decimal(amount.minor).scaleb(-amount.currency.exponent):f}"


def unbroken(text: str) -> str:
    """On one line."""
    return text.replace(" ", "\u00a0")


def grouped(number: str) -> str:
    """For the eye: 990 214 7730. The last group takes what is left over."""
    groups = max(1, len(number) // 3)
    heads = [number[index * 3 : index * 3 + 3] for index in range(groups - 1)]
    return " ".join([*heads, number[(groups - 1) * 3 :]])


def _card(look: Look, step: Step) -> dict[str, Any]:
    return {}


def _mobile(look: Look, step: Step) -> dict[str, Any]:
    attempt = look.situation.attempt
    if step is Step.PROMPT and attempt is not None:
        return _prompt(look, attempt)
    country = phones.COUNTRIES[look.currency]
    return {
        "calling_code": f"+{country.calling_code}",
        "example": country.example,
        "operators": phones.OPERATORS[look.currency],
        "prefixes": msgspec.json.encode(phones.prefixes(look.currency)).decode(),
    }


def _prompt(look: Look, attempt: Attempt) -> dict[str, Any]:
    return {
        "prompt_lead": look.words.rich(
            "prompt.lead", amount=look.money(attempt.expected), phone=unbroken(attempt.details["phone"])
        ),
        "since_s": max(0, int((look.now - attempt.created_at).total_seconds())),
        "can_repeat": attempts_left(look.situation.payment) > 0,
        "form_href": f"{look.method_href(attempt.method)}&again=1",
    }


def _ussd(look: Look, step: Step) -> dict[str, Any]:
    attempt = look.situation.attempt
    if step is Step.DIAL and attempt is not None and isinstance(attempt.action, DialAction):
        return {
            "code": attempt.action.code,
            # A bare # would end the link.
            "code_for_link": attempt.action.code.replace("#", "%23"),
            "bank_name": attempt.details["bank"],
            "form_href": f"{look.method_href(attempt.method)}&again=1",
        }
    return {"banks": banks.USSD_BANKS[look.currency]}


_FACTS = {Method.BANK_TRANSFER: _transfer, Method.CARD: _card, Method.MOBILE_MONEY: _mobile, Method.USSD: _ussd}
