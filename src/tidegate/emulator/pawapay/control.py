"""The control port: what a test or a developer makes happen. Not part of the emulated API."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from aiohttp import web

from tidegate.emulator.control import common_routes
from tidegate.emulator.pawapay.callbacks import Spoil
from tidegate.emulator.pawapay.model import EmulatedTransaction
from tidegate.emulator.pawapay.service import PawapayService


class PawapayControl:
    def __init__(self, service: PawapayService) -> None:
        self._service = service

    def routes(self) -> list[web.RouteDef]:
        return [
            *common_routes(self._service),
            web.get("/state", self._state),
            web.post("/approve", self._approve),
            web.post("/fail", self._fail),
            web.post("/reconcile", self._reconcile),
            web.post("/provider", self._provider),
            web.post("/balance", self._balance),
            web.post("/account", self._account),
            web.post("/rotate", self._rotate),
            web.post("/callback", self._callback),
        ]

    async def _state(self, request: web.Request) -> web.Response:
        memory = self._service.memory
        return web.json_response(
            {
                "now": self._service.now().isoformat(),
                "deposits": [one.as_json() for one in memory.deposits.values()],
                "refunds": [one.as_json() for one in memory.refunds.values()],
                "balances": {currency: str(held) for currency, held in memory.balances.items()},
                "callbacks": [
                    {"body": one.body.decode(errors="replace"), "tries": one.tries, "answered": one.answered}
                    for one in self._service.callbacks.sent
                ],
            }
        )

    async def _approve(self, request: web.Request) -> web.Response:
        """`amount` is another than was asked for."""
        asked = await request.json()
        made = self._transaction(asked)
        self._service.approve(made, paid=Decimal(asked["amount"]) if "amount" in asked else None)
        return web.json_response(made.as_json())

    async def _fail(self, request: web.Request) -> web.Response:
        asked = await request.json()
        made = self._transaction(asked)
        self._service.fail(made, asked.get("code", "PAYMENT_NOT_APPROVED"))
        return web.json_response(made.as_json())

    async def _reconcile(self, request: web.Request) -> web.Response:
        made = self._transaction(await request.json())
        self._service.reconcile(made)
        return web.json_response(made.as_json())

    async def _provider(self, request: web.Request) -> web.Response:
        """Opens and closes an operator: OPERATIONAL, DELAYED or CLOSED."""
        asked = await request.json()
        provider = self._service.memory.providers[asked["provider"]]
        provider.deposits = asked.get("deposits", provider.deposits)
        provider.refunds = asked.get("refunds", provider.refunds)
        return web.json_response({})

    async def _balance(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self._service.memory.balances[asked["currency"]] = Decimal(str(asked["balance"]))
        return web.json_response({})

    async def _account(self, request: web.Request) -> web.Response:
        """Changes the options of the emulated account."""
        asked: dict[str, Any] = await request.json()
        for name in (
            "callback_url",
            "signed_callbacks",
            "signed_requests_only",
            "callbacks_twice",
            "callbacks_early",
            "rejects_by_rejection_reason",
        ):
            if name in asked:
                setattr(self._service.account, name, asked[name])
        return web.json_response({})

    async def _rotate(self, request: web.Request) -> web.Response:
        return web.json_response({"keyId": self._service.callbacks.rotate_key()})

    async def _callback(self, request: web.Request) -> web.Response:
        """Sends any body, signed; `spoil` names what is wrong with it."""
        asked = await request.json()
        spoil = Spoil(asked["spoil"]) if "spoil" in asked else None
        self._service.callbacks.add_body(str(asked["body"]).encode(), now=self._service.now(), spoil=spoil)
        return web.json_response({})

    def _transaction(self, asked: dict[str, Any]) -> EmulatedTransaction:
        found = self._service.find(str(asked["id"]))
        if found is None:
            raise web.HTTPNotFound
        return found
