"""What is typed above the list of payments, and chosen beside it, as a filter. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, TypeVar
from urllib.parse import urlencode

from tidegate.core.errors import Invalid, Problem
from tidegate.core.method import Method
from tidegate.core.money import CHECKOUT_OFFERS, Currency
from tidegate.dashboard.format import Times
from tidegate.payment.list_store import PaymentFilter
from tidegate.payment.model import PaymentStatus
from tidegate.payment.variance import Variance

TEXT_CHARS_MAX = 200
NAMES = ("q", "status", "method", "currency", "from", "to")
HINT = "Try an e-mail address, the beginning of a reference, >5000, status:failed, is:over or is:under."
_REFERENCE = re.compile(r"[A-Za-z0-9\-_.=:]{1,100}")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
_AMOUNT = re.compile(r"([<>]?)([0-9]{1,12})(?:\.([0-9]{1,2}))?")
_VARIANCES = {"over": Variance.OVERPAYMENT, "under": Variance.UNDERPAYMENT}


def filter_in(query: Mapping[str, str], times: Times) -> PaymentFilter:
    """Raises Invalid; a filter is never ignored."""
    found: dict[str, Any] = {}
    if text := query.get("status", ""):
        found["status"] = _status(text)
    if text := query.get("method", ""):
        found["method"] = _one_of(text, {method.value: method for method in Method}, "method")
    if text := query.get("currency", ""):
        found["currency"] = _one_of(text, {currency.value: currency for currency in CHECKOUT_OFFERS}, "currency")
    if text := query.get("from", ""):
        found["start"] = times.start_of(_day(text, "from"))
    if text := query.get("to", ""):
        found["end"] = times.start_of(_day(text, "to") + timedelta(days=1))
    typed = query.get("q", "").strip()
    if len(typed) > TEXT_CHARS_MAX:
        raise Invalid(Problem("q", f"Enter at most {TEXT_CHARS_MAX} characters."))
    for word in typed.split():
        _read(word, found)
    return PaymentFilter(**found)


def _read(word: str, found: dict[str, Any]) -> None:
    name, colon, value = word.partition(":")
    if colon and name in ("email", "ref", "amount", "status", "is"):
        _read_named(name, value, found)
    elif _EMAIL.fullmatch(word):
        found["email"] = word.lower()
    elif word[0] in "<>":
        _read_named("amount", word, found)
    elif _REFERENCE.fullmatch(word):
        found["reference_prefix"] = word
    else:
        raise Invalid(Problem("q", f"This is not understood. {HINT}"))


def _read_named(name: str, value: str, found: dict[str, Any]) -> None:
    if name == "email" and _EMAIL.fullmatch(value):
        found["email"] = value.lower()
    elif name == "ref" and _REFERENCE.fullmatch(value):
        found["reference_prefix"] = value
    elif name == "status":
        found["status"] = _status(value)
    elif name == "is" and value in _VARIANCES:
        found["variance"] = _VARIANCES[value]
    elif name == "amount" and (amount := _AMOUNT.fullmatch(value)):
        _read_amount(amount, found)
    else:
        raise Invalid(Problem("q", f"{name}: is not understood so. {HINT}"))


def _read_amount(amount: re.Match[str], found: dict[str, Any]) -> None:
    currency: Currency | None = found.get("currency")
    if currency is None:
        raise Invalid(Problem("currency", "Choose a currency too: amounts of two currencies are not compared."))
    minor = int(Decimal(f"{amount[2]}.{amount[3] or '0'}").scaleb(currency.exponent))
    if amount[1] != "<":
        found["min_minor"] = minor
    if amount[1] != ">":
        found["max_minor"] = minor


def _status(text: str) -> PaymentStatus:
    known = {status.value: status for status in PaymentStatus} | {"paid": PaymentStatus.SUCCESS}
    return _one_of(text, known, "status")


T = TypeVar("T")


def _one_of(text: str, known: Mapping[str, T], field: str) -> T:
    if text not in known:
        raise Invalid(Problem(field, f"Choose one of {', '.join(known)}."))
    return known[text]


def _day(text: str, field: str) -> date:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        raise Invalid(Problem(field, "Enter a day such as 2026-11-16.")) from None


def address_of(query: Mapping[str, str], **more: str) -> str:
    """The filters in the address, so that a reload and a colleague see the same."""
    return urlencode({name: query[name] for name in NAMES if query.get(name)} | more)
