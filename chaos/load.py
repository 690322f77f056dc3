"""The load: creates, payments by each method, refunds, inflows, reads. Everything acknowledged goes into the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from chaos.client import Caller, NeverDefinite, Shop, payer_headers
from chaos.model import AcknowledgedPayment, AcknowledgedRefund, AcknowledgedTransfer
from checkout.paying import ADDRESS, SUCCEEDS, WANTS_3DS, WANTS_ADDRESS, WANTS_PIN, WANTS_PIN_AND_OTP, card, phone
from inflow import CLOSE, DIFFERENT, HOLDER

STEPS_MAX = 6
RIVALS = 8
# Approved at once, late, without an answer of the rail at first, by hand; declined.
PHONES = ("+233240000000", "+233240000001", "+233240000005", "+233241234567", "+233240000003")
WAYS: tuple[tuple[str, Callable[[Caller], dict[str, Any]]], ...] = (
    ("NGN", lambda _: card(SUCCEEDS)),
    ("NGN", lambda by: card(by.chance.choice((WANTS_PIN, WANTS_PIN_AND_OTP, WANTS_3DS, WANTS_ADDRESS)))),
    ("NGN", lambda _: {"type": "bank_transfer"}),
    ("NGN", lambda _: {"type": "payAttitude", "bank": "044"}),
    ("GHS", lambda by: phone(by.chance.choice(PHONES))),
)
# What the payer answers to each question of the bank.
ANSWERS: dict[str, dict[str, Any]] = {
    "pin": {"pin": "1234"},
    "otp": {"otp": "123456"},
    "redirect": {"otp": "123456"},
    "address": {"address": ADDRESS},
}
PAGES = ("", "/payments", "/payments?status=success", "/refunds", "/inflows", "/webhooks")


class Load:
    def __init__(self, by: Caller, shops: list[Shop]) -> None:
        self._by = by
        self._shops = shops
        self._number = 0
        self.actions: dict[str, tuple[Callable[[Shop], Awaitable[None]], int]] = {
            "buy": (self._buy, 10),
            "verify": (self._verify, 5),
            "refund": (self._refund, 3),
            "inflow": (self._receive, 2),
            "identical creates": (self._create_at_once, 1),
            "dashboard": (self._look, 1),
        }

    async def run_until(self, done: asyncio.Event) -> None:
        names, weights = list(self.actions), [weight for _, weight in self.actions.values()]
        while not done.is_set():
            [name] = self._by.chance.choices(names, weights)
            try:
                await self.actions[name][0](self._by.chance.choice(self._shops))
            except NeverDefinite as never:
                self._by.model.find(str(never))

    def _new(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}"

    def _order(self, reference: str, major: int, currency: str) -> dict[str, Any]:
        customer = {"name": "Ada Obi", "email": "ada@example.com"}
        return {"reference": reference, "amount": major, "currency": currency, "customer": customer}

    async def _create(self, shop: Shop, currency: str) -> AcknowledgedPayment | None:
        reference, major = self._new("order"), self._by.chance.randint(100, 5_000)
        order = self._order(reference, major, currency)
        answer = await self._by.definite("POST", "/checkout/payments", order, **shop.headers)
        # 409 is the answer to a repeated create whose first answer was lost: it names the same payment.
        if answer.status_code not in (201, 409):
            self._by.model.find(f"create {reference} was answered with {answer.status_code}: {answer.text[:300]}")
            return None
        made = AcknowledgedPayment(shop.business_id, reference, answer.json()["data"]["payCode"], major * 100, currency)
        self._by.model.create(made)
        return made

    async def _buy(self, shop: Shop) -> None:
        currency, charge = self._by.chance.choice(WAYS)
        payment = await self._create(shop, currency)
        if payment is None or self._by.chance.random() < 0.05:
            return
        payer = payer_headers()
        path = f"/checkout/payments/{payment.pay_code}"
        answer = await self._by.ask("POST", f"{path}/charge", charge(self._by), **payer)
        for _ in range(STEPS_MAX):
            if answer is None or not answer.is_success:
                answer = await self._by.definite("GET", path, **payer)
            data = answer.json()["data"]
            if data["status"] == "success":
                self._by.model.pay(payment)
            step = data.get("attempt") if "action" not in data else data
            answer = await self._act(shop, payment, step["action"], payer) if step else None
            if answer is None:
                return

    async def _act(
        self, shop: Shop, payment: AcknowledgedPayment, action: dict[str, Any], payer: dict[str, str]
    ) -> Any | None:
        """What a payer does next; None when there is nothing left to do, or it cannot be known."""
        path = f"/checkout/payments/{payment.pay_code}"
        kind = action["type"]
        if kind in ANSWERS:
            return await self._by.ask("POST", f"{path}/charge/authorize", ANSWERS[kind], **payer)
        if kind == "transfer":
            await self._send(shop, payment, action["virtualAccount"]["accountNumber"])
        elif kind in ("prompt", "dial"):
            await self._by.ask("POST", f"/sandbox/charges/{payment.pay_code}/approve", **shop.headers)
        return None

    async def _send(self, shop: Shop, payment: AcknowledgedPayment, account: str) -> None:
        # Sometimes another amount than asked for.
        minor = payment.minor + self._by.chance.choice((0, 0, 0, 0, 5_000, -5_000))
        sent = AcknowledgedTransfer(shop.business_id, self._new("transfer"), minor, payment.currency)
        await self._transfer(shop, sent, account, {"payer": {"name": "Ada Obi"}})
        self._by.model.transfers[sent.reference] = sent
        self._by.model.done["transfers"] += 1

    async def _transfer(self, shop: Shop, sent: AcknowledgedTransfer, account: str, more: dict[str, Any]) -> None:
        body = {
            "accountNumber": account, "amount": sent.minor // 100, "currency": sent.currency,
            "reference": sent.reference, **more,
        }  # fmt: skip
        answer = await self._by.definite("POST", "/sandbox/transfers", body, **shop.headers)
        if answer.status_code != 201:
            self._by.model.find(f"{sent.reference} was answered with {answer.status_code}: {answer.text[:300]}")

    async def _receive(self, shop: Shop) -> None:
        currency, account = self._by.chance.choice(list(shop.accounts.items()))
        sent = AcknowledgedTransfer(
            shop.business_id, self._new("inflow"), self._by.chance.randint(50, 900) * 100, currency
        )
        payee = self._by.chance.choice((HOLDER, HOLDER, HOLDER, CLOSE, DIFFERENT))
        await self._transfer(shop, sent, account, {"payer": {"name": "Bola Ade"}, "payee": {"name": payee}})
        self._by.model.inflows[sent.reference] = sent
        self._by.model.done["inflows"] += 1

    async def _verify(self, shop: Shop) -> None:
        """What was acknowledged can be read at once, whichever process answers."""
        if not self._by.model.payments:
            return
        payment = self._by.chance.choice(list(self._by.model.payments.values())[-50:])
        was_paid = payment.is_paid
        owner = next(one for one in self._shops if one.business_id == payment.shop)
        path = f"/checkout/payments/merchant-reference/{payment.reference}"
        answer = await self._by.definite("GET", path, **owner.headers)
        self._by.model.done["verified"] += 1
        if answer.status_code != 200 or answer.json()["data"]["reference"] != payment.pay_code:
            self._by.model.find(f"{payment.reference} was acknowledged, and verify says {answer.text[:300]}")
        elif was_paid and answer.json()["data"]["status"] != "success":
            self._by.model.find(f"{payment.reference} was paid, and verify says {answer.text[:300]}")

    async def _refund(self, shop: Shop) -> None:
        candidates = self._by.model.paid[-100:]
        if not candidates:
            return
        payment = self._by.chance.choice(candidates)
        owner = next(one for one in self._shops if one.business_id == payment.shop)
        # The rail declines an amount that ends in .13; of one that ends in .17 its first answer is lost.
        minor = self._by.chance.randint(1, 40) * 100 + self._by.chance.choice((0, 0, 0, 13, 17))
        key = self._new("refund")
        body = {"transReference": payment.reference, "amount": minor / 100}
        headers = {**owner.headers, "idempotency-key": key}
        answer = await self._by.definite("POST", "/collections/refund", body, **headers)
        if not answer.is_success:
            self._by.model.done["refunds refused"] += 1
            return
        made = AcknowledgedRefund(owner.business_id, answer.json()["data"]["reference"], minor)
        self._by.model.refunds[key] = made
        self._by.model.done["refunds"] += 1
        again = await self._by.definite("POST", "/collections/refund", body, **headers)
        if not again.is_success or again.json()["data"]["reference"] != made.reference:
            self._by.model.find(f"{key} made {made.reference}, and its replay says {again.text[:300]}")

    async def _create_at_once(self, shop: Shop) -> None:
        reference, major = self._new("same"), self._by.chance.randint(100, 5_000)
        order = self._order(reference, major, "NGN")
        calls = (self._by.definite("POST", "/checkout/payments", order, **shop.headers) for _ in range(RIVALS))
        answers = await asyncio.gather(*calls)
        codes = {answer.json()["data"]["payCode"] for answer in answers if answer.status_code in (201, 409)}
        if len(codes) != 1 or any(answer.status_code not in (201, 409) for answer in answers):
            self._by.model.find(f"{reference}: {RIVALS} identical creates made {sorted(codes)}")
        made = AcknowledgedPayment(shop.business_id, reference, min(codes, default=""), major * 100, "NGN")
        self._by.model.create(made)

    async def _look(self, shop: Shop) -> None:
        path = f"/dashboard/{shop.code}{self._by.chance.choice(PAGES)}"
        answer = await self._by.definite("GET", path, cookie=f"tidegate-session={shop.cookie}")
        self._by.model.done["pages"] += 1
        if answer.status_code != 200:
            self._by.model.find(f"{path} was answered with {answer.status_code}")
