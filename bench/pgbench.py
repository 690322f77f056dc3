"""PostgreSQL's own benchmark program, run with the rights that the service has."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench import process
from bench.environment import CONNECTIONS, Environment
from bench.report import BenchFailed, Sample, percentiles_ms
from bench.usage import Watch
from tidegate.infra.db import APP_ROLE

THREADS = 2
SPARE_S = 30.0
# The first statements of each connection are prepared, on a server process that knows no table yet: not counted.
WARM_UP_S = 2.0
# As long as the API's own references; digits, since pgbench has no other random values.
NINETEEN_DIGITS = "random(1000000000000000000, 9223372036854775807)"
_DONE, _FAILED = r"actually processed: (\d+)", r"failed transactions: (\d+)"


def run(
    environment: Environment,
    scripts: Sequence[str],
    *,
    seconds: float,
    variables: Mapping[str, str] | None = None,
    clients: int = CONNECTIONS,
    per_second: float | None = None,
) -> Sample:
    """The scripts are chosen from at random. At a rate, latencies count from when each was due."""
    # pgbench takes whole seconds only.
    whole_s = max(1, round(WARM_UP_S + seconds))
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-pgbench-") as folder:
        command = [str(environment.pgbench), "-n", "-M", "prepared", "-T", str(whole_s)]
        command += ["-c", str(clients), "-j", str(min(THREADS, clients)), "--log", "--log-prefix", f"{folder}/log"]
        for number, script in enumerate(scripts):
            path = Path(folder) / f"{number}.sql"
            path.write_text(script, encoding="utf-8")
            command += ["-f", str(path)]
        for name, value in (variables or {}).items():
            command += ["-D", f"{name}={value}"]
        if per_second is not None:
            command += ["--rate", f"{per_second:.3f}"]
        watch = Watch(environment.watched())
        env = {"PGOPTIONS": f"-c role={APP_ROLE}"}
        printed = process.run([*command, environment.url], env=env, timeout_s=whole_s + SPARE_S)
        # A file for each thread.
        logged = [line for path in Path(folder).glob("log*") for line in path.read_text().splitlines()]
    matches = [re.search(pattern, printed) for pattern in (_DONE, _FAILED)]
    done, failed = (int(match[1]) if match else 0 for match in matches)
    warm = warm_s(logged)
    if failed or not warm or len(logged) != done:
        raise BenchFailed(f"pgbench failed, or logged {len(logged)} transactions:\n{printed}")
    return Sample(len(warm), whole_s - WARM_UP_S, done, watch.usage(done), percentiles_ms(warm))


def warm_s(logged: Iterable[str]) -> list[float]:
    """How long each transaction took that began when all connections were warm.

    At a rate its time counts from its scheduled start, whether or not a client was free then. The schedule is as
    random as ours, and does not wait for answers.
    """
    # client_id transaction_no time script_no time_epoch time_us [schedule_lag], the times in microseconds.
    rows = [[int(field) for field in line.split()] for line in logged]
    timed = [(epoch_s * 1_000_000 + us - took, took) for _, _, took, _, epoch_s, us, *_ in rows]
    warm_at = min((due for due, _ in timed), default=0) + WARM_UP_S * 1e6
    return [took / 1e6 for due, took in timed if due >= warm_at]
