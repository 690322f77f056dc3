"""The payer's operations: view, pay, answer a challenge, cancel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tidegate.checkout import examples, wire
from tidegate.checkout.commands import CheckoutCommands, PayerRequest
from tidegate.checkout.language.negotiate import negotiate_language
from tidegate.checkout.watch import Watch
from tidegate.core import errors
from tidegate.core.clock import monotonic_s
from tidegate.core.method import Method
from tidegate.infra.http.client import client_of
from tidegate.infra.http.operation import Answer, Call, Operation, encode
from tidegate.infra.http.routing import Route, answering
from tidegate.merchant.authentication import NO_CREDENTIALS
from tidegate.payment import pay
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.model import Payment, PaymentStatus
from tidegate.payment.transition import attempts_left, is_final

HEARTBEAT_S = 15.0
# A stream ends after this time; the page opens a new one.
STREAM_FOR_S = 600.0
PATH = "/checkout/payments/{payCode}"


@dataclass(frozen=True)
class CheckoutApi:
    commands: CheckoutCommands
    watch: Watch

    async def view(self, call: Call) -> Answer:
        return call.answer(self._view(await self.commands.look(_payer_at(call))))

    async def charge(self, call: Call) -> Answer:
        return self._attempt(call, await self.commands.charge(_payer_at(call), call.json()))

    async def authorize(self, call: Call) -> Answer:
        return self._attempt(call, await self.commands.authorize(_payer_at(call), call.json()))

    async def cancel(self, call: Call) -> Answer:
        return call.answer(self._view(await self.commands.cancel(_payer_at(call))))

    async def extend(self, call: Call) -> Answer:
        return self._attempt(call, await self.commands.extend(_payer_at(call)))

    async def resend(self, call: Call) -> Answer:
        return self._attempt(call, await self.commands.resend(_payer_at(call)))

    async def events(self, request: Request) -> Response:
        """Server-sent events: the view now, and after every change, until none is possible any more."""
        payer = PayerRequest(request.path_params["payCode"], client_of(request.scope))
        first = await self.commands.look(payer)
        self.watch.check_stream_limit(first.payment, payer.client)
        request.scope["tidegate.operation"] = "watchPayment"
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")  # The client has gone.
        request.app.admission.release(request.scope)
        stream = self._stream(request, first, payer.client)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _stream(self, request: Request, snapshot: PaymentSnapshot, client: str) -> AsyncIterator[bytes]:
        payment = snapshot.payment
        ends_at = monotonic_s() + STREAM_FOR_S
        async with self.watch.on(payment, client) as watcher:
            yield self._event(snapshot)
            heard_at = monotonic_s()
            while _may_change(snapshot.payment) and monotonic_s() < ends_at:
                if request.app.is_draining or await request.is_disconnected():
                    return
                if await _set_within(watcher.changed, 1.0):
                    fresh = await self._fresh(snapshot)
                    watcher.clear(fresh.payment.version)
                    if fresh.payment.version != snapshot.payment.version:
                        snapshot, heard_at = fresh, monotonic_s()
                        yield self._event(snapshot)
                elif monotonic_s() - heard_at > HEARTBEAT_S:
                    heard_at = monotonic_s()
                    yield b": still here\n\n"

    async def _fresh(self, snapshot: PaymentSnapshot) -> PaymentSnapshot:
        """While the database is away, the last known state: the next round of the watch asks again."""
        payment = snapshot.payment
        try:
            return await pay.view(self.commands.deps.db, payment.business_id, payment.pay_code)
        except errors.Unavailable:
            return snapshot

    def _event(self, snapshot: PaymentSnapshot) -> bytes:
        return b"event: status\ndata: " + encode(self._view(snapshot)) + b"\n\n"

    def _view(self, snapshot: PaymentSnapshot) -> wire.CheckoutView:
        return wire.view_of(
            snapshot,
            self.commands.deps.names,
            self.commands.offers_of(snapshot),
            can_resend=self.commands.can_resend(snapshot),
            checkout_url=self.commands.checkout_url,
        )

    def _attempt(self, call: Call, snapshot: PaymentSnapshot) -> Answer:
        payment, names = snapshot.payment, self.commands.deps.names
        assert snapshot.attempt is not None
        view = wire.attempt_view(snapshot, names, can_resend=self.commands.can_resend(snapshot))
        answer = wire.Charged(
            attempt_id=view.attempt_id,
            type=view.type,
            status=payment.status,
            attempt_status=view.status,
            failure=view.failure,
            answers_left=view.answers_left,
            resends_left=view.resends_left,
            resend_from=view.resend_from,
            attempts_left=attempts_left(payment, snapshot.attempt.method),
            open_payment_methods=names.in_records(wire.open_methods(payment, self.commands.offers_of(snapshot))),
            action=view.action,
        )
        return call.answer(answer)

    def routes(self) -> list[Route]:
        return [answering(f"{PATH}/events", self.events, limit=self.commands.limit.read)]

    def operations(self) -> list[Operation]:
        base = Operation(
            method="POST",
            path=PATH,
            name="",
            summary="",
            handler=self.view,
            credentials=NO_CREDENTIALS,
            limit=self.commands.limit.write,
            response=wire.CheckoutView,
            success_key="status",
            success_message="",
            errors=(errors.NotFound, errors.RateLimited),
            group="Checkout",
            group_words=examples.GROUP,
            path_parameters={
                "payCode": {
                    "description": "The payment's pay code.",
                    "schema": {"type": "string", "minLength": 1, "maxLength": 100},
                    "example": examples.PAY_CODE,
                }
            },
        )
        refusals = (*base.errors, errors.Conflict)
        return [
            replace(base, method="GET", name="viewCheckout", summary="Get the payer's view of a checkout",
                    limit=self.commands.limit.read,
                    description=examples.VIEW, success_message="Checkout found", response_example=examples.VIEWED),
            replace(base, path=f"{PATH}/charge", name="chargeCheckout", summary="Start an attempt",
                    description=examples.CHARGE, handler=self.charge, request=wire.Charge,
                    request_example=examples.CHARGE_REQUEST, response=wire.Charged, errors=refusals,
                    response_example=examples.CHARGED, success_message="Attempt started"),
            replace(base, path=f"{PATH}/charge/authorize", name="authorizeCharge",
                    summary="Answer a challenge", description=examples.AUTHORIZE, handler=self.authorize,
                    request=wire.Authorize, request_example=examples.AUTHORIZE_REQUEST, response=wire.Charged,
                    errors=refusals, response_example=examples.ASKED_FOR_OTP, success_message="Answer sent to the bank",
                    prepared_by=(examples.A_CARD,)),
            replace(base, path=f"{PATH}/charge/resend", name="resendCharge",
                    summary="Send the prompt or the code again", description=examples.RESEND, handler=self.resend,
                    response=wire.Charged, errors=refusals, response_example=examples.SENT_AGAIN,
                    success_message="Sent again", prepared_by=(examples.A_CARD, examples.AN_ANSWER, examples.A_PAUSE)),
            replace(base, path=f"{PATH}/charge/extend", name="extendCharge", summary="Extend the account of a transfer",
                    description=examples.EXTEND, handler=self.extend, response=wire.Charged,
                    errors=(*base.errors, errors.Conflict), response_example=examples.CHARGED,
                    success_message="The account stays open longer", prepared_by=(examples.A_TRANSFER,)),
            replace(base, path=f"{PATH}/cancel", name="cancelCheckout", summary="Cancel a checkout",
                    description=examples.CANCEL, handler=self.cancel, errors=(*base.errors, errors.Conflict),
                    response_example=examples.CANCELLED, success_message="Checkout cancelled",
                    prepared_by=(examples.A_PAYMENT,)),
        ]  # fmt: skip


def _payer_at(call: Call) -> PayerRequest:
    header = call.headers.one(b"accept-language")
    language = negotiate_language(asked=None, remembered=None, accept_language=header)
    return PayerRequest(call.path["payCode"], call.client, language)


def _may_change(payment: Payment) -> bool:
    """Also after it has ended unpaid: money may still be on its way to the account, and is then returned."""
    if not is_final(payment.status):
        return True
    return payment.status is not PaymentStatus.SUCCESS and payment.attempts_by_method.get(Method.BANK_TRANSFER, 0) > 0


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
