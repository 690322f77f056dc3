"""The payer's operations: look, pay, answer the bank's question, give up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tidegate.checkout import examples, means, wire
from tidegate.checkout.limit import Limited, PayerLimit
from tidegate.checkout.watch import Watch
from tidegate.core import errors, ids
from tidegate.core.clock import Clock, monotonic_s
from tidegate.core.method import Method
from tidegate.infra.http.endpoint import client_of
from tidegate.infra.http.operation import Answer, Call, Operation, encode
from tidegate.infra.http.read import read
from tidegate.merchant.gate import ANYBODY
from tidegate.merchant.keyring import Keyring
from tidegate.payment import pay
from tidegate.payment.change import Situation
from tidegate.payment.pay import NOT_FOUND, Payer
from tidegate.payment.settle import Till
from tidegate.payment.transition import ATTEMPTS_MAX, is_final

HEARTBEAT_S = 15.0
# A stream is ended after this long; the page opens a new one.
STREAM_FOR_S = 600.0
PATH = "/checkout/payments/{payCode}"


@dataclass(frozen=True)
class CheckoutApi:
    till: Till
    keyring: Keyring
    clock: Clock
    limit: PayerLimit
    watch: Watch
    checkout_url: str

    async def view(self, call: Call) -> Answer:
        self.limit.check(Limited.LOOK, call.client)
        business_id, pay_code = await self._locate(call.path["payCode"])
        return call.answer(self._view(await pay.view(self.till.db, business_id, pay_code)))

    async def charge(self, call: Call) -> Answer:
        self.limit.check(Limited.ACT, call.client)
        payer = await self._payer(call)
        value = call.json()
        request = read(value, wire.Charge, lambda _: wire.card_data_elsewhere(value))
        method = wire.method_named(request.type, self.till.names)
        if method is Method.CARD:
            self.limit.check(Limited.CARD, call.client)
        situation = await pay.view(self.till.db, payer.business_id, payer.pay_code)
        currency = situation.payment.order.asked.currency
        if method not in situation.payment.order.methods:
            raise errors.Invalid(errors.Problem("type", "is not offered for this payment"))
        chosen, details = means.means_from(
            request, method, currency, account_name=situation.business.name, now=payer.now
        )
        return self._attempt(call, await pay.charge(payer, situation, method, chosen, details))

    async def authorize(self, call: Call) -> Answer:
        self.limit.check(Limited.ACT, call.client)
        payer = await self._payer(call)
        value = call.json()
        request = read(value, wire.Authorize, lambda _: (*wire.one_answer(value), *wire.card_data_elsewhere(value)))
        return self._attempt(call, await pay.authorize(payer, means.authorization_from(request)))

    async def cancel(self, call: Call) -> Answer:
        self.limit.check(Limited.ACT, call.client)
        return call.answer(self._view(await pay.cancel(await self._payer(call))))

    async def extend(self, call: Call) -> Answer:
        self.limit.check(Limited.ACT, call.client)
        return self._attempt(call, await pay.extend(await self._payer(call)))

    async def events(self, request: Request) -> Response:
        """Server-sent events: the view now, and again whenever it changes, until the payment has ended."""
        self.limit.check(Limited.LOOK, client_of(request.scope))
        business_id, pay_code = await self._locate(request.path_params["payCode"])
        first = await pay.view(self.till.db, business_id, pay_code)
        self.watch.refuse_crowd()
        request.scope["tidegate.operation"] = "watchPayment"
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")  # Nobody listens.
        request.scope["tidegate.leave"]()
        stream = self._stream(request, first)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _stream(self, request: Request, situation: Situation) -> AsyncIterator[bytes]:
        payment = situation.payment
        ends_at = monotonic_s() + STREAM_FOR_S
        async with self.watch.on(payment.business_id, payment.pay_code) as changed:
            yield self._event(situation)
            heard_at = monotonic_s()
            while not is_final(situation.payment.status) and monotonic_s() < ends_at:
                if request.app.is_draining or await request.is_disconnected():
                    return
                if await _set_within(changed, 1.0):
                    changed.clear()
                    fresh = await pay.view(self.till.db, payment.business_id, payment.pay_code)
                    if fresh.payment.version != situation.payment.version:
                        situation, heard_at = fresh, monotonic_s()
                        yield self._event(situation)
                elif monotonic_s() - heard_at > HEARTBEAT_S:
                    heard_at = monotonic_s()
                    yield b": still here\n\n"

    def _event(self, situation: Situation) -> bytes:
        return b"event: status\ndata: " + encode(self._view(situation)) + b"\n\n"

    def _view(self, situation: Situation) -> wire.CheckoutView:
        return wire.view_of(situation, self.till.names, attempts_max=ATTEMPTS_MAX)

    def _attempt(self, call: Call, situation: Situation) -> Answer:
        assert situation.attempt is not None
        view = wire.attempt_view(situation, self.till.names)
        answer = wire.Charged(
            attempt_id=view.attempt_id,
            type=view.type,
            status=situation.payment.status,
            attempt_status=view.status,
            failure=view.failure,
            action=view.action,
        )
        return call.answer(answer)

    async def _payer(self, call: Call) -> Payer:
        business_id, pay_code = await self._locate(call.path["payCode"])
        return Payer(self.till, business_id, pay_code, f"{self.checkout_url}/{pay_code}", self.clock.now())

    async def _locate(self, pay_code: str) -> tuple[str, str]:
        """The pay code says whose it is; one that is not of our making costs no look-up."""
        code = ids.business_code_of(pay_code)
        business = await self.keyring.business_by_code(code) if code else None
        if business is None:
            raise errors.NotFound(NOT_FOUND)
        return business.id, pay_code

    def routes(self) -> list[Route]:
        return [Route(f"{PATH}/events", self.events, methods=["GET"])]

    def operations(self) -> list[Operation]:
        base = Operation(
            method="POST",
            path=PATH,
            name="",
            summary="",
            handler=self.view,
            credentials=ANYBODY,
            response=wire.CheckoutView,
            success_key="status",
            success_message="",
            errors=(errors.NotFound, errors.RateLimited),
            group="Checkout",
            group_words=examples.GROUP,
            path_parameters={
                "payCode": {
                    "description": "The code of the payment.",
                    "schema": {"type": "string", "minLength": 1, "maxLength": 100},
                    "example": examples.PAY_CODE,
                }
            },
        )
        refusals = (*base.errors, errors.Conflict)
        return [
            replace(base, method="GET", name="viewCheckout", summary="Look at a checkout as the payer sees it",
                    description=examples.VIEW, success_message="Checkout found", response_example=examples.VIEWED),
            replace(base, path=f"{PATH}/charge", name="chargeCheckout", summary="Begin to pay",
                    description=examples.CHARGE, handler=self.charge, request=wire.Charge,
                    request_example=examples.CHARGE_REQUEST, response=wire.Charged, errors=refusals,
                    response_example=examples.CHARGED, success_message="Attempt started"),
            replace(base, path=f"{PATH}/charge/authorize", name="authorizeCharge",
                    summary="Answer what the bank asks for", description=examples.AUTHORIZE, handler=self.authorize,
                    request=wire.Authorize, request_example=examples.AUTHORIZE_REQUEST, response=wire.Charged,
                    errors=refusals, response_example=examples.ASKED_FOR_OTP, success_message="Answer passed on",
                    prepared_by=(examples.A_CARD,)),
            replace(base, path=f"{PATH}/charge/extend", name="extendCharge", summary="Ask for more time",
                    description=examples.EXTEND, handler=self.extend, response=wire.Charged,
                    errors=(*base.errors, errors.Conflict), response_example=examples.CHARGED,
                    success_message="The account stays open longer", prepared_by=(examples.A_TRANSFER,)),
            replace(base, path=f"{PATH}/cancel", name="cancelCheckout", summary="Give up",
                    description=examples.CANCEL, handler=self.cancel, errors=(*base.errors, errors.Conflict),
                    response_example=examples.CANCELLED, success_message="Checkout cancelled",
                    prepared_by=(examples.A_PAYMENT,)),
        ]  # fmt: skip


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
