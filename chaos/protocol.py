"""Enough of PostgreSQL's protocol to see at which message a transaction commits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LENGTH_BYTES = 4
# A lock is no write; functions that write are added by name.
_WRITES = rb"\binsert\b|(?<!for )(?<!key )\bupdate\b|\bdelete\b|\bmerge\b"


def writing(functions: Iterable[str]) -> re.Pattern[bytes]:
    """What a statement that changes rows has in its text."""
    names = (rb"\b" + re.escape(name).encode() + rb"\s*\(" for name in functions)
    return re.compile(b"|".join([_WRITES, *names]), re.IGNORECASE)


class MessageSplitter:
    """Makes whole messages of what arrives in pieces. The first one of a client has no type, only a length."""

    def __init__(self, *, is_of_client: bool) -> None:
        self._held = bytearray()
        self._type_bytes = 0 if is_of_client else 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._held += data
        while len(self._held) >= self._type_bytes + _LENGTH_BYTES:
            length = int.from_bytes(self._held[self._type_bytes : self._type_bytes + _LENGTH_BYTES])
            end = self._type_bytes + length
            if len(self._held) < end:
                return
            message = bytes(self._held[:end])
            del self._held[:end]
            self._type_bytes = 1
            yield message


class CommitWatch:
    """Follows one session: which of its messages makes the server commit something that was written."""

    def __init__(self, writes: re.Pattern[bytes]) -> None:
        self._writes = writes
        self._is_in_transaction = False
        self._writing_statements: set[bytes] = set()
        self._is_bound_to_write = self._has_written = False

    def commits(self, message: bytes) -> bool:
        """Of the client. A statement outside a transaction commits with its Sync."""
        kind, body = message[:1], message[5:]
        if kind == b"Q":
            text = body.rstrip(b"\0")
            return text[:6].upper() == b"COMMIT" or (not self._is_in_transaction and self._is_write(text))
        if kind == b"S":
            has_written, self._has_written = self._has_written, False
            return has_written and not self._is_in_transaction
        self._follow(kind, body)
        return False

    def _follow(self, kind: bytes, body: bytes) -> None:
        if kind == b"P":
            name, text = body.split(b"\0", 2)[:2]
            (self._writing_statements.add if self._is_write(text) else self._writing_statements.discard)(name)
        elif kind == b"B":
            self._is_bound_to_write = body.split(b"\0", 2)[1] in self._writing_statements
        elif kind == b"E":
            self._has_written |= self._is_bound_to_write

    def is_ready(self, message: bytes) -> bool:
        """Of the server: whether it has done all that it was asked for."""
        if message[:1] != b"Z":
            return False
        self._is_in_transaction = message[5:6] != b"I"
        return True

    def _is_write(self, text: bytes) -> bool:
        return self._writes.search(text) is not None
