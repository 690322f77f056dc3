"""A parent process that keeps its child processes running.

A child that ends is started again: at once, or after a growing pause when it ended quickly. The parent itself opens no
connection and serves no requests, so that little in it can fail.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any

import structlog

from tidegate.core.clock import monotonic_s
from tidegate.infra import backoff
from tidegate.infra.service_manager import ServiceManager

DRAIN_SIGNAL = signal.SIGUSR1
# Interval of the parent's own checks (`look`).
LOOK_EVERY_S = 0.25
# A child that ends sooner counts as failed; its next start waits.
LIVES_AT_LEAST_S = 5.0
PAUSE_FIRST_S = 0.2
PAUSE_MOST_S = 5.0
# Longer than any child takes for a graceful stop.
STOP_WITHIN_S = 30.0

log = structlog.get_logger("supervisor")
_spawn = multiprocessing.get_context("spawn")


@dataclass
class _Child:
    process: SpawnProcess | None = None
    starts_at: float = 0.0
    # Consecutive quick ends.
    quick_ends: int = 0


class Supervisor:
    """Runs `count` processes of `target(*args)` until SIGTERM or SIGINT.

    The target is a name, "module:function": only the children import it, which keeps the parent small.
    `look` is called about four times a second, on the main thread; `on_end` with the process id of a child that ended.
    """

    def __init__(
        self,
        target: str,
        *args: Any,
        count: int = 1,
        drain_s: float = 0.0,
        look: Callable[[], None] = lambda: None,
        on_end: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._target, self._args = target, args
        self._drain_s = drain_s
        self._look, self._on_end = look, on_end
        self._children = [_Child() for _ in range(count)]
        self._service_manager = ServiceManager()
        self._is_stopping = self._is_hurried = False

    def run(self) -> None:
        with self._obeying_signals():
            try:
                self._start_due()
                # Also while the database is away: a service that waits for it must not be ended for being late.
                self._service_manager.ready()
                while not self._is_stopping:
                    self._start_due()
                    self._wait(LOOK_EVERY_S)
                    self._note_ends()
                    self._look()
                    self._service_manager.alive()
                self._service_manager.stopping()
                self._drain()
            finally:
                self._stop()

    @property
    def _running(self) -> list[SpawnProcess]:
        started = (child.process for child in self._children if child.process is not None)
        return [process for process in started if process.is_alive()]

    def _start_due(self) -> None:
        for child in self._children:
            if child.process is None and child.starts_at <= monotonic_s():
                child.process = _spawn.Process(target=_run_child, args=(self._target, self._args))
                child.starts_at = monotonic_s()
                _start_without_interrupts(child.process)

    def _note_ends(self) -> None:
        for child in self._children:
            if child.process is None or child.process.is_alive():
                continue
            is_quick = monotonic_s() - child.starts_at < LIVES_AT_LEAST_S
            child.quick_ends = child.quick_ends + 1 if is_quick else 0
            pause = backoff.pause_s(child.quick_ends, first_s=PAUSE_FIRST_S, most_s=PAUSE_MOST_S) if is_quick else 0.0
            child.starts_at = monotonic_s() + pause
            ended = child.process
            log.error("process ended", pid=ended.pid, code=ended.exitcode, starts_again_in_s=round(pause, 2))
            self._on_end(ended.pid or 0)
            ended.close()
            child.process = None

    def _wait(self, timeout_s: float) -> None:
        wait([process.sentinel for process in self._running], timeout_s)

    def _drain(self) -> None:
        """Children report that they are no longer ready; a load balancer needs time to notice."""
        if not self._drain_s:
            return
        self._send(DRAIN_SIGNAL)
        ends_at = monotonic_s() + self._drain_s
        while not self._is_hurried and (left := ends_at - monotonic_s()) > 0:
            time.sleep(min(left, LOOK_EVERY_S))

    def _stop(self) -> None:
        """Waits for work in progress; a second Ctrl-C ends the wait."""
        self._send(signal.SIGTERM)
        ends_at = monotonic_s() + STOP_WITHIN_S
        while self._running:
            if self._is_hurried or monotonic_s() > ends_at:
                self._send(signal.SIGKILL)
            self._wait(LOOK_EVERY_S)

    def _send(self, number: signal.Signals) -> None:
        for process in self._running:
            if process.pid is not None:
                os.kill(process.pid, number)

    @contextmanager
    def _obeying_signals(self) -> Iterator[None]:
        def stop(number: int, _: FrameType | None) -> None:
            self._is_hurried = self._is_stopping and number == signal.SIGINT
            self._is_stopping = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _start_without_interrupts(process: SpawnProcess) -> None:
    """A terminal sends Ctrl-C to the children as well, but only the parent decides when they stop."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, before)


def _run_child(target: str, args: tuple[Any, ...]) -> None:
    # Servers install a handler of their own for SIGINT, so being ignored is not enough.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    module, _, name = target.partition(":")
    getattr(import_module(module), name)(*args)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def stop_on_terminate() -> None:
    """SIGTERM unwinds the stack as Ctrl-C does: otherwise no `with` block would be closed."""
    signal.signal(signal.SIGTERM, _exit)


def _exit(_: int, __: FrameType | None) -> None:
    raise SystemExit(0)
