"""A logged request, and what is kept of the body of one that failed."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import msgspec

PATH_LENGTH_MAX = 200
# Of a body that is masked; of a longer one only the length is said.
BODY_BYTES_MAX = 16 * 1024
MASKED_LENGTH_MAX = 4_000
DEPTH_MAX = 8

# Values that say nothing about a person: settings of a request, and the merchant's own names of things.
_SHOWN = frozenset(
    {
        "currency", "feeBearer", "paymentMethods", "defaultPaymentMethod", "type", "kind", "status", "events",
        "reference", "transReference", "merchantReference", "accountType", "endsAt", "dateFrom", "dateTo", "advance",
        "settlementDestination",
    }
)  # fmt: skip
_SHOWN_TEXT = re.compile(r"[A-Za-z0-9\-_.=:+ ]{0,100}", re.ASCII)
_NUMBER_SHOWN_MAX = 10**11


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    request_id: str
    key_id: int
    method: str
    path: str
    operation: str
    status: int
    duration_ms: int
    address: str
    error_type: str | None
    message: str | None
    # Masked; only of requests that failed.
    body: str | None
    created_at: datetime

    @property
    def is_error(self) -> bool:
        return self.status >= 400


class NumberedRequest(msgspec.Struct, frozen=True):
    """As stored; the number is the order of lists."""

    number: int
    request: LoggedRequest
    # Of its key.
    key_last_four: str | None


class ErrorGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that failed alike."""

    operation: str
    status: int
    error_type: str | None
    message: str | None
    count: int
    last_at: datetime


def masked(body: bytes) -> str | None:
    """The names and the shape of a JSON body; of its values only what says nothing about a person."""
    if not body:
        return None
    if len(body) > BODY_BYTES_MAX:
        return f"({len(body)} bytes)"
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return f"({len(body)} bytes that are not JSON)"
    return msgspec.json.encode(_masked(value, "", 0)).decode()[:MASKED_LENGTH_MAX]


def _masked(value: Any, name: str, depth: int) -> Any:
    if depth > DEPTH_MAX:
        return "…"
    if isinstance(value, dict):
        return {_name(key): _masked(inner, key, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, name, depth + 1) for inner in value]
    if isinstance(value, str):
        is_shown = name in _SHOWN and _SHOWN_TEXT.fullmatch(value) and not _has_many_digits(value)
        return value if is_shown else f"({len(value)} characters)"
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= _NUMBER_SHOWN_MAX:
        return "(a long number)"
    return value


def _name(key: str) -> str:
    """A name that no field of ours has may be a value in the wrong place."""
    return key if len(key) <= 40 and key.isascii() and key.isidentifier() else f"({len(key)} characters)"


def _has_many_digits(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 12
