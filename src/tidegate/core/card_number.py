"""Recognising card numbers in text, so that one never reaches a log or a table by mistake."""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate

LENGTH_MIN, LENGTH_MAX = 13, 19
PHONE_DIGITS_MAX = 15
_MAYBE = re.compile(r"\d(?:[ -]{0,3}\d){12}", re.ASCII)
_RUN = re.compile(r"\+?\d+(?:[ -]{1,3}\d+)*")
_GAP = re.compile("[ -]+")
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
    plain = text if text.isascii() else _in_ascii(text)
    return _MAYBE.search(plain) is not None and any(map(_holds_card_number, _RUN.findall(plain)))


def is_card_number(digits: str) -> bool:
    return _ISSUED.fullmatch(digits) is not None and _luhn_sums(digits)[len(digits) % 2][-1] % 10 == 0


def _in_ascii(text: str) -> str:
    """Digits of any script, dashes and spaces of any width as ASCII has them; what is invisible goes."""
    return "".join(map(_character_in_ascii, unicodedata.normalize("NFKC", text)))


def _character_in_ascii(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    return {"Pd": "-", "Zs": " ", "Cf": ""}.get(category, character)


def _holds_card_number(run: str) -> bool:
    """Neighbouring groups of digits, joined, in every way that gives the length of a card number."""
    groups = _GAP.split(run.removeprefix("+"))
    digits = "".join(groups)
    # +49 151 12345678 has the length and the first digit of an old Visa card.
    if run.startswith("+") and len(digits) <= PHONE_DIGITS_MAX:
        return False
    edges = list(accumulate(map(len, groups), initial=0))
    ends = frozenset(edges)
    sums = _luhn_sums(digits)
    return any(
        end in ends and (sums[end % 2][end] - sums[end % 2][start]) % 10 == 0 and _ISSUED.fullmatch(digits, start, end)
        for start in edges
        for end in range(start + LENGTH_MIN, start + LENGTH_MAX + 1)
    )


def _luhn_sums(digits: str) -> tuple[list[int], list[int]]:
    """Running sums with the digits at even, and at odd, places doubled as Luhn says.

    The sum of any stretch is then one subtraction: without it, a body full of digits would cost a second.
    """
    plain = list(map(int, digits))
    doubled = [2 * digit - 9 if digit > 4 else 2 * digit for digit in plain]
    even, odd = plain.copy(), plain.copy()
    even[::2], odd[1::2] = doubled[::2], doubled[1::2]
    return list(accumulate(even, initial=0)), list(accumulate(odd, initial=0))
