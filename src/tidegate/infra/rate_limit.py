"""A limit on requests, shared by all processes of a machine without asking the database."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import IO

from tidegate.core.clock import monotonic_s

SLOTS = 1 << 20
_SLOT_BYTES = 8
# A burst of n is n, though n times one n-th is not quite one.
_ROUNDING_S = 1e-6


class RateLimit:
    """The generic cell rate algorithm: one number per caller, the time at which its allowance is full again.

    The numbers lie in a file that every process maps. An eight-byte aligned store does not tear, and two
    processes that write at the same instant at worst let one request more pass.
    """

    def __init__(self, path: Path | None = None, *, slots: int = SLOTS) -> None:
        size = slots * _SLOT_BYTES
        with _open(path) as file:
            # Never shorter: whoever has mapped more of it would fall off its end.
            file.truncate(max(size, os.fstat(file.fileno()).st_size))
            self._map = mmap.mmap(file.fileno(), size)
        self._full_at = memoryview(self._map).cast("d")
        self._slots = slots

    def wait_s(self, slot: int, *, per_second: float, burst: int) -> float:
        """0 when the request may pass, otherwise how long to wait. A refused request costs nothing."""
        now = monotonic_s()
        slot %= self._slots
        full_at = max(self._full_at[slot], now) + 1 / per_second
        excess = full_at - now - burst / per_second
        if excess > _ROUNDING_S:
            return excess
        self._full_at[slot] = full_at
        return 0.0


def _open(path: Path | None) -> IO[bytes]:
    if path is None:
        return tempfile.TemporaryFile()
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
