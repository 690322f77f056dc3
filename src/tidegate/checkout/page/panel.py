"""The panel of each method: a form, or what the payer has to do now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from tidegate.checkout.page import values
from tidegate.checkout.page.again import again_of
from tidegate.checkout.page.scene import Step
from tidegate.checkout.page.sketch import Sketch
from tidegate.core.method import Method
from tidegate.payment.transition import ATTEMPTS_MAX
from tidegate.rail import bank as banks
from tidegate.rail import phone as phones

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
# Where the attempts by a method are used up.
_CLOSED = "method_closed.html"


@dataclass(frozen=True)
class Account:
    number: str
    number_shown: str
    bank_name: str
    name: str
    amount: str
    amount_raw: str
    closes: str
    closes_in_s: str


@dataclass(frozen=True)
class Notice:
    title: str
    text: str


@dataclass(frozen=True)
class Other:
    label: str
    href: str


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
    # How many tries are left, where that is to be known.
    tries: str | None
    facts: dict[str, Any] = field(default_factory=dict)


def panels_of(sketch: Sketch) -> tuple[Panel, ...]:
    return tuple(_panel(sketch, number, method) for number, method in enumerate(sketch.shape.methods))


def _panel(sketch: Sketch, number: int, method: Method) -> Panel:
    shape = sketch.shape
    is_selected = method is shape.chosen
    step = shape.tried.step if shape.tried and shape.tried.method is method else Step.FORM
    # The payer wants another number or another bank, in spite of what is under way.
    if shape.goes_back and is_selected and step in (Step.PROMPT, Step.DIAL):
        step = Step.FORM
    left = shape.tries[number]
    is_closed = step is Step.FORM and left <= 0
    return Panel(
        method=method.value,
        # words: method.bank_transfer, method.card, method.mobile_money, method.ussd
        label=sketch.words(f"method.{method.value}"),
        href=sketch.method_href(method),
        is_selected=is_selected,
        type=sketch.names.in_request(method),
        amount=sketch.cost(number),
        template=_CLOSED if is_closed else _TEMPLATES[method, step],
        notice=_notice(sketch, method),
        tries=_tries(sketch, method, left) if step is Step.FORM else None,
        facts=_closed(sketch, method) if is_closed else _FACTS[method](sketch, step),
    )


def _tries(sketch: Sketch, method: Method, left: int) -> str | None:
    if left == 1:
        return sketch.words("tries.last")
    return sketch.words("tries.left", count=left) if left > 0 and _notice(sketch, method) else None


def _closed(sketch: Sketch, method: Method) -> dict[str, Any]:
    shape, words = sketch.shape, sketch.words
    # words: method.bank_transfer, method.card, method.mobile_money, method.ussd
    others = [
        Other(words(f"method.{other.value}"), sketch.method_href(other))
        for other, left in zip(shape.methods, shape.tries, strict=True)
        if left > 0
    ]
    return {
        "title": words("tries.closed", method=words(f"method.{method.value}")),
        "lead": words("tries.closed_more", count=ATTEMPTS_MAX),
        "others": others,
    }


def _notice(sketch: Sketch, method: Method) -> Notice | None:
    """Why the last attempt of this method came to nothing, and what to do."""
    tried = sketch.shape.tried
    if tried is None or tried.method is not method or tried.failure is None:
        return None
    return Notice(sketch.words("failure.title"), sketch.words(f"failure.{tried.failure}"))  # words: failure.*


def _transfer(sketch: Sketch, step: Step) -> dict[str, Any]:
    facts: dict[str, Any] = {"policy": sketch.words(f"policy.{sketch.shape.policy}")}  # words: policy.*
    if step is Step.ACCOUNT:
        facts["account"] = account_of(sketch)
        facts["has_said_sent"] = sketch.shape.tried is not None and sketch.shape.tried.has_said_sent
    return facts


def account_of(sketch: Sketch) -> Account:
    """The account that is open for this payment, and what is still to be sent to it."""
    own = sketch.own
    return Account(
        number=own(values.account_number),
        number_shown=own(values.account_number_shown),
        bank_name=own(values.account_bank),
        name=own(values.account_name),
        amount=own(values.account_amount),
        amount_raw=own(values.account_amount_raw),
        closes=sketch.words.rich("transfer.closes", time=sketch.time(values.closes_iso, values.closes_time)),
        closes_in_s=own(values.closes_in_s),
    )


def _card(sketch: Sketch, step: Step) -> dict[str, Any]:
    return {}


def _mobile(sketch: Sketch, step: Step) -> dict[str, Any]:
    if step is Step.PROMPT:
        return _prompt(sketch)
    currency = sketch.shape.currency
    country = phones.COUNTRIES[currency]
    return {
        "phone": sketch.own(values.customer_phone) if sketch.shape.has_phone else "",
        "calling_code": f"+{country.calling_code}",
        "example": country.example,
        "operators": phones.OPERATORS[currency],
        "prefixes": msgspec.json.encode(phones.prefixes(currency)).decode(),
    }


def _prompt(sketch: Sketch) -> dict[str, Any]:
    own, words = sketch.own, sketch.words
    return {
        "prompt_lead": words.rich("prompt.lead", amount=own(values.attempt_amount), phone=own(values.phone)),
        "since_s": own(values.attempt_since_s),
        "again": again_of(
            sketch, label=words("prompt.again"), busy=words("busy.phone"), instead=words("resend.no_more_prompts")
        ),
        "form_href": _form_href(sketch, Method.MOBILE_MONEY),
    }


def _form_href(sketch: Sketch, method: Method) -> str | None:
    """Where another number or another bank is given; None where no attempt is left for it."""
    left = sketch.shape.tries[sketch.shape.methods.index(method)]
    return f"{sketch.method_href(method)}&again=1" if left > 0 else None


def _ussd(sketch: Sketch, step: Step) -> dict[str, Any]:
    if step is Step.DIAL:
        words = sketch.words
        return {
            "again": again_of(
                sketch, label=words("dial.new_code"), busy=words("busy.code"), instead=words("resend.no_more_codes")
            ),
            "code": sketch.own(values.code),
            "code_for_link": sketch.own(values.code_for_link),
            "bank_name": sketch.own(values.bank_of_code),
            "form_href": _form_href(sketch, Method.USSD),
        }
    return {"banks": banks.USSD_BANKS[sketch.shape.currency]}


_FACTS = {Method.BANK_TRANSFER: _transfer, Method.CARD: _card, Method.MOBILE_MONEY: _mobile, Method.USSD: _ussd}
