"""What a payer does on the hosted page, in a real browser: looks for words and labels, as people do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from playwright.async_api import BrowserContext, Locator, Page, Route, expect

from browser import TIMEOUT_MS
from checkout.paying import SUCCEEDS
from pages.stage import LinkedCheckout, Stage
from tidegate.checkout.page.model import RETURN_POLL_S
from tidegate.core.clock import SystemClock
from tidegate.payment.transition import ATTEMPTS_MAX

POLL_MS = RETURN_POLL_S * 1000
# Chromium complains of an answer with an error, although the page shows it well.
REFUSED_INPUT = ("the server responded with a status of 422",)


@contextmanager
def hearing(source: Page | BrowserContext, event: Any, handler: Callable[[Any], None]) -> Iterator[None]:
    """Windows are used again: whoever listens to one stops when the test ends."""
    source.on(event, handler)
    try:
        yield
    finally:
        source.remove_listener(event, handler)


@dataclass(frozen=True)
class Payer:
    page: Page
    checkout: LinkedCheckout

    @classmethod
    async def arrives(cls, stage: Stage, *, window: dict[str, Any] | None = None, **order: Any) -> Payer:
        """At the page of a new payment. `window` are the options of `new_page`."""
        checkout = await stage.new_payment(**order)
        return await cls.opens(stage, checkout, **(window or {}))

    @classmethod
    async def opens(cls, stage: Stage, checkout: LinkedCheckout, **window: Any) -> Payer:
        page = await stage.new_page(**window)
        await page.goto(checkout.link)
        return cls(page, checkout)

    async def opens_another_window(self) -> Payer:
        """Of the same browser: what it remembers, both know."""
        page = await self.page.context.new_page()
        await page.goto(self.checkout.link)
        return Payer(page, self.checkout)

    async def sees(self, text: str) -> None:
        """In the part of the page that is shown: the tabs that are not open have texts too."""
        await expect(self.page.locator("#main").get_by_text(text).filter(visible=True).first).to_be_visible()

    async def takes_the_clock(self) -> None:
        """Of the page, which is loaded again for it: `page.clock.fast_forward` lets time pass there."""
        await self.page.clock.install()
        await self.page.reload()

    async def stops_the_clock(self) -> None:
        """From here on, time passes on the page only with `page.clock.run_for`."""
        await self.takes_the_clock()
        await self.page.clock.pause_at(SystemClock().now() + timedelta(minutes=1))

    async def waits_for(self, text: str) -> None:
        """Where nothing is pushed, the page asks now and then. Whoever waits has taken its clock."""
        seen = self.page.locator("#main").get_by_text(text)
        for _ in range(20):
            await self.page.clock.fast_forward(POLL_MS)
            try:
                await expect(seen.first).to_be_visible(timeout=500)
            except AssertionError:
                continue
            return
        await self.sees(text)

    async def lets_pass(self, duration: str) -> None:
        """Each server follows the sandbox's clock in its own time; this one waits for the one that has the pages."""
        await self.checkout.let_pass(duration)
        async with asyncio.timeout(TIMEOUT_MS / 1000):
            while await self._clock_of("") != await self._clock_of(self.checkout.link.partition("/pay/")[0]):
                pass

    async def _clock_of(self, server: str) -> int:
        shop = self.checkout.shop
        answer = await shop.client.get(f"{server}/sandbox/clock", headers={"api-key": shop.secret_key})
        return int(answer.json()["data"]["aheadSeconds"])

    def heading(self, text: str) -> Locator:
        return self.page.locator("#main").get_by_role("heading", name=text)

    async def sees_heading(self, text: str) -> None:
        await expect(self.heading(text)).to_be_visible()

    async def sees_paid(self, amount: str, **told: Any) -> None:
        """And the merchant is told the same; with `told`, more of the merchant's record."""
        await self.sees_heading(f"{amount} paid")
        await self.merchant_is_told(status="success", **told)

    async def values(self) -> set[tuple[str, str]]:
        """What stands in the list: labels and values."""
        labels = await self.page.locator("#main dt").all_inner_texts()
        return set(zip(labels, await self.page.locator("#main dd").all_inner_texts(), strict=True))

    async def merchant_is_told(self, **facts: Any) -> None:
        record = await self.checkout.record()
        assert {name: record[name] for name in facts} == facts

    async def is_ended_by_the_worker(self, status: str) -> None:
        """It may take several rounds: a page that looks at the same moment gets in the way of one."""
        async with asyncio.timeout(60):
            while (await self.checkout.record())["status"] != status:
                await self.checkout.tick()
                await asyncio.sleep(0.1)

    async def attempts_made(self) -> int:
        return ATTEMPTS_MAX - int((await self.checkout.view())["attemptsLeft"])

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Without doing anything: the page stays the same document, and changes by itself."""
        await self.page.evaluate("window.isStillHere = true")
        yield
        assert await self.page.evaluate("window.isStillHere"), "the page was loaded again"

    async def lets_it_look_again(self, *, every_s: int) -> None:
        """Without script a page that waits loads itself again now and then; from here on every second."""

        async def hasten(route: Route) -> None:
            answer = await route.fetch()
            asked, hastened = (f'<noscript><meta http-equiv="refresh" content="{s}">' for s in (every_s, 1))
            await route.fulfill(response=answer, body=(await answer.text()).replace(asked, hastened))

        # A page that one was redirected to is not seen by a route, so it is loaded once by hand.
        await self.page.route(f"**/pay/{self.checkout.pay_code}*", hasten)
        await self.page.reload()

    def field(self, name: str) -> Locator:
        return self.page.locator(f"#main [name={name}]")

    @property
    def pay_button(self) -> Locator:
        return self.page.locator("#main").get_by_role("button", name="Pay ")

    async def presses(self, name: str) -> None:
        """And waits until the page has its answer, which only its script can say."""
        await self.page.wait_for_load_state()
        await self.page.get_by_role("button", name=name).first.click()
        await expect(self.page.locator("[aria-busy=true]")).to_have_count(0)

    async def follows(self, link: str) -> None:
        await self.page.get_by_role("link", name=link).click()

    async def chooses(self, method: str) -> None:
        """A tab, when there is more than one."""
        tab = self.page.get_by_role("tab", name=method)
        if await tab.count():
            await tab.click()

    async def fills(self, **fields: str) -> None:
        for name, text in fields.items():
            await self.field(name).fill(text)

    async def fills_in_card(self, number: str = SUCCEEDS, **changes: str) -> None:
        await self.chooses("Card")
        await self.fills(**{"number": number, "expiry": "1240", "cvv": "123", "holder": "Ada Obi", **changes})

    async def pays_by_card(self, number: str = SUCCEEDS, **changes: str) -> None:
        await self.fills_in_card(number, **changes)
        await self.presses("Pay ")

    async def answers(self, **fields: str) -> None:
        await self.fills(**fields)
        await self.presses("Continue")

    async def confirms(self, code: str) -> None:
        """On the page of the bank."""
        await self.fills(otp=code)
        await self.presses("Confirm")

    async def begins_transfer(self) -> None:
        await self.chooses("Bank transfer")
        await self.presses("Show the account")
        await self.sees("Transfer exactly")

    async def pays_by_phone(self, number: str) -> None:
        await self.chooses("Mobile money")
        await self.fills(phone=number)
        await self.presses("Pay ")

    async def gets_a_code(self, bank: str = "Guaranty Trust Bank") -> None:
        await self.chooses("USSD")
        await self.page.get_by_label(bank).check()
        await self.presses("Get the code")
        await self.sees("Dial this code")

    async def is_sent(self, amount: int | str) -> None:
        """Money arrives at the account, whoever sent it; nobody touches the page."""
        view = await self.checkout.view()
        account = view["attempt"]["action"]["virtualAccount"]["accountNumber"]
        await self.checkout.transfer(account, str(amount), currency=view["currency"])

    async def comes_back_until(self, text: str) -> None:
        """By the link, once more for as long as the worker has not read what the bank wrote."""
        async with asyncio.timeout(TIMEOUT_MS / 1000):
            await self.page.goto(self.checkout.link)
            while text not in await self.page.locator("#main").inner_text():
                await self.page.goto(self.checkout.link)

    async def on_the_phone(self, action: str) -> None:
        """Somebody approves or declines there; nobody touches the page."""
        answer = await self.checkout.sandbox(f"charges/{self.checkout.pay_code}/{action}")
        assert answer.is_success, answer.text

    async def simulates_transfer(self, amount: str) -> None:
        """By hand, in the simulator."""
        await self.page.get_by_label("Send a transfer of").fill(amount)
        await self.page.get_by_role("button", name="Send", exact=True).click()

    async def simulates(self, action: str) -> None:
        await self.page.get_by_role("complementary", name="Simulator").get_by_role("button", name=action).click()

    async def gives_up(self) -> None:
        self.page.once("dialog", lambda dialog: dialog.accept())
        await self.presses("Cancel and go back")
