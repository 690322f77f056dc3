"""Programs that the benchmark starts: each has a limit in time, and none outlives it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import BenchFailed

HOST = "127.0.0.1"
REPOSITORY = Path(__file__).resolve().parents[1]
TIMEOUT_S = 30.0
POLL_S = 0.02
LOG_TAIL_BYTES = 2_000
OK = (200, 201)
# A developer's own settings would change what is measured.
_IGNORED = ("TIDEGATE_", "BENCH_", "PROMETHEUS_", "PG", "DATABASE_URL")

Headers = Mapping[str, str]


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_IGNORED)} | dict(added)


def run(argv: Sequence[str | Path], *, given: str = "", env: Mapping[str, str] | None = None, timeout_s: float) -> str:
    """What the program prints; raises when it fails or takes too long."""
    try:
        done = subprocess.run(
            [str(argument) for argument in argv],
            input=given,
            capture_output=True,
            text=True,
            cwd=REPOSITORY,
            env=_environment(env or {}),
            timeout=timeout_s,
            check=False,
            # Ctrl-C must reach the benchmark first, so that everything is stopped in order.
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise BenchFailed(f"{argv[0]} did not end within {timeout_s:.0f} s") from None
    if done.returncode != 0:
        raise BenchFailed(f"{argv[0]} ended with {done.returncode}:\n{done.stderr[-LOG_TAIL_BYTES:]}")
    return done.stdout


@dataclass(frozen=True)
class Server:
    """An HTTP server of the benchmark, on a port of its own."""

    process: subprocess.Popen[bytes]
    port: int

    def ask(
        self, path: str, headers: Headers | None = None, body: bytes | None = None, *, expected: Sequence[int] = OK
    ) -> bytes:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=TIMEOUT_S)
        try:
            connection.request("GET" if body is None else "POST", path, body=body, headers=dict(headers or {}))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status not in expected:
            raise BenchFailed(f"{path} was answered with {answer.status} {text[:500].decode(errors='replace')}")
        return text

    def timed(self, path: str, *args: Any, **options: Any) -> tuple[float, bytes]:
        """As `ask`; how many seconds it took, and the answer."""
        began = time.perf_counter()
        answer = self.ask(path, *args, **options)
        return time.perf_counter() - began, answer

    def post(self, path: str, body: Mapping[str, Any], headers: Headers) -> Any:
        """The `data` of the answer."""
        sent = {"content-type": "application/json", **headers}
        return json.loads(self.ask(path, sent, json.dumps(body).encode()))["data"]


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        # It has a session of its own, so that its children go with it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def start(module: Sequence[str], *, log: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=REPOSITORY,
            env=_environment(env),
            start_new_session=True,
        )


def start_server(module: Sequence[str], *, ready_path: str, log: Path, env: Mapping[str, str]) -> Server:
    with socket.create_server((HOST, 0)) as probe:
        port = probe.getsockname()[1]
    server = Server(start(module, log=log, env={"PORT": str(port), **env}), port)
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            server.ask(ready_path)
        except (OSError, BenchFailed):
            time.sleep(POLL_S)  # It is not listening yet, or not ready.
        else:
            return server
    stop(server.process)
    raise BenchFailed(f"{module[0]} did not start:\n{log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors='replace')}")
