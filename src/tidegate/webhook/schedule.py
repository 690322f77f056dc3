"""When a delivery is tried again. Pure: time and jitter are arguments."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# After the previous attempt; the first is made at once.
DELAYS = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
ATTEMPTS_MAX = len(DELAYS)
JITTER = 0.2
RETRY_AFTER_MAX = timedelta(hours=24)
_SECONDS = re.compile(r"[0-9]{1,10}")


def next_attempt_at(
    failures: int, *, now: datetime, jitter: float, retry_after: timedelta | None = None
) -> datetime | None:
    """None after the last attempt. `jitter` is between -1 and 1; the receiver's Retry-After can only add delay."""
    if failures >= ATTEMPTS_MAX:
        return None
    delay = DELAYS[failures] * (1 + JITTER * jitter)
    return now + max(delay, min(retry_after or delay, RETRY_AFTER_MAX))


def retry_after_in(text: str | None, *, now: datetime) -> timedelta | None:
    """Seconds or a date; None for anything else. `now` is real time, which the receiver uses."""
    if text is None:
        return None
    if _SECONDS.fullmatch(text):
        return min(timedelta(seconds=int(text)), RETRY_AFTER_MAX)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment - now, timedelta(0)), RETRY_AFTER_MAX)
