"""The hosted page while somebody pays."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Page, expect

from checkout.paying import SUCCEEDS, WANTS_3DS, WANTS_ADDRESS, WANTS_PIN, WANTS_PIN_AND_OTP, WITHOUT_MONEY, card, phone
from pages.scenery import KENYAN, Scene, charged, later, new_order, paying, seen, transferred
from pages.stage import Stage
from tidegate.payment.attempt import RESEND_PAUSE, RESENDS_MAX
from tidegate.payment.transition import ATTEMPTS_MAX

TOP_UP = {"variance_policy": "top_up"}
# Unlike a time of day, it has one digit before the colon.
MINUTES_LEFT = r"(?<!\d)2:\d\d"
PAUSE = f"{int(RESEND_PAUSE.total_seconds()) + 1}s"
SILENT_PHONE, WAITING_PHONE = "0712340005", "0712345678"


def form(method: str, **order: Any) -> Scene:
    """As it is first seen."""

    async def show(stage: Stage) -> Page:
        return await seen(stage, await new_order(stage, **order), f"?method={method}")

    return show


def after(body: dict[str, Any], **order: Any) -> Scene:
    """What the page says when this was sent."""

    async def show(stage: Stage) -> Page:
        return await seen(stage, await charged(stage, body, **order))

    return show


# Forms with something wrong in them.


async def card_wrong(stage: Stage) -> Page:
    payer = await paying(stage, refused=422)
    await payer.pays_by_card(SUCCEEDS, cvv="12", expiry="1320")
    await payer.sees("Please check what you entered")
    return payer.page


async def mobile_wrong(stage: Stage) -> Page:
    payer = await paying(stage, refused=422, **KENYAN)
    await payer.pays_by_phone("0712")
    await payer.sees("This number is too short")
    return payer.page


async def ussd_wrong(stage: Stage) -> Page:
    payer = await paying(stage, refused=422)
    await payer.chooses("USSD")
    await payer.presses("Get the code")
    await payer.sees("Choose your bank")
    return payer.page


async def transfer_changed(stage: Stage) -> Page:
    """The form of a transfer has no field that could be wrong; but somebody else may have been faster."""
    payer = await paying(stage)
    await payer.checkout.charge({"type": "bank_transfer"})
    await payer.sees("Transfer exactly")
    await payer.page.goto(f"{payer.checkout.link}?changed=1")
    return payer.page


def declined(times: int) -> Scene:
    async def show(stage: Stage) -> Page:
        checkout = await new_order(stage)
        for _ in range(times):
            await checkout.charge(card(WITHOUT_MONEY))
        return await seen(stage, checkout)

    return show


async def account_extended(stage: Stage) -> Page:
    payer = await paying(stage)
    await payer.begins_transfer()
    await payer.presses("I need more time")
    await payer.sees("The account now stays open until")
    return payer.page


async def prompt_ready(stage: Stage) -> Page:
    """When it may be asked for again."""
    return await later(
        stage, await charged(stage, phone(WAITING_PHONE), **KENYAN), PAUSE, "Send the prompt again(?!.*ask)"
    )


async def prompt_no_more(stage: Stage) -> Page:
    checkout = await charged(stage, phone(WAITING_PHONE), **KENYAN)
    for _ in range(RESENDS_MAX):
        await checkout.let_pass(PAUSE)
        await checkout.shop.client.post(f"/checkout/payments/{checkout.pay_code}/charge/resend")
    return await seen(stage, checkout)


async def prompt_too_soon(stage: Stage) -> Page:
    payer = await paying(stage, window={"javascript": False}, **KENYAN)
    await payer.pays_by_phone(WAITING_PHONE)
    await payer.presses("Send the prompt again")
    await payer.sees("It was sent a moment ago")
    return payer.page


async def without_script_cancel(stage: Stage) -> Page:
    payer = await paying(stage, window={"javascript": False})
    await payer.presses("Cancel and go back")
    await payer.sees("Give up this payment?")
    return payer.page


async def card_busy(stage: Stage) -> Page:
    """While the bank thinks."""
    payer = await paying(stage, "?method=card")
    await payer.page.route("**/charge", lambda route: None)
    await payer.fills(number=SUCCEEDS, expiry="1240", cvv="123", holder="Ada Obi")
    await payer.pay_button.click()
    await payer.sees("Asking your bank")
    return payer.page


def without_script(method: str, body: dict[str, Any] | None = None, **order: Any) -> Scene:
    async def show(stage: Stage) -> Page:
        checkout = await (charged(stage, body, **order) if body else new_order(stage, **order))
        return await seen(stage, checkout, f"?method={method}", javascript=False)

    return show


# The account of a transfer.


async def account_sent(stage: Stage) -> Page:
    payer = await paying(stage)
    await payer.begins_transfer()
    await payer.presses("I have sent the money")
    await payer.sees("We are looking out for it")
    return payer.page


async def account_closing(stage: Stage) -> Page:
    checkout = await new_order(stage)
    await checkout.account()
    return await later(stage, checkout, "27m", MINUTES_LEFT)


async def account_closed(stage: Stage) -> Page:
    checkout = await new_order(stage)
    await checkout.account()
    return await later(stage, checkout, "31m", "This account has closed")


async def short(stage: Stage) -> Page:
    return await seen(stage, await transferred(stage, 4_000, shop=TOP_UP))


# What a bank asks.


async def wrong_pin(stage: Stage) -> Page:
    checkout = await charged(stage, card(WANTS_PIN))
    await checkout.authorize({"pin": "9999"})
    return await seen(stage, checkout)


async def otp(stage: Stage) -> Page:
    checkout = await charged(stage, card(WANTS_PIN_AND_OTP))
    await checkout.authorize({"pin": "1234"})
    return await seen(stage, checkout)


async def address_wrong(stage: Stage) -> Page:
    checkout = await charged(stage, card(WANTS_ADDRESS))
    page = await seen(stage, checkout, allowed=["status of 422"])
    await page.get_by_role("button", name="Continue").click()
    await expect(page.locator("#line-wrong")).to_be_visible()
    return page


async def banks_own_page(stage: Stage) -> Page:
    payer = await paying(stage)
    await payer.pays_by_card(WANTS_3DS)
    await payer.follows("Go to my bank")
    await payer.sees_heading("Tidegate Test Bank")
    return payer.page


async def details(stage: Stage) -> Page:
    payer = await paying(stage, feeBearer="customer")
    await payer.page.get_by_text("View details").first.click()
    return payer.page


async def offline(stage: Stage) -> Page:
    payer = await paying(stage, window={"allowed": ["ERR_INTERNET_DISCONNECTED"]})
    await payer.begins_transfer()
    await payer.page.context.set_offline(True)
    await expect(payer.page.locator("#offline")).to_be_visible()
    return payer.page


SCENES: dict[str, Scene] = {
    "transfer-form": form("bank_transfer"),
    "transfer-changed": transfer_changed,
    "transfer-account": after({"type": "bank_transfer"}),
    "transfer-account-closing": account_closing,
    "transfer-account-closed": account_closed,
    "transfer-sent": account_sent,
    "transfer-extended": account_extended,
    "transfer-short": short,
    "card-form": form("card"),
    "card-wrong": card_wrong,
    "card-declined": after(card(WITHOUT_MONEY)),
    "card-last-try": declined(ATTEMPTS_MAX - 1),
    "card-no-more": declined(ATTEMPTS_MAX),
    "card-pin": after(card(WANTS_PIN)),
    "card-wrong-pin": wrong_pin,
    "card-otp": otp,
    "card-address": after(card(WANTS_ADDRESS)),
    "card-address-wrong": address_wrong,
    "card-issuer": after(card(WANTS_3DS)),
    "card-test-bank": banks_own_page,
    "mobile-form": form("mobile_money", **KENYAN),
    "mobile-wrong": mobile_wrong,
    "mobile-prompt": after(phone(WAITING_PHONE), **KENYAN),
    "mobile-prompt-ready": prompt_ready,
    "mobile-prompt-no-more": prompt_no_more,
    "mobile-prompt-too-soon": prompt_too_soon,
    "mobile-working": after(phone(SILENT_PHONE), **KENYAN),
    "ussd-form": form("payattitude"),
    "ussd-wrong": ussd_wrong,
    "ussd-dial": after({"type": "payAttitude", "bank": "058"}),
    "card-busy": card_busy,
    "without-script-cancel": without_script_cancel,
    "without-script-card": without_script("card"),
    "without-script-account": without_script("bank_transfer", {"type": "bank_transfer"}),
    "without-script-ussd": without_script("payattitude"),
    "details": details,
    "offline": offline,
}
