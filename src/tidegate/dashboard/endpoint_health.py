"""How an endpoint fares, in words and as a strip of the last hours. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from tidegate.dashboard import chart
from tidegate.dashboard.chart import HourBar
from tidegate.webhook.health_store import EndpointDay, HourCount
from tidegate.webhook.model import FAILING_MAX, Endpoint, EndpointStatus


@dataclass(frozen=True)
class HealthWords:
    state: str
    tint: str
    failing_since: datetime | None
    # When it is disabled, unless it answers before.
    ends_at: datetime | None
    arrived: str
    usual: str
    slowest: str
    strip: Markup


def health_words(endpoint: Endpoint, health: EndpointDay) -> HealthWords:
    since = health.failing_since if endpoint.status is EndpointStatus.ENABLED else None
    state, tint = ("Enabled", "good") if endpoint.status is EndpointStatus.ENABLED else ("Disabled", "bad")
    if since is not None:
        state, tint = "Failing", "warn"
    return HealthWords(
        state,
        tint,
        since,
        since + FAILING_MAX if since else None,
        _arrived(health),
        _seconds(health.median_ms),
        _seconds(health.p95_ms),
        chart.strip([_bar(hour) for hour in health.hours], _sentence(health)),
    )


def _bar(hour: HourCount) -> HourBar:
    return HourBar(bad=hour.failed, bar=hour.arrived, wait=hour.sent - hour.arrived - hour.failed)


def _arrived(health: EndpointDay) -> str:
    if not health.sent:
        return ""
    return f"{health.arrived:,} of {health.sent:,}{'' if health.is_counted else '+'}"


def _sentence(health: EndpointDay) -> str:
    if not health.sent:
        return "Nothing was sent in the last 24 hours"
    return (
        f"Events of the last 24 hours by hour: {health.sent:,} sent, {health.arrived:,} taken, {health.failed:,} failed"
    )


def _seconds(ms: int | None) -> str:
    return f"{ms / 1000:.2f} s" if ms is not None else ""
