"""The merchant's operations on checkout payments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from tidegate.core import errors
from tidegate.core.clock import Clock
from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.core.public_id import PublicIds
from tidegate.idempotency.commands import is_asked_for_once, once
from tidegate.infra.db import Database
from tidegate.infra.http.operation import Answer, Call, Operation
from tidegate.infra.http.read import read
from tidegate.merchant import card_data
from tidegate.merchant.authentication import SECRET_AND_PUBLIC_KEY, SECRET_KEY, SECRET_KEY_AND_BUSINESS
from tidegate.payment import commands, examples, store, wire
from tidegate.payment.batching import PaymentBatching


@dataclass(frozen=True)
class PaymentApi:
    db: Database
    clock: Clock
    names: MethodNames
    public_ids: PublicIds
    mode: Mode
    checkout_url: str
    taken: wire.MethodsTaken

    @cached_property
    def batching(self) -> PaymentBatching:
        return PaymentBatching(self.db)

    async def create(self, call: Call) -> Answer:
        business = call.caller.business
        value = wire.unfold_customer(call.json())
        check = partial(
            wire.problems_between,
            value=value if card_data.may_be_in(call.body) else None,
            business=business,
            names=self.names,
            mode=self.mode,
            taken=self.taken,
        )
        order = wire.order_from(read(value, wire.CreatePayment, check), business, self.names, self.taken)
        now = self.clock.now_of(call.caller.business.id)

        async def act(insert: commands.Insert) -> Answer:
            try:
                created = await commands.create(insert, business, order, now=now)
            except commands.ReferenceTaken as taken:
                raise self._duplicate(taken, order.reference) from None
            return call.answer(self._created(created.pay_code, created.reference))

        if not is_asked_for_once(call):
            return await act(self.batching.insert)
        return await once(self.db, call, lambda tx: act(partial(store.insert, tx)), now=now)

    async def verify(self, call: Call) -> Answer:
        row = await commands.verify(self.batching.find, call.caller.business, call.path["reference"])
        return call.answer(wire.record_of(row, self.names, self.public_ids))

    async def disable(self, call: Call) -> Answer:
        return await self._set_disabled(call, is_disabled=True)

    async def enable(self, call: Call) -> Answer:
        return await self._set_disabled(call, is_disabled=False)

    async def _set_disabled(self, call: Call, *, is_disabled: bool) -> Answer:
        await commands.set_disabled(
            self.db,
            call.caller.business,
            call.path["reference"],
            is_disabled=is_disabled,
            now=self.clock.now_of(call.caller.business.id),
        )
        return await self.verify(call)

    async def quote_fees(self, call: Call) -> Answer:
        request = read(call.json(), wire.QuoteFees, wire.amount_problems)
        return call.answer(wire.quote_from(request, call.caller.business, self.names))

    def _created(self, pay_code: str, reference: str) -> wire.Created:
        return wire.Created(link=f"{self.checkout_url}/{pay_code}", pay_code=pay_code, reference=reference)

    def _duplicate(self, taken: commands.ReferenceTaken, reference: str | None) -> errors.DuplicateReference:
        if taken.existing is None or reference is None:
            return errors.DuplicateReference("this reference belongs to another payment; use a new one")
        existing = self._created(taken.existing, reference)
        return errors.DuplicateReference(
            "a payment with this reference and the same order exists; its link is in data",
            data={"link": existing.link, "payCode": existing.pay_code, "reference": existing.reference},
        )

    def operations(self) -> list[Operation]:
        offer = partial(Operation, group="Payments", success_key="status")
        return [
            offer(
                method="POST",
                path="/checkout/payments",
                name="createPayment",
                summary="Create a payment",
                description=examples.CREATE_DESCRIPTION,
                group_words=examples.GROUP,
                handler=self.create,
                credentials=SECRET_AND_PUBLIC_KEY,
                request=wire.CreatePayment,
                request_example=examples.CREATE_REQUEST,
                response=wire.Created,
                response_example=examples.CREATED,
                success_status=201,
                success_message="Checkout link generated",
                errors=(errors.DuplicateReference,),
                is_idempotent_by_key=True,
                commits=True,
            ),
            *self._by_reference(offer),
            offer(
                method="POST",
                path="/checkout/data/fees",
                name="quoteFees",
                summary="Quote fees",
                description=examples.FEES_DESCRIPTION,
                handler=self.quote_fees,
                right="read",
                credentials=SECRET_KEY,
                request=wire.QuoteFees,
                request_example=examples.FEES_REQUEST,
                response=wire.FeesQuoted,
                response_example=examples.FEES_QUOTED,
                success_message="Fees quoted",
            ),
        ]

    def _by_reference(self, offer: Callable[..., Operation]) -> list[Operation]:
        verify = offer(
            method="GET",
            path="/checkout/payments/merchant-reference/{reference}",
            name="verifyPayment",
            summary="Verify a payment",
            description=examples.VERIFY_DESCRIPTION,
            handler=self.verify,
            credentials=SECRET_KEY_AND_BUSINESS,
            response=wire.PaymentRecord,
            response_example=examples.RECORD,
            success_message="Payment found",
            errors=(errors.AccessDenied, errors.NotFound),
            path_parameters=examples.REFERENCE_PARAMETER,
        )
        switch = replace(verify, method="POST", errors=(*verify.errors, errors.IllegalTransition))
        return [
            verify,
            replace(
                switch,
                path=f"{verify.path}/disable",
                name="disablePayment",
                summary="Disable a payment's page",
                description=examples.DISABLE_DESCRIPTION,
                handler=self.disable,
                response_example=examples.DISABLED_RECORD,
                success_message="Payment disabled",
            ),
            replace(
                switch,
                path=f"{verify.path}/enable",
                name="enablePayment",
                summary="Enable a payment's page",
                description=examples.ENABLE_DESCRIPTION,
                handler=self.enable,
                success_message="Payment enabled",
            ),
        ]
