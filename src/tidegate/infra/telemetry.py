"""Structured logs without private data, and metrics."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Unavailable

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
MASK = "***"
_PRIVATE = frozenset(
    {
        "api_key", "authorization", "body", "card", "customer", "cvv", "dsn", "email", "name", "otp", "pan",
        "password", "phone", "phone_number", "pin", "secret", "token", "url",
    }
)  # fmt: skip


def mask_private(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key in event:
        if key in _PRIVATE:
            event[key] = MASK
    return event


_level = logging.NOTSET


def is_logged(level: int) -> bool:
    """Whether lines of that level are written; if not, the caller need not build one."""
    return level >= _level


def configure_logs(*, as_json: bool, level: str) -> None:
    """Structured lines on standard error; standard output is for a command's result."""
    global _level  # noqa: PLW0603 - as the logs themselves, it is one for the process
    _level = logging.getLevelName(level.upper())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        mask_private,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if as_json:
        # Plain tracebacks: richer formatters print local variables, which hold keys and customer data.
        shared += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_dumps)]
        factory: Any = structlog.BytesLoggerFactory(sys.stderr.buffer)
    else:
        plain = structlog.dev.plain_traceback
        shared += [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
        factory = structlog.PrintLoggerFactory(sys.stderr)
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(_level),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )
    # Libraries log warnings only; requests are logged by Tidegate, once.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s", force=True)


def _dumps(event: Any, **_: Any) -> bytes:
    return msgspec.json.encode(event, enc_hook=repr)


class Meter:
    """The metrics of a process; its parent exposes them."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "tidegate_request_seconds", "Time to answer, by operation and status.", ("operation", "status"),
            buckets=BUCKETS_S, registry=self._registry,
        )  # fmt: skip
        # By operation and status: looking up labels costs as much as the observation.
        self._request_series: dict[tuple[str, int], Histogram] = {}
        self._work = Counter(
            "tidegate_work_total", "Rows processed by the worker, by loop.", ("loop",), registry=self._registry
        )
        self._rounds = Counter(
            "tidegate_work_rounds_total", "Finished worker rounds, by loop.", ("loop",), registry=self._registry
        )
        self._failures = Counter(
            "tidegate_work_failures_total", "Failed worker rounds, by loop.", ("loop",), registry=self._registry
        )
        self._deliveries = Counter(
            "tidegate_deliveries_total", "Webhook delivery attempts, by outcome.", ("outcome",),
            registry=self._registry,
        )  # fmt: skip
        self._refused_notifications = Counter(
            "tidegate_notifications_refused_total", "Refused notifications, by kind.", ("kind",),
            registry=self._registry,
        )  # fmt: skip
        self._dropped_logs = Counter(
            "tidegate_requests_not_logged_total", "Requests left out of the request log: too many, or no database.",
            registry=self._registry,
        )  # fmt: skip
        self._oldest_due = Gauge(
            "tidegate_delivery_oldest_due_seconds", "Age of the oldest webhook delivery that is due.",
            registry=self._registry, multiprocess_mode="livemax",
        )  # fmt: skip
        self._worked_at_s: float | None = None

    @property
    def worker_idle_s(self) -> float | None:
        """Since the last round that a worker in this process finished; None before the first."""
        return None if self._worked_at_s is None else monotonic_s() - self._worked_at_s

    def observe_request(self, operation: str, status: int, seconds: float) -> None:
        series = self._request_series.get((operation, status))
        if series is None:
            series = self._request_series[operation, status] = self._requests.labels(operation, str(status))
        series.observe(seconds)

    def count_dropped_logs(self, count: int) -> None:
        self._dropped_logs.inc(count)

    def begin_loop(self, loop: str) -> None:
        """Shown from the start: an alert sees a loop that never finishes a round, and the first failure of another."""
        for counter in (self._rounds, self._work, self._failures):
            counter.labels(loop)

    def begin_deliveries(self, loop: str, outcomes: Iterable[str]) -> None:
        """The same for webhooks, whose sender has no rounds."""
        self._failures.labels(loop)
        for outcome in outcomes:
            self._deliveries.labels(outcome)

    def count_round(self, loop: str, done: int) -> None:
        """Also of a round without work: a loop that stands still does none."""
        self._worked_at_s = monotonic_s()
        self._rounds.labels(loop).inc()
        self._work.labels(loop).inc(done)

    def count_failure(self, loop: str) -> None:
        self._failures.labels(loop).inc()

    def count_deliveries(self, outcome: str, count: int) -> None:
        self._deliveries.labels(outcome).inc(count)

    def count_refused_notification(self, kind: str) -> None:
        self._refused_notifications.labels(kind).inc()

    def show_oldest_due(self, seconds: float) -> None:
        self._oldest_due.set(seconds)


@contextmanager
def showing_metrics(host: str, port: int) -> Iterator[Callable[[int], None]]:
    """For a parent: exposes the sum of its children's metrics. Children find the folder in their environment.

    Yields a function to call with the process id of a child that has ended.
    """
    if not port:
        yield lambda _: None
        return
    with TemporaryDirectory(prefix="tidegate-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
        try:
            server, _ = start_http_server(port, host, registry=registry)
        except OSError as error:
            raise Unavailable(f"TIDEGATE_METRICS_PORT: cannot listen on {host}:{port}: {error.strerror}") from None
        try:
            yield partial(mark_process_dead, path=folder)
        finally:
            server.shutdown()
            server.server_close()
