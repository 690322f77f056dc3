"""What the doctor says of a rail: when it last notified, and what it has not answered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tidegate.doctor.commands import rail_findings
from tidegate.doctor.rail_store import RailActivity, get_activity
from tidegate.infra.db import Database

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def hours(number: float) -> datetime:
    return NOW - timedelta(hours=number)


@pytest.mark.parametrize(
    ("activity", "is_well"),
    [
        (RailActivity(None, None, 0, None), [True, True]),
        (RailActivity(hours(5), hours(5), 0, None), [True, True]),
        (RailActivity(hours(5), hours(3), 0, None), [False, True]),
        (RailActivity(None, hours(3), 0, None), [False, True]),
        (RailActivity(hours(1), hours(1), 3, hours(2)), [True, True]),
        (RailActivity(hours(1), hours(1), 3, hours(25)), [True, False]),
    ],
)
def test_a_rail_that_does_not_notify_or_answer_is_found(activity: RailActivity, is_well: list[bool]) -> None:
    findings = rail_findings("pawapay", activity, "https://pay.example.com", NOW)
    assert [finding.is_well for finding in findings] == is_well
    if not is_well[0]:
        assert "https://pay.example.com/intake/pawapay" in findings[0].advice


async def test_a_rail_without_any_work_has_no_activity(db: Database) -> None:
    async with db.connection() as tx:
        assert await get_activity(tx, "pawapay") == RailActivity(None, None, 0, None)
