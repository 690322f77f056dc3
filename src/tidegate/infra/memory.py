"""Garbage collector settings for a long-running process with many short-lived objects."""

from __future__ import annotations

import gc

# Reference counts free nearly everything at once; a collection every 700 objects took 5% of the CPU time.
YOUNG_MAX = 5_000


def tune_gc() -> None:
    """Called after start-up: objects that exist now are never collected again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX)
