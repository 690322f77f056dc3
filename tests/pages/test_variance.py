"""Too little, too much, too late: the payer is told where the money is, and the merchant is told the same."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import expect

from pages.payer import Payer
from pages.stage import Stage


async def at_the_account(stage: Stage, policy: str = "accept", **order: Any) -> Payer:
    payer = await Payer.arrives(stage, amount=10_000, settings={"variance_policy": policy}, **order)
    await payer.begins_transfer()
    return payer


@pytest.mark.parametrize(
    ("sent", "heading", "note", "variance"),
    [
        pytest.param(
            4_000,
            "₦4,000.00 of ₦10,000.00 received",
            "₦6,000.00 is missing. Test Shop knows, and decides whether to ask you for the rest or to refund you.",
            "underpayment",
            id="short",
        ),
        pytest.param(
            12_000,
            "₦12,000.00 paid",
            "You sent ₦12,000.00 instead of ₦10,000.00. Test Shop knows and may refund you the difference.",
            "overpayment",
            id="long",
        ),
    ],
)
async def test_another_amount_is_accepted_and_said(
    stage: Stage, sent: int, heading: str, note: str, variance: str
) -> None:
    payer = await at_the_account(stage)
    await payer.sees("If another amount arrives, the shop decides")
    async with payer.watching():
        await payer.is_sent(sent)
        await payer.sees_heading(heading)
        await payer.merchant_is_told(
            status="success", amountReceived=sent, varianceType=variance, message="INCORRECT_AMOUNT"
        )
    await payer.sees(note)
    assert await payer.values() >= {("Amount asked for", "₦10,000.00"), ("Amount received", f"₦{sent:,}.00")}


@pytest.mark.usefixtures("slow_payouts")
async def test_too_little_is_topped_up(stage: Stage) -> None:
    payer = await at_the_account(stage, "top_up")
    async with payer.watching():
        await payer.is_sent(4_000)
        await payer.sees_heading("₦6,000.00 still to come")
        await payer.sees("We received ₦4,000.00 at")
        await expect(payer.page.get_by_role("img", name="₦4,000.00 of ₦10,000.00 has arrived")).to_be_visible()
        await payer.merchant_is_told(status="pending")
        await payer.is_sent(6_500)
        await payer.sees_paid("₦10,000.00", amountReceived=10_000, varianceType=None)
        await payer.sees("₦500.00 is on its way back to you: it was more than the amount asked for.")


async def test_a_part_is_given_back_on_request(stage: Stage) -> None:
    payer = await at_the_account(stage, "top_up")
    await payer.is_sent(4_000)
    await payer.sees_heading("₦6,000.00 still to come")
    await payer.takes_the_clock()
    payer.page.once("dialog", lambda dialog: dialog.accept())
    await payer.presses("Return my ₦4,000.00 instead")
    await payer.sees_heading("You cancelled this payment")
    async with payer.watching():
        await payer.lets_pass("10s")
        await payer.waits_for("₦4,000.00 was sent back to you on")
    await payer.sees("you cancelled before the rest arrived.")
    await payer.merchant_is_told(status="failed", amountReceived=0)
    assert ("Sent back", "₦4,000.00") in await payer.values()


@pytest.mark.usefixtures("slow_payouts")
async def test_too_little_goes_back_and_the_payment_stays_open(stage: Stage) -> None:
    payer = await at_the_account(stage, "return")
    async with payer.watching():
        await payer.is_sent(4_000)
        await payer.sees("₦4,000.00 is on its way back to you: it was less than the amount asked for.")
        await payer.sees_heading("Transfer exactly ₦10,000.00")
        await payer.merchant_is_told(status="pending", amountReceived=0)
        await payer.is_sent(10_000)
        await payer.sees_paid("₦10,000.00", amountReceived=10_000)


async def test_too_much_is_paid_and_the_excess_goes_back(stage: Stage) -> None:
    payer = await at_the_account(stage, "return")
    await payer.is_sent(12_000)
    await payer.sees_paid("₦10,000.00", amountReceived=10_000, varianceType=None)
    await payer.sees("₦2,000.00")
    await payer.sees("it was more than the amount asked for")


async def test_late_money_is_told_where_it_goes(stage: Stage) -> None:
    payer = await at_the_account(stage)
    await payer.takes_the_clock()
    await payer.simulates("Expire now")
    await payer.sees_heading("This payment link has expired")
    await payer.sees("The time to pay is over. Ask Test Shop for a new link.")
    await payer.is_ended_by_the_worker("expired")
    async with payer.watching():
        await payer.simulates_transfer("10000")
        await payer.waits_for("it arrived after the payment had ended.")
    await payer.merchant_is_told(status="expired", amountReceived=0)


async def test_the_part_of_an_expired_payment_goes_back(stage: Stage) -> None:
    payer = await at_the_account(stage, "top_up")
    await payer.is_sent(4_000)
    await payer.sees_heading("₦6,000.00 still to come")
    await payer.takes_the_clock()
    async with payer.watching():
        await payer.simulates("Expire now")
        await payer.sees_heading("This payment link has expired")
        await payer.waits_for("the rest did not arrive in time.")
    await payer.merchant_is_told(status="expired", amountReceived=0)


@pytest.mark.usefixtures("slow_payouts")
async def test_a_second_transfer_for_a_paid_payment_goes_back(stage: Stage) -> None:
    payer = await at_the_account(stage)
    account = (await payer.checkout.view())["attempt"]["action"]["virtualAccount"]["accountNumber"]
    await payer.is_sent(10_000)
    await payer.sees_paid("₦10,000.00")
    await payer.checkout.transfer(account, "10000")
    await payer.comes_back_until("₦10,000.00 is on its way back to you: this payment was already paid.")
    await payer.merchant_is_told(status="success", amountReceived=10_000)


async def test_a_closed_account_is_opened_again(stage: Stage) -> None:
    payer = await at_the_account(stage)
    closes_at = payer.page.get_by_role("tabpanel").locator("time")
    before = await closes_at.get_attribute("datetime") or ""
    await payer.lets_pass("20m")
    await payer.presses("I need more time")
    await expect(closes_at).not_to_have_attribute("datetime", before)
    async with payer.watching():
        await payer.lets_pass("31m")
        await payer.sees_heading("This account has closed")
    await payer.presses("Open the account again")
    await payer.sees_heading("Transfer exactly ₦10,000.00")
    await payer.is_sent(10_000)
    await payer.sees_paid("₦10,000.00")


async def test_the_last_minutes_are_counted(stage: Stage) -> None:
    payer = await at_the_account(stage)
    countdown = payer.page.locator("#main [data-countdown]")
    await expect(countdown).to_be_hidden()
    await payer.stops_the_clock()
    await payer.page.clock.fast_forward("25:00")
    await expect(countdown).to_have_text(re.compile("3:[45]\\d"), use_inner_text=True)
