"""How much memory processes hold, and the most they held meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from bench.cpu import members

LOOK_EVERY_S = 0.1
_FIELD = "VmRSS:"
_KILOBYTES = 1024


def resident_mb(root: int) -> float:
    """Of a process and everything below it; 0 where the system does not say."""
    return sum(_resident_mb(pid) for pid in members(root))


def _resident_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / _KILOBYTES for line in lines if line.startswith(_FIELD)), 0.0)


@dataclass
class Held:
    """In megabytes, at regular moments."""

    samples: list[float] = field(default_factory=list)

    @property
    def most_mb(self) -> float:
        return max(self.samples, default=0.0)

    @property
    def growth(self) -> float:
        """The most of the second half over the most of the first: above one, it goes on growing."""
        middle = len(self.samples) // 2
        first = max(self.samples[:middle], default=0.0)
        second = max(self.samples[middle:], default=0.0)
        return second / first if first else 1.0


@contextmanager
def watching(root: int) -> Iterator[Held]:
    held = Held()
    is_over = Event()

    def look() -> None:
        while not is_over.wait(LOOK_EVERY_S):
            held.samples.append(resident_mb(root))

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield held
    finally:
        is_over.set()
        watcher.join()
