"""PostgreSQL's own benchmark program, run with the rights that the service has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import process
from bench.cpu import Watch
from bench.line import BenchFailed, Sample
from tidegate.infra.db import APP_ROLE

THREADS = 2
SPARE_S = 30.0
_DONE = re.compile(r"number of transactions actually processed: (\d+)")
_FAILED = re.compile(r"number of failed transactions: (\d+)")
_TPS = re.compile(r"tps = ([0-9.]+)")


def run(
    program: Path,
    url: str,
    scripts: Sequence[Path],
    *,
    variables: Mapping[str, str],
    clients: int,
    seconds: float,
    watched: Mapping[str, int],
) -> Sample:
    """The scripts are chosen from at random, all equally often."""
    # pgbench takes whole seconds only.
    whole_s = max(1, round(seconds))
    command: list[str | Path] = [program, "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(THREADS, clients))]
    command += ["-T", str(whole_s)]
    for script in scripts:
        command += ["-f", script]
    for name, value in variables.items():
        command += ["-D", f"{name}={value}"]
    watch = Watch(watched)
    printed = process.run([*command, url], env={"PGOPTIONS": f"-c role={APP_ROLE}"}, timeout_s=whole_s + SPARE_S)
    done, failed, tps = (float(_number(pattern, printed)) for pattern in (_DONE, _FAILED, _TPS))
    if failed or not done:
        raise BenchFailed(f"pgbench failed:\n{printed}")
    # Its rate leaves out the time to connect, as our generator's does.
    return Sample(int(done), done / tps, {"answers": int(done), **watch.details(int(done))})


def _number(pattern: re.Pattern[str], printed: str) -> str:
    match = pattern.search(printed)
    if match is None:
        raise BenchFailed(f"pgbench said something unexpected:\n{printed}")
    return match[1]
