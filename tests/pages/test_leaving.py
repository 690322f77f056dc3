"""Where the payer goes when it is over: back to the shop with the reference, at the right time, or nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import expect

from checkout.paying import WITHOUT_MONEY
from pages.payer import Payer
from pages.stage import Stage

SHOP = "https://shop.example"
TO_THE_SHOP = (f"request to another host: {SHOP}",)


async def arrives(stage: Stage, redirect: str = f"{SHOP}/back", **order: Any) -> Payer:
    """With a shop that can be reached, and a clock that can be moved."""
    payer = await Payer.arrives(stage, window={"allowed": TO_THE_SHOP}, redirectUrl=redirect, **order)
    await payer.page.context.route(f"{SHOP}/**", lambda route: route.fulfill(body="Welcome back"))
    await payer.stops_the_clock()
    return payer


async def is_back_at(payer: Payer, address: str) -> None:
    await expect(payer.page.get_by_text("Welcome back")).to_be_visible()
    assert payer.page.url == address


async def test_after_success_the_payer_is_taken_back(stage: Stage) -> None:
    payer = await arrives(stage, f"{SHOP}/back?a=1&b=%20#top", reference="ORD=1")
    await payer.pays_by_card()
    await payer.sees_paid("₦100.00")
    await payer.sees("Taking you there in 5 s")
    await payer.page.clock.run_for(3_000)
    await payer.sees("Taking you there in 2 s")
    await payer.page.clock.run_for(2_000)
    await is_back_at(payer, f"{SHOP}/back?a=1&b=%20&reference=ORD%3D1#top")


async def test_after_the_last_attempt_the_payer_is_taken_back(stage: Stage) -> None:
    payer = await arrives(stage, f"{SHOP}/back?reference=x&a=1", paymentMethods=["card"])
    for _ in range(5):
        await payer.pays_by_card(WITHOUT_MONEY)
    await payer.sees_heading("This payment did not work")
    await payer.merchant_is_told(status="failed")
    await payer.page.clock.run_for(5_000)
    await is_back_at(payer, f"{SHOP}/back?reference={payer.checkout.reference}&a=1")


async def test_after_giving_up_the_payer_is_taken_back(stage: Stage) -> None:
    payer = await arrives(stage, f"{SHOP}/#/orders?reference=x")
    # Asked first, so that nobody gives up by a slip.
    payer.page.once("dialog", lambda dialog: dialog.dismiss())
    await payer.presses("Cancel and go back")
    await payer.merchant_is_told(status="initiated")
    await payer.gives_up()
    await payer.sees_heading("You cancelled this payment")
    await payer.merchant_is_told(status="failed")
    await payer.page.clock.run_for(5_000)
    await is_back_at(payer, f"{SHOP}/?reference={payer.checkout.reference}#/orders?reference=x")


async def test_after_the_time_is_over_the_payer_is_taken_back(stage: Stage) -> None:
    payer = await arrives(stage)
    await payer.simulates("Expire now")
    await payer.sees_heading("This payment link has expired")
    await payer.page.clock.run_for(5_000)
    await is_back_at(payer, f"{SHOP}/back?reference={payer.checkout.reference}")


async def test_whoever_wants_to_stay_stays(stage: Stage) -> None:
    payer = await arrives(stage)
    await payer.pays_by_card()
    await payer.follows("stay here")
    await expect(payer.page.get_by_text("Taking you there")).to_be_hidden()
    await payer.page.clock.run_for(20_000)
    await payer.sees_paid("₦100.00")
    # And after a reload.
    await payer.page.reload()
    await payer.sees_paid("₦100.00")
    await expect(payer.page.get_by_text("Taking you there")).to_have_count(0)
    await payer.follows("Back to Test Shop")
    await is_back_at(payer, f"{SHOP}/back?reference={payer.checkout.reference}")


@pytest.mark.parametrize("by_itself", [True, False], ids=["by itself", "by the button"])
async def test_whoever_comes_back_from_the_shop_is_not_sent_there_again(stage: Stage, by_itself: bool) -> None:
    payer = await arrives(stage)
    await payer.pays_by_card()
    await payer.sees("Taking you there in 5 s")
    if by_itself:
        await payer.page.clock.run_for(5_000)
    else:
        await payer.follows("Back to Test Shop")
    await is_back_at(payer, f"{SHOP}/back?reference={payer.checkout.reference}")
    await payer.page.go_back()
    await payer.sees_paid("₦100.00")
    await payer.page.clock.run_for(20_000)
    await payer.sees_paid("₦100.00")


async def test_whoever_has_to_read_about_money_has_time_for_it(stage: Stage) -> None:
    payer = await arrives(stage)
    await payer.begins_transfer()
    await payer.is_sent(40)
    await payer.sees_heading("₦40.00 of ₦100.00 received")
    await payer.sees("Taking you there in 15 s")
    await payer.page.clock.run_for(14_000)
    await payer.sees("Taking you there in 1 s")
    await payer.page.clock.run_for(1_000)
    await is_back_at(payer, f"{SHOP}/back?reference={payer.checkout.reference}")


async def test_without_an_address_nobody_is_taken_anywhere(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.stops_the_clock()
    await payer.pays_by_card()
    await payer.sees_paid("₦100.00")
    await payer.sees("You can close this page now.")
    await payer.page.clock.run_for(20_000)
    await payer.sees_paid("₦100.00")


async def test_an_old_link_shows_how_it_went_and_stays(stage: Stage) -> None:
    payer = await arrives(stage)
    await payer.begins_transfer()
    account = (await payer.checkout.view())["attempt"]["action"]["virtualAccount"]["accountNumber"]
    await payer.is_sent(100)
    await payer.sees_paid("₦100.00")
    await payer.lets_pass("1h")
    # Also when something happened to it since.
    await payer.checkout.transfer(account, "100")
    await payer.comes_back_until("this payment was already paid")
    await expect(payer.page.get_by_text("Taking you there")).to_have_count(0)
    await payer.page.clock.run_for(20_000)
    await payer.sees_paid("₦100.00")
    await expect(payer.page.get_by_role("link", name="Back to Test Shop")).to_be_visible()


async def test_without_script_the_payer_is_taken_back(stage: Stage) -> None:
    payer = await Payer.arrives(
        stage, window={"allowed": TO_THE_SHOP, "javascript": False}, redirectUrl=f"{SHOP}/back?a=1#top"
    )
    await payer.page.context.route(f"{SHOP}/**", lambda route: route.fulfill(body="Welcome back"))
    await payer.pays_by_card()
    await payer.sees_paid("₦100.00")
    await is_back_at(payer, f"{SHOP}/back?a=1&reference={payer.checkout.reference}#top")
