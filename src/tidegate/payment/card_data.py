"""Card numbers where none belong: found in any JSON value, named by their place, never repeated."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from tidegate.core.card_number import LENGTH_MIN, contains_card_number
from tidegate.core.errors import Invalid, Problem
from tidegate.infra.http.strict_json import shown, walk

_NOT_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
# It stands for digits that the bytes do not show.
_EXPONENT = re.compile(rb"[0-9][eE]")


def may_be_in(body: bytes) -> bool:
    """Whether a look at each field is worth while: every run of digits in a field is one in the body as well."""
    if not body.isascii() or b"\\u" in body or _EXPONENT.search(body):
        return True
    return len(body.translate(None, _NOT_DIGITS)) >= LENGTH_MIN and contains_card_number(body.decode())


def problems_in(value: Any, *, but_not_in: Collection[str] = ()) -> Iterator[Problem]:
    for path, item in walk(value, ""):
        if path in but_not_in or isinstance(item, bool) or item is None:
            continue
        # Of a number only the whole part is looked at: sixteen decimals are a fraction, not a card.
        if contains_card_number(item if isinstance(item, str) else str(int(item))):
            yield Problem(shown(path), "looks like a card number; never send card data here", Invalid.CARD_DATA)
