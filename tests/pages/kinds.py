"""Every kind of page as the server sends it, for tests that look at the answer and need no browser."""

from __future__ import annotations

from typing import Any

import httpx

from checkout.paying import SUCCEEDS, WANTS_3DS, WANTS_ADDRESS, WANTS_PIN, WANTS_PIN_AND_OTP, card, phone
from checkout.plain_browser import Sheet, open_page
from pages.stage import LinkedCheckout, Stage
from tidegate.payment.transition import ATTEMPTS_MAX

# As much as a merchant may reasonably give.
ORDER: dict[str, Any] = {
    "amount": 1_234_567,
    "redirectUrl": f"https://shop.example/back?session={'0123456789abcdef' * 4}#top",
    "successMessage": "Thank you. Your order leaves on Tuesday; we write to you when it is on its way. " * 4,
    "metadata": {"description": "2 × House blend, 1 kg; 1 × Filter papers; 3 × Tins; delivery on Tuesday morning"},
}
SHOP: dict[str, Any] = {
    "name": "Lekki Coffee Roasters and Sons (Nigeria) Limited",
    "accent": "#0a6c5c",
    "support_email": "hello@lekkicoffee.example",
    "variance_policy": "top_up",
}
KENYAN = {"currency": "KES"}
WITHOUT_WALLET = "0712340004"
SILENT = "0712340005"
CHOICES = {"choose": "", "card-form": "?method=card", "ussd-form": "?method=payattitude"}
CHARGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "account": ({"type": "bank_transfer"}, {}),
    "code": ({"type": "payAttitude", "bank": "058"}, {}),
    "prompt": (phone("0712345678"), KENYAN),
    "working": (phone(SILENT), KENYAN),
    "pin": (card(WANTS_PIN), {}),
    "address": (card(WANTS_ADDRESS), {}),
    "issuer": (card(WANTS_3DS), {}),
    "paid": (card(SUCCEEDS), {}),
}


async def every_kind(stage: Stage, language: str) -> dict[str, httpx.Response]:
    """By name. Sent to a browser that takes compressed answers and reads that language."""
    begun = await _begun(stage)
    addresses = {
        **{name: begun["choose"].link + query for name, query in CHOICES.items()},
        **{name: checkout.link for name, checkout in begun.items()},
        "bank": f"{begun['issuer'].link}/3ds",
        "receipt": f"{begun['paid'].link}/receipt",
        "nothing": begun["choose"].link + "x",
    }
    client = begun["choose"].shop.client
    client.headers["accept-language"] = language
    answers = {name: (await open_page(client, address)).answer for name, address in addresses.items()}
    return {**answers, "wrong-input": (await _refused(client, begun["choose"])).answer}


async def _begun(stage: Stage) -> dict[str, LinkedCheckout]:
    async def new(**changes: Any) -> LinkedCheckout:
        return await stage.new_payment(settings=SHOP, **{**ORDER, **changes})

    begun = {name: await new(**changes) for name, (_, changes) in CHARGES.items()}
    for name, (body, _) in CHARGES.items():
        assert (await begun[name].charge(body)).is_success
    begun |= {name: await new() for name in ("choose", "otp", "short", "cancelled")}
    begun |= {name: await new(**KENYAN, paymentMethods=["mobile_money"]) for name in ("mobile-form", "used-up")}
    await begun["otp"].charge(card(WANTS_PIN_AND_OTP))
    await begun["otp"].authorize({"pin": "1234"})
    await begun["short"].transfer(await begun["short"].account(), "4000")
    await begun["cancelled"].cancel()
    for _ in range(ATTEMPTS_MAX):
        await begun["used-up"].charge(phone(WITHOUT_WALLET))
    return begun


async def _refused(client: httpx.AsyncClient, checkout: LinkedCheckout) -> Sheet:
    page = await open_page(client, f"{checkout.link}?method=card")
    return await page.send("/charge", {"type": "card"}, number="1", expiry="13 / 40", cvv="12", holder="Ada Obi")
