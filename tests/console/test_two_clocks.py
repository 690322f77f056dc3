"""A merchant of the sandbox whose clock is ahead: the staff act by the real time, and the trail keeps its order."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from console.people import SignedInStaff
from console.test_staff_approvals import decide, held, proposed
from inflow import Inflows

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_what_the_staff_do_is_by_the_real_clock_and_in_its_order(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    await inflows.let_pass("720h")
    reference = await held(inflows)
    await decide(approver, await proposed(operator, reference))
    rows = await admin.fetch("SELECT action, created_at FROM audit WHERE subject = $1 ORDER BY id", reference)
    times = {row["action"]: row["created_at"] for row in rows}
    assert abs(times["inflow.credit.approved"] - times["inflow.credit.proposed"]) < timedelta(days=1)
    # The money itself is of the merchant's time.
    assert times["collection.credited"] - times["inflow.credit.approved"] > timedelta(days=29)
    page = (await operator.get(f"/held/{reference}")).text
    assert "The clock of this merchant is 30 days ahead of the real time." in page


async def test_the_audit_trail_is_in_the_order_of_writing_whatever_the_clocks_say(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows
) -> None:
    await inflows.let_pass("720h")
    reference = await held(inflows)
    await decide(approver, await proposed(operator, reference))
    # By the real time, after the credit which is of next month.
    assert (await operator.send("/audit/export", at="/audit")).status_code == 200
    page = (await operator.get("/audit")).text
    places = [
        page.index(words)
        for words in ("Exported the audit trail", "Credited a held inflow", "Proposed to credit a held inflow")
    ]
    assert places == sorted(places)
    assert "by the merchant’s clock" in page
