"""Fields of merchants' requests with rules of their own: each is a checked type."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Self

from email_validator import EmailNotValidError, validate_email

from tidegate.core import ids
from tidegate.core.card_number import contains_card_number
from tidegate.core.errors import Invalid, Problem
from tidegate.core.visible import DIRECTION_MARKS
from tidegate.infra.http.operation import encode

NAME_LENGTH_MAX = 200
MARKS_IN_A_ROW_MAX = 8
EMAIL_LENGTH_MAX = 254
REFERENCE_LENGTH_MAX = 100
REMARK_LENGTH_MAX = 500
METADATA_KEYS_MAX = 50
METADATA_KEY_LENGTH_MAX = 40
METADATA_VALUE_LENGTH_MAX = 500
METADATA_BYTES_MAX = 16 * 1024
METADATA_MEANING = (
    f"Any JSON of yours; returned as sent. At most {METADATA_KEYS_MAX} keys of {METADATA_KEY_LENGTH_MAX} characters, "
    f"texts of {METADATA_VALUE_LENGTH_MAX} characters, and {METADATA_BYTES_MAX // 1024} kB."
)

_REFERENCE = re.compile(r"[A-Za-z0-9\-_.=:]{1,100}")
_PHONE = re.compile(r"\+?\d{7,15}", re.ASCII)
_WITHOUT_DIRECTION_MARKS = str.maketrans("", "", DIRECTION_MARKS)
_PHONE_SEPARATORS = str.maketrans("", "", " -().")
# Common addresses, at a hundredth of the cost of the full rules; a test checks that the full rules agree.
_PLAIN_EMAIL = re.compile(
    r"[a-z0-9_+-]+(?:\.[a-z0-9_+-]+){0,8}@(?:[a-z0-9]+(?:-[a-z0-9]+){0,8}\.){1,4}(?:com|net|org|io|co|africa|ng|ke|gh|ug|za|zm)",
    re.IGNORECASE | re.ASCII,
)
_PLAIN_EMAIL_LENGTH_MAX = 64


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


class PersonName(str):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        text = _text(value)
        if len(text) > NAME_LENGTH_MAX:
            raise ValueError(f"must have at most {NAME_LENGTH_MAX} characters")
        if not (text.isascii() and text.isprintable()):
            _refuse_odd_characters(text)
        if not any(_is_visible(character) for character in text):
            raise ValueError("must not be empty")
        return cls(text)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "maxLength": NAME_LENGTH_MAX}


class CustomerName(PersonName):
    """Of a payer. Without the marks of the writing direction that a pasted name may have: no sale fails for them."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        return super().parse(_text(value).translate(_WITHOUT_DIRECTION_MARKS))


def name_in(text: str, *, chars_max: int, field: str = "name") -> str:
    """Of a person, a merchant or a thing, in one line. Raises Invalid."""
    name = " ".join(text.split())
    if not any(_is_visible(character) for character in name):
        raise Invalid(Problem(field, "Enter a name."))
    if len(name) > chars_max:
        raise Invalid(Problem(field, f"The name has {len(name)} characters; shorten it to at most {chars_max}."))
    try:
        return str(PersonName.parse(name))
    except ValueError as error:
        raise Invalid(Problem(field, f"The name {error}.")) from None


# Letters and symbols by category, but invisible: the Hangul fillers and the empty Braille cell.
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"


def _is_visible(character: str) -> bool:
    return character not in _BLANKS and unicodedata.category(character)[0] in "LNPS"


def _refuse_odd_characters(text: str) -> None:
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category[0] == "M" else 0
        if category in ("Cc", "Zl", "Zp"):
            raise ValueError("must not contain control characters or line breaks")
        if character in DIRECTION_MARKS:
            raise ValueError("must not contain marks of the writing direction")
        if marks > MARKS_IN_A_ROW_MAX:
            raise ValueError(f"must have at most {MARKS_IN_A_ROW_MAX} marks on one letter")


