"""A refund that no rail ends is ended by an operator, with another's approval: once, with its booking and its event."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from build import Checkout
from checkout.paying import card
from cli.operating import Operator
from conftest import MakeCheckout, check_books
from refund.test_refund_effects import begin, events_of
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict, NotFound
from tidegate.intake import refunds
from tidegate.rail.interface import RefundMoney
from tidegate.rail.state import PayoutState
from tidegate.refund import send
from tidegate.runtime import Runtime

ADA = Actor("staff/ada")


@pytest.fixture
async def paid(new_checkout: MakeCheckout) -> Checkout:
    checkout = await new_checkout()
    assert (await checkout.charge(card())).status_code == 200
    return checkout


@pytest.fixture
def command_line(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


async def wallet(admin: Any, business_id: str) -> tuple[int, int]:
    row = await admin.fetchrow("SELECT balance_minor, locked_minor FROM wallet WHERE business_id = $1", business_id)
    return row["balance_minor"], row["locked_minor"]


@pytest.mark.parametrize("status", ["successful", "failed"])
async def test_it_ends_as_the_operator_found_out(
    paid: Checkout, runtime: Runtime, admin: Any, command_line: Operator, status: str
) -> None:
    choice, journal = {"successful": ("paid", "refund_done"), "failed": ("not-paid", "refund_failed")}[status]
    business_id = paid.shop.business_id
    before = await wallet(admin, business_id)
    reference = await begin(paid, amount=10)
    asked_for = await wallet(admin, business_id)
    end = (
        "refund",
        "end",
        business_id,
        f"{reference}-1",
        "--outcome",
        choice,
        "--note",
        "their desk says so, case 4711",
    )
    code, said = await command_line.run(*end[:4], *end[6:])
    assert (code, "Missing option '--outcome'" in said) == (2, True)
    await command_line.said(*end)
    shown = await command_line.said("refund", "show", business_id, reference)
    assert f"{reference}-1  {status}" in shown
    [(name, data)] = await events_of(admin, business_id)
    assert (name, data["reference"]) == (f"refund.{status}", reference)
    assert await admin.fetchval("SELECT count(*) FROM journal WHERE kind = $1", journal) == 1
    assert (await wallet(admin, business_id) == before) is (status == "failed")
    assert (await wallet(admin, business_id))[1] == 0 <= asked_for[1]
    details = await admin.fetchval("SELECT details::text FROM audit WHERE action = 'refund.ended'")
    assert "case 4711" in details
    # The rail is asked no more, and a second end changes nothing.
    await paid.let_pass("1h")
    assert "has ended" in await command_line.refused(*end)
    assert await admin.fetchval("SELECT count(*) FROM sandbox_payout") == 0
    await check_books(runtime)


async def test_by_hand_and_by_the_rail_at_once_it_ends_once(paid: Checkout, runtime: Runtime, admin: Any) -> None:
    references = [await begin(paid, amount=1 + n) for n in range(6)]
    await paid.tick()
    # Without a round of the worker, which comes with the operator.
    await paid.shop.client.post("/sandbox/clock", json={"advance": "10s"}, headers={"api-key": paid.shop.secret_key})

    async def by_hand(reference: str) -> None:
        with suppress(NotFound, Conflict):
            await refunds.end_by_hand(
                runtime.deps, paid.shop.business_id, f"{reference}-1", is_paid=False, note="no answer", by=ADA,
                now=runtime.clock.now_of(paid.shop.business_id),
            )  # fmt: skip

    await asyncio.gather(send.poll_rails(runtime.deps, runtime.clock), *map(by_hand, references))
    assert await admin.fetchval("SELECT count(*) FROM refund WHERE status <> 'processing'") == len(references)
    ended = "SELECT count(*) FROM journal WHERE kind IN ('refund_done', 'refund_failed')"
    assert await admin.fetchval(ended) == len(references)
    assert len(await events_of(admin, paid.shop.business_id)) == len(references)
    await check_books(runtime)


async def test_while_a_rail_is_being_asked_nobody_ends_it(
    paid: Checkout, runtime: Runtime, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = await begin(paid, amount=10)
    rail = runtime.deps.rail("sandbox")
    asked, may_answer, refund = asyncio.Event(), asyncio.Event(), rail.refund

    async def slow(money: RefundMoney, *, now: datetime) -> PayoutState:
        asked.set()
        await may_answer.wait()
        return await refund(money, now=now)

    monkeypatch.setattr(type(rail), "refund", staticmethod(slow))
    end = partial(
        refunds.end_by_hand, runtime.deps, paid.shop.business_id, f"{reference}-1", is_paid=False, note="no answer",
        by=ADA, now=runtime.clock.now_of(paid.shop.business_id),
    )  # fmt: skip
    asking = asyncio.create_task(send.poll_rails(runtime.deps, runtime.clock))
    await asked.wait()
    with pytest.raises(Conflict, match="at this moment"):
        await end()
    may_answer.set()
    await asking
    assert await admin.fetchval("SELECT status FROM refund") == "processing"
    await end()
    assert await admin.fetchval("SELECT status FROM refund") == "failed"
    assert await admin.fetchval("SELECT count(*) FROM leased_work") == 0


async def test_what_the_rail_was_in_contradiction_about_is_closed_with_it(
    paid: Checkout, runtime: Runtime, admin: Any, command_line: Operator
) -> None:
    reference = await begin(paid, amount=10)
    # Sent, and not asked about yet, however long that took.
    await send.poll_rails(runtime.deps, runtime.clock)
    await admin.execute("UPDATE sandbox_payout SET amount_minor = amount_minor - 1")
    await paid.let_pass("10s")
    [notice] = await command_line.json("quarantine", "list")
    assert notice["id"] == f"refund-{reference}-1"
    end = (
        "refund",
        "end",
        paid.shop.business_id,
        f"{reference}-1",
        "--outcome",
        "paid",
        "--note",
        "the rest was sent by hand",
    )
    await command_line.said(*end)
    assert await command_line.json("quarantine", "list") == []
    await check_books(runtime)
