"""Finds card numbers in any JSON value. A problem names the field and never repeats the number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any

from tidegate.core.card_number import contains_card_number, has_digits_enough, is_card_number
from tidegate.core.errors import Invalid, Problem
from tidegate.infra.http.strict_json import shown, walk

# An exponent stands for digits that are not in the bytes.
_EXPONENT = re.compile(rb"[0-9][eE]")
_DIGITS_MIN, _DIGITS_MAX = 13, 19


def may_be_in(body: bytes) -> bool:
    """Whether the fields must be checked: every run of digits in a field is also one in the body."""
    if not body.isascii() or b"\\u" in body or _EXPONENT.search(body):
        return True
    return has_digits_enough(body.decode())


def problems_in(value: Any, *, but_not_in: Collection[str] = ()) -> Iterator[Problem]:
    """References belong in `but_not_in`: they are generated, and some look like a card number by chance."""
    for path, item in walk(value, ""):
        if path not in but_not_in and _is_card(item):
            yield Problem(shown(path), "looks like a card number; never send card data here", Invalid.CARD_DATA)


def _is_card(item: Any) -> bool:
    """Of a number only the integer part: sixteen decimals are a fraction, not a card number."""
    if isinstance(item, str):
        return contains_card_number(item)
    if isinstance(item, Decimal):
        # A number may have a thousand digits (1e999), which are not expanded.
        item = int(item) if item.adjusted() < _DIGITS_MAX else 0
    if not isinstance(item, int):
        return False
    digits = str(abs(item))
    return _DIGITS_MIN <= len(digits) <= _DIGITS_MAX and is_card_number(digits)
