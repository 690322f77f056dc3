"""Fields that only a payer sends. Their values stay in memory, on the way to the rail, and are never shown."""

from __future__ import annotations

import re
import unicodedata
from itertools import filterfalse
from typing import Any, ClassVar, Self

from tidegate.core import digit
from tidegate.core.card_number import is_card_number

CARD_NUMBER_LENGTH_MAX = 40
_CARD_DIGITS = re.compile(r"\d{13,19}", re.ASCII)
# The brands that are taken, as the form says.
_BRANDS = (
    ("visa", re.compile("4")),
    ("verve", re.compile("506[01]|507[89]|650")),
    ("mastercard", re.compile("5[1-5]|2[2-7]")),
)
_BETWEEN_DIGITS = ("Zs", "Pd", "Cf")


class _Secret(str):
    """Text that repr does not show."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'"


class WrongCheckDigit(ValueError):
    """The length of a card number, but a wrong check digit: most often one digit was mistyped."""

    kind = "check_digit"


class OtherBrand(ValueError):
    """A card number of a brand that is not taken."""

    kind = "brand"


class CardNumber(_Secret):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        # From any keyboard, with or without spaces.
        is_short = isinstance(value, str) and len(value) <= CARD_NUMBER_LENGTH_MAX
        digits = digit.in_ascii("".join(filterfalse(_is_between_digits, value))) if is_short else ""
        if not _CARD_DIGITS.fullmatch(digits):
            raise ValueError("must be a card number of 13 to 19 digits")
        if not is_card_number(digits):
            raise WrongCheckDigit("must be a card number: its check digit is wrong")
        if _brand_of(digits) is None:
            raise OtherBrand("must be the number of a Mastercard, Visa or Verve card")
        return cls(digits)

    @property
    def brand(self) -> str | None:
        return _brand_of(self)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "minLength": 13, "maxLength": CARD_NUMBER_LENGTH_MAX}


class Cvv(_Secret):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        return cls(_digits(value, r"\d{3,4}", "must be the 3 or 4 digits of the security code"))

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[0-9]{3,4}$"}


class _NumberOrDigits(int):
    """A whole number, or its digits as text: most client libraries send expiry dates as text."""

    least: ClassVar[int]
    most: ClassVar[int]
    text: ClassVar[str]
    complaint: ClassVar[str]

    @classmethod
    def parse(cls, value: Any) -> Self:
        # From any keyboard.
        digits = digit.in_ascii(value) if isinstance(value, str) else ""
        number = int(digits) if re.fullmatch(cls.text, digits, re.ASCII) else value
        if type(number) is not int or not cls.least <= number <= cls.most:
            raise ValueError(cls.complaint)
        return cls(number)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        as_number = {"type": "integer", "minimum": cls.least, "maximum": cls.most}
        return {"anyOf": [as_number, {"type": "string", "pattern": f"^({cls.text})$"}]}


class ExpiryMonth(_NumberOrDigits):
    least, most = 1, 12
    text = "0?[1-9]|1[0-2]"
    complaint = "must be a month from 1 to 12"


class ExpiryYear(_NumberOrDigits):
    least, most = 0, 2100
    text = "[0-9]{2}|20[0-9]{2}"
    complaint = "must be a year of two or four digits, at most 2100"


class PinText(_Secret):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        return cls(_digits(value, r"\d{4,6}", "must be the 4 to 6 digits of the PIN"))

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[0-9]{4,6}$"}


class OtpText(_Secret):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        return cls(_digits(value, r"\d{4,8}", "must be the digits of the one-time code"))

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[0-9]{4,8}$"}


def _brand_of(digits: str) -> str | None:
    return next((name for name, prefix in _BRANDS if prefix.match(digits)), None)


def _is_between_digits(character: str) -> bool:
    """Spaces, dashes and invisible characters."""
    return unicodedata.category(character) in _BETWEEN_DIGITS or character.isspace()


def _digits(value: Any, pattern: str, complaint: str) -> str:
    digits = digit.in_ascii(value) if isinstance(value, str) else ""
    if not re.fullmatch(pattern, digits, re.ASCII):
        raise ValueError(complaint)
    return digits
