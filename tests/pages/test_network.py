"""The network fails while a payer waits: nothing is lost, nothing is charged twice, the page goes on by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Locator, Page, Route, expect

from checkout.paying import WANTS_PIN, card
from pages.payer import Payer
from pages.stage import Stage

OFFLINE = ("net::ERR_INTERNET_DISCONNECTED", "net::ERR_NETWORK_CHANGED", "net::ERR_NETWORK_IO_SUSPENDED")
BLOCKED = ["net::ERR_FAILED"]
Handler = Callable[[Route], Awaitable[None]]


def offline_notice(page: Page) -> Locator:
    return page.get_by_text("You seem to be offline. Nothing is lost")


async def test_money_that_came_while_the_network_was_away_is_shown_when_it_is_back(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": OFFLINE})
    await payer.begins_transfer()
    async with payer.watching():
        await payer.page.context.set_offline(True)
        await expect(offline_notice(payer.page)).to_be_visible()
        await payer.is_sent(100)
        await payer.page.context.set_offline(False)
        await payer.sees_paid("₦100.00")
    await expect(offline_notice(payer.page)).to_be_hidden()


@pytest.mark.parametrize(
    ("break_off", "noise"),
    [
        pytest.param(lambda route: route.abort(), BLOCKED, id="blocked"),
        pytest.param(lambda route: route.fulfill(status=503, body="{}"), ["status of 503"], id="refused"),
    ],
)
async def test_without_the_stream_of_events_the_page_asks(stage: Stage, break_off: Handler, noise: list[str]) -> None:
    payer = await Payer.arrives(stage, window={"allowed": noise})
    await payer.page.route("**/events", break_off)
    await payer.takes_the_clock()
    await payer.begins_transfer()
    async with payer.watching():
        await payer.is_sent(100)
        await payer.page.clock.fast_forward("00:04")
        await payer.sees_paid("₦100.00")


async def test_a_charge_whose_answer_is_lost_is_found_again(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": BLOCKED})

    async def lose_the_answer(route: Route) -> None:
        await route.fetch(max_redirects=0)
        await route.abort()

    # Nothing else tells the page.
    await payer.page.route("**/events", lambda route: route.abort())
    await payer.stops_the_clock()
    await payer.page.route("**/charge", lose_the_answer)
    await payer.pays_by_card(WANTS_PIN)
    await payer.sees_heading("Enter your card PIN")
    assert await payer.attempts_made() == 1
    await payer.answers(pin="1234")
    await payer.sees_paid("₦100.00", amountReceived=100)
    assert await payer.attempts_made() == 1


async def test_a_charge_that_never_arrived_can_be_sent_again(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": BLOCKED})
    await payer.page.route("**/charge", lambda route: route.abort(), times=1)
    await payer.pays_by_card()
    await expect(payer.page.get_by_text("nothing is charged twice. Try again in a moment.")).to_be_visible()
    await expect(payer.field("number")).to_have_value("5319 3178 0136 6660")
    assert await payer.attempts_made() == 0
    await payer.presses("Pay ")
    await payer.sees_paid("₦100.00", amountReceived=100)


async def test_an_answer_that_does_not_come_is_not_waited_for_forever(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    charged = asyncio.Event()

    async def swallow_the_answer(route: Route) -> None:
        await route.fetch(max_redirects=0)
        charged.set()

    await payer.takes_the_clock()
    await payer.page.route("**/charge", swallow_the_answer)
    await payer.fills_in_card(WANTS_PIN)
    await payer.pay_button.press("Enter")
    await expect(payer.page.get_by_role("button", name="Asking your bank…")).to_be_visible()
    await asyncio.wait_for(charged.wait(), 60)
    await payer.page.clock.fast_forward("00:31")
    await payer.sees_heading("Enter your card PIN")
    assert await payer.attempts_made() == 1


async def test_a_server_that_is_too_busy_does_not_lose_the_payer(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": ["status of 503"]})
    busy = '{"success": false, "error": {"code": "UNAVAILABLE", "message": "too busy"}}'
    await payer.page.route(
        "**/charge", lambda route: route.fulfill(status=503, body=busy, content_type="application/json"), times=1
    )
    await payer.pays_by_card()
    await expect(payer.page.get_by_text("nothing is charged twice. Try again in a moment.")).to_be_visible()
    await payer.presses("Pay ")
    await payer.sees_paid("₦100.00", amountReceived=100)


# Pay is pressed while there is no network.


UNSENT = "You are offline, so nothing was sent."


async def offline_with_a_card(stage: Stage, *, presses: int = 1) -> tuple[Payer, list[str]]:
    """A payer who has pressed Pay; and what the page has sent since."""
    payer = await Payer.arrives(stage, window={"allowed": OFFLINE})
    await payer.takes_the_clock()
    await payer.fills_in_card()
    sent: list[str] = []
    payer.page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    await payer.page.context.set_offline(True)
    await expect(offline_notice(payer.page)).to_be_visible()
    for _ in range(presses):
        await payer.pay_button.click()
        await expect(payer.page.get_by_text(UNSENT)).to_be_visible()
    assert sent == []
    return payer, sent


async def test_what_was_pressed_offline_is_sent_once_when_the_network_is_back(stage: Stage) -> None:
    payer, sent = await offline_with_a_card(stage, presses=3)
    await expect(payer.field("number")).to_have_value("5319 3178 0136 6660")
    await expect(payer.field("cvv")).to_have_value("123")
    await expect(payer.pay_button).to_be_enabled()
    assert await payer.attempts_made() == 0
    async with payer.watching():
        await payer.page.context.set_offline(False)
        await payer.sees_paid("₦100.00", amountReceived=100)
    assert [url.rpartition("/")[2] for url in sent] == ["charge"]
    assert await payer.attempts_made() == 1


async def test_what_was_pressed_long_ago_is_not_sent_without_being_pressed_again(stage: Stage) -> None:
    payer, sent = await offline_with_a_card(stage)
    await payer.page.clock.fast_forward("05:00")
    await payer.page.context.set_offline(False)
    await expect(payer.page.get_by_text("The network is back. Nothing was sent")).to_be_visible()
    assert sent == []
    assert await payer.attempts_made() == 0
    await payer.presses("Pay ")
    await payer.sees_paid("₦100.00", amountReceived=100)
    await expect(payer.page.get_by_text("Nothing was sent")).to_be_hidden()


async def test_what_was_pressed_offline_is_not_sent_for_a_payment_that_has_gone_on(stage: Stage) -> None:
    payer, sent = await offline_with_a_card(stage)
    # In another window.
    assert (await payer.checkout.charge(card(WANTS_PIN))).is_success
    await payer.page.context.set_offline(False)
    await payer.sees_heading("Enter your card PIN")
    assert sent == []
    assert await payer.attempts_made() == 1


async def test_a_charge_that_was_under_way_when_the_network_broke_is_not_sent_again(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": [*OFFLINE, *BLOCKED]})

    async def break_off(route: Route) -> None:
        await payer.page.context.set_offline(True)
        await route.abort()

    await payer.page.route("**/charge", break_off, times=1)
    await payer.fills_in_card()
    await payer.pay_button.click()
    await expect(offline_notice(payer.page)).to_be_visible()
    await payer.page.context.set_offline(False)
    # Nobody knows whether it has arrived; the payer is told that it has not, and presses once more.
    told = payer.page.get_by_text("nothing is charged twice. Try again in a moment.")
    await expect(told).to_be_visible()
    # Browsers may say that the network is back after the page has noticed.
    await payer.page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(told).to_be_visible()
    assert await payer.attempts_made() == 0
    await payer.presses("Pay ")
    await payer.sees_paid("₦100.00", amountReceived=100)
