"""How each rail is, in one word. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.alarm.health_store import RailHour
from tidegate.alarm.model import is_failing


class RailState(NamedTuple):
    word: str
    tint: str


PAUSED = RailState("Paused", "warn")
FAILING = RailState("Failing", "bad")
WORKING = RailState("Working", "good")
QUIET = RailState("Quiet", "")


class RailRow(NamedTuple):
    """Of one rail and currency; without figures where no payment went by it in the hour."""

    rail: str
    hour: RailHour | None
    state: RailState
    heard_at: datetime | None


def rail_lines(
    rails: Collection[str], hours: Sequence[RailHour], heard: Mapping[str, datetime | None], paused: Collection[str], *,
    since: datetime,
) -> list[RailRow]:  # fmt: skip
    seen = {one.rail for one in hours}
    found: list[tuple[str, RailHour | None]] = [(one.rail, one) for one in hours]
    found += [(rail, None) for rail in rails if rail not in seen]
    lines = []
    for rail, hour in found:
        heard_at = heard.get(rail)
        is_heard = heard_at is not None and heard_at >= since
        lines.append(RailRow(rail, hour, state_of(hour, is_heard=is_heard, is_paused=rail in paused), heard_at))
    return lines


def state_of(hour: RailHour | None, *, is_heard: bool, is_paused: bool) -> RailState:
    """Silence says nothing good: a rail that only took payments and ended none is quiet."""
    if is_paused:
        return PAUSED
    if hour is not None and is_failing(hour):
        return FAILING
    return WORKING if is_heard or (hour is not None and hour.succeeded > 0) else QUIET
