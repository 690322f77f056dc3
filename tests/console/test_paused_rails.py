"""What waits for a rail that is paused: nobody asks it, the pages say so, and it is asked when the pause is lifted."""

from __future__ import annotations

from typing import Any

import pytest

from console.people import SignedInStaff
from console.test_staff_approvals import held, in_suspense, rail_resumed
from inflow import DIFFERENT, Inflows, credit

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_a_paused_rail_is_not_asked_until_the_pause_is_lifted(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    number, deps = await inflows.number(), inflows.runtime.deps
    refunded = (await inflows.notified(credit(number)))["reference"]
    waiting, unclaimed = await held(inflows), await in_suspense(inflows, admin)
    assert (await operator.send("/rails/sandbox/pause", at="/rails", reason="it answers wrongly")).status_code == 303
    await deps.paused.look(deps.db)
    for page in (f"/held/{waiting}", unclaimed, f"/refunds/{inflows.shop.business_id}/{refunded}"):
        assert "refunds and returns wait" in (await operator.get(page)).text, page
    returned = (await inflows.notified(credit(number, payeeName=DIFFERENT)))["reference"]
    asked = await inflows.call("POST", "/collections/refund", {"transReference": refunded, "amount": 50})
    refund = asked.json()["data"]["reference"]
    for _ in range(4):
        await inflows.let_pass("1h")
    assert await admin.fetchval("SELECT polls FROM refund_leg") == 0
    assert await admin.fetchval("SELECT status FROM money_return") == "asked"
    for page in ("/stuck", f"/stuck/refund/{inflows.shop.business_id}/{refund}"):
        text = (await operator.get(page)).text
        assert "paused since" in text, page
        assert "asked when the pause is lifted" in text, page
        assert "asked 0 times" not in text, page
    for inflow in (refunded, returned):
        assert "The rail sandbox is paused." in (await operator.get(f"/held/{inflow}")).text
    await rail_resumed(operator, approver, admin, inflows.runtime)
    await inflows.let_pass("1m")
    await inflows.let_pass("5s")
    assert await admin.fetchval("SELECT status FROM refund") == "successful"
    assert await admin.fetchval("SELECT status FROM money_return") == "confirmed"
    assert "The rail sandbox is paused." not in (await operator.get(f"/held/{refunded}")).text
    await operator.send("/rails/sandbox/pause", at="/rails", reason="again")
    ended = await operator.get(f"/stuck/refund/{inflows.shop.business_id}/{refund}")
    assert "The rail sandbox is paused." not in ended.text
    await rail_resumed(operator, approver, admin, inflows.runtime)
