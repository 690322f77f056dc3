"""The operator's decisions for sandbox developers, who decide on their own accounts and inflows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.account import commands as accounts
from tidegate.account import wire as account_wire
from tidegate.account.examples import ACCOUNT_PARAMETER, AN_ACCOUNT
from tidegate.account.model import Account
from tidegate.audit import model as audit
from tidegate.audit.model import Actor
from tidegate.collection import rate_wire, review, set_rate
from tidegate.collection import wire as collection_wire
from tidegate.collection.examples import REFERENCE_PARAMETER
from tidegate.collection.model import Collection
from tidegate.core import errors
from tidegate.core.clock import ShiftedClock
from tidegate.infra.http.operation import Answer, Call, Operation
from tidegate.infra.http.read import read
from tidegate.merchant import card_data
from tidegate.merchant.authentication import SECRET_KEY
from tidegate.rail.deps import PaymentDeps
from tidegate.sandbox import examples as sandbox_examples
from tidegate.sandbox import operator_examples as examples
from tidegate.sandbox import operator_wire as wire

# Every decision has a reason, in the sandbox too.
NO_REASON = "no reason was given"
RATE_SOURCE = "sandbox"

OperatorAct = Callable[[str, Actor, datetime], Awaitable[Account]]
OperatorDecide = Callable[..., Awaitable[Collection]]


@dataclass(frozen=True)
class OperatorApi:
    deps: PaymentDeps
    clock: ShiftedClock

    async def approve(self, call: Call) -> Answer:
        return await self._act(call, lambda id_, by, now: accounts.approve(self.deps, id_, by=by, now=now))

    async def decline(self, call: Call) -> Answer:
        why = _reason_in(call)
        return await self._act(call, lambda id_, by, now: accounts.decline(self.deps.db, id_, why, by=by, now=now))

    async def suspend(self, call: Call) -> Answer:
        why = _reason_in(call)
        return await self._act(call, lambda id_, by, now: accounts.suspend(self.deps.db, id_, why, by=by, now=now))

    async def reinstate(self, call: Call) -> Answer:
        return await self._act(call, lambda id_, by, now: accounts.reinstate(self.deps.db, id_, by=by, now=now))

    async def close(self, call: Call) -> Answer:
        why = _reason_in(call)
        return await self._act(call, lambda id_, by, now: accounts.close(self.deps.db, id_, why, by=by, now=now))

    async def _act(self, call: Call, act: OperatorAct) -> Answer:
        """Only the caller's own accounts and inflows are found."""
        business, now = call.caller.business, self.clock.now_of(call.caller.business.id)
        account = await accounts.get(self.deps.db, business.id, call.path["accountId"])
        after = await act(account.id, _by(call), now)
        return call.answer(account_wire.record_of(after, business, now=now))

    async def credit(self, call: Call) -> Answer:
        return await self._decide(call, review.credit)

    async def send_back(self, call: Call) -> Answer:
        return await self._decide(call, review.send_back)

    async def _decide(self, call: Call, decide: OperatorDecide) -> Answer:
        value = call.json() if call.body else {}
        decision = read(value, wire.Decision, lambda _: card_data.problems_in(value))
        reference, business_id = call.path["reference"], call.caller.business.id
        if (await review.get_unscoped(self.deps, reference)).business_id != business_id:
            raise errors.NotFound(review.NO_COLLECTION)
        now = self.clock.now_of(business_id)
        after = await decide(self.deps, reference, note=decision.note, by=_by(call), now=now)
        return call.answer(collection_wire.record_of(after))

    async def set_rate(self, call: Call) -> Answer:
        value = call.json()
        request = read(value, rate_wire.SetRate, lambda _: card_data.problems_in(value))
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)
        rate = rate_wire.rate_from(request, source=RATE_SOURCE, now=now)
        await set_rate.set_rate(self.deps.db, rate, business_id=business_id, by=_by(call), now=now)
        return call.answer(rate_wire.record_of(rate, rate_lasts=self.deps.inflow_terms.rate_lasts))

    def operations(self) -> list[Operation]:
        base = Operation(
            method="POST",
            path="/sandbox",
            name="",
            summary="",
            handler=self.approve,
            credentials=SECRET_KEY,
            response=account_wire.AccountRecord,
            success_message="",
            group="Sandbox",
            group_words=sandbox_examples.GROUP,
            errors=(errors.NotFound, errors.Conflict),
        )
        return [*self._on_accounts(base), *self._on_inflows(base), self._on_rates(base)]

    def _on_accounts(self, base: Operation) -> list[Operation]:
        on_account = replace(base, path_parameters=ACCOUNT_PARAMETER, prepared_by=AN_ACCOUNT)
        with_reason = replace(on_account, request=wire.DecisionReason, is_body_optional=True)
        path = "/sandbox/virtual-accounts/{accountId}"
        return [
            replace(on_account, path=f"{path}/approve", name="approveAccount", summary="Approve a virtual account",
                    description=examples.APPROVE, response_example=examples.APPROVED,
                    prepared_by=examples.A_REQUEST, success_message="Approved"),
            replace(with_reason, path=f"{path}/decline", name="declineAccount", summary="Decline a virtual account",
                    description=examples.DECLINE, handler=self.decline, request_example=examples.DECLINE_REQUEST,
                    response_example=examples.DECLINED, prepared_by=examples.A_REQUEST, success_message="Declined"),
            replace(with_reason, path=f"{path}/suspend", name="suspendAccount", summary="Suspend a virtual account",
                    description=examples.SUSPEND, handler=self.suspend, request_example=examples.SUSPEND_REQUEST,
                    response_example=examples.SUSPENDED, success_message="Suspended"),
            replace(on_account, path=f"{path}/reinstate", name="reinstateAccount",
                    summary="Reinstate a virtual account", description=examples.REINSTATE, handler=self.reinstate,
                    response_example=examples.APPROVED, prepared_by=examples.A_SUSPENDED_ACCOUNT,
                    success_message="Reinstated"),
            replace(with_reason, path=f"{path}/close", name="closeAccount", summary="Close a virtual account",
                    description=examples.CLOSE, handler=self.close, request_example=examples.CLOSE_REQUEST,
                    response_example=examples.CLOSED, success_message="Closed"),
        ]  # fmt: skip

    def _on_inflows(self, base: Operation) -> list[Operation]:
        on_inflow = replace(
            base,
            request=wire.Decision,
            is_body_optional=True,
            response=collection_wire.CollectionRecord,
            path_parameters=REFERENCE_PARAMETER,
            prepared_by=examples.A_HELD_INFLOW,
        )
        return [
            replace(on_inflow, path="/sandbox/collections/{reference}/credit", name="creditCollection",
                    summary="Credit a held inflow", description=examples.CREDIT, handler=self.credit,
                    request_example=examples.CREDIT_REQUEST, response_example=examples.CREDITED,
                    success_message="Credited"),
            replace(on_inflow, path="/sandbox/collections/{reference}/return", name="returnCollection",
                    summary="Return a held inflow", description=examples.RETURN, handler=self.send_back,
                    request_example=examples.RETURN_REQUEST, response_example=examples.SENT_BACK,
                    success_message="Return started"),
        ]  # fmt: skip

    def _on_rates(self, base: Operation) -> Operation:
        return replace(
            base,
            path="/sandbox/rates",
            name="setRate",
            summary="Set an exchange rate",
            description=examples.RATE,
            handler=self.set_rate,
            request=rate_wire.SetRate,
            request_example=examples.RATE_REQUEST,
            response=rate_wire.RateRecord,
            response_example=examples.RATE_SET,
            success_status=201,
            success_message="Rate set",
            errors=(),
        )


def _by(call: Call) -> Actor:
    return audit.key(call.caller.key.id, call.client)


def _reason_in(call: Call) -> str:
    value = call.json() if call.body else {}
    return read(value, wire.DecisionReason, lambda _: card_data.problems_in(value)).reason or NO_REASON
