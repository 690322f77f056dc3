"""A dispute that its rail does not end is ended by an operator, with another's approval: once, as the rail would."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cli.operating import Operator
from console.people import SignedInStaff
from console.test_staff_approvals import decide, open_approval
from dispute.test_disputes import LOST, OPEN, SHARE_MINOR, WON, DisputeWorld, world
from inflow import Inflows, credit
from tidegate.audit.model import Actor
from tidegate.core.errors import NotFound
from tidegate.core.money import Currency, Money
from tidegate.intake import commands as intake
from tidegate.intake import disputes
from tidegate.rail.event import DisputeChanged, Notification

__all__ = ["world"]

ADA = Actor("staff/ada")


@pytest.fixture
def command_line(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


def end(world: DisputeWorld, outcome: str, dispute: str = "sandbox/d1") -> tuple[str, ...]:
    business_id = world.checkout.shop.business_id
    return ("dispute", "end", business_id, dispute, "--outcome", outcome, "--note", "their desk says so, case 4711")


@pytest.mark.parametrize(("outcome", "wallet"), [("won", (SHARE_MINOR, 0)), ("lost", (0, 0))])
async def test_it_ends_as_the_operator_found_out(
    world: DisputeWorld, command_line: Operator, outcome: str, wallet: tuple[int, int]
) -> None:
    await world.tell(world.dispute(OPEN))
    [listed] = await command_line.json("dispute", "list")
    assert listed["dispute"] == "sandbox/d1"
    assert (listed["payCode"], listed["amount"], listed["held"]) == (world.checkout.pay_code, "NGN 100.00", "NGN 98.49")
    assert f"sandbox/d1 is {outcome}" in await command_line.said(*end(world, outcome))
    await world.checkout.tick()
    assert await world.wallet() == wallet
    record = await world.record()
    assert (record["disputeStatus"], record["isReversed"]) == (outcome, outcome == "lost")
    assert [event["status"] for event in await world.events()] == ["open", outcome]
    assert "case 4711" in await world.admin.fetchval("SELECT details::text FROM audit WHERE action = 'dispute.ended'")
    # What the merchant reads is the rail's reason.
    assert {event["reason"] for event in await world.events()} == {"chargeback"}
    assert await command_line.json("dispute", "list") == []
    assert "it has ended" in await command_line.refused(*end(world, outcome))
    assert "no such dispute" in await command_line.refused(*end(world, outcome, "sandbox/d2"))


async def test_what_the_rail_says_later_takes_the_money_no_second_time(
    world: DisputeWorld, command_line: Operator
) -> None:
    await world.tell(world.dispute(OPEN))
    await command_line.said(*end(world, "lost"))
    await world.checkout.tick()
    await world.tell(world.dispute(LOST), world.reversal())
    await world.checkout.tick()
    assert await world.wallet() == (0, 0)
    assert (await world.record())["amountReversed"] == 100
    assert await command_line.json("quarantine", "list") == []
    await world.tell(world.dispute(WON))
    [notice] = await command_line.json("quarantine", "list")
    assert notice["why"] == "dispute d1 had ended as lost, and is won now"


async def test_by_hand_and_by_the_rail_at_once_it_ends_once(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN))

    async def by_hand() -> None:
        with suppress(NotFound):
            await disputes.end_by_hand(
                world.runtime.deps, world.checkout.shop.business_id, "sandbox/d1", is_won=False, note="asked", by=ADA,
                now=world.runtime.clock.now(),
            )  # fmt: skip

    await asyncio.gather(by_hand(), world.tell(world.dispute(WON)), by_hand(), world.tell(world.dispute(WON)))
    await world.checkout.tick()
    status = (await world.record())["disputeStatus"]
    assert await world.wallet() == ((SHARE_MINOR, 0) if status == "won" else (0, 0))
    assert [event["status"] for event in await world.events()] == ["open", status]


@pytest.mark.usefixtures("unlimited")
async def test_in_the_console_two_end_it(
    world: DisputeWorld, operator: SignedInStaff, approver: SignedInStaff, admin: Any
) -> None:
    assert "No payment is disputed" in (await operator.get("/disputes")).text
    await world.tell(world.dispute(OPEN))
    page = (await operator.get("/disputes")).text
    assert "sandbox/d1" in page
    at = f"/disputes/{world.checkout.shop.business_id}/sandbox/d1/end"
    wrong = await operator.send(at, at="/disputes", why="no answer")
    assert (wrong.status_code, "Choose how the dispute ended" in wrong.text) == (422, True)
    assert (await operator.send(at, at="/disputes", why="their desk, 4711", outcome="won")).status_code == 303
    assert "its end is proposed" in (await operator.get("/disputes")).text
    assert (await decide(operator, await open_approval(operator))).status_code == 403
    assert await admin.fetchval("SELECT status FROM dispute") == "open"
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT status FROM dispute") == "won"
    assert await world.wallet() == (SHARE_MINOR, 0)


@pytest.mark.parametrize("outcome", ["won", "lost"])
async def test_of_money_in_suspense(inflows: Inflows, command_line: Operator, admin: Any, outcome: str) -> None:
    unclaimed = credit("DE99", 25_00)
    assert (await inflows.notify(unclaimed)).status_code == 200
    told = DisputeChanged(
        dispute_id="d1", transaction_id=unclaimed["transactionId"], amount=Money(25_00, Currency.EUR), status=OPEN,
        due_at=None, reason="recall",
    )  # fmt: skip
    notice = Notification(id="dispute-1", event=told)
    await intake.record_all(inflows.runtime.deps, "sandbox", [notice], b"{}", inflows.runtime.clock)
    [listed] = await command_line.json("dispute", "list")
    assert (listed["payCode"], listed["held"]) == (None, "EUR 0.00")
    end = ("dispute", "end", listed["businessId"], "sandbox/d1", "--outcome", outcome, "--note", "asked")
    await command_line.said(*end)
    await inflows.tick()
    assert await admin.fetchval("SELECT status FROM dispute") == outcome
    in_suspense = "SELECT coalesce(sum(amount_minor), 0) FROM entry WHERE account = 'suspense'"
    assert abs(await admin.fetchval(in_suspense)) == (25_00 if outcome == "won" else 0)
