"""Fields of an account request with rules of their own: each is a checked type."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Self

import msgspec

from tidegate.infra.address import WebUrl
from tidegate.infra.http.operation import encode
from tidegate.infra.http.query import Moment
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.field import PersonName

KYC_BYTES_MAX = 16 * 1024
# Required names of a person, and of a company.
PERSON = ("firstName", "lastName")
COMPANY = ("businessName",)
_WORDS = {
    "firstName": "First name of the person that holds the account.",
    "lastName": "Last name of the person that holds the account.",
    "businessName": "Name of the company that holds the account.",
}


def end_in(text: str, now: datetime) -> datetime:
    """When an account ends: a time, or a date, which means the end of that day. Raises ValueError."""
    end = Moment.parse(text).end
    if end <= now:
        raise ValueError(f"must be in the future; it is {to_iso(now)}")
    return end


class DocumentUrl(str):
    """Shown to an operator as a link and never fetched, so it must be safe to click."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        url = WebUrl.parse(value)
        if not url.is_https:
            raise ValueError("must begin with https://")
        return cls(url)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "format": "uri", "pattern": "^https://"}


class Kyc(str):
    """The merchant's object as compact JSON text."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, dict):
            raise ValueError("must be an object")
        encoded = encode(value).decode()
        if len(encoded) > KYC_BYTES_MAX:
            raise ValueError(f"must have at most {KYC_BYTES_MAX} bytes as JSON; send less")
        for name in (*PERSON, *COMPANY):
            if value.get(name) is not None:
                _refuse_wrong_name(name, value[name])
        return cls(encoded)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        # null counts as absent.
        name = {"anyOf": [{"type": "string", "minLength": 1, "maxLength": 200}, {"type": "null"}]}
        properties = {field: {**name, "description": words} for field, words in _WORDS.items()}
        return {"type": "object", "properties": properties, "additionalProperties": True}

    def missing_names(self, *, is_company: bool) -> Iterator[str]:
        given = msgspec.json.decode(self.encode())
        return (name for name in (COMPANY if is_company else PERSON) if given.get(name) is None)

    def holder(self, *, is_company: bool) -> str:
        given = msgspec.json.decode(self.encode())
        return " ".join(given[name].strip() for name in (COMPANY if is_company else PERSON))


def _refuse_wrong_name(name: str, value: Any) -> None:
    try:
        PersonName.parse(value)
    except ValueError as error:
        raise ValueError(f"has a {name} that {error}") from None
