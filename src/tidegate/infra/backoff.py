"""Growing pauses between tries."""

from __future__ import annotations

import secrets

_DOUBLINGS_MAX = 30


def pause_s(failures: int, *, first_s: float, most_s: float) -> float:
    """Doubles with every failure, with jitter, so that processes that failed together do not retry together."""
    longest: float = min(most_s, first_s * 2 ** min(failures - 1, _DOUBLINGS_MAX))
    return longest * (0.5 + secrets.randbelow(501) / 1_000)
