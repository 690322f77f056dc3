"""The HTTP API of the emulated pawaPay."""

from __future__ import annotations

import asyncio
from json import JSONDecodeError
from typing import Any

from aiohttp import web

from tidegate.emulator.faults import FaultKind
from tidegate.emulator.http import ApiHandler, hang_up, spoilt
from tidegate.emulator.pawapay import request as requests
from tidegate.emulator.pawapay.model import PREFIXES, EmulatedProvider, EmulatedTransaction
from tidegate.emulator.pawapay.request import Unacceptable
from tidegate.emulator.pawapay.service import PawapayService
from tidegate.infra import message_signature
from tidegate.infra.message_signature import HttpMessage, SignatureRefused


class PawapayApi:
    def __init__(self, service: PawapayService) -> None:
        self._service = service

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v2/deposits", self._deposit),
            web.get("/v2/deposits/{id}", self._find_deposit),
            web.post("/v2/deposits/resend-callback/{id}", self._resend_deposit),
            web.post("/v2/refunds", self._refund),
            web.get("/v2/refunds/{id}", self._find_refund),
            web.post("/v2/refunds/resend-callback/{id}", self._resend_refund),
            web.get("/v2/active-conf", self._active_conf),
            web.get("/v2/availability", self._availability),
            web.post("/v2/predict-provider", self._predict_provider),
            web.get("/v2/wallet-balances", self._balances),
            web.get("/v2/public-key/http", self._public_keys),
        ]

    async def answer(self, request: web.Request, handler: ApiHandler) -> web.StreamResponse:
        fault = self._service.faults.take(request.method, request.path)
        if fault is FaultKind.REFUSED:
            return hang_up(request)
        if fault is FaultKind.BUSY:
            return web.Response(status=429)
        if fault is FaultKind.REJECTED:
            failure = {"failureCode": "UNSPECIFIED_FAILURE", "failureMessage": "Rejected."}
            return web.json_response({"status": "REJECTED", "failureReason": failure})
        if fault is FaultKind.ERROR:
            return _unknown_error()
        self._service.tick()
        answer = await self._handled(request, handler)
        if self._service.account.callbacks_early:
            self._service.tick()
            await asyncio.sleep(0.3)  # The callbacks are sent beside this.
        return _unknown_error() if fault is FaultKind.ERROR_AFTER else await spoilt(request, answer, fault)

    async def _handled(self, request: web.Request, handler: ApiHandler) -> web.StreamResponse:
        try:
            self._check_token(request)
            await self._check_signature(request)
            return await handler(request)
        except Unacceptable as refusal:
            return _refused(refusal.code, str(refusal), status=refusal.status)
        except (JSONDecodeError, UnicodeDecodeError):
            return _refused("INVALID_INPUT", "the input is not JSON", status=400)
        except web.HTTPException as error:
            return _refused("NOT_FOUND", "no such path", status=error.status)

    def _check_token(self, request: web.Request) -> None:
        given = request.headers.get("Authorization")
        if given is None:
            raise Unacceptable("NO_AUTHENTICATION", "no token was given", status=401)
        if given != f"Bearer {self._service.account.token}":
            raise Unacceptable("AUTHENTICATION_ERROR", "the token is invalid", status=403)

    async def _check_signature(self, request: web.Request) -> None:
        is_of_money = request.method == "POST" and request.path in ("/v2/deposits", "/v2/refunds")
        if not is_of_money or not self._service.account.signed_requests_only:
            return
        headers = {name.lower(): text for name, text in request.headers.items()}
        message = HttpMessage(request.method, request.host, request.path, headers, await request.read())
        try:
            message_signature.verify(message, self._service.account.merchant_keys, now=self._service.now())
        except SignatureRefused as refused:
            raise Unacceptable("HTTP_SIGNATURE_ERROR", str(refused), status=403) from None

    # Deposits and refunds

    async def _deposit(self, request: web.Request) -> web.Response:
        return web.json_response(self._service.deposit(requests.deposit_request(await request.json())))

    async def _refund(self, request: web.Request) -> web.Response:
        return web.json_response(self._service.refund(requests.refund_request(await request.json())))

    async def _find_deposit(self, request: web.Request) -> web.Response:
        return _found(self._service.memory.deposits.get(request.match_info["id"]))

    async def _find_refund(self, request: web.Request) -> web.Response:
        return _found(self._service.memory.refunds.get(request.match_info["id"]))

    async def _resend_deposit(self, request: web.Request) -> web.Response:
        return self._resent("depositId", self._service.memory.deposits.get(request.match_info["id"]), request)

    async def _resend_refund(self, request: web.Request) -> web.Response:
        return self._resent("refundId", self._service.memory.refunds.get(request.match_info["id"]), request)

    def _resent(self, id_name: str, made: EmulatedTransaction | None, request: web.Request) -> web.Response:
        own: dict[str, Any] = {id_name: request.match_info["id"]}
        if made is None or not made.is_final:
            code = "NOT_FOUND" if made is None else "INVALID_STATE"
            return web.json_response({**own, "status": "REJECTED", "failureReason": {"failureCode": code}})
        self._service.callbacks.add(made.as_json(is_callback=True), now=self._service.now())
        return web.json_response({**own, "status": "ACCEPTED"})

    # Toolkit

    async def _active_conf(self, request: web.Request) -> web.Response:
        account, country = self._service.account, request.query.get("country")
        countries = [
            {
                "country": code,
                "prefix": prefix,
                "displayName": {"en": code, "fr": code},
                "providers": [self._provider(one) for one in self._providers(code)],
            }
            for code, prefix in PREFIXES.items()
            if country in (None, code)
        ]
        switches = {"signedRequestsOnly": account.signed_requests_only, "signedCallbacks": account.signed_callbacks}
        return web.json_response(
            {"companyName": "Emulated Shop", "signatureConfiguration": switches, "countries": countries}
        )

    def _providers(self, country: str) -> list[EmulatedProvider]:
        return [one for one in self._service.memory.providers.values() if one.country == country]

    def _provider(self, own: EmulatedProvider) -> dict[str, Any]:
        channel = {
            "type": "USSD",
            "displayName": {"en": "USSD"},
            "variables": {"shortCode": own.short_code},
            "instructions": {"en": [{"text": f"Dial {own.short_code}", "template": "Dial {{shortCode}}"}]},
        }
        terms = {
            "minAmount": str(own.minimum),
            "maxAmount": str(own.maximum),
            "decimalsInAmount": "TWO_PLACES" if own.has_decimals else "NONE",
            "callbackUrl": self._service.account.callback_url,
        }
        prompt: dict[str, Any] = {
            "authType": "PROVIDER_AUTH",
            "pinPrompt": "MANUAL" if own.short_code else "AUTOMATIC",
            "pinPromptRevivable": bool(own.short_code),
            "pinPromptInstructions": {"channels": [channel] if own.short_code else []},
        }
        types = {
            "DEPOSIT": {**terms, **prompt, "status": own.deposits},
            "REFUND": {**terms, "status": own.refunds},
        }
        return {
            "provider": own.name,
            "displayName": own.name.split("_")[0].title(),
            "nameDisplayedToCustomer": "EMULATED SHOP",
            "currencies": [{"currency": own.currency, "displayName": own.currency, "operationTypes": types}],
        }

    async def _availability(self, request: web.Request) -> web.Response:
        """In one of the two forms that are documented."""
        wanted = request.query.get("country")
        return web.json_response(
            [
                {
                    "country": country,
                    "providers": [
                        {"provider": own.name, "operationTypes": {"DEPOSIT": own.deposits, "REFUND": own.refunds}}
                        for own in self._providers(country)
                    ],
                }
                for country in PREFIXES
                if wanted in (None, country)
            ]
        )

    async def _predict_provider(self, request: web.Request) -> web.Response:
        given = str((await request.json()).get("phoneNumber", ""))
        digits = "".join(letter for letter in given if letter.isdecimal())
        for own in self._service.memory.providers.values():
            if digits.startswith(own.stem[:5]):
                return web.json_response({"country": own.country, "provider": own.name, "phoneNumber": digits})
        return _refused("INVALID_PHONE_NUMBER", "no provider has this number", status=200)

    async def _balances(self, request: web.Request) -> web.Response:
        held = self._service.memory.balances
        countries = {own.currency: own.country for own in self._service.memory.providers.values()}
        return web.json_response(
            {
                "balances": [
                    {
                        "country": country,
                        "balance": f"{held.get(currency, 0):.2f}",
                        "currency": currency,
                        "provider": "",
                    }
                    for currency, country in countries.items()
                ]
            }
        )

    async def _public_keys(self, request: web.Request) -> web.Response:
        return web.json_response(self._service.callbacks.public_keys())


def _found(made: EmulatedTransaction | None) -> web.Response:
    return web.json_response({"status": "FOUND", "data": made.as_json()} if made else {"status": "NOT_FOUND"})


def _refused(code: str, message: str, *, status: int) -> web.Response:
    return web.json_response({"failureReason": {"failureCode": code, "failureMessage": message}}, status=status)


def _unknown_error() -> web.Response:
    """Without a `status`: it is not a failure."""
    return _refused("UNKNOWN_ERROR", "Unable to process request due to an unknown problem.", status=500)
