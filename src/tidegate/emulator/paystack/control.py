"""The control port: what a test or a developer makes happen. Not part of the emulated API."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tidegate.emulator.control import common_routes
from tidegate.emulator.paystack.model import EmulatedPayment
from tidegate.emulator.paystack.service import PaystackService


class PaystackControl:
    def __init__(self, service: PaystackService) -> None:
        self._service = service

    def routes(self) -> list[web.RouteDef]:
        return [
            *common_routes(self._service),
            web.get("/state", self._state),
            web.post("/pay", self._pay),
            web.post("/decline", self._decline),
            web.post("/transfer", self._transfer),
            web.post("/dispute", self._dispute),
            web.post("/resolve", self._resolve),
            web.post("/balance", self._balance),
            web.post("/account", self._account),
            web.post("/notify", self._notify),
        ]

    async def _state(self, request: web.Request) -> web.Response:
        memory = self._service.memory
        return web.json_response(
            {
                "now": self._service.now().isoformat(),
                "transactions": [one.as_json() for one in memory.payments.values()],
                "refunds": [one.as_json() for one in memory.refunds.values()],
                "balances": memory.balances,
                "notifications": [
                    {"body": one.body.decode(errors="replace"), "tries": one.tries, "answered": one.answered}
                    for one in self._service.notifier.notices
                ],
            }
        )

    async def _pay(self, request: web.Request) -> web.Response:
        asked = await request.json()
        payment = self._payment(asked)
        if "card" in asked:
            self._service.pay_with_card(payment, asked["card"])
        else:
            self._service.pay(payment)
        return web.json_response(payment.as_json())

    async def _decline(self, request: web.Request) -> web.Response:
        asked = await request.json()
        payment = self._payment(asked)
        self._service.decline(payment, asked.get("why", "Declined"))
        return web.json_response(payment.as_json())

    async def _transfer(self, request: web.Request) -> web.Response:
        """To an account. `amount` is in hundredths; by default all that is asked for."""
        asked = await request.json()
        payment = self._payment(asked)
        amount = int(asked.get("amount", payment.requested_amount))
        narration = asked.get("narration", payment.narration)
        is_taken = self._service.transfer(
            payment, amount, sender=asked.get("sender", "Demo Payer"), narration=narration
        )
        return web.json_response({"taken": is_taken})

    async def _dispute(self, request: web.Request) -> web.Response:
        asked = await request.json()
        return web.json_response(self._service.dispute(self._payment(asked), asked.get("amount")).as_json())

    async def _resolve(self, request: web.Request) -> web.Response:
        asked = await request.json()
        dispute = self._service.memory.disputes[int(asked["id"])]
        self._service.resolve(dispute, asked["resolution"])
        return web.json_response(dispute.as_json())

    async def _balance(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self._service.memory.balances[asked["currency"]] = int(asked["balance"])
        return web.json_response(self._service.memory.balances)

    async def _account(self, request: web.Request) -> web.Response:
        """Changes the options of the emulated account."""
        asked: dict[str, Any] = await request.json()
        settings = self._service.settings
        for name in ("passes_fees_on", "notifies_early", "notifies_twice", "rate_limit"):
            if name in asked:
                setattr(settings, name, asked[name])
        if "webhook_url" in asked:
            self._service.notifier.url = asked["webhook_url"]
        return web.json_response({})

    async def _notify(self, request: web.Request) -> web.Response:
        """Sends any body, signed, or with the given signature."""
        asked = await request.json()
        body = str(asked["body"]).encode()
        self._service.notifier.add_body(body, now=self._service.now(), signature=asked.get("signature"))
        return web.json_response({})

    def _payment(self, asked: dict[str, Any]) -> EmulatedPayment:
        found = self._service.find(str(asked["reference"]))
        if found is None:
            raise web.HTTPNotFound(text="no such transaction")
        return found
