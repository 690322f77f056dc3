"""The sandbox's controls: actions of payers and banks, and the clock. Absent in live mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.checkout.examples import A_PAYMENT, A_PROMPT
from tidegate.core import errors
from tidegate.core.clock import ShiftedClock
from tidegate.idempotency.commands import once
from tidegate.infra.db import StaleChange, Tx
from tidegate.infra.http.operation import Answer, Call, Operation, Step
from tidegate.infra.http.read import read
from tidegate.infra.timestamp import to_iso
from tidegate.merchant import card_data
from tidegate.merchant.authentication import SECRET_KEY
from tidegate.rail.deps import PaymentDeps
from tidegate.refund.examples import PAID
from tidegate.sandbox import examples, store, wire
from tidegate.sandbox.simulator import Simulator

RESET_TRIES = 10


@dataclass(frozen=True)
class SandboxApi:
    deps: PaymentDeps
    clock: ShiftedClock

    @property
    def _simulator(self) -> Simulator:
        return Simulator(self.deps)

    async def transfer(self, call: Call) -> Answer:
        value = call.json()
        request = read(value, wire.SendTransfer, lambda fields: _problems_in_transfer(value, fields))
        sent = wire.transfer_from(request)
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)

        async def act(tx: Tx) -> Answer:
            transaction_id = await self._simulator.rail.transfer(tx, business_id, sent, now=now)
            return call.answer(wire.TransferSent(transaction_id=transaction_id))

        return await once(self.deps.db, call, act, now=now, is_one_statement=False)

    async def reverse(self, call: Call) -> Answer:
        value = call.json() if call.body else {}
        request = read(value, wire.Reverse, lambda _: card_data.problems_in(value))
        business_id, reference = call.caller.business.id, call.path["reference"]
        now = self.clock.now_of(business_id)
        async with self.deps.db.transaction() as tx:
            reversal = await self._simulator.rail.reverse(tx, business_id, reference, request.reason, now=now)
        return call.answer(wire.TransferReversed(transaction_id=reference, reversal_id=reversal.reversal_id))

    async def approve(self, call: Call) -> Answer:
        business_id, pay_code = _payment_of(call)
        reference = await self._simulator.approve(business_id, pay_code, now=self.clock.now_of(business_id))
        return call.answer(wire.Acted(attempt_id=reference))

    async def decline(self, call: Call) -> Answer:
        value = call.json() if call.body else {}
        request = read(value, wire.Decline, lambda _: card_data.problems_in(value))
        business_id, pay_code = _payment_of(call)
        now = self.clock.now_of(business_id)
        reference = await self._simulator.decline(business_id, pay_code, request.reason, now=now)
        return call.answer(wire.Acted(attempt_id=reference))

    async def dispute(self, call: Call) -> Answer:
        value = call.json() if call.body else {}
        request = read(value, wire.DisputeCharge, lambda _: card_data.problems_in(value))
        business_id, pay_code = _payment_of(call)
        now = self.clock.now_of(business_id)
        dispute_id = await self._simulator.dispute(business_id, pay_code, request.status, now=now)
        return call.answer(wire.ChargeIsDisputed(dispute_id=dispute_id))

    async def expire(self, call: Call) -> Answer:
        business_id, pay_code = _payment_of(call)
        now = self.clock.now_of(business_id)
        await self._simulator.expire(business_id, pay_code, now=now)
        return call.answer(wire.SessionEnded(pay_code=pay_code, ended_at=to_iso(now)))

    async def clock_now(self, call: Call) -> Answer:
        return call.answer(self._clock_view(call.caller.business.id))

    async def clock_advance(self, call: Call) -> Answer:
        request = read(call.json(), wire.Advance)
        business_id = call.caller.business.id
        async with self.deps.db.transaction() as tx:
            ahead = await store.advance(tx, business_id, request.advance.length, ahead_max=wire.AHEAD_MAX)
        if ahead is None:
            raise errors.Invalid(
                errors.Problem("advance", f"must keep the clock within {wire.AHEAD_MAX.days}d of real time")
            )
        self.clock.learn(business_id, ahead)
        return call.answer(self._clock_view(business_id))

    def _clock_view(self, business_id: str) -> wire.ClockView:
        ahead_s = int(self.clock.ahead_of(business_id).total_seconds())
        return wire.ClockView(now=to_iso(self.clock.now_of(business_id)), ahead_seconds=ahead_s)

    async def reset(self, call: Call) -> Answer:
        business_id = call.caller.business.id
        await self._empty(business_id)
        await self._simulator.rail.forget(business_id)
        return call.answer(wire.Emptied(business=business_id))

    async def _empty(self, business_id: str) -> None:
        """Tried again when money arrives for a payment while it is being deleted."""
        for _ in range(RESET_TRIES):
            try:
                async with self.deps.db.transaction() as tx:
                    await store.reset(tx, business_id)
                    return
            except StaleChange:
                continue
        raise errors.Unavailable("the sandbox was changed while it was being emptied; retry after 1 s", retry_after_s=1)

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
            prepared_by=A_PROMPT,
        )
        return [
            *self._transfer_operations(base),
            replace(on_payment, path="/sandbox/charges/{payCode}/approve", name="approveCharge",
                    summary="Approve on the phone", description=examples.APPROVE, handler=self.approve,
                    success_message="Approved"),
            replace(on_payment, path="/sandbox/charges/{payCode}/decline", name="declineCharge",
                    summary="Decline on the phone", description=examples.DECLINE, handler=self.decline,
                    request=wire.Decline, is_body_optional=True, request_example=examples.DECLINE_REQUEST,
                    success_message="Declined"),
            replace(on_payment, path="/sandbox/charges/{payCode}/expire", name="expireCheckout",
                    summary="End the checkout now", description=examples.EXPIRE, handler=self.expire,
                    response=wire.SessionEnded, response_example=examples.SESSION_ENDED,
                    prepared_by=(A_PAYMENT,), success_message="The checkout has ended"),
            replace(on_payment, path="/sandbox/charges/{payCode}/dispute", name="disputeCharge",
                    summary="Dispute a payment", description=examples.DISPUTE, handler=self.dispute,
                    request=wire.DisputeCharge, is_body_optional=True, request_example=examples.DISPUTE_REQUEST,
                    response=wire.ChargeIsDisputed, response_example=examples.DISPUTED, prepared_by=PAID,
                    success_message="Disputed"),
            replace(base, method="GET", path="/sandbox/clock", name="getClock", summary="Get the sandbox's clock",
                    description=examples.CLOCK, handler=self.clock_now, response=wire.ClockView,
                    response_example=examples.CLOCK_VIEW, success_message="The sandbox's clock"),
            replace(base, path="/sandbox/clock", name="advanceClock", summary="Advance the sandbox's clock",
                    description=examples.ADVANCE, handler=self.clock_advance, request=wire.Advance,
                    request_example=examples.ADVANCE_REQUEST, response=wire.ClockView,
                    response_example=examples.CLOCK_VIEW, success_message="Clock advanced"),
            replace(base, path="/sandbox/reset", name="resetSandbox", summary="Delete the business's data",
                    description=examples.RESET, response_example=examples.EMPTIED, success_message="Emptied"),
        ]  # fmt: skip

    def _transfer_operations(self, base: Operation) -> list[Operation]:
        return [
            replace(base, path="/sandbox/transfers", name="sendTransfer", summary="Send a bank transfer",
                    is_idempotent_by_key=True, description=examples.TRANSFER, handler=self.transfer,
                    request=wire.SendTransfer,
                    request_example=examples.TRANSFER_REQUEST, response=wire.TransferSent, success_status=201,
                    response_example=examples.TRANSFER_SENT, success_message="Transfer sent"),
            replace(base, path="/sandbox/transfers/{reference}/reverse", name="reverseTransfer",
                    summary="Reverse a bank transfer", description=examples.REVERSE, handler=self.reverse,
                    request=wire.Reverse, is_body_optional=True, request_example=examples.REVERSE_REQUEST,
                    response=wire.TransferReversed, response_example=examples.TRANSFER_REVERSED,
                    path_parameters=examples.TRANSFER_PARAMETER, errors=(errors.NotFound,),
                    prepared_by=(Step("sendTransfer"),), success_message="Transfer reversed"),
        ]  # fmt: skip


def _problems_in_transfer(value: Any, fields: Mapping[str, Any]) -> Iterator[errors.Problem]:
    yield from wire.account_problems(fields)
    yield from card_data.problems_in(value, but_not_in=("reference",))


def _payment_of(call: Call) -> tuple[str, str]:
    """Only the caller's own payments are found."""
    return call.caller.business.id, call.path["payCode"]
