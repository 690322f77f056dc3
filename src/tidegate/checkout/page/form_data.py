"""A payer's form as the JSON that the payer's API takes; what is wrong with it; and what may be filled in again.

After a failure the form is filled in again from a cookie in the payer's own browser: never a card number, a security
code, a PIN or a one-time code. Another browser with the same link does not have the cookie.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.checkout.field import OtherBrand, WrongCheckDigit
from tidegate.checkout.language.catalog import Catalog
from tidegate.checkout.page.model import FormState
from tidegate.checkout.wire import EXPIRED_CARD
from tidegate.core import digit
from tidegate.core.card_number import contains_card_number
from tidegate.core.errors import Invalid, Problem
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.infra.http.cookie import NOTHING_SET, Cookie, CookieLines
from tidegate.rail import phone as phones
from tidegate.rail.mobile_money import MOBILE_MONEY

_EXPIRY = re.compile(r"\s*(\d{1,2})\s*[-/. ]?\s*(\d{4}|\d{2})\s*", re.ASCII)
# Longer ones are not read to their end: the pattern tries every way to share out the spaces.
EXPIRY_LENGTH_MAX = 40
_NOT_AN_EXPIRY = ("0", "0")
_WRONG: dict[str | None, str] = {
    EXPIRED_CARD: "wrong.expiry_passed",
    WrongCheckDigit.kind: "wrong.check_digit",
    OtherBrand.kind: "wrong.brand",
}
# Never shown again, however the form ends.
_SECRETS = frozenset({"cvv", "pin", "otp", "token"})
# The form has one field for both.
_FORM_FIELD = {"expiryMonth": "expiry", "expiryYear": "expiry"}
_CARD, _ADDRESS = ("number", "expiry", "cvv", "holder"), ("line", "city", "state", "country", "postalCode")
FIELDS = frozenset({*_CARD, *_ADDRESS, "phone", "operator", "bank", "pin", "otp"})
_KNOWN = frozenset({"token", "seen", "type", "sure", "action", "amount", *FIELDS})
# Kept in the payer's browser.
REMEMBERED = ("phone", "operator", "bank", "holder", *_ADDRESS)
KEPT_LENGTH_MAX = 100
COOKIE_BYTES_MAX = 2_000


def charge_in(form: Mapping[str, str], method: Method | None) -> dict[str, Any]:
    value: dict[str, Any] = {"type": form.get("type", "")}
    # The form of a hosted method has no fields for a card.
    if method is Method.CARD and any(name in form for name in _CARD):
        value["card"] = _card_in(form)
    if method is Method.MOBILE_MONEY:
        value |= {name: form[name] for name in ("phone", "operator") if form.get(name)}
    if method is Method.USSD and form.get("bank"):
        value["bank"] = form["bank"]
    return value


def _card_in(form: Mapping[str, str]) -> dict[str, Any]:
    found = _EXPIRY.fullmatch(digit.in_ascii(form.get("expiry", "")[: EXPIRY_LENGTH_MAX + 1]))
    month, year = found.groups() if found else _NOT_AN_EXPIRY
    return {
        "number": form.get("number", ""),
        "expiryMonth": int(month),
        "expiryYear": int(year),
        "cvv": form.get("cvv", "").strip(),
        "holder": form.get("holder", "").strip() or None,
    }


def answer_in(form: Mapping[str, str]) -> dict[str, Any]:
    """To the bank's question."""
    for name in ("pin", "otp"):
        if name in form:
            return {name: form[name].replace(" ", "")}
    return {"address": {name: form[name].strip() for name in _ADDRESS if form.get(name)}}


def refused_form(form: Mapping[str, str], refusal: Invalid, words: Catalog, currency: Currency) -> FormState | None:
    """The form to be shown again; None when what is wrong is not in a field of the form."""
    errors: dict[str, str] = {}
    for problem in refusal.problems:
        name = problem.field.removeprefix("card.").removeprefix("address.")
        name = _FORM_FIELD.get(name, name)
        if name in FIELDS:
            errors.setdefault(name, _text(problem, name, words, currency))
    if not errors:
        return None
    return FormState({name: text for name, text in form.items() if name not in _SECRETS}, errors)


def _text(problem: Problem, name: str, words: Catalog, currency: Currency) -> str:
    if problem.rule == Invalid.CARD_DATA:
        return words("wrong.card_elsewhere")
    if problem.kind in _WRONG:
        return words(_WRONG[problem.kind])  # words: wrong.expiry_passed, wrong.check_digit, wrong.brand
    if problem.kind == phones.NumberFault.OTHER_COUNTRY:
        return words("wrong.phone_other_country", code=f"+{MOBILE_MONEY[currency].calling_code}")
    if name == "phone":
        return words(f"wrong.phone_{problem.kind or phones.NumberFault.EMPTY}")  # words: wrong.phone_*
    return words(f"wrong.{name}")  # words: wrong.*


def unexpected(form: Mapping[str, str]) -> list[str]:
    """Names that no form of ours has. The values are never logged."""
    return sorted(name[:40] for name in form.keys() - _KNOWN)


class _Kept(msgspec.Struct):
    pay_code: str
    fields: dict[str, str]


_decode = msgspec.json.Decoder(_Kept).decode


def remember(cookie: Cookie, cookies: Mapping[str, str], pay_code: str, form: Mapping[str, str]) -> CookieLines:
    """Adds this form's fields to those of the same payment; until the browser is closed."""
    fields = harmless_fields(form)
    if not fields:
        return NOTHING_SET
    kept = _Kept(pay_code, {**recall(cookie, cookies, pay_code), **fields})
    value = urlsafe_b64encode(msgspec.json.encode(kept)).rstrip(b"=").decode("ascii")
    return cookie.set(value) if len(value) <= COOKIE_BYTES_MAX else NOTHING_SET


def recall(cookie: Cookie, cookies: Mapping[str, str], pay_code: str) -> dict[str, str]:
    value = cookies.get(cookie.name, "")
    try:
        kept = _decode(urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    except ValueError:
        return {}
    is_own = kept.pay_code == pay_code
    return {name: text for name, text in kept.fields.items() if name in REMEMBERED} if is_own else {}


def harmless_fields(form: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text[:KEPT_LENGTH_MAX]
        for name in REMEMBERED
        if (text := form.get(name)) and not contains_card_number(text)
    }
