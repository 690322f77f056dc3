"""What a payer typed, kept in the payer's own browser and filled in again after a failure.

Never a card number, a security code, a PIN or a one-time code. Whoever else has the link has not this cookie.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

import msgspec

from tidegate.core.card_number import contains_card_number
from tidegate.infra.page.cookie import NOTHING_SET, Cookie, CookieLines

FIELDS = ("phone", "operator", "bank", "holder", "line", "city", "state", "postalCode", "country")
LENGTH_MAX = 100
BYTES_MAX = 2_000


class _Typed(msgspec.Struct):
    pay_code: str
    fields: dict[str, str]


_decode = msgspec.json.Decoder(_Typed).decode


def remember(cookie: Cookie, cookies: Mapping[str, str], pay_code: str, form: Mapping[str, str]) -> CookieLines:
    """Adds this form's fields to those of the same payment; until the browser is closed."""
    fields = shown_again(form)
    if not fields:
        return NOTHING_SET
    kept = _Typed(pay_code, {**recall(cookie, cookies, pay_code), **fields})
    value = urlsafe_b64encode(msgspec.json.encode(kept)).rstrip(b"=").decode("ascii")
    return cookie.set(value) if len(value) <= BYTES_MAX else NOTHING_SET


def shown_again(form: Mapping[str, str]) -> dict[str, str]:
    return {name: text[:LENGTH_MAX] for name in FIELDS if (text := form.get(name)) and not contains_card_number(text)}


def recall(cookie: Cookie, cookies: Mapping[str, str], pay_code: str) -> dict[str, str]:
    value = cookies.get(cookie.name, "")
    try:
        kept = _decode(urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    except ValueError:
        return {}
    return {name: text for name, text in kept.fields.items() if name in FIELDS} if kept.pay_code == pay_code else {}
