"""When a delivery is tried again, and when an endpoint is left in peace. Nothing here waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.webhook.model import FAILING_MAX, OPEN_AFTER, OPEN_FIRST, OPEN_MAX, Circuit
from tidegate.webhook.schedule import ATTEMPTS_MAX, DELAYS, RETRY_AFTER_MAX, next_attempt_at, retry_after_in

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
JITTERS = st.floats(-1, 1)


def test_the_schedule_is_the_published_one() -> None:
    hours = [delay / timedelta(hours=1) for delay in DELAYS]
    assert hours == [0, 5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24]


@given(failures=st.integers(1, ATTEMPTS_MAX - 1), jitter=JITTERS)
def test_every_attempt_is_within_a_fifth_of_its_slot(failures: int, jitter: float) -> None:
    at = next_attempt_at(failures, now=NOW, jitter=jitter)
    assert at is not None
    assert DELAYS[failures] * 0.8 <= at - NOW <= DELAYS[failures] * 1.2


def test_chance_reaches_both_ends() -> None:
    ends = [next_attempt_at(4, now=NOW, jitter=jitter) for jitter in (-1, 0, 1)]
    assert ends == [NOW + timedelta(hours=hours) for hours in (1.6, 2, 2.4)]


@given(failures=st.integers(ATTEMPTS_MAX, 1_000), jitter=JITTERS)
def test_ten_attempts_are_all(failures: int, jitter: float) -> None:
    assert next_attempt_at(failures, now=NOW, jitter=jitter) is None


@given(failures=st.integers(1, ATTEMPTS_MAX - 1), jitter=JITTERS, seconds=st.integers(0, 10**10 - 1))
def test_a_delay_the_receiver_asks_for_lies_between_the_next_slot_and_a_day(
    failures: int, jitter: float, seconds: int
) -> None:
    slot = next_attempt_at(failures, now=NOW, jitter=jitter)
    at = next_attempt_at(failures, now=NOW, jitter=jitter, retry_after=retry_after_in(str(seconds), now=NOW))
    assert slot is not None
    assert at is not None
    assert slot <= at <= max(slot, NOW + RETRY_AFTER_MAX)
    if timedelta(seconds=seconds) <= RETRY_AFTER_MAX:
        assert at == max(slot, NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("text", "seconds_asked"),
    [
        (None, None),
        ("120", timedelta(seconds=120)),
        ("1000000000", RETRY_AFTER_MAX),
        ("1e9", None),
        ("-5", None),
        ("", None),
        ("soon", None),
        ("１２", None),
        ("9" * 400, None),
        (format_datetime(NOW + timedelta(hours=1), usegmt=True), timedelta(hours=1)),
        (format_datetime(NOW - timedelta(days=400), usegmt=True), timedelta(0)),
        (format_datetime(NOW + timedelta(days=400), usegmt=True), RETRY_AFTER_MAX),
        ("Sat, 14 Mar 2026 09:27:53", timedelta(minutes=1)),
        ("Fri, 31 Dec 9999 23:59:59 -2359", RETRY_AFTER_MAX),
    ],
)  # fmt: skip
def test_how_retry_after_is_read(text: str | None, seconds_asked: timedelta | None) -> None:
    assert retry_after_in(text, now=NOW) == seconds_asked


@given(st.text(max_size=60) | st.from_regex(r"\w{3}, \d\d \w{3} \d{4,5} \d\d:\d\d:\d\d [+-]?\d{4,6}", fullmatch=True))
def test_any_text_in_retry_after_is_survived(text: str) -> None:
    seconds_asked = retry_after_in(text, now=NOW)
    assert seconds_asked is None or timedelta(0) <= seconds_asked <= RETRY_AFTER_MAX


# The circuit.


def test_a_circuit_opens_after_failures_in_a_row_and_not_before() -> None:
    nearly = Circuit().after(succeeded=0, failed=OPEN_AFTER - 1, now=NOW)
    assert nearly.open_until is None
    assert nearly.after(succeeded=0, failed=1, now=NOW).open_until == NOW + OPEN_FIRST


def test_one_success_closes_it_and_forgets_everything() -> None:
    open_one = Circuit().after(succeeded=0, failed=50, now=NOW)
    assert open_one.after(succeeded=1, failed=9, now=NOW) == Circuit()


def test_each_try_that_fails_doubles_the_pause_up_to_a_limit() -> None:
    circuit, now, pauses = Circuit().after(succeeded=0, failed=OPEN_AFTER, now=NOW), NOW, []
    for _ in range(12):
        assert circuit.open_until is not None
        pauses.append(circuit.open_until - now)
        now = circuit.open_until
        circuit = circuit.after(succeeded=0, failed=1, now=now)
    assert pauses[:4] == [OPEN_FIRST, OPEN_FIRST * 2, OPEN_FIRST * 4, OPEN_FIRST * 8]
    assert pauses[-1] == OPEN_MAX


def test_what_was_under_way_when_it_opened_makes_it_no_worse() -> None:
    open_one = Circuit().after(succeeded=0, failed=OPEN_AFTER, now=NOW)
    later = open_one.after(succeeded=0, failed=9, now=NOW + timedelta(seconds=1))
    assert (later.open_until, later.openings) == (open_one.open_until, open_one.openings)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 86_400)), max_size=60))
def test_whatever_happens_an_endpoint_is_tried_again_within_the_limit(happened: list[tuple[int, int, int]]) -> None:
    circuit, now = Circuit(), NOW
    for succeeded, failed, seconds in happened:
        now += timedelta(seconds=seconds)
        circuit = circuit.after(succeeded=succeeded, failed=failed, now=now)
        assert circuit.open_until is None or circuit.open_until - now <= OPEN_MAX
        assert (circuit.failures == 0) == (circuit.failing_since is None)


def test_five_days_of_nothing_but_failure_are_too_long() -> None:
    circuit = Circuit().after(succeeded=0, failed=1, now=NOW)
    for day in range(1, 10):
        circuit = circuit.after(succeeded=0, failed=1, now=NOW + timedelta(hours=13 * day))
    assert not circuit.has_failed_too_long(NOW + FAILING_MAX - timedelta(seconds=1))
    assert circuit.has_failed_too_long(NOW + FAILING_MAX)


def test_a_failure_long_ago_and_one_now_are_not_five_days_of_failure() -> None:
    circuit = Circuit().after(succeeded=0, failed=1, now=NOW).after(succeeded=0, failed=1, now=NOW + FAILING_MAX)
    assert not circuit.has_failed_too_long(NOW + FAILING_MAX)
