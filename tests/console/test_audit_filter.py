"""The audit page by person and day."""

from __future__ import annotations

import re
from typing import Any

import pytest

from console.people import SignedInStaff
from tidegate.console import job_pages

pytestmark = pytest.mark.usefixtures("unlimited")


async def put(admin: Any, actor: str, subject: str, written_at: str = "now") -> None:
    await admin.execute(
        """
        INSERT INTO audit (business_id, actor, action, subject, created_at, written_at)
        VALUES ('000000000000000000000000', $1, 'x', $2, now(), ($3::text)::timestamptz)
        """,
        actor, subject, written_at,
    )  # fmt: skip


async def subjects(operator: SignedInStaff, query: str) -> list[str]:
    return re.findall(r"X <code>([^<]*)</code>", (await operator.get(f"/audit?{query}")).text)


async def test_the_audit_trail_of_one_person_or_of_one_kind(
    operator: SignedInStaff, approver: SignedInStaff, admin: Any
) -> None:
    by = f"staff/{operator.member.id}"
    await put(admin, by, "hers")
    await put(admin, f"staff/{approver.member.id}", "his")
    await put(admin, "person/abc", "theirs")
    await put(admin, "operator", "typed")
    assert f'<option value="{by}">Ifeoma Nwosu</option>' in (await operator.get("/audit")).text
    assert await subjects(operator, f"who={by}") == ["hers"]
    assert await subjects(operator, "who=person/") == ["theirs"]
    assert await subjects(operator, "who=operator") == ["typed"]
    assert await subjects(operator, "who=key/") == []


async def test_the_audit_trail_of_some_days_and_its_pages(
    operator: SignedInStaff, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in ("09T23:59:59", "10T00:00:00", "11T12:00:00", "12T00:00:00"):
        await put(admin, "operator", day, f"2026-01-{day}Z")
    assert await subjects(operator, "from=2026-01-10&to=2026-01-11") == ["11T12:00:00", "10T00:00:00"]
    monkeypatch.setattr(job_pages, "PAGE", 1)
    page = (await operator.get("/audit?who=operator&from=2026-01-10&to=2026-01-11")).text
    (older,) = re.findall(r'href="/console/audit\?([^"]+)">Older', page)
    assert await subjects(operator, older.replace("&amp;", "&")) == ["10T00:00:00"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from=soon", "Enter a day such as 2026-11-17."),
        ("from=2026-01-11&to=2026-01-10", "Choose a day that is not before the first one."),
        ("who=nobody", "Choose one of the list."),
        ("who=operator&who=tidegate", "The address has the person twice"),
        ("business=%0A", "a character for the merchant that is not text"),
        (f"subject={'x' * 101}", "Enter at most 100 characters."),
    ],
)
async def test_a_filter_of_the_audit_trail_that_cannot_be_read_is_refused(
    operator: SignedInStaff, admin: Any, query: str, words: str
) -> None:
    await put(admin, "operator", "anything")
    page = (await operator.get(f"/audit?{query}", status=422)).text
    assert (words in page, "anything" in page) == (True, False)
