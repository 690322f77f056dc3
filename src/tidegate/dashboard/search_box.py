"""What is typed above the list of payments, and chosen beside it, as a filter. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar
from urllib.parse import urlencode

from tidegate.core.errors import Invalid, Problem
from tidegate.core.method import Method
from tidegate.core.money import CHECKOUT_OFFERS
from tidegate.dashboard.format import Times
from tidegate.dashboard.list_filter import checked_period
from tidegate.payment.list_store import PaymentFilter
from tidegate.payment.model import PaymentStatus
from tidegate.payment.variance import Variance

TEXT_CHARS_MAX = 200
NAMES = ("q", "status", "variance", "method", "currency", "link", "from", "to")
_REFERENCE = re.compile(r"[A-Za-z0-9\-_.=:]{1,100}")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
_AMOUNT = re.compile(r"([<>]?)([0-9]{1,12}(?:\.[0-9]{1,2})?)")
# Letters of any script, and what stands between them in a name.
_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f .'’-]){0,99}")
_LINK = re.compile(r"[A-Za-z0-9_]{1,40}")
_OPERATOR = re.compile(r"(email|ref|name|amount|status|is):(.*)")
_VARIANCES = {"over": Variance.OVERPAYMENT, "under": Variance.UNDERPAYMENT}
VARIANCE_WORDS = {"over": "Overpaid", "under": "Underpaid"}
# The words of the page filter when they are typed, too, with is: and without.
_TYPED = {word.lower(): _VARIANCES[value] for value, word in VARIANCE_WORDS.items()}
_IS = _VARIANCES | _TYPED
_IS_FIELDS = {"unusual": "is_unusual", "unrefunded": "is_unrefunded"}
# What each operator takes, as the page says it.
WORKS = {
    "email": "an address, such as email:ada@example.com",
    "ref": "the beginning of a reference, such as ref:ORDER-10",
    "name": "the beginning of a name, such as name:Ada",
    "amount": "a number, such as amount:5000, amount:>5000 or amount:<99.50",
    "status": "one of initiated, pending, processing, paid, failed, expired",
    "is": "unusual, overpaid, underpaid or unrefunded",
}
HINT = "Search for an e-mail address, a reference, a name, >5000, status:failed, is:unusual, overpaid or underpaid."


def filter_in(query: Mapping[str, str], times: Times) -> PaymentFilter:
    """Raises Invalid; a filter is never ignored."""
    found: dict[str, Any] = {}
    for name, (field, known) in _CHOICES.items():
        if text := query.get(name, ""):
            found[field] = _one_of(text, known, name)
    if text := query.get("link", ""):
        if not _LINK.fullmatch(text):
            raise Invalid(Problem("link", "Choose a payment link of this business."))
        found["link_id"] = text
    found |= checked_period(query, times, {})._asdict()
    typed = query.get("q", "").strip()
    if len(typed) > TEXT_CHARS_MAX:
        raise Invalid(Problem("q", f"Enter at most {TEXT_CHARS_MAX} characters."))
    _read(typed, found)
    return PaymentFilter(**found)


def _read(typed: str, found: dict[str, Any]) -> None:
    """Words with an operator, an address or an amount filter by themselves; the rest is a reference or a name."""
    rest = []
    for word in typed.split():
        if operator := _OPERATOR.fullmatch(word):
            _read_operator(operator[1], operator[2], found)
        elif _EMAIL.fullmatch(word):
            found["email"] = word.lower()
        elif word.lower() in _TYPED:
            found["variance"] = _TYPED[word.lower()]
        elif word[0] in "<>":
            _read_operator("amount", word, found)
        else:
            rest.append(word)
    if rest:
        _read_text(" ".join(rest), found)


def _read_text(text: str, found: dict[str, Any]) -> None:
    if "name_prefix" in found and _NAME.fullmatch(f"{found['name_prefix']} {text}"):
        found["name_prefix"] += f" {text}"  # name:Ada Obi
    elif _NAME.fullmatch(text):
        found["either_prefix" if _REFERENCE.fullmatch(text) else "name_prefix"] = text
    elif _REFERENCE.fullmatch(text):
        found["reference_prefix"] = text
    else:
        raise Invalid(Problem("q", f"No reference and no name is like “{text[:40]}”. {HINT}"))


def _read_operator(name: str, value: str, found: dict[str, Any]) -> None:
    if name == "email" and _EMAIL.fullmatch(value):
        found["email"] = value.lower()
    elif name == "ref" and _REFERENCE.fullmatch(value):
        found["reference_prefix"] = value
    elif name == "name" and _NAME.fullmatch(value):
        found["name_prefix"] = value
    elif name == "status" and value in _STATUSES:
        found["status"] = _STATUSES[value]
    elif name == "is" and value in _IS_FIELDS:
        found[_IS_FIELDS[value]] = True
    elif name == "is" and value in _IS:
        found["variance"] = _IS[value]
    elif name == "amount" and (amount := _AMOUNT.fullmatch(value)):
        _read_amount(amount[1], Decimal(amount[2]), found)
    else:
        typed = f"{name}:{value[:40]}"
        raise Invalid(Problem("q", f"The search does not take “{typed}”: after {name}: stands {WORKS[name]}."))


def _read_amount(sign: str, major: Decimal, found: dict[str, Any]) -> None:
    if sign != "<":
        found["least_major"] = major
    if sign != ">":
        found["most_major"] = major


_STATUSES = {status.value: status for status in PaymentStatus} | {"paid": PaymentStatus.SUCCESS}
# What is chosen from a list: the field of the filter, and its values.
_CHOICES: dict[str, tuple[str, Mapping[str, object]]] = {
    "status": ("status", _STATUSES),
    "variance": ("variance", _VARIANCES),
    "method": ("method", {method.value: method for method in Method}),
    "currency": ("currency", {currency.value: currency for currency in CHECKOUT_OFFERS}),
}
T = TypeVar("T")


def _one_of(text: str, known: Mapping[str, T], field: str) -> T:
    if text not in known:
        raise Invalid(Problem(field, f"Choose one of {', '.join(known)}."))
    return known[text]


def kept_in(query: Mapping[str, str]) -> dict[str, str]:
    """The filters of an address, without the page."""
    return {name: query[name] for name in NAMES if query.get(name)}


_FILTER_WORDS = {
    "q": "the search",
    "status": "the status",
    "variance": "the difference",
    "method": "the method",
    "currency": "the currency",
    "link": "the link",
}


def drops(query: Mapping[str, str]) -> list[tuple[str, str]]:
    """Words and address without one of the filters each, where there is more than one to drop."""
    kept = kept_in(query)
    found = [
        (words, urlencode({other: value for other, value in kept.items() if other != name}))
        for name, words in _FILTER_WORDS.items()
        if name in kept
    ]
    if "from" in kept or "to" in kept:
        found.append(("the dates", urlencode({name: kept[name] for name in kept if name not in ("from", "to")})))
    return found if len(found) > 1 else []


def address_of(query: Mapping[str, str], **more: str) -> str:
    """The filters in the address, so that a reload and a colleague see the same."""
    return urlencode(kept_in(query) | more)
