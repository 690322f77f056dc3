"""What is typed above the list of payments, and chosen beside it, as a filter. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar
from urllib.parse import urlencode

from tidegate.core.errors import Invalid, Problem
from tidegate.core.method import Method
from tidegate.core.money import CHECKOUT_OFFERS, Currency
from tidegate.dashboard.format import Times
from tidegate.dashboard.list_filter import FILTER_WORDS, checked_period, shown
from tidegate.dashboard.payment_page import METHOD_WORDS, STATUS_WORDS
from tidegate.payment.list_store import PaymentFilter
from tidegate.payment.model import PaymentStatus
from tidegate.payment.variance import Variance

TEXT_CHARS_MAX = 200
NAMES = ("q", "status", "variance", "method", "currency", "link", "from", "to")
_REFERENCE = re.compile(r"[A-Za-z0-9\-_.=:]{1,100}")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
_AMOUNT = re.compile(r"([<>]=?|)([0-9]{1,12}(?:\.[0-9]{1,2})?)")
# As pages write an amount: what has a sign or commas is no reference.
_SIGNS = "|".join(re.escape(currency.spec.sign) for currency in CHECKOUT_OFFERS)
_WRITTEN_AMOUNT = re.compile(
    rf"(?:{_SIGNS})[0-9]{{1,12}}(?:\.[0-9]{{1,2}})?|(?:{_SIGNS})?[0-9]{{1,3}}(?:,[0-9]{{3}}){{1,3}}(?:\.[0-9]{{1,2}})?"
)
# Between two amounts that any currency has.
_STEP = Decimal(1) / max(currency.minor_per_major for currency in Currency)
# What stands between letters and digits of any script in a name.
_IN_NAMES = " .'’&(),/+%-_"
_NAME_CHARS_MAX = 100
_LINK = re.compile(r"[A-Za-z0-9_]{1,40}")
# What each operator takes, as the page says it.
WORKS = {
    "email": "an address, such as email:ada@example.com",
    "ref": "the beginning of a reference, such as ref:ORDER-10",
    "name": "the beginning of a name, such as name:Ada",
    "amount": "a number, such as amount:5000, amount:>5000, amount:>=5000 or amount:<99.50",
    "status": "one of initiated, pending, processing, paid, failed, expired",
    "method": f"one of {', '.join(Method)}",
    "currency": "a currency, such as currency:KES",
    "is": "unusual, overpaid, underpaid or unrefunded",
}
_OPERATOR = re.compile(rf"({'|'.join(WORKS)}):(.*)", re.IGNORECASE)
# Like an operator, but none: references may have a colon, too.
_NO_OPERATOR = re.compile(rf"(?!(?:{'|'.join(WORKS)}):)([a-z]{{2,20}}):.*", re.IGNORECASE)
_VARIANCES = {"over": Variance.OVERPAYMENT, "under": Variance.UNDERPAYMENT}
VARIANCE_WORDS = {"over": "Overpaid", "under": "Underpaid"}
# The words of the page filter when they are typed, too, with is: and without.
_TYPED = {word.lower(): _VARIANCES[value] for value, word in VARIANCE_WORDS.items()}
_IS_FIELDS = {"unusual": "is_unusual", "unrefunded": "is_unrefunded"}
_STATUSES = {status.value: status for status in PaymentStatus} | {"paid": PaymentStatus.SUCCESS}
_METHODS = {method.value: method for method in Method}
_CURRENCIES = {currency.value: currency for currency in CHECKOUT_OFFERS}
# Operators that take one of a few words, and the field that each word filters by.
_WORDS_OF: dict[str, tuple[str, Mapping[str, object]]] = {
    "status": ("status", _STATUSES | {word.lower(): status for status, (word, _) in STATUS_WORDS.items()}),
    "method": ("method", _METHODS),
    "currency": ("currency", {code.lower(): currency for code, currency in _CURRENCIES.items()}),
    "is": ("variance", _VARIANCES | _TYPED),
}
# What is chosen beside the search: the field of the filter, its values, what the page calls it and them.
_CHOICES: dict[str, tuple[str, Mapping[str, object], str, Mapping[str, str]]] = {
    "status": ("status", _STATUSES, "Status", {status.value: word for status, (word, _) in STATUS_WORDS.items()}),
    "variance": ("variance", _VARIANCES, "Difference", VARIANCE_WORDS),
    "method": ("method", _METHODS, "Method", METHOD_WORDS),
    "currency": ("currency", _CURRENCIES, "Currency", {}),
}
HINT = "Search for an e-mail address, a reference, a name, >5000, status:failed, is:unusual, overpaid or underpaid."


class _Asked:
    """The fields of a filter, each with the words that asked for it: two that disagree are refused, with both."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.words: dict[str, str] = {}

    def put(self, field: str, value: object, words: str) -> None:
        if self.fields.setdefault(field, value) != value:
            raise _disagree(self.words[field], words)
        self.words.setdefault(field, words)


def _disagree(first: str, second: str) -> Invalid:
    return Invalid(Problem("q", f"Two filters disagree: {first} and {second}. Leave one of them out."))


def filter_in(query: Mapping[str, str], times: Times) -> PaymentFilter:
    """Raises Invalid; a filter is never ignored."""
    asked = _Asked()
    days = checked_period(query, times, NAMES, {})
    for name, (field, known, label, words) in _CHOICES.items():
        if text := query.get(name, ""):
            asked.put(field, _one_of(text, known, name), f"“{words.get(text, text)}” under {label}")
    if text := query.get("link", ""):
        if not _LINK.fullmatch(text):
            raise Invalid(Problem("link", "Choose a payment link of this business."))
        asked.put("link_id", text, text)
    typed = query.get("q", "").strip()
    if len(typed) > TEXT_CHARS_MAX:
        raise Invalid(Problem("q", f"Enter at most {TEXT_CHARS_MAX} characters."))
    _read(typed, asked)
    if "variance" in asked.fields:
        asked.fields.pop("is_unusual", None)  # One of the two kinds of it.
    return PaymentFilter(**asked.fields, start=days.start, end=days.end)


