"""A rate limit, shared by all processes of a machine without the database."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import IO

from tidegate.core.clock import monotonic_s

SLOTS = 1 << 20
_SLOT_BYTES = 8
# Tolerance for rounding: n times 1/n is not exactly 1.
_ROUNDING_S = 1e-6


class RateLimit:
    """The generic cell rate algorithm: one number per caller, the time at which its allowance is full again.

    The numbers are in a file that every process maps. An eight-byte aligned store does not tear, and two
    processes that write at the same instant allow one extra request at worst.
    """

    def __init__(self, path: Path | None = None, *, slots: int = SLOTS) -> None:
        size = slots * _SLOT_BYTES
        with _open(path) as file:
            # Never shorter: a process that has mapped more would crash on access.
            file.truncate(max(size, os.fstat(file.fileno()).st_size))
            self._map = mmap.mmap(file.fileno(), size)
        self._full_at = memoryview(self._map).cast("d")
        self._slots = slots

    def wait_s(self, slot: int, *, per_second: float, burst: int) -> float:
        """0 when the request is allowed, otherwise the seconds to wait. A refused request is not counted."""
        wait_s = self.peek_s(slot, per_second=per_second, burst=burst)
        if not wait_s:
            self.count(slot, per_second=per_second, burst=burst)
        return wait_s

    def peek_s(self, slot: int, *, per_second: float, burst: int) -> float:
        """As `wait_s`, without counting the request."""
        now = monotonic_s()
        excess = self._read(slot, now, burst / per_second) - now - (burst - 1) / per_second
        return excess if excess > _ROUNDING_S else 0.0

    def count(self, slot: int, *, per_second: float, burst: int) -> None:
        """Counts unconditionally, for events that are counted after they happened."""
        now, full_s = monotonic_s(), burst / per_second
        self._full_at[slot % self._slots] = min(self._read(slot, now, full_s) + 1 / per_second, now + full_s)

    def _read(self, slot: int, now: float, full_s: float) -> float:
        """A time further ahead than this allowance can be is ignored: from before a reboot, or of another limit."""
        full_at = self._full_at[slot % self._slots]
        return full_at if now < full_at <= now + full_s + _ROUNDING_S else now


def _open(path: Path | None) -> IO[bytes]:
    if path is None:
        return tempfile.TemporaryFile()
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
