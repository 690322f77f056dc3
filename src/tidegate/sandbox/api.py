"""The sandbox's controls: what payers, banks and time do, on demand. Not there in live mode."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.core import errors, ids
from tidegate.core.clock import ShiftedClock, to_iso
from tidegate.idempotency.commands import once
from tidegate.infra.db import Tx
from tidegate.infra.http.operation import Answer, Call, Operation
from tidegate.infra.http.read import read
from tidegate.merchant.gate import SECRET_KEY
from tidegate.payment import card_data, pay
from tidegate.payment.settle import Till
from tidegate.rail.interface import Party
from tidegate.rail.sandbox import SandboxRail
from tidegate.sandbox import examples, store, wire


@dataclass(frozen=True)
class SandboxApi:
    till: Till
    clock: ShiftedClock

    @property
    def _rail(self) -> SandboxRail:
        rail = self.till.rails["sandbox"]
        assert isinstance(rail, SandboxRail)
        return rail

    async def transfer(self, call: Call) -> Answer:
        value = call.json()
        request = read(value, wire.SendTransfer, lambda _: card_data.problems_in(value))
        money = wire.money_from(request)
        now = self.clock.now()

        async def act(_: Tx) -> Answer:
            transaction_id = await self._rail.transfer(
                call.caller.business.id,
                request.account_number,
                money,
                payer=Party(
                    name=request.payer.name,
                    account_number=request.payer.account_number,
                    bank_name=request.payer.bank_name,
                ),
                payee_name=request.payee.name if request.payee else None,
                remittance=None,
                transaction_id=request.reference,
                now=now,
            )
            return call.answer(wire.TransferSent(transaction_id=transaction_id))

        return await once(self.till.db, call, act, now=now)

    async def approve(self, call: Call) -> Answer:
        reference = await self._attempt_of(call)
        await self._rail.approve(call.caller.business.id, reference, now=self.clock.now())
        return call.answer(wire.Acted(attempt_id=reference))

    async def decline(self, call: Call) -> Answer:
        value = call.json() if call.body else {}
        request = read(value, wire.Decline, lambda _: card_data.problems_in(value))
        reference = await self._attempt_of(call)
        await self._rail.decline(call.caller.business.id, reference, request.reason, now=self.clock.now())
        return call.answer(wire.Acted(attempt_id=reference))

    async def _attempt_of(self, call: Call) -> str:
        """The newest attempt of one of the caller's own payments."""
        pay_code = call.path["payCode"]
        if not ids.looks_like_pay_code(pay_code):
            raise errors.NotFound(pay.NOT_FOUND)
        situation = await pay.view(self.till.db, call.caller.business.id, pay_code)
        if situation.attempt is None:
            raise errors.Conflict("nobody has begun to pay yet; charge the payment first")
        return situation.attempt.reference

    async def clock_now(self, call: Call) -> Answer:
        return call.answer(self._clock_view())

    async def clock_advance(self, call: Call) -> Answer:
        request = read(call.json(), wire.Advance)
        async with self.till.db.connection() as tx:
            ahead = await store.advance(tx, request.advance.length, ahead_max=wire.AHEAD_MAX)
        if ahead is None:
            raise errors.Invalid(errors.Problem("advance", f"must keep within {wire.AHEAD_MAX.days}d of real time"))
        self.clock.ahead = ahead
        return call.answer(self._clock_view())

    def _clock_view(self) -> wire.ClockView:
        return wire.ClockView(now=to_iso(self.clock.now()), ahead_seconds=int(self.clock.ahead.total_seconds()))

    async def reset(self, call: Call) -> Answer:
        business_id = call.caller.business.id
        async with self.till.db.transaction() as tx:
            await store.reset(tx, business_id)
        await self._rail.forget(business_id)
        return call.answer(wire.Emptied(business=business_id))

    def operations(self) -> list[Operation]:
        base = Operation(
            method="POST",
            path="/sandbox",
            name="",
            summary="",
            handler=self.reset,
            credentials=SECRET_KEY,
            response=wire.Emptied,
            success_message="",
            group="Sandbox",
            group_words=examples.GROUP,
        )
        on_payment = replace(
            base,
            response=wire.Acted,
            response_example=examples.ACTED,
            errors=(errors.NotFound, errors.Conflict),
            path_parameters=examples.PAY_CODE_PARAMETER,
            prepared_by=examples.A_PROMPT,
        )
        return [
            replace(base, path="/sandbox/transfers", name="sendTransfer", summary="Send a bank transfer",
                    is_idempotent_by_key=True, description=examples.TRANSFER, handler=self.transfer,
                    request=wire.SendTransfer,
                    request_example=examples.TRANSFER_REQUEST, response=wire.TransferSent, success_status=201,
                    response_example=examples.TRANSFER_SENT, success_message="Transfer sent"),
            replace(on_payment, path="/sandbox/charges/{payCode}/approve", name="approveCharge",
                    summary="Approve on the phone", description=examples.APPROVE, handler=self.approve,
                    success_message="Approved"),
            replace(on_payment, path="/sandbox/charges/{payCode}/decline", name="declineCharge",
                    summary="Decline on the phone", description=examples.DECLINE, handler=self.decline,
                    request=wire.Decline, is_body_optional=True, request_example=examples.DECLINE_REQUEST,
                    success_message="Declined"),
            replace(base, method="GET", path="/sandbox/clock", name="getClock", summary="What time it is",
                    description=examples.CLOCK, handler=self.clock_now, response=wire.ClockView,
                    response_example=examples.CLOCK_VIEW, success_message="The sandbox's clock"),
            replace(base, path="/sandbox/clock", name="advanceClock", summary="Let time pass",
                    description=examples.ADVANCE, handler=self.clock_advance, request=wire.Advance,
                    request_example=examples.ADVANCE_REQUEST, response=wire.ClockView,
                    response_example=examples.CLOCK_VIEW, success_message="The clock has moved"),
            replace(base, path="/sandbox/reset", name="resetSandbox", summary="Empty the business's data",
                    description=examples.RESET, response_example=examples.EMPTIED, success_message="Emptied"),
        ]  # fmt: skip
