"""The HTTP API of the emulated Paystack."""

from __future__ import annotations

import asyncio
from datetime import datetime
from json import JSONDecodeError
from typing import Any

from aiohttp import web

from tidegate.emulator.faults import FaultKind
from tidegate.emulator.http import ApiHandler, hang_up, spoilt
from tidegate.emulator.paystack.service import ApiRefusal, PaystackService

PER_PAGE = 50


class PaystackApi:
    def __init__(self, service: PaystackService) -> None:
        self._service = service
        # Of the current minute: its number, and the requests in it.
        self._window = (0, 0)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/transaction/initialize", self._initialize),
            web.get("/transaction/verify/{reference}", self._verify),
            web.get("/transaction", self._list_transactions),
            web.get("/transaction/{id}", self._transaction),
            web.post("/charge", self._charge),
            web.post("/charge/submit_otp", self._submit_otp),
            web.get("/charge/{reference}", self._check_charge),
            web.post("/refund", self._refund),
            web.get("/refund", self._list_refunds),
            web.get("/refund/{id}", self._fetch_refund),
            web.post("/refund/retry_with_customer_details/{id}", self._retry_refund),
            web.get("/balance", self._balance),
        ]

    async def answer(self, request: web.Request, handler: ApiHandler) -> web.StreamResponse:
        fault = self._service.faults.take(request.method, request.path)
        if fault is FaultKind.REFUSED:
            return hang_up(request)
        if fault is FaultKind.BUSY or self._is_over_limit():
            return self._limited()
        if fault is FaultKind.REJECTED:
            return _refused("Denied by fraud system", status=400, code="processor_error")
        if request.headers.get("Authorization") != f"Bearer {self._service.settings.secret_key}":
            return _refused("Invalid key", status=401, code="invalid_Key")
        self._service.tick()
        answer = await self._handled(request, handler)
        if self._service.settings.notifies_early:
            await asyncio.sleep(0.3)  # The notifier runs beside this.
        return await spoilt(request, answer, fault)

    async def _handled(self, request: web.Request, handler: ApiHandler) -> web.StreamResponse:
        try:
            return await handler(request)
        except ApiRefusal as refusal:
            return _refused(str(refusal), status=refusal.status, code=refusal.code, kind=refusal.kind)
        except (JSONDecodeError, UnicodeDecodeError, KeyError, ValueError):
            return _refused("Invalid request", status=400, code="invalid_params")
        except web.HTTPException as error:
            return _refused("Endpoint not found", status=error.status, code="not_found")

    def _is_over_limit(self) -> bool:
        limit = self._service.settings.rate_limit
        if limit is None:
            return False
        minute = int(self._service.now().timestamp()) // 60
        number, count = self._window
        self._window = (minute, count + 1 if number == minute else 1)
        return self._window[1] > limit

    def _limited(self) -> web.Response:
        limit = str(self._service.settings.rate_limit or 0)
        headers = {"x-ratelimit-limit": limit, "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}
        return _refused("Rate limit exceeded", status=429, code="rate_limited", headers=headers)

    # Transactions

    async def _initialize(self, request: web.Request) -> web.Response:
        return _done("Authorization URL created", self._service.initialize(await _json(request)))

    async def _verify(self, request: web.Request) -> web.Response:
        payment = self._service.memory.payments.get(request.match_info["reference"])
        if payment is None:
            raise ApiRefusal("Transaction reference not found.", code="transaction_not_found")
        return _done("Verification successful", payment.as_json())

    async def _transaction(self, request: web.Request) -> web.Response:
        payment = self._service.find(request.match_info["id"])
        if payment is None:
            raise ApiRefusal("Transaction ID not found", status=404, code="transaction_not_found")
        return _done("Transaction retrieved", payment.as_json())

    async def _list_transactions(self, request: web.Request) -> web.Response:
        wanted = request.query.get("status")
        found = [one for one in self._service.memory.payments.values() if wanted in (None, one.status)]
        return _page(request, "Transactions retrieved", [(one.created_at, one.as_json()) for one in found])

    async def _charge(self, request: web.Request) -> web.Response:
        return _done("Charge attempted", self._service.charge(await _json(request)))

    async def _submit_otp(self, request: web.Request) -> web.Response:
        return _done("Charge attempted", self._service.submit_otp(await _json(request)))

    async def _check_charge(self, request: web.Request) -> web.Response:
        payment = self._service.memory.payments.get(request.match_info["reference"])
        if payment is None:
            raise ApiRefusal("Transaction reference is invalid")
        if payment.paid_at is not None:
            return _done("Reference check successful", payment.as_json())
        data = {"reference": payment.reference, "status": "failed" if payment.status == "failed" else "pending"}
        return _done("Reference check successful", {**data, "message": payment.message})

    # Refunds

    async def _refund(self, request: web.Request) -> web.Response:
        record = self._service.refund(await _json(request))
        return _done("Refund has been queued for processing", record.as_json(whole=True))

    async def _fetch_refund(self, request: web.Request) -> web.Response:
        return _done("Refund retrieved", self._refund_in(request).as_json())

    async def _retry_refund(self, request: web.Request) -> web.Response:
        record = self._service.retry_refund(self._refund_in(request))
        return _done("Refund retried and has been queued for processing", record.as_json())

    def _refund_in(self, request: web.Request) -> Any:
        record = self._service.memory.refunds.get(int(request.match_info["id"]))
        if record is None:
            raise ApiRefusal("Refund not found", status=404, code="not_found")
        return record

    async def _list_refunds(self, request: web.Request) -> web.Response:
        found = self._service.memory.refunds.values()
        return _page(request, "Refunds retrieved", [(one.created_at, one.as_json()) for one in found])

    async def _balance(self, request: web.Request) -> web.Response:
        balances = self._service.memory.balances
        return _done("Balances retrieved", [{"currency": c, "balance": held} for c, held in balances.items()])


async def _json(request: web.Request) -> dict[str, Any]:
    value = await request.json()
    if not isinstance(value, dict):
        raise ApiRefusal("Invalid request")
    return value


def _done(message: str, data: Any, meta: dict[str, Any] | None = None) -> web.Response:
    return web.json_response({"status": True, "message": message, "data": data, **({"meta": meta} if meta else {})})


def _refused(
    message: str, *, status: int, code: str = "", kind: str = "validation_error", headers: dict[str, str] | None = None
) -> web.Response:
    body = {"status": False, "message": message, "meta": {"nextStep": "Check the request"}, "type": kind, "code": code}
    return web.json_response(body, status=status, headers=headers)


def _page(request: web.Request, message: str, found: list[tuple[datetime, dict[str, Any]]]) -> web.Response:
    """The newest first, as Paystack lists."""
    first = datetime.fromisoformat(request.query["from"]) if "from" in request.query else None
    last = datetime.fromisoformat(request.query["to"]) if "to" in request.query else None
    listed = [
        one
        for created_at, one in sorted(found, key=lambda each: each[0], reverse=True)
        if (first is None or created_at >= first) and (last is None or created_at <= last)
    ]
    size, number = int(request.query.get("perPage", PER_PAGE)), int(request.query.get("page", 1))
    meta = {"total": len(listed), "skipped": (number - 1) * size, "perPage": size, "page": number,
            "pageCount": -(-len(listed) // size)}  # fmt: skip
    return _done(message, listed[(number - 1) * size : number * size], meta)
