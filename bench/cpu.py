"""CPU time, ours and other people's: it tells where the work is, and whether the machine was ours alone."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
_PARENT = 1
# utime, stime, and the two of children that have ended, counted from the field after the name.
_TIMES = slice(11, 15)
# Of the whole machine: idle and waiting for a disk are the only two that are not work.
_IDLE = slice(3, 5)
_KINDS = 8
# Below this share of the machine, others change a ratio by no more than its ordinary spread.
QUIET_SHARE = 0.08
LOOK_S = 0.5


def await_quiet(deadline: float) -> None:
    """Waits until others leave the machine alone. Ours do nothing between rounds."""
    while time.monotonic() < deadline:
        watch = Watch({})
        time.sleep(LOOK_S)
        if watch.details(1).get("others_share", 0.0) < QUIET_SHARE:
            return


class Watch:
    """Begins when it is made. Says nothing where the system does not say."""

    def __init__(self, watched: Mapping[str, int]) -> None:
        self._watched = watched
        self._before = self._used_s()
        self._busy_before_s = _busy_s()
        self._began = time.monotonic()

    def details(self, answers: int) -> dict[str, Any]:
        """CPU time by process, per answer and in cores, and the share of the machine that went to others."""
        if not _PROC.is_dir():
            return {}
        used_s = {name: after - self._before[name] for name, after in self._used_s().items()}
        took_s = time.monotonic() - self._began
        machine_s = took_s * (os.cpu_count() or 1)
        others_s = _busy_s() - self._busy_before_s - sum(used_s.values())
        return {
            "cpu_us_per_answer": {name: round(1e6 * seconds / answers, 1) for name, seconds in used_s.items()},
            "cores": {name: round(seconds / took_s, 2) for name, seconds in used_s.items()},
            "others_share": round(max(others_s, 0.0) / machine_s, 3),
        }

    def _used_s(self) -> dict[str, float]:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The load generator and pgbench are children that have ended when we look.
        client_s = children.ru_utime + children.ru_stime
        return {"client": client_s, **{name: _tree_s(pid) for name, pid in self._watched.items()}}


def members(root: int) -> list[int]:
    """A process and everything below it."""
    parents = {pid: int(fields[_PARENT]) for pid, fields in _stats().items()}
    return [pid for pid in parents if root in _line_of(pid, parents)]


def _tree_s(root: int) -> float:
    stats = _stats()
    parents = {pid: int(fields[_PARENT]) for pid, fields in stats.items()}
    ticks = (sum(map(int, fields[_TIMES])) for pid, fields in stats.items() if root in _line_of(pid, parents))
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def _stats() -> dict[int, list[str]]:
    """Newest first, so that a child which ends meanwhile is found in its parent's sum instead."""
    found = {}
    for pid in sorted((int(path.name) for path in _PROC.glob("[0-9]*")), reverse=True):
        with suppress(OSError):
            # The name may hold spaces and brackets; the fields begin after the last bracket.
            found[pid] = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return found


def _line_of(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    while pid in parents:
        yield pid
        pid = parents[pid]


def _busy_s() -> float:
    try:
        ticks = [int(field) for field in (_PROC / "stat").read_text().split()[1 : _KINDS + 1]]
    except OSError:
        return 0.0
    return (sum(ticks) - sum(ticks[_IDLE])) / os.sysconf("SC_CLK_TCK")
