"""The hosted page when a payment has ended, its receipt, and pages that belong to no payment."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from playwright.async_api import Page

from checkout.paying import SUCCEEDS, WITHOUT_MONEY, card, phone
from pages.scenery import (
    ANSWERED_WITH,
    BACK,
    KENYAN,
    Scene,
    charged,
    later,
    new_order,
    paying,
    seen,
    taken_back,
    transferred,
)
from pages.stage import LinkedCheckout, Stage
from tidegate.checkout.payer_limit import SLOWED, WRITE
from tidegate.core.clock import SystemClock, monotonic_s
from tidegate.infra import rate_limit
from tidegate.merchant import commands as merchants
from tidegate.payment.transition import ATTEMPTS_MAX

MESSAGE = "Thank you, Ada. Your beans are roasted on Tuesday and leave on Wednesday."
TOP_UP, RETURN = {"variance_policy": "top_up"}, {"variance_policy": "return"}
APPROVING_PHONE = "0712340000"
LONG_ENOUGH_TO_CONFIRM = "5s"


def paid(*amounts: int, **order: Any) -> Scene:
    """By transfer."""

    async def show(stage: Stage) -> Page:
        return await seen(stage, await transferred(stage, *amounts, **order))

    return show


async def paid_by_card(stage: Stage) -> Page:
    """About to go back to the shop."""
    return await seen(stage, await charged(stage, card(SUCCEEDS), redirectUrl=BACK))


async def paid_long_ago(stage: Stage) -> Page:
    """Nobody is sent away any more."""
    checkout = await charged(stage, card(SUCCEEDS), redirectUrl=BACK)
    return await later(stage, checkout, "15m", r"(?s)\A(?!.*Taking you there)")


async def paid_by_phone(stage: Stage) -> Page:
    checkout = await charged(stage, phone(APPROVING_PHONE), **KENYAN)
    await checkout.tick()
    return await seen(stage, checkout)


async def paid_by_ussd(stage: Stage) -> Page:
    checkout = await charged(stage, {"type": "payAttitude", "bank": "057"})
    await checkout.sandbox(f"charges/{checkout.pay_code}/approve")
    await checkout.tick()
    return await seen(stage, checkout)


async def excess_gone_back(stage: Stage) -> Page:
    checkout = await transferred(stage, 12_000, shop=RETURN)
    return await later(stage, checkout, LONG_ENOUGH_TO_CONFIRM, "was sent back")


async def reversed_by_the_bank(stage: Stage) -> Page:
    return await seen(stage, await taken_back(stage, successMessage=MESSAGE))


async def receipt_reversed(stage: Stage) -> Page:
    return await _receipt(stage, await taken_back(stage))


async def cancelled(stage: Stage) -> Page:
    checkout = await new_order(stage)
    await checkout.cancel()
    return await seen(stage, checkout)


async def cancelled_with_money(stage: Stage) -> Page:
    checkout = await transferred(stage, 4_000, shop=TOP_UP)
    await checkout.cancel()
    await checkout.tick()
    return await seen(stage, checkout)


async def used_up(stage: Stage) -> Page:
    checkout = await new_order(stage, paymentMethods=["card"])
    for _ in range(ATTEMPTS_MAX):
        await checkout.charge(card(WITHOUT_MONEY))
    return await seen(stage, checkout)


async def _expire(checkout: LinkedCheckout) -> None:
    await checkout.sandbox(f"charges/{checkout.pay_code}/expire")
    await checkout.tick()


async def expired(stage: Stage) -> Page:
    checkout = await new_order(stage)
    await _expire(checkout)
    return await seen(stage, checkout)


async def expired_with_account(stage: Stage) -> Page:
    checkout = await new_order(stage)
    await checkout.account()
    await _expire(checkout)
    return await seen(stage, checkout)


async def expired_with_late_money(stage: Stage) -> Page:
    checkout = await new_order(stage)
    account = await checkout.account()
    await _expire(checkout)
    await checkout.transfer(account, "10000")
    return await seen(stage, checkout)


async def disabled(stage: Stage) -> Page:
    checkout = await new_order(stage)
    shop = checkout.shop
    path = f"/checkout/payments/merchant-reference/{checkout.reference}/disable"
    await shop.client.post(path, headers=shop.verify_headers)
    return await seen(stage, checkout)


async def suspended(stage: Stage) -> Page:
    checkout = await new_order(stage)
    changes = {"status": "suspended"}
    await merchants.change(stage.db, checkout.shop.business_id, changes, now=SystemClock().now())
    return await seen(stage, checkout)


# Receipts.


async def _receipt(stage: Stage, checkout: LinkedCheckout) -> Page:
    page = await stage.new_page()
    await page.goto(f"{checkout.link}/receipt")
    return page


async def receipt(stage: Stage) -> Page:
    return await _receipt(stage, await transferred(stage, 10_000))


async def receipt_with_return(stage: Stage) -> Page:
    return await _receipt(stage, await transferred(stage, 12_000, shop=RETURN, feeBearer="customer"))


async def receipt_refunded(stage: Stage) -> Page:
    """A part of it."""
    checkout = await transferred(stage, 10_000)
    body = {"transReference": checkout.reference, "amount": 2_500}
    answer = await checkout.post("/collections/refund", body, **{"api-key": checkout.shop.secret_key})
    assert answer.is_success, answer.text
    return await _receipt(stage, checkout)


# No payment at all.


async def not_found(stage: Stage) -> Page:
    page = await stage.new_page(allowed=[ANSWERED_WITH.format(404)])
    await page.goto("/pay/no-such-payment")
    return page


async def refused(stage: Stage) -> Page:
    payer = await paying(stage, refused=403)
    await payer.page.eval_on_selector_all("[name=token]", "fields => fields.forEach(field => { field.value = 'old' })")
    await payer.presses("Show the account")
    await payer.sees("Nothing was charged")
    return payer.page


async def too_busy(stage: Stage, sees: str, *, refusals: int = 0) -> Page:
    """Somebody has done all that may be done at this payment at once, and was refused so often."""
    payer = await paying(stage, refused=429)
    link = payer.page.url.partition("?")[0]
    with patch.object(rate_limit, "monotonic_s", return_value=monotonic_s()):  # Nothing is allowed again meanwhile.
        for _ in range(WRITE.burst + refusals):
            await payer.page.request.post(f"{link}/charge")
        await payer.pays_by_card()
        await payer.sees(sees)
    return payer.page


async def slowed(stage: Stage) -> Page:
    """The payment is shown all the same, and when to go on."""
    return await too_busy(stage, "You can go on in")


async def limited(stage: Stage) -> Page:
    return await too_busy(stage, "Too many requests", refusals=SLOWED.burst)


SCENES: dict[str, Scene] = {
    "paid-by-transfer": paid(10_000),
    "paid-with-message": paid(10_000, successMessage=MESSAGE),
    "paid-by-card": paid_by_card,
    "paid-long-ago": paid_long_ago,
    "paid-by-phone": paid_by_phone,
    "paid-by-ussd": paid_by_ussd,
    "paid-too-little": paid(8_000),
    "paid-too-much": paid(12_000),
    "paid-in-parts": paid(4_000, 6_000, shop=TOP_UP),
    "excess-going-back": paid(12_000, shop=RETURN),
    "excess-gone-back": excess_gone_back,
    "reversed": reversed_by_the_bank,
    "too-little-going-back": paid(8_000, shop=RETURN),
    "cancelled": cancelled,
    "cancelled-with-money": cancelled_with_money,
    "used-up": used_up,
    "expired": expired,
    "expired-with-account": expired_with_account,
    "expired-with-late-money": expired_with_late_money,
    "disabled": disabled,
    "suspended": suspended,
    "receipt": receipt,
    "receipt-with-return": receipt_with_return,
    "receipt-refunded": receipt_refunded,
    "receipt-reversed": receipt_reversed,
    "error-404": not_found,
    "error-403": refused,
    "slowed": slowed,
    "error-429": limited,
}
