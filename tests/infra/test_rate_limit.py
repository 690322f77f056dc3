from __future__ import annotations

from pathlib import Path

import pytest

from infra.stopwatch import Stopwatch
from tidegate.infra.rate_limit import RateLimit


def passed(limit: RateLimit, slot: int, tries: int) -> int:
    return sum(limit.wait_s(slot, per_second=50, burst=100) == 0 for _ in range(tries))


def test_a_burst_passes_and_then_the_steady_rate(stopwatch: Stopwatch) -> None:
    limit = RateLimit()
    assert passed(limit, 1, 300) == 100
    stopwatch.now += 1
    assert passed(limit, 1, 300) == 50
    stopwatch.now += 60
    assert passed(limit, 1, 300) == 100


def test_callers_do_not_share_an_allowance(stopwatch: Stopwatch) -> None:
    limit = RateLimit()
    assert passed(limit, 1, 300) == 100
    assert passed(limit, 2, 300) == 100


def test_the_wait_is_how_long_until_one_more_passes(stopwatch: Stopwatch) -> None:
    limit = RateLimit()
    passed(limit, 1, 100)
    wait_s = limit.wait_s(1, per_second=50, burst=100)
    assert wait_s > 0
    stopwatch.now += wait_s + 1e-6
    assert limit.wait_s(1, per_second=50, burst=100) == 0


def test_processes_that_map_the_same_file_share_the_limit(tmp_path: Path, stopwatch: Stopwatch) -> None:
    one, other = RateLimit(tmp_path / "limit"), RateLimit(tmp_path / "limit")
    assert passed(one, 7, 60) + passed(other, 7, 300) == 100


def test_a_process_that_knows_fewer_slots_takes_none_from_the_others(tmp_path: Path, stopwatch: Stopwatch) -> None:
    older = RateLimit(tmp_path / "limit", slots=4_096)
    newer = RateLimit(tmp_path / "limit", slots=512)
    # Beyond what the newer one has mapped; of a file that was cut short, this would end the process.
    assert passed(older, 4_095, 300) == passed(newer, 511, 300) == 100


def test_a_limit_kept_in_a_file_survives_a_reboot(tmp_path: Path, stopwatch: Stopwatch) -> None:
    """The clock of a machine begins again at nought; what was written before must not refuse anyone for weeks."""
    before = RateLimit(tmp_path / "limit")
    passed(before, 7, 300)
    stopwatch.now = 10.0
    assert passed(RateLimit(tmp_path / "limit"), 7, 300) == 100


def test_an_allowance_is_at_most_used_up(stopwatch: Stopwatch) -> None:
    limit = RateLimit()
    for _ in range(1_000):
        limit.count(1, per_second=50, burst=100)
    assert limit.wait_s(1, per_second=50, burst=100) == pytest.approx(0.02)
    stopwatch.now += 1
    assert passed(limit, 1, 300) == 50
