"""Recognising card numbers in text, so that one never reaches a log or a table by mistake."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LENGTH_MIN, LENGTH_MAX = 13, 19
_MAYBE = re.compile(r"\d(?:[ -]?\d){12}")
_RUN = re.compile(r"\d+(?:[ -]\d+)*")
# Without the issuers' prefixes every tenth time stamp or phone number would pass for a card.
_ISSUED = re.compile(
    r"""(?:4\d{12}(?:\d{3}){0,2}            # Visa
        |5[0-8]\d{14}(?:\d{3})?             # Mastercard, Verve, Maestro
        |2(?:2[2-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}  # Mastercard, second range
        |3[47]\d{13}                        # American Express
        |3(?:0[0-5]|[689]\d)\d{11}(?:\d{2})?  # Diners
        |35\d{14}                           # JCB
        |6\d{15,18})                        # Discover, UnionPay, Verve, Maestro
    """,
    re.VERBOSE | re.ASCII,
)


def contains_card_number(text: str) -> bool:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _MAYBE.search(plain) is not None and any(map(is_card_number, _candidates(plain)))


def is_card_number(digits: str) -> bool:
    return _ISSUED.fullmatch(digits) is not None and _passes_luhn(digits)


def _candidates(text: str) -> Iterator[str]:
    """Neighbouring groups of digits, joined, in every way that gives the length of a card number."""
    for run in _RUN.findall(text):
        groups = re.split("[ -]", run)
        for start in range(len(groups)):
            joined = ""
            for group in groups[start:]:
                joined += group
                if len(joined) > LENGTH_MAX:
                    break
                if len(joined) >= LENGTH_MIN:
                    yield joined


def _passes_luhn(digits: str) -> bool:
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + position % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0
