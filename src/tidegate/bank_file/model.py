"""Imported files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec


class ImportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is the hash of its bytes; `counts` are its entries by state."""

    id: str
    name: str
    kind: str | None
    state: str
    reason: str | None
    byte_count: int
    entry_count: int
    received_at: datetime
    counts: Mapping[str, int] = {}
