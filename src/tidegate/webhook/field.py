"""Request fields that need more than a type: each is a checked type of its own."""

from __future__ import annotations

import re
from typing import Any, Self

from tidegate.core.card_number import contains_card_number
from tidegate.webhook import sign

DESCRIPTION_LENGTH_MAX = 200
SECRET_LENGTH_MAX = 100
_DELIVERY_ID = re.compile(r"dlv_([1-9][0-9]{0,18})")
_ID_MAX = 2**63 - 1


class Secret(str):
    """A merchant's own secret, in the form of Standard Webhooks."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, str):
            raise ValueError("must be a string")
        if len(value) > SECRET_LENGTH_MAX:
            raise ValueError(f"must have at most {SECRET_LENGTH_MAX} characters")
        sign.key_in(value)
        return cls(value)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": "^whsec_[A-Za-z0-9+/]{32,88}={0,2}$"}


class Description(str):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, str):
            raise ValueError("must be a string")
        if len(value) > DESCRIPTION_LENGTH_MAX:
            raise ValueError(f"must have at most {DESCRIPTION_LENGTH_MAX} characters")
        if contains_card_number(value):
            raise ValueError("looks like a card number; never send card data here")
        return cls(value)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "maxLength": DESCRIPTION_LENGTH_MAX}


def delivery_id_in(text: str) -> int | None:
    match = _DELIVERY_ID.fullmatch(text)
    number = int(match[1]) if match else None
    return number if number is not None and number <= _ID_MAX else None


def delivery_id(number: int) -> str:
    return f"dlv_{number}"
