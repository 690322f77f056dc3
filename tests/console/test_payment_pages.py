"""A payment of any merchant in the console, and what its refund page says of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from build import Checkout
from checkout.paying import WITHOUT_MONEY, card
from conftest import MakeCheckout
from console.people import SignedInStaff, StaffPeople
from dispute.test_disputes import OPEN, WON, DisputeWorld
from tidegate.rail.action import FailureReason
from tidegate.runtime import Runtime
from tidegate.staff.permission import StaffRole

pytestmark = pytest.mark.usefixtures("unlimited")
PAYER = {"name": "Chidinma Eze", "email": "c.eze@example.com"}


def at(checkout: Checkout) -> str:
    return f"/payments/{checkout.shop.business_id}/{checkout.pay_code}"


async def test_a_paid_payment_says_what_happened_to_every_role(
    staff: StaffPeople, new_checkout: MakeCheckout, admin: Any
) -> None:
    paid = await new_checkout(amount=12_500, customer=PAYER)
    assert (await paid.charge(card())).status_code == 200
    transaction_id = await admin.fetchval("SELECT transaction_id FROM receipt")
    reference = await admin.fetchval("SELECT reference FROM attempt")
    for role in StaffRole:
        page = (await (await staff.person(role)).get(at(paid))).text
        for words in (
            "₦12,500.00 paid", "Chidinma Eze", "c.eze@example.com", paid.reference, paid.pay_code, "Card chosen",
            "settled to the NGN wallet", transaction_id, reference, "Nothing went back", "Refund for the merchant",
        ):  # fmt: skip
            assert words in page, (role, words)
        assert f'href="/console/refunds/{paid.shop.business_id}/{paid.pay_code}"' in page


async def test_a_declined_payment_says_why(operator: SignedInStaff, new_checkout: MakeCheckout) -> None:
    declined = await new_checkout()
    assert (await declined.charge(card(WITHOUT_MONEY))).status_code == 200
    page = (await operator.get(at(declined))).text
    assert "not paid yet" in page
    assert "Card failed" in page
    assert FailureReason.INSUFFICIENT_FUNDS.meaning in page
    assert "Refund for the merchant" not in page


async def test_refunds_and_returns_are_on_the_page_with_their_state(
    operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    over = await new_checkout(settings={"variance_policy": "return"}, amount=10_000)
    await over.transfer(await over.account(), "12000.00")
    page = (await operator.get(at(over))).text
    going_back = await admin.fetchval("SELECT reference FROM money_return")
    assert going_back in page
    assert "Return of ₦2,000.00" in page
    await admin.execute("UPDATE money_return SET status = 'failed', failure = 'account closed', next_try_at = NULL")
    assert "account closed" in (await operator.get(at(over))).text
    await admin.execute("UPDATE money_return SET status = 'sent', failure = NULL, next_try_at = now()")


async def test_a_payment_of_another_merchant_or_none_is_not_found(
    operator: SignedInStaff, new_checkout: MakeCheckout
) -> None:
    one, other = await new_checkout(), await new_checkout()
    await operator.get(f"/payments/{other.shop.business_id}/{one.pay_code}", status=404)
    await operator.get("/payments/0123456789abcdef01234567/x", status=404)


async def test_a_disputed_payment_is_not_called_refunded(
    operator: SignedInStaff, new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    paid = await new_checkout(amount=100)
    assert (await paid.charge(card())).status_code == 200
    world = DisputeWorld(paid, runtime, admin, await admin.fetchval("SELECT transaction_id FROM receipt"))
    refund = f"/refunds/{paid.shop.business_id}/{paid.pay_code}"
    await world.tell(world.dispute(OPEN, 40_00))
    page = (await operator.get(refund)).text
    assert "₦60.00 of" in page
    assert "Dispute d1 of NGN 40.00 is open" in page
    await world.tell(world.dispute(OPEN, 60_00, "d2"))
    page = (await operator.get(refund)).text
    assert "Nothing of" in page
    assert "All of it is disputed." in page
    assert "was refunded" not in page
    payment = (await operator.get(at(paid))).text
    assert "Dispute d2 of NGN 60.00 is open" in payment
    assert 'href="/console/disputes"' in payment
    assert f'href="/console{at(paid)}"' in (await operator.get("/disputes")).text
    found = await operator.client.get("/console/find?q=d2")
    assert found.headers["location"].endswith(at(paid))
    await world.tell(world.dispute(WON, 60_00, "d2"))
    assert "Dispute d2 of ₦60.00 was won" in (await operator.get(at(paid))).text


async def test_an_amount_is_typed_as_in_the_dashboard_and_a_refund_is_proposed_once(
    operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    paid = await new_checkout(amount=5_000)
    assert (await paid.charge(card())).status_code == 200
    refund = f"/refunds/{paid.shop.business_id}/{paid.pay_code}"
    for typed in ("1e3", "1,000", "0", "-1", "10.001", "x", "9" * 40):
        wrong = await operator.send(refund, at=refund, amount=typed, why="asked by phone")
        assert wrong.status_code == 422, typed
        assert "Enter an amount in NGN, such as 2500.50, without commas." in wrong.text, typed
    wrong = await operator.send(refund, at=refund, reason="4111 1111 1111 1111", why="asked by phone")
    assert (wrong.status_code, "The reason looks like a card number" in wrong.text) == (422, True)
    assert ">Propose</button>" in (await operator.get(refund)).text
    assert (
        await operator.send(refund, at=refund, amount="1000.50", why="asked by phone", reason="came broken")
    ).status_code == 303
    assert await admin.fetchval("SELECT arguments ->> 'amount' FROM approval") == "1000.5"
    page = (await operator.get(refund)).text
    assert ">Propose</button>" not in page
    assert 'A refund of it <a href="#proposals">is proposed</a>' in page
    assert 'id="proposals"' in page
    # The approver sees what the customer will read.
    assert re.search(r"Reason, the customer reads it</dt><dd>\s*came broken", page)
    await admin.execute("UPDATE approval SET expires_at = now()")
    assert ">Propose</button>" in (await operator.get(refund)).text


async def test_the_refund_page_of_an_unpaid_payment_says_that_nothing_was_paid(
    operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    waiting = await new_checkout(amount=19_000)
    refund = f"/refunds/{waiting.shop.business_id}/{waiting.pay_code}"
    assert "₦19,000.00 asked, not paid yet." in (await operator.get(refund)).text
    await admin.execute("UPDATE payment SET status = 'failed'")
    page = (await operator.get(refund)).text
    assert "Not paid, ₦19,000.00 asked." in page
    assert "refunded:" not in page


async def test_a_mistyped_reference_is_said_on_the_merchants_page(
    operator: SignedInStaff, new_checkout: MakeCheckout
) -> None:
    paid = await new_checkout()
    assert (await paid.charge(card())).status_code == 200
    business = paid.shop.business_id
    for typed in ("NO-SUCH", "", "rf_0123456789", "x" * 500):
        answer = await operator.client.get(f"/console/refunds/{business}", params={"reference": typed})
        assert answer.status_code == 422, typed
        assert "has no payment or inflow called" in answer.text
        assert "Refund for it" in answer.text
    found = await operator.client.get(f"/console/refunds/{business}", params={"reference": paid.reference})
    # One address of one payment, by whatever it was found.
    assert found.headers["location"] == f"/console/refunds/{business}/{paid.pay_code}"
