"""What the benchmark says of a run is what the run has shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from xml.etree import ElementTree

import pytest
from bench import pgbench, plot, steadiness
from bench.line import Line, Sample
from bench.machine import Machine
from bench.open_load import Plan, run
from bench.result import Result, Round, Verdict, judge
from bench.steadiness import Steadiness

REQUEST = "GET / HTTP/1.1\r\nhost: here\r\n\r\n"
MACHINE = Machine(
    "2026-11-15", None, "CPU <&>", 2, 4096, "Linux", "3.11", "18", "on", "on", "ext4", {}, Steadiness(0.0, 1.0)
)


def line(name: str, *, target: float, compared_to: str | None = None) -> Line:
    def nothing(_: float) -> Sample:
        raise AssertionError("nothing is measured here")

    return Line(name, name, "a yardstick", nothing, nothing, target, compared_to)


def result(of: Line, *ours_and_yardstick: tuple[int, int]) -> Result:
    return Result(of, [Round(Sample(ours, 1.0), Sample(other, 1.0)) for ours, other in ours_and_yardstick], [])


def test_the_ratio_is_the_median_of_the_rounds_and_the_spread_their_extremes() -> None:
    (verdict,) = judge([result(line("create", target=0.5), (60, 100), (40, 100), (55, 100))])
    assert (verdict.ratio, verdict.spread, verdict.is_reached) == (0.55, (0.4, 0.6), True)


def test_a_line_that_is_compared_with_another_is_judged_by_that_one() -> None:
    many = result(line("settle", target=0.5), (1000, 1500))
    one = result(line("settle-one", target=0.7, compared_to="settle"), (600, 500))
    verdict = judge([many, one])[1]
    assert (verdict.ratio, verdict.target, verdict.is_reached) == (0.6, 0.7, False)
    assert verdict.own_ratio == 1.2
    # Measured without the other, it is not judged at all.
    assert judge([one])[0].is_reached is None


def test_the_picture_is_well_formed_whatever_the_names_are() -> None:
    verdict = Verdict("a & b", "", "what is <bare>", 10, 20, [0.4, 0.5], 0.6)
    drawn = ElementTree.fromstring(plot.svg_of([verdict], MACHINE))
    assert "a & b" in "".join(drawn.itertext())


@asynccontextmanager
async def answering(answer: bytes, *, pause_s: float) -> AsyncIterator[int]:
    """A server that takes its time for each request; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(pause_s)
            writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_a_request_that_waits_for_a_connection_is_measured_from_when_it_was_due() -> None:
    async with answering(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n", pause_s=0.02) as port:
        seen = await run(Plan(port, per_second=200, seconds=0.5, connections_max=1, requests=[REQUEST]))
    assert seen["statuses"] == {201: seen["arrived"]}
    # Each was answered as soon as it was sent; all but the first stood in line before.
    assert seen["since_due_ms"][201]["p50"] > 2 * seen["since_sent_ms"][201]["p50"]


async def test_an_arrival_without_a_connection_is_counted_and_never_sent() -> None:
    refusal = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
    async with answering(refusal, pause_s=0.02) as port:
        seen = await run(Plan(port, 400, 0.5, connections_max=1, requests=[REQUEST], is_patient=False))
    assert seen["given_up"] > 0
    assert seen["sent"] + seen["given_up"] == seen["arrived"]
    # A refusal that does not say when to come again is told apart.
    assert seen["without_retry_after"] == {503: seen["sent"]}


def test_pgbench_at_a_rate_is_measured_from_when_each_was_due_and_not_before_it_is_warm() -> None:
    # client_id transaction_no time script_no time_epoch time_us schedule_lag
    cold = "0 1 900000 0 1000 900000 0"
    warm = ["1 1 80000 0 1002 80000 60000", "0 2 5000 1 1003 5000 0"]
    seen = pgbench.seen_in([cold, *warm])
    assert (seen["measured"], seen["late_ms"]) == (2, 60.0)
    assert (seen["since_due_ms"]["max"], seen["since_sent_ms"]["max"]) == (80.0, 20.0)


def test_moments_in_which_the_machine_stalls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves a millisecond each time it is asked, and ten while the machine is slow."""
    slow_from_ms, slow_ms = 2_000, 400
    quick = [ms / 1000 for ms in range(slow_from_ms)]
    slow = [ms / 1000 for ms in range(slow_from_ms, slow_from_ms + slow_ms, 10)]
    times = iter([*quick, *slow, *(ms / 1000 + 1e-6 for ms in range(slow_from_ms + slow_ms, 6_000))])
    monkeypatch.setattr(steadiness, "perf_counter", lambda: next(times))
    found = steadiness.measure()
    assert found.slow_share == pytest.approx(slow_ms / 1000 / steadiness.SECONDS, abs=0.01)
    assert found.slowest == pytest.approx(0.1, abs=0.05)
