"""Where a page of a list ended, as text that a client gives back unchanged."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Self

from tidegate.core.errors import Malformed
from tidegate.core.public_id import Permutation

_POSITION_BYTES = 8
_MARK_BYTES = 8
_TEXT_LENGTH = 22  # Both, in base64 without its padding.


class Cursor(str):
    """It fits the list it came from, with the same filters, and no other. Nothing in it is secret."""

    __slots__ = ()

    @classmethod
    def of(cls, position: int, *, scope: str, numbers: Permutation | None = None) -> Self:
        """`numbers` hides a position that counts all businesses together."""
        packed = (numbers.hide(position) if numbers else position).to_bytes(_POSITION_BYTES)
        return cls(base64.urlsafe_b64encode(packed + _mark(packed, scope)).decode().rstrip("="))

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, str) or len(value) != _TEXT_LENGTH or not value.isascii():
            raise ValueError("must be the nextCursor of an earlier page")
        return cls(value)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^[A-Za-z0-9_-]{{{_TEXT_LENGTH}}}$"}

    def position(self, *, scope: str, numbers: Permutation | None = None) -> int:
        try:
            shown = int.from_bytes(base64.urlsafe_b64decode(self + "==")[:_POSITION_BYTES])
            position = numbers.reveal(shown) if numbers else shown
        except ValueError:
            position = None
        if position is None or Cursor.of(position, scope=scope, numbers=numbers) != self:
            raise Malformed("the cursor is not of this list with these filters; begin again without it")
        return position


def _mark(position: bytes, scope: str) -> bytes:
    return hashlib.sha256(position + scope.encode()).digest()[:_MARK_BYTES]
