"""Reconcile in the console: what is explained was found by the server itself, and the page keeps it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.operating import Operator
from console.people import SignedInStaff, StaffPeople
from inflow import Inflows, credit
from tidegate.reconcile import kept_comparison
from tidegate.staff.permission import StaffRole

pytestmark = pytest.mark.usefixtures("unlimited")

HEAD = "transactionId,direction,amount,currency,bookedAt"


@dataclass
class Reconciling:
    by: SignedInStaff

    async def upload(self, *lines: str, **fields: str) -> httpx.Response:
        """The page after it, or the one that refuses it."""
        token = (await self.by.fields("/reconcile"))["token"]
        files = {"file": ("s.csv", "\n".join([HEAD, *lines]).encode(), "text/csv")}
        data = {"token": token, "rail": "sandbox", **fields}
        return await self.by.client.post("/console/reconcile", data=data, files=files, follow_redirects=True)

    async def explain(self, page: str, *places: int, **fields: str) -> httpx.Response:
        (comparison,) = re.findall(r'name="comparison" value="([0-9]+)"', page) or ["0"]
        token = (await self.by.fields("/reconcile"))["token"]
        ticked = {f"break-{place}": "on" for place in places}
        data = {"token": token, "comparison": comparison, "note": "Fee of May", **ticked, **fields}
        return await self.by.client.post("/console/reconcile/explain", data=data, follow_redirects=True)


@pytest.fixture
def reconciling(operator: SignedInStaff) -> Reconciling:
    return Reconciling(operator)


async def _line(inflows: Inflows) -> tuple[str, str]:
    """Of money that the books have, and the day of it."""
    sent = credit(await inflows.number(), 50_00)
    await inflows.notified(sent)
    day = f"{inflows.now:%Y-%m-%d}"
    return f"{sent['transactionId']},in,50.00,EUR,{day}", day


async def test_what_the_command_line_compared_is_kept_and_explained_as_that_of_the_page(
    *, reconciling: Reconciling, inflows: Inflows, approver: SignedInStaff, database_url: str, tmp_path: Path
) -> None:
    line, day = await _line(inflows)
    file = tmp_path / "s.csv"
    file.write_text("\n".join([HEAD, line, f"FT1,in,9,EUR,{day}"]))
    code, _ = await Operator(database_url, tmp_path).run("reconcile", str(file), "--rail", "sandbox")
    assert code == 1
    assert "2 lines, 1 break, on the command line" in (await approver.get()).text
    page = (await reconciling.by.get("/reconcile")).text
    assert ("Compared on the command line at" in page, "1 of 2 lines agree" in page) == (True, True)
    assert "0 breaks, 1 explained" in (await reconciling.explain(page, 0)).text
    # One's own that is newer comes before it.
    page = (await reconciling.upload(line)).text
    assert ("Compared at" in page, "1 of 1 lines agree" in page) == (True, True)


async def test_each_copy_of_a_line_is_explained_for_itself(reconciling: Reconciling, inflows: Inflows) -> None:
    line, _ = await _line(inflows)
    page = await reconciling.upload(line, line)
    assert "0 breaks, 1 explained" in (await reconciling.explain(page.text, 0)).text
    page = await reconciling.upload(*[line] * 5)
    assert "3 breaks, 1 explained" in page.text
    page = await reconciling.explain(page.text, 0)
    assert "2 breaks, 2 explained" in page.text
    # The next ones, in the comparison that is still there.
    page = await reconciling.explain(page.text, 1, 2)
    assert "0 breaks, 4 explained" in page.text
    assert "0 breaks, 4 explained" in (await reconciling.upload(*[line] * 5)).text


async def test_a_statement_is_uploaded_and_compared(reconciling: Reconciling, inflows: Inflows) -> None:
    line, day = await _line(inflows)
    page = await reconciling.upload(line, f"unknown-1,in,9.00,EUR,{day}")
    assert (page.status_code, "1 of 2 lines agree, 1 break." in page.text) == (200, True), page.text[-2000:]
    assert "ask the rail to send its notification again" in page.text
    wrong = await reconciling.upload(line, f"x,sideways,1,EUR,{day}")
    assert (wrong.status_code, "line 3" in wrong.text.lower()) == (422, True)
    token = (await reconciling.by.fields("/reconcile"))["token"]
    nothing = await reconciling.by.client.post("/console/reconcile", data={"token": token, "rail": "sandbox"})
    assert nothing.status_code == 422
    # What was refused has not taken the comparison away.
    assert "1 of 2 lines agree, 1 break." in (await reconciling.by.get("/reconcile")).text
    explained = await reconciling.explain(page.text, 0)
    assert "1 of 2 lines agree, 0 breaks, 1 explained." in explained.text
    assert "Fee of May" in explained.text
    # A wrong note is replaced by the same form.
    assert 'name="break-0"' in explained.text
    # With the same amounts it is no break any more, with others it is one.
    again = await reconciling.upload(line, f"unknown-1,in,9.00,EUR,{day}")
    assert "1 of 2 lines agree, 0 breaks, 1 explained." in again.text
    other = await reconciling.upload(line, f"unknown-1,in,9.01,EUR,{day}")
    assert "1 of 2 lines agree, 1 break." in other.text


async def test_a_note_that_is_refused_keeps_the_comparison_and_what_was_typed(
    reconciling: Reconciling, inflows: Inflows, admin: Any
) -> None:
    line, day = await _line(inflows)
    page = await reconciling.upload(line, f"unknown-1,in,9.00,EUR,{day}", f"unknown-2,in,9.00,EUR,{day}")
    for note in ("", " ", "x" * 501, "4111 1111 1111 1111"):
        wrong = await reconciling.explain(page.text, 1, note=note)
        assert (wrong.status_code, "2 breaks." in wrong.text) == (422, True), note
        assert 'name="break-1" checked' in wrong.text
        assert 'name="break-0" checked' not in wrong.text
        assert f'value="{note}"' in wrong.text
    assert await admin.fetchval("SELECT count(*) FROM break_note") == 0


async def test_a_note_in_place_of_another_says_where_the_first_one_is(
    reconciling: Reconciling, staff: StaffPeople, inflows: Inflows, admin: Any
) -> None:
    line, _ = await _line(inflows)
    colleague = Reconciling(await staff.person(StaffRole.OPERATOR))
    pages = [(who, (await who.upload(line, line)).text) for who in (reconciling, colleague)]
    said = [(await who.explain(page, 0, note=f"Note {at}")).text for at, (who, page) in enumerate(pages)]
    assert ["are in the audit trail" in text for text in said] == [False, True]
    assert await admin.fetchval("SELECT details ->> 'before' FROM audit ORDER BY id DESC LIMIT 1") == "Note 0"
    # Which the page of the trail shows.
    assert "Note 0" in (await reconciling.by.get("/audit")).text


async def test_only_differences_that_the_server_found_are_explained(
    reconciling: Reconciling, staff: StaffPeople, inflows: Inflows, admin: Any
) -> None:
    line, day = await _line(inflows)
    assert (await reconciling.explain("", 0)).status_code == 422
    first = await reconciling.upload(line, f"unknown-1,in,9.00,EUR,{day}")
    colleague = Reconciling(await staff.person(StaffRole.OPERATOR))
    assert (await colleague.explain(first.text, 0)).status_code == 422
    second = await reconciling.upload(line, f"unknown-2,in,9.00,EUR,{day}")
    # The comparison of an older tab; places that are none; a line of one's own.
    assert (await reconciling.explain(first.text, 0)).status_code == 422
    for fields in ({"break-7": "on"}, {"break--1": "on"}, {"break-": "on"}, {"break-x": '["missing","a","x"]'}, {}):
        assert (await reconciling.explain(second.text, **fields)).status_code == 422, fields
    assert await admin.fetchval("SELECT count(*) FROM break_note") == 0
    assert (await reconciling.explain(second.text, 0)).status_code == 200
    assert await admin.fetch("SELECT transaction_id FROM break_note") == [("unknown-2",)]


async def test_a_comparison_is_kept_for_a_day(reconciling: Reconciling, inflows: Inflows, admin: Any) -> None:
    line, _ = await _line(inflows)
    page = await reconciling.upload(line, line)
    made_at = await admin.fetchval("SELECT made_at FROM comparison")
    await admin.execute("UPDATE comparison SET made_at = $1", made_at - kept_comparison.KEPT_FOR - timedelta(minutes=1))
    assert "Differences" not in (await reconciling.by.get("/reconcile")).text
    assert (await reconciling.explain(page.text, 0)).status_code == 422


async def test_of_many_differences_the_first_are_kept_and_all_are_counted(
    reconciling: Reconciling, inflows: Inflows
) -> None:
    line, day = await _line(inflows)
    unknown = [f"unknown-{number:03},in,9.00,EUR,{day}" for number in range(kept_comparison.FINDINGS_MAX + 5)]
    page = await reconciling.upload(line, *unknown)
    assert "205 breaks." in page.text
    assert "The first 200 of 205 differences are shown" in page.text
    page = await reconciling.explain(page.text, *range(40))
    assert "165 breaks, 40 explained." in page.text
    # The next forty can be ticked now.
    assert 'name="break-40"' in page.text
    assert 'name="break-39"' not in page.text


async def test_the_days_and_the_slack_are_chosen(reconciling: Reconciling, inflows: Inflows) -> None:
    line, day = await _line(inflows)
    earlier = f"{inflows.now - timedelta(days=9):%Y-%m-%d}"
    lines = (line, f"unknown-1,in,9.00,EUR,{earlier}")
    assert "1 of 2 lines agree, 1 break." in (await reconciling.upload(*lines)).text
    page = await reconciling.upload(*lines, **{"from": day, "to": day, "slack": "0s"})
    assert f"{day} to {day}: 1 of 1 lines agree, 0 breaks." in page.text
    assert "1 line of the file lies outside these days" in page.text
    for bad in ({"from": "yesterday"}, {"from": day, "to": earlier}, {"slack": "a day"}, {"slack": "9999d"}):
        assert (await reconciling.upload(*lines, **bad)).status_code == 422, bad
