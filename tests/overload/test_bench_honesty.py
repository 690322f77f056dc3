"""What the benchmark says of a run is what the run has shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from bench import machine, pgbench
from bench.load import Plan, run
from bench.report import Finding, Line, Result, Sample, Section
from bench.usage import Usage

REQUEST = "GET / HTTP/1.1\r\nhost: here\r\n\r\n"


def result(*ours_and_yardstick: tuple[int, int], target: float, others_share: float = 0.0) -> Result:
    def nothing(_: float) -> Sample:
        raise AssertionError("nothing is measured here")

    def sample(count: int) -> Sample:
        return Sample(count, 1.0, count, Usage({"server": 100.0}, others_share))

    rounds = [(sample(ours), sample(other)) for ours, other in ours_and_yardstick]
    return Result(Line("create", "a yardstick", nothing, nothing, target), rounds)


def test_the_ratio_is_the_median_of_the_rounds_and_the_spread_their_extremes() -> None:
    found = result((60, 100), (40, 100), (55, 100), target=0.5)
    assert (found.ratio, found.is_reached, found.faults) == (0.55, True, [])
    assert "| **0.55** | 0.40–0.60 | ≥ 0.50 | ✓ | server 100 (server 100) |" in found.row


def test_a_missed_target_and_a_busy_machine_are_said() -> None:
    missed = result((40, 100), target=0.5, others_share=0.3)
    assert missed.faults == ["create: 0.40, target 0.50", "create: other programs used up to 30% of the machine"]


def test_a_number_is_judged_by_its_aim_and_without_one_not_at_all() -> None:
    slow, told = Finding("p99", 120.0, "ms", at_most=100.0), Finding("p50", 20.0, "ms")
    few = Finding("created", 0.7, at_least=0.8, decimals=2)
    section = Section("overload", "ten times", [slow, told, few])
    assert section.faults == ["overload, p99: 120 ms", "overload, created: 0.70"]
    assert "| p99 | **120 ms** | ≤ 100 ms | ✗ |" in section.table
    assert "| p50 | **20 ms** |  |  |" in section.table


@asynccontextmanager
async def answering(answer: bytes, *, pause_s: float, is_hanging_up: bool = False) -> AsyncIterator[int]:
    """A server that takes its time for each request; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(pause_s)
            if is_hanging_up:
                break
            writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_a_request_that_waits_for_a_connection_is_measured_from_when_it_was_due() -> None:
    async with answering(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n", pause_s=0.02) as port:
        seen = await run(Plan(port, [REQUEST], connections=1, seconds=0.5, per_second=200))
    assert seen["statuses"] == {201: seen["arrived"]}
    # Each was answered as soon as it was sent; all but the first stood in line before.
    assert seen["since_due_ms"][201]["p50"] > 2 * seen["since_sent_ms"][201]["p50"]


async def test_an_arrival_without_a_connection_is_counted_and_never_sent() -> None:
    refusal = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
    async with answering(refusal, pause_s=0.02) as port:
        seen = await run(Plan(port, [REQUEST], 0, 0.5, per_second=400, connections_max=1))
    assert seen["given_up"] > 0
    assert seen["sent"] + seen["given_up"] == seen["arrived"]
    # A refusal that does not say when to come again is told apart.
    assert seen["without_retry_after"] == seen["sent"]


async def test_a_closed_load_counts_every_answer_and_sends_each_request_once_when_told_to() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", pause_s=0.0) as port:
        seen = await run(Plan(port, [REQUEST] * 5, connections=2, seconds=0.3, is_each_once=True))
    assert (seen["statuses"], seen["run_out"]) == ({200: 5}, 1)


async def test_a_server_that_hangs_up_is_no_answer() -> None:
    async with answering(b"", pause_s=0.0, is_hanging_up=True) as port:
        seen = await run(Plan(port, [REQUEST], connections=1, seconds=0.1))
    assert (seen["statuses"], seen["cut"]) == ({}, 1)


def test_a_run_of_pgbench_is_measured_from_when_each_was_due_and_not_before_its_connections_are_warm() -> None:
    # client_id transaction_no time script_no time_epoch time_us schedule_lag
    cold = "0 1 900000 0 1000 900000 0"
    warm = ["1 1 80000 0 1002 80000 60000", "0 2 5000 1 1003 5000 0"]
    assert pgbench.warm_s([cold, *warm]) == [0.08, 0.005]
    assert pgbench.warm_s([cold, warm[1]]) == [0.005]


def test_moments_in_which_the_machine_stalls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves a millisecond each time it is asked, and ten while the machine is slow."""
    slow_from_ms, slow_ms = 2_000, 400
    quick = [ms / 1000 for ms in range(slow_from_ms)]
    slow = [ms / 1000 for ms in range(slow_from_ms, slow_from_ms + slow_ms, 10)]
    times = iter([*quick, *slow, *(ms / 1000 + 1e-6 for ms in range(slow_from_ms + slow_ms, 6_000))])
    monkeypatch.setattr(machine, "perf_counter", lambda: next(times))
    assert machine.slow_share() == pytest.approx(slow_ms / 1000 / machine.LOOP_S, abs=0.02)