def _read(typed: str, asked: _Asked) -> None:
    """Words with an operator, an address or an amount filter by themselves; the rest is a reference or a name."""
    rest = []
    for word in typed.split():
        words = f"“{shown(word)}” in the search"
        if operator := _OPERATOR.fullmatch(word):
            _read_operator(operator[1].lower(), operator[2], words, asked)
        elif _EMAIL.fullmatch(word):
            asked.put("email", word.lower(), words)
        elif word.lower() in _TYPED:
            asked.put("variance", _TYPED[word.lower()], words)
        elif word[0] in "<>":
            _read_operator("amount", word, words, asked)
        elif _WRITTEN_AMOUNT.fullmatch(word):
            _read_operator("amount", _plain(word), words, asked)
        else:
            rest.append(word)
    if rest:
        _read_text(" ".join(rest), asked)


def _read_text(text: str, asked: _Asked) -> None:
    """Where a reference or a name is given already, it is the other one."""
    fields, words = asked.fields, f"“{shown(text)}” in the search"
    is_reference = _REFERENCE.fullmatch(text) is not None
    is_second = is_reference and "reference_prefix" in fields
    if "name_prefix" in fields and _is_name(f"{fields['name_prefix']} {text}"):
        fields["name_prefix"] += f" {text}"  # name:Ada Obi
    elif _is_name(text) and not (is_second and re.search("[0-9]", text)):
        asked.put("either_prefix" if is_reference and not is_second else "name_prefix", text, words)
    elif is_reference:
        asked.put("reference_prefix", text, words)
    else:
        raise Invalid(Problem("q", f"No reference and no name is like “{shown(text)}”. {HINT}"))


def _is_name(text: str) -> bool:
    """Letters with their marks, and digits."""
    is_short = text[:1].isalnum() and len(text) <= _NAME_CHARS_MAX
    return is_short and all(one in _IN_NAMES or unicodedata.category(one)[0] in "LMN" for one in text)


def _read_operator(name: str, value: str, words: str, asked: _Asked) -> None:
    field, known = _WORDS_OF.get(name, ("", {}))
    if value.lower() in known:
        asked.put(field, known[value.lower()], words)
    elif name == "is" and value.lower() in _IS_FIELDS:
        asked.put(_IS_FIELDS[value.lower()], True, words)
    elif name == "email" and _EMAIL.fullmatch(value):
        asked.put("email", value.lower(), words)
    elif name == "ref" and _REFERENCE.fullmatch(value):
        asked.put("reference_prefix", value, words)
    elif name == "name" and _is_name(value):
        asked.put("name_prefix", value, words)
    elif name == "amount" and (amount := _AMOUNT.fullmatch(value)):
        _read_amount(amount[1], Decimal(amount[2]), words, asked)
    else:
        typed = words.removesuffix(" in the search")
        raise Invalid(Problem("q", f"The search does not take {typed}: after {name}: stands {WORKS[name]}."))


def _read_amount(sign: str, major: Decimal, words: str, asked: _Asked) -> None:
    """More and less are exact: by the smallest amount there is."""
    if "<" not in sign:
        asked.put("least_major", major + _STEP if sign == ">" else major, words)
    if ">" not in sign:
        asked.put("most_major", major - _STEP if sign == "<" else major, words)
    least, most = asked.fields.get("least_major"), asked.fields.get("most_major")
    if least is not None and most is not None and least > most:
        raise _disagree(asked.words["least_major"], asked.words["most_major"])


def _plain(written: str) -> str:
    """The digits of an amount as pages write it."""
    return re.sub(r"[^0-9.]", "", written)


def other_searches(typed: str) -> list[str]:
    """What was meant where nothing is found: capitals count in references, and a number may be an amount."""
    found = []
    if _REFERENCE.fullmatch(typed) and not _OPERATOR.fullmatch(typed) and typed != typed.upper():
        found.append(typed.upper())
    if _AMOUNT.fullmatch(typed):
        found.append(f"amount:{typed}")
    return found


def unknown_operator_in(query: Mapping[str, str]) -> str:
    """What is typed like an operator and was searched as a reference."""
    found = (_NO_OPERATOR.fullmatch(word) for word in query.get("q", "").split())
    return next((one[1] for one in found if one), "")


T = TypeVar("T")


def _one_of(text: str, known: Mapping[str, T], field: str) -> T:
    if text not in known:
        raise Invalid(Problem(field, f"Choose one of {', '.join(known)}."))
    return known[text]


def kept_in(query: Mapping[str, str]) -> dict[str, str]:
    """The filters of an address, without the page."""
    return {name: query[name] for name in NAMES if query.get(name)}


def drops(query: Mapping[str, str]) -> list[tuple[str, str]]:
    """Words and address without one of the filters each, where there is more than one to drop."""
    kept = kept_in(query)
    found = [
        (words, urlencode({other: value for other, value in kept.items() if other != name}))
        for name, words in FILTER_WORDS.items()
        if name in kept and name not in ("from", "to")
    ]
    if "from" in kept or "to" in kept:
        found.append(("the dates", urlencode({name: kept[name] for name in kept if name not in ("from", "to")})))
    return found if len(found) > 1 else []


def address_of(query: Mapping[str, str], **more: str) -> str:
    """The filters in the address, so that a reload and a colleague see the same."""
    return urlencode(kept_in(query) | more)
