"""Programs that the benchmark starts: each has a limit in time, and none outlives it."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.line import BenchFailed

HOST = "127.0.0.1"
REPOSITORY = Path(__file__).resolve().parents[1]
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
POLL_S = 0.02
LOG_TAIL_BYTES = 2_000
# Ours would change what is measured; the benchmark sets what it needs itself.
_OURS = ("TIDEGATE_", "BENCH_", "PROMETHEUS_", "PG")


def environment(**added: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    kept.pop("DATABASE_URL", None)
    return kept | added


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def run(argv: Sequence[str | Path], *, given: str = "", env: Mapping[str, str] | None = None, timeout_s: float) -> str:
    """What the program prints; raises when it fails or takes too long."""
    process = subprocess.Popen(
        [str(argument) for argument in argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=environment() | dict(env or {}),
        # Ctrl-C must reach us first, so that everything is stopped in order.
        start_new_session=True,
    )
    try:
        printed, complaints = process.communicate(given, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise BenchFailed(f"{argv[0]} did not end within {timeout_s:.0f} s") from None
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        raise BenchFailed(f"{argv[0]} ended with {process.returncode}:\n{complaints[-LOG_TAIL_BYTES:]}")
    return printed


@dataclass(frozen=True)
class Server:
    """An HTTP server that we started, on a port of its own."""

    process: subprocess.Popen[bytes]
    port: int

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        return self.ask("GET", path, headers=headers)

    def ask(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=START_TIMEOUT_S)
        try:
            connection.request(method, path, body=body, headers=dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def stop(self) -> None:
        stop(self.process)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        # Its own session, so that the processes of `--workers` go with it.
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
            env=environment() | dict(env),
            start_new_session=True,
        )


def start_server(module: Sequence[str], *, ready_path: str, log: Path, env: Mapping[str, str]) -> Server:
    port = free_port()
    server = Server(start(module, log=log, env={"PORT": str(port), **env}), port)
    try:
        await_ready(server, ready_path, log)
    except BaseException:
        server.stop()
        raise
    return server


def await_ready(server: Server, path: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        try:
            if server.get(path)[0] == 200:
                return
        except OSError:
            pass  # It is not listening yet.
        time.sleep(POLL_S)
    raise BenchFailed(f"the server did not start:\n{log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors='replace')}")
