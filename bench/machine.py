"""Where a run was made: without it, no number means anything to anybody else."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.environment import Environment
from bench.process import REPOSITORY

LOOP_S, SLICE_S = 3.0, 0.020


def describe(environment: Environment) -> str:
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=12"]
    commit = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()
    cpuinfo = Path("/proc/cpuinfo")
    cpu = re.search("model name.*: (.*)", cpuinfo.read_text() if cpuinfo.exists() else "")
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    settings = environment.fetchrow(
        "SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,"
        " current_setting('synchronous_commit') AS commits"
    )
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit or 'unknown'}; {cpu[1] if cpu else platform.processor()},"
        f" {os.cpu_count()} cores, {memory_gb:.0f} GB, {platform.system()}; PostgreSQL {settings['version']}, fsync"
        f" {settings['fsync']}, synchronous_commit {settings['commits']}; Python {platform.python_version()}. A loop"
        f" that only counts, alone, ran at less than half of its speed in {slow_share():.0%} of all 20 ms."
    )


def slow_share() -> float:
    """A host that has other guests may slow a virtual machine for a tenth of a second, and nothing else shows it."""
    counts: Counter[int] = Counter()
    began_at = perf_counter()
    while (at := int((perf_counter() - began_at) / SLICE_S)) * SLICE_S < LOOP_S:
        counts[at] += 1
    slices = [counts[at] for at in range(round(LOOP_S / SLICE_S))]
    return sum(count < median(slices) / 2 for count in slices) / len(slices)
