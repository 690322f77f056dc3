"""Recognises card numbers in text, so that none reaches a log or a table."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from tidegate.core.bank_number import IBAN_LENGTHS, is_iban

# Enough digits for a card number in any notation. A text without a match needs no further check.
_ENOUGH_DIGITS = re.compile(r"[0-9](?:[ .-]{0,3}[0-9]){12}")
# A card number is digits alone, or in the groups printed on a card. Digits joined to a letter or, by - _ . +, to the
# rest of a word are part of an identifier, and digits after + are a phone number. Each group may start a number, and
# each is read in one pass, so that a text of groups only costs no more than its length.
_JOINED = r"[-_.+]?[A-Za-z0-9_]"
_GAP = r"[\ .-]{1,3}"
_WRITTEN = re.compile(
    rf"""(?<![A-Za-z0-9_+]) (?<![A-Za-z0-9_][-_.]) ([2-6][0-9]{{3}})
        (?: (?=([0-9]{{9,15}}) (?!{_JOINED}))
          # Four groups; what they are joined to, if anything; an optional fifth, which may be a security code.
          | (?=((?:{_GAP}[0-9]{{4}}){{3}}) (?=({_JOINED})?) ({_GAP}[0-9]{{2,3}}(?!{_JOINED}))?)
          | (?=({_GAP}[0-9]{{6}}{_GAP}[0-9]{{4,5}}) (?!{_JOINED})))
    """,
    re.VERBOSE,
)
_GAPS = str.maketrans("", "", " -.")
_IBAN = re.compile(r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]){11,30}", re.ASCII | re.IGNORECASE)
_LETTER_OR_DIGIT = re.compile(r"[A-Za-z0-9]")
# Each issuer's prefixes and lengths. No present-day time stamp matches: they begin with 1 or 20.
_ISSUED = re.compile(
    r"""4[0-9]{12}(?:[0-9]{3}){0,2}                             # Visa
        |5[0-8][0-9]{14}                                        # Mastercard, Maestro, Verve
        |5[06-8][0-9]{16,17}                                    # Maestro, Verve
        |2(?:2(?:2[1-9]|[3-9][0-9])|[3-6][0-9]{2}|7(?:[01][0-9]|20))[0-9]{12}  # Mastercard, second range
        |3[47][0-9]{13}                                         # American Express
        |3(?:0[0-59]|[689][0-9])[0-9]{11}(?:[0-9]{2})?          # Diners Club
        |35(?:2[89]|[3-8][0-9])[0-9]{12}                        # JCB
        |6[02-57][0-9]{14,17}                                   # Discover, UnionPay, Verve, Maestro
    """,
    re.VERBOSE,
)
# Of a text that is looked at in bounded time. No honest text has as many groups of four digits,
# none of them a card's, or as many IBANs.
_CANDIDATES_MAX = 1_000
_IBANS_MAX = 200
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")


def contains_card_number(text: str) -> bool:
    plain = in_ascii(text)
    return (
        _ENOUGH_DIGITS.search(plain) is not None
        and _is_in(plain)
        and _is_in(_IBAN.sub(_without_iban, plain, count=_IBANS_MAX))
    )


def has_digits_enough(text: str) -> bool:
    """Whether it may contain a card number, even where escapes or a path hide the word boundaries."""
    return _ENOUGH_DIGITS.search(in_ascii(text)) is not None


def is_card_number(digits: str) -> bool:
    return _ISSUED.fullmatch(digits) is not None and _has_check_digit(digits)


def in_ascii(text: str) -> str:
    """Digits of any script, and dashes and spaces of any width, in ASCII; invisible characters are removed.

    Character by character: normalising a whole text can take quadratic time.
    """
    return text if text.isascii() else "".join(map(_character_in_ascii, text))


@lru_cache(maxsize=1024)
def _character_in_ascii(character: str) -> str:
    digit = unicodedata.digit(character, None)
    if digit is not None:
        return str(digit)
    category = unicodedata.category(character)
    return {"Pd": "-", "Zs": " ", "Cf": "", "Mn": "", "Me": ""}.get(category, character)


def _is_in(plain: str) -> bool:
    for number, digits in enumerate(_written_like_cards(plain)):
        if number == _CANDIDATES_MAX or is_card_number(digits.translate(_GAPS)):
            return True
    return False


def _written_like_cards(plain: str) -> Iterator[str]:
    for found in _WRITTEN.finditer(plain):
        first, alone, groups, joined_to, fifth, amex = found.groups(default="")
        if groups:
            if not joined_to:
                yield first + groups
            if fifth:
                yield first + groups + fifth
        else:
            yield first + (alone or amex)


def _without_iban(found: re.Match[str]) -> str:
    """An IBAN in groups may contain a valid card number by chance. The text after it stays."""
    text = found[0]
    ends = [one.end() for one in _LETTER_OR_DIGIT.finditer(text)]
    end = ends[min(IBAN_LENGTHS.get(text[:2].upper(), 0), len(ends)) - 1]
    return f"IBAN{text[end:]}" if is_iban(text[:end]) else text


def _has_check_digit(digits: str) -> bool:
    """Luhn's algorithm."""
    plain = digits.encode()
    return (sum(plain[-1::-2]) + sum(plain[-2::-2].translate(_DOUBLED)) - len(plain) * ord("0")) % 10 == 0