class EmailAddress(str):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        text = _text(value)
        if len(text) <= _PLAIN_EMAIL_LENGTH_MAX and _PLAIN_EMAIL.fullmatch(text):
            return cls(text)
        if len(text) > EMAIL_LENGTH_MAX:
            raise ValueError(f"must have at most {EMAIL_LENGTH_MAX} characters")
        try:
            # Sandboxes use addresses at .test; deliverability is not checked.
            validate_email(text, check_deliverability=False, test_environment=True)
        except EmailNotValidError:
            raise ValueError("must be an e-mail address") from None
        return cls(text)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "format": "email", "maxLength": EMAIL_LENGTH_MAX}


def is_email(text: str) -> bool:
    try:
        EmailAddress.parse(text)
    except ValueError:
        return False
    return True


class PhoneNumber(str):
    """As the merchant wrote it. An empty text counts as absent."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        text = _text(value)
        if text and (len(text) > 32 or not _PHONE.fullmatch(text.translate(_PHONE_SEPARATORS))):
            raise ValueError("must be a phone number of 7 to 15 digits, such as +2348012345678")
        return cls(text)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "maxLength": 32, "pattern": r"^$|^[+(]?[0-9][0-9 .()\-]{5,30}[0-9]$"}


class Reference(str):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        text = _text(value)
        if not _REFERENCE.fullmatch(text):
            raise ValueError(f"must have 1 to {REFERENCE_LENGTH_MAX} letters, digits or - _ . = :")
        if text in (".", ".."):
            raise ValueError("must not be . or .., which cannot be part of a URL path")
        if ids.looks_like_pay_code(text):
            raise ValueError("must not look like a pay code")
        return cls(text)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[A-Za-z0-9\\-_.=:]{1,100}$"}


def is_reference(text: str) -> bool:
    """Valid in a verify path: a merchant's reference, or a pay code used as one."""
    return _REFERENCE.fullmatch(text) is not None


class Remark(str):
    """A short free text, without marks of the writing direction, which can make it read as another one."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, str):
            raise ValueError("must be a string")
        if len(value) > REMARK_LENGTH_MAX:
            raise ValueError(f"must have at most {REMARK_LENGTH_MAX} characters")
        if contains_card_number(value):
            raise ValueError("looks like a card number; never send card data here")
        return cls(value.translate(_WITHOUT_DIRECTION_MARKS))

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "maxLength": REMARK_LENGTH_MAX}


def remark_in(field: str, text: str) -> str:
    """A remark that says something, in one line. Raises Invalid; what the field is called is said by who shows it."""
    line = " ".join(text.translate(_WITHOUT_DIRECTION_MARKS).split())
    try:
        if not line:
            raise ValueError("must not be empty")
        _refuse_odd_characters(line)
        return str(Remark.parse(line))
    except ValueError as error:
        raise Invalid(Problem(field, str(error))) from None


class Metadata(str):
    """The merchant's object as compact JSON text: numbers keep every digit."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, dict):
            raise ValueError("must be an object")
        if len(value) > METADATA_KEYS_MAX:
            raise ValueError(f"must have at most {METADATA_KEYS_MAX} keys; remove some")
        for complaint in _complaints(value):
            raise ValueError(complaint)
        encoded = encode(value)
        if len(encoded) > METADATA_BYTES_MAX:
            raise ValueError(f"must have at most {METADATA_BYTES_MAX} bytes as JSON; send less")
        return cls(encoded.decode())

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {
            "type": "object",
            "maxProperties": METADATA_KEYS_MAX,
            "propertyNames": {"maxLength": METADATA_KEY_LENGTH_MAX},
            "additionalProperties": True,
        }


def _complaints(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if len(key) > METADATA_KEY_LENGTH_MAX:
                yield f"has a key of more than {METADATA_KEY_LENGTH_MAX} characters; shorten it"
            yield from _complaints(item)
    elif isinstance(value, list):
        for item in value:
            yield from _complaints(item)
    elif isinstance(value, str) and len(value) > METADATA_VALUE_LENGTH_MAX:
        yield f"has a text of more than {METADATA_VALUE_LENGTH_MAX} characters; shorten it"
