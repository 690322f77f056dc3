"""Requests that are added up first are counted as if each had been told by itself."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from tidegate.infra import request_tally
from tidegate.infra.request_tally import BUCKETS_S, RequestTally

operations = st.sampled_from(["createPayment", "other"])
statuses = st.sampled_from([201, 404, 503])
# On a bucket's edge, beside it, and beyond the last one.
durations = st.sampled_from([*BUCKETS_S, 0.0, 60.0]) | st.floats(0, 10)


def shown(registry: CollectorRegistry) -> dict[str, float]:
    lines = generate_latest(registry).decode().splitlines()
    told = [line.rpartition(" ") for line in lines if not line.startswith("#") and "_created" not in line]
    return {name: float(value) for name, _, value in told}


@settings(deadline=None)  # A busy machine is no failure.
@given(st.lists(st.tuples(operations, statuses, durations, st.integers(1, 3)), max_size=30), st.integers(0, 30))
def test_what_is_told_is_what_was_added(added: list[tuple[str, int, float, int]], told_after: int) -> None:
    registry, one_by_one = CollectorRegistry(), CollectorRegistry()
    labels = ("operation", "status")
    expected = Histogram("tidegate_request_seconds", "", labels, buckets=BUCKETS_S, registry=one_by_one)
    tally = RequestTally(registry)

    async def add_all() -> None:
        for number, (operation, status, seconds, count) in enumerate(added):
            tally.add(operation, status, seconds, count)
            for _ in range(count):
                expected.labels(operation, str(status)).observe(seconds)
            if number == told_after:
                tally.tell()

    asyncio.run(add_all())
    tally.tell()
    tally.tell()  # There is nothing left to tell.
    assert shown(registry) == pytest.approx(shown(one_by_one))


async def test_it_is_told_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_tally, "TELL_AFTER_S", 0.01)
    registry = CollectorRegistry()
    tally = RequestTally(registry)
    line = 'tidegate_request_seconds_count{operation="other",status="503"}'
    for seen in (1, 2):
        tally.add("other", 503, 0.2)
        async with asyncio.timeout(60):
            while shown(registry).get(line) != seen:  # noqa: ASYNC110 - it is told by a timer
                await asyncio.sleep(0.01)


async def test_what_could_not_be_told_is_not_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_tally, "TELL_AFTER_S", 0.01)
    registry = CollectorRegistry()
    tally = RequestTally(registry)
    labels = tally._told.labels
    refused: list[tuple[str, ...]] = []

    def refuse_once(*names: str) -> Histogram:
        if names == ("other", "503") and not refused:
            refused.append(names)
            raise OSError("too many open files")
        return labels(*names)

    monkeypatch.setattr(tally._told, "labels", refuse_once)
    tally.add("createPayment", 201, 0.2)
    tally.add("other", 503, 0.2)
    with pytest.raises(OSError, match="too many"):
        tally.tell()
    tally.add("createPayment", 201, 0.2)
    tally.add("other", 503, 0.2)
    count = 'tidegate_request_seconds_count{{operation="{}",status="{}"}}'.format
    told = {count("createPayment", 201): 2, count("other", 503): 1}
    async with asyncio.timeout(60):
        while not told.items() <= shown(registry).items():  # noqa: ASYNC110 - it is told by a timer
            await asyncio.sleep(0.01)
