"""CPU time and memory of processes, from /proc; where there is none, everything is 0."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
# Fields of /proc/PID/stat, counted from the one after the name. The times: user, system, and both of ended children.
_PARENT, _TIMES, _RESIDENT_PAGES = 1, slice(11, 15), 21
# Fields of /proc/stat: idle and waiting for a disk are the only two that are not work.
_KINDS, _IDLE = slice(1, 9), slice(3, 5)
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1024**2


@dataclass(frozen=True)
class Usage:
    # CPU time per answer, by process.
    cpu_us: Mapping[str, float]
    # Of the whole machine, used by programs that are not the benchmark's.
    others_share: float


class Watch:
    """Begins when it is made. `watched` are process ids by name; what they started counts as theirs."""

    def __init__(self, watched: Mapping[str, int]) -> None:
        self._watched = watched
        self._before = self._used_s()
        self._busy_before_s = _busy_s()
        self._began = time.monotonic()

    def usage(self, answers: int) -> Usage:
        used_s = {name: after - self._before[name] for name, after in self._used_s().items()}
        machine_s = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        others_s = _busy_s() - self._busy_before_s - sum(used_s.values())
        cpu_us = {name: 1e6 * seconds / max(answers, 1) for name, seconds in used_s.items()}
        return Usage(cpu_us, max(others_s, 0.0) / machine_s)

    def _used_s(self) -> dict[str, float]:
        # The load generator and pgbench are children that have ended by then.
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        ticks = {name: sum(sum(map(int, one[_TIMES])) for one in _tree(pid)) for name, pid in self._watched.items()}
        used_s = {name: count / _TICKS_PER_S for name, count in ticks.items()}
        return {**used_s, "client": children.ru_utime + children.ru_stime}


def resident_mb(root: int) -> float:
    """Of the largest process, which is the one that works."""
    return max((int(fields[_RESIDENT_PAGES]) * _PAGE_MB for fields in _tree(root)), default=0.0)


def _tree(root: int) -> Iterator[list[str]]:
    """The fields of a process and of all below it."""
    found: dict[int, list[str]] = {}
    # Newest first, so that a child which ends meanwhile is found in its parent's sum instead.
    for pid in sorted((int(path.name) for path in _PROC.glob("[0-9]*")), reverse=True):
        with suppress(OSError):
            # The name may hold spaces and brackets; the fields begin after the last bracket.
            found[pid] = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    for pid, fields in found.items():
        above = pid
        while above in found and above != root:
            above = int(found[above][_PARENT])
        if above == root:
            yield fields


def _busy_s() -> float:
    stat = _PROC / "stat"
    ticks = [int(text) for text in stat.read_text().split()[_KINDS]] if stat.exists() else []
    return (sum(ticks) - sum(ticks[_IDLE])) / _TICKS_PER_S
