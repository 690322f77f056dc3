"""Two versions of what a rail said, field by field. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

FIELDS_MAX = 200
VALUE_CHARS_MAX = 500
_RECORDED, _NOTIFIED = " was recorded as ", " and is now notified as "
_NOTE = re.compile(f".+?{_RECORDED}(.+?){_NOTIFIED}(.+)", re.DOTALL)


class FieldVersions(NamedTuple):
    name: str
    # Empty where a version has no such field.
    first: str
    then: str

    @property
    def differs(self) -> bool:
        return self.first != self.then


def note_of(transaction_id: str, recorded: object, notified: object) -> str:
    """Of a transaction that came under another identifier."""
    return f"{transaction_id}{_RECORDED}{recorded}{_NOTIFIED}{notified}"


def versions_of(first: bytes | None, then: bytes | None, note: str | None) -> list[FieldVersions]:
    """Those that differ before those that agree; empty where only one version is known."""
    if first and then:
        before, after = _fields(first), _fields(then)
        names = list(dict.fromkeys([*before, *after]))
        found = [FieldVersions(name, before.get(name, ""), after.get(name, "")) for name in names]
        return sorted(found, key=lambda one: not one.differs)[:FIELDS_MAX]
    match = _NOTE.fullmatch(note or "")
    return [FieldVersions("amount and account", match[1], match[2])] if match else []


def _fields(body: bytes) -> dict[str, str]:
    """Of JSON; any other body is one field."""
    try:
        return dict(_flat("", msgspec.json.decode(body)))
    except msgspec.DecodeError:
        return {"body": body.decode("utf-8", "replace")}


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), one)
    elif isinstance(value, list) and value:
        for number, one in enumerate(value):
            yield from _flat(f"{name}[{number}]", one)
    else:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        yield name or "body", text[:VALUE_CHARS_MAX]
