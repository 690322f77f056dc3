"""PostgreSQL's own benchmark program, run with the rights that the service has."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import process
from bench.cpu import Watch
from bench.line import BenchFailed, Sample
from bench.load import percentiles_ms
from tidegate.infra.db import APP_ROLE

THREADS = 2
SPARE_S = 30.0
# Of a run at a rate: the first statements of each connection are prepared, on a server process that knows no table yet.
WARM_UP_S = 2.0
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
    per_second: float | None = None,
) -> Sample:
    """The scripts are chosen from at random, all equally often: as fast as they can be, or so many a second."""
    # pgbench takes whole seconds only.
    whole_s = max(1, round(seconds if per_second is None else WARM_UP_S + seconds))
    command: list[str | Path] = [program, "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(THREADS, clients))]
    command += ["-T", str(whole_s)]
    for script in scripts:
        command += ["-f", script]
    for name, value in variables.items():
        command += ["-D", f"{name}={value}"]
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-log-") as folder:
        if per_second is not None:
            command += ["--rate", f"{per_second:.3f}", "--log", "--log-prefix", Path(folder) / "transactions"]
        watch = Watch(watched)
        printed = process.run([*command, url], env={"PGOPTIONS": f"-c role={APP_ROLE}"}, timeout_s=whole_s + SPARE_S)
        done, failed, tps = (float(_number(pattern, printed)) for pattern in (_DONE, _FAILED, _TPS))
        if failed or not done:
            raise BenchFailed(f"pgbench failed:\n{printed}")
        details = {"answers": int(done), **watch.details(int(done))}
        # A file for each thread.
        logged = [line for path in Path(folder).iterdir() for line in path.read_text(encoding="utf-8").splitlines()]
    if per_second is not None:
        if len(logged) != done:
            raise BenchFailed(f"pgbench counted {done:.0f} transactions, but logged {len(logged)}")
        details |= {"clients": clients, **seen_in(logged)}
    # Its rate leaves out the time to connect, as our generator's does.
    return Sample(int(done), done / tps, details)


def seen_in(logged: Iterable[str]) -> dict[str, Any]:
    """In the words of our own open generator, from the log of a run at a rate.

    A transaction's time counts from its scheduled start, whether or not a client was free then, and `schedule_lag` is
    the part of it that went by before it was sent. The schedule is as random as ours, and does not wait for answers.
    """
    # client_id transaction_no time script_no time_epoch time_us schedule_lag, the times in microseconds.
    rows = [[int(field) for field in line.split()] for line in logged]
    timed = [(epoch_s * 1_000_000 + us - took, took, lag) for _, _, took, _, epoch_s, us, lag in rows]
    warm_at = min((due for due, _, _ in timed), default=0) + WARM_UP_S * 1e6
    warm = [(took / 1e6, lag / 1e6) for due, took, lag in timed if due >= warm_at]
    return {
        "measured": len(warm),
        "late_ms": round(1000 * max((lag_s for _, lag_s in warm), default=0.0), 1),
        "since_due_ms": percentiles_ms([took_s for took_s, _ in warm]),
        "since_sent_ms": percentiles_ms([took_s - lag_s for took_s, lag_s in warm]),
    }


def _number(pattern: re.Pattern[str], printed: str) -> str:
    match = pattern.search(printed)
    if match is None:
        raise BenchFailed(f"pgbench said something unexpected:\n{printed}")
    return match[1]
