"""What a payer does on the hosted page, in a real browser: looks for words and labels, as people do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.async_api import Page, expect

from paying import SUCCEEDS
from pages.stage import LinkedCheckout, Stage


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

    async def sees(self, text: str) -> None:
        await expect(self.page.locator("#main")).to_contain_text(text)

    async def presses(self, name: str) -> None:
        await self.page.get_by_role("button", name=name).first.click()

    async def chooses(self, method: str) -> None:
        """A tab, when there is more than one."""
        tab = self.page.get_by_role("tab", name=method)
        if await tab.count():
            await tab.click()

    async def fills(self, **fields: str) -> None:
        for name, text in fields.items():
            await self.page.locator(f"#main [name={name}]").fill(text)

    async def pays_by_card(self, number: str = SUCCEEDS, **changes: str) -> None:
        await self.chooses("Card")
        await self.fills(**{"number": number, "expiry": "1240", "cvv": "123", "holder": "Ada Obi", **changes})
        await self.presses("Pay ")

    async def answers(self, **fields: str) -> None:
        await self.fills(**fields)
        await self.presses("Continue")

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

    async def simulates_transfer(self, amount: str) -> None:
        """By hand, in the simulator."""
        await self.page.get_by_label("Send a transfer of").fill(amount)
        await self.page.get_by_role("button", name="Send", exact=True).click()

    async def simulates(self, action: str) -> None:
        await self.page.get_by_role("complementary", name="Simulator").get_by_role("button", name=action).click()

    async def gives_up(self) -> None:
        self.page.once("dialog", lambda dialog: dialog.accept())
        await self.presses("Cancel and go back")
