"""Refunds of inflows, as the staff see them: what was given back, by whom, at which rates, and what is left."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from console.people import SignedInStaff, StaffPeople
from console.test_staff_approvals import decide, open_approval
from inflow import Inflows, credit
from tidegate.core.money import Currency
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")


async def refunded(operator: SignedInStaff, approver: SignedInStaff, at: str, **fields: str) -> None:
    answer = await operator.send(at, at=at, why="sent twice", **fields)
    assert answer.status_code == 303, answer.text
    assert (await decide(approver, await open_approval(approver))).status_code == 303


@pytest.mark.parametrize("into", [Currency.EUR, Currency.USD])
async def test_an_inflow_says_what_was_refunded_by_whom_and_offers_what_is_left(
    staff: StaffPeople, operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, into: Currency
) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    number = await inflows.number(Currency.EUR, into)
    await inflows.notified(credit(number))
    reference = (await inflows.notified(credit(number)))["reference"]
    owner = await staff.people.person(inflows.shop, Role.OWNER)
    at = f"/refunds/{inflows.shop.business_id}/{reference}"
    rate = {"rate": "credit"} if into is Currency.USD else {}
    await refunded(operator, approver, at, amount="40", **rate)
    pages = [(await operator.get(f"/held/{reference}")).text, (await owner.get(f"/inflows/{reference}")).text]
    assert ["€40.00 of it was refunded." in page for page in pages] == [True, True]
    assert ("€60.00 is left" in pages[0], f'href="/console{at}"' in pages[0]) == (True, True)
    await refunded(operator, approver, at, **rate)
    pages = [(await operator.get(f"/held/{reference}")).text, (await owner.get(f"/inflows/{reference}")).text]
    assert ["All of it was refunded." in page for page in pages] == [True, True]
    assert f'href="/console{at}"' not in pages[0]
    assert f"by {operator.member.name}, approved by {approver.member.name}" in pages[0]
    assert (pages[1].count("by Tidegate&#39;s operator</span>"), f"/inflows/{reference}/refund" in pages[1]) == (
        2,
        False,
    )
    assert "the operator refunds it" not in pages[1]


async def test_who_asked_for_the_refund_of_an_inflow_and_who_approved_it_is_on_its_page(
    staff: StaffPeople, operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    reference = (await inflows.notified(credit(await inflows.number())))["reference"]
    support = await staff.people.person(inflows.shop, Role.SUPPORT, name="Sade Ojo")
    finance = await staff.people.person(inflows.shop, Role.FINANCE, name="Femi Ade")
    at = f"/inflows/{reference}"
    await support.send(f"{at}/refund", at=at, what="part", amount="20")
    below = f"/approvals/{await admin.fetchval('SELECT id FROM approval')}/approve"
    assert (await finance.send(below, at="/refunds?tab=approve")).status_code == 303
    assert "by Sade Ojo, approved by Femi Ade" in (await finance.get(at)).text
    assert "by Sade Ojo, approved by Femi Ade" in (await operator.get(f"/held/{reference}")).text


@pytest.mark.parametrize(
    ("chosen", "debited", "booked"),
    [
        ("credit", "$44.00", "<dt>Exchange loss</dt><dd>$4.00"),
        ("today", "$48.00", "<dt>Exchange</dt><dd>no difference"),
    ],
)
async def test_both_people_see_both_rates_both_amounts_and_the_difference_of_a_converted_refund(
    *, operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any, chosen: str, debited: str,
    booked: str,
) -> None:  # fmt: skip
    at = await converted(inflows)
    page = (await operator.get(at)).text
    for words in ("1 EUR = 1.1 USD", "1 EUR = 1.2 USD", "$110.00", "$120.00", "exchange loss of $10.00"):
        assert words in page, words
    for rate in ({}, {"rate": "best"}):
        without = await operator.send(at, at=at, amount="40", why="sold out", **rate)
        assert (without.status_code, "Choose at which rate the wallet pays." in without.text) == (422, True)
    assert (await operator.send(at, at=at, amount="40", rate=chosen, why="sold out")).status_code == 303
    page = (await approver.get("/approvals")).text
    for words in (
        "<dt>Rate of its credit</dt><dd>1 EUR = 1.1 USD", "<dt>Today&#39;s rate</dt><dd>1 EUR = 1.2 USD (desk, ",
        "<dt>Worth at the rate of its credit</dt><dd>$44.00", "<dt>Worth at today&#39;s rate</dt><dd>$48.00",
        f"<dt>Debited from the wallet</dt><dd>{debited}", booked,
    ):  # fmt: skip
        assert words in page, words
    # A rate that does not come into use changes nothing of what was seen.
    old = inflows.runtime.clock.now() - timedelta(days=3)
    await inflows.set_rate(Currency.EUR, Currency.USD, "9.00", quoted_at=old)
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await inflows.tick()
    await inflows.let_pass("5s")
    entries = await admin.fetch("SELECT amount_minor FROM entry WHERE account = 'exchange'")
    assert [row["amount_minor"] for row in entries] == ([-4_00] if chosen == "credit" else [])


async def converted(inflows: Inflows) -> str:
    """The refund page of 100 euros that were credited at 1.10 dollars; a euro is 1.20 today."""
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    number = await inflows.number(Currency.EUR, Currency.USD)
    await inflows.notified(credit(number))
    reference = (await inflows.notified(credit(number)))["reference"]
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.20")
    return f"/refunds/{inflows.shop.business_id}/{reference}"
