"""A rate limit, shared by all processes of a machine without the database; `limit_exchange` shares it with others."""

from __future__ import annotations

import mmap
import os
import tempfile
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from tidegate.core.clock import monotonic_s

SLOTS = 1 << 20
_SLOT_BYTES = 8
# Tolerance for rounding: n times 1/n is not exactly 1.
_ROUNDING_S = 1e-6
# Callers whose use is remembered until it is worth telling.
KEPT_MAX = 20_000
# What other machines have let pass is paid back, up to this many whole allowances; in seconds at least this much.
_DEBT_ALLOWANCES = 4
_DEBT_S = 5.0


class Used(NamedTuple):
    """Of a caller's allowance, in the seconds in which it comes back; and in how many it is whole again."""

    slot: int
    used_s: float
    full_s: float


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
        # What this process has let pass and others do not know; None without an exchange.
        self._used: dict[int, tuple[float, float]] | None = None

    def wait_s(self, slot: int, *, per_second: float, burst: int) -> float:
        """0 when the request is allowed, otherwise the seconds to wait. A refused request is not counted."""
        now = monotonic_s()
        full_at = self._read(slot, now, burst / per_second)
        wait_s = _wait_s(full_at - now, per_second, burst)
        if not wait_s:
            self._count(slot, full_at, now, per_second, burst)
        return wait_s

    def peek_s(self, slot: int, *, per_second: float, burst: int) -> float:
        """As `wait_s`, without counting the request."""
        now = monotonic_s()
        return _wait_s(self._read(slot, now, burst / per_second) - now, per_second, burst)

    def count(self, slot: int, *, per_second: float, burst: int) -> None:
        """Counts unconditionally, for events that are counted after they happened."""
        now = monotonic_s()
        self._count(slot, self._read(slot, now, burst / per_second), now, per_second, burst)

    def _count(self, slot: int, full_at: float, now: float, per_second: float, burst: int) -> None:
        full_s, used_s = burst / per_second, 1 / per_second
        self._full_at[slot % self._slots] = max(full_at, min(full_at + used_s, now + full_s))
        if self._used is not None:
            self._used[slot] = (self._used.get(slot, _UNUSED)[0] + used_s, full_s)

    def share(self) -> None:
        """From now on `take_used` says what was let pass here."""
        self._used = {}

    def take_used(self, *, share_min: float, most: int) -> list[Used]:
        """Of callers who used at least this share of their allowance since it was last taken. The others are kept,
        unless they are very many: addresses that come once.
        """
        assert self._used is not None
        enough = (slot for slot, (used_s, full_s) in self._used.items() if used_s >= full_s * share_min)
        found = [Used(slot % self._slots, *self._used[slot]) for slot in islice(enough, most)]
        kept = {slot: use for slot, use in self._used.items() if use[0] < use[1] * share_min}
        self._used = kept if len(kept) <= KEPT_MAX else {}
        return found

    def add(self, used: Used) -> None:
        """What another machine has let pass. More than is left is owed, and waited for."""
        if 0 <= used.slot < self._slots:
            now = monotonic_s()
            full_at = self._read(used.slot, now, used.full_s)
            self._full_at[used.slot] = min(full_at + used.used_s, now + _most_s(used.full_s))

    def _read(self, slot: int, now: float, full_s: float) -> float:
        """A time further ahead than this allowance can be is ignored: from before a reboot, or of another limit."""
        full_at = self._full_at[slot % self._slots]
        return full_at if now < full_at <= now + _most_s(full_s) + _ROUNDING_S else now


_UNUSED = (0.0, 0.0)


def _wait_s(owed_s: float, per_second: float, burst: int) -> float:
    excess = owed_s - (burst - 1) / per_second
    return excess if excess > _ROUNDING_S else 0.0


def _most_s(full_s: float) -> float:
    return max(full_s * _DEBT_ALLOWANCES, full_s + _DEBT_S)


def _open(path: Path | None) -> IO[bytes]:
    if path is None:
        return tempfile.TemporaryFile()
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
