"""What the service takes when it has worked, and how long it takes to be there."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from bench import process
from bench.finding import Finding, Section
from bench.line import BenchFailed
from bench.memory import resident_mb
from bench.process import Server
from bench.stage import Stage
from bench.webhooks import Webhooks

API_AIM_MB = 90.0
WORKER_AIM_MB = 80.0
START_AIM_S = 3.0
DELIVERIES = 5_000


def section(stage: Stage) -> Section:
    api_mb = resident_mb(stage.api.process.pid)
    worker_mb = _worker_mb(stage)
    first_s, second_s = _dev_starts_s()
    return Section(
        name="resources",
        title="Memory and start",
        findings=[
            Finding("API process, resident after the lines", api_mb, "MB", at_most=API_AIM_MB),
            Finding(f"worker, resident after {DELIVERIES:,} webhooks", worker_mb, "MB", at_most=WORKER_AIM_MB),
            Finding("`tidegate dev`, first start until ready", first_s, "s", decimals=2),
            Finding("`tidegate dev`, second start until ready", second_s, "s", at_most=START_AIM_S, decimals=2),
        ],
    )


def _worker_mb(stage: Stage) -> float:
    webhooks = Webhooks.of(stage)
    with stage.worker() as worker:
        webhooks.warm()
        webhooks.prepare(webhooks.endpoints, DELIVERIES)
        webhooks.release(webhooks.endpoints)
        webhooks.await_count(DELIVERIES)
        resident = resident_mb(worker.pid)
    webhooks.forget_what_waits()
    return resident


def _dev_starts_s() -> tuple[float, float]:
    """The first makes the database; the second is what somebody waits for every morning."""
    # Directly below the system's temporary folder: PostgreSQL's account must be able to enter it.
    home = Path(tempfile.mkdtemp(prefix="tidegate-bench-dev-"))
    logs = Path(tempfile.mkdtemp(prefix="tidegate-bench-dev-logs-"))
    home.chmod(0o755)
    try:
        return _dev_start_s(home, logs), _dev_start_s(home, logs)
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(logs, ignore_errors=True)


def _dev_start_s(home: Path, logs: Path) -> float:
    port = process.free_port()
    began = time.perf_counter()
    started = process.start(
        ["tidegate", "dev"], log=logs / "dev.log", env={"TIDEGATE_HOME": str(home), "PORT": str(port)}
    )
    try:
        process.await_ready(Server(started, port), "/readyz", logs / "dev.log")
        took_s = time.perf_counter() - began
    finally:
        process.stop(started)
    if started.returncode != 0:
        raise BenchFailed(f"`tidegate dev` ended with {started.returncode}:\n{(logs / 'dev.log').read_text()}")
    return took_s
