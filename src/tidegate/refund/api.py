"""The merchant's operations on refunds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from msgspec import UNSET

from tidegate.audit import model as audit
from tidegate.core import errors
from tidegate.core.clock import Clock
from tidegate.core.public_id import PublicIds
from tidegate.idempotency.commands import once
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Answer, Call, Operation, SameAsHeader
from tidegate.infra.http.read import read
from tidegate.merchant.authentication import SECRET_KEY, refuse_other_business
from tidegate.refund import commands, examples, list_store, subject_store, wire


@dataclass(frozen=True)
class RefundApi:
    db: Database
    clock: Clock
    public_ids: PublicIds

    async def create(self, call: Call) -> Answer:
        value = call.json()
        request = read(value, wire.CreateRefund, partial(wire.problems_without_amount, value=value))
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)
        refuse_other_business(call.caller, request.business)
        by = audit.key(call.caller.key.id, call.client)
        refuse = commands.limit_of(call.caller.key)

        async def act(tx: Tx) -> Answer:
            view = await commands.begin(
                tx, business_id, wire.refund_request_from(request), by=by, now=now, refuse=refuse
            )
            return call.answer(wire.record_of(view))

        return await once(self.db, call, act, now=now, is_one_statement=False)

    async def get(self, call: Call) -> Answer:
        view = await commands.get(self.db, call.caller.business.id, call.path["reference"])
        return call.answer(wire.record_of(view))

    async def list_refunds(self, call: Call) -> Answer:
        request = read(call.query, wire.ListRefunds, wire.problems_between)
        business_id = call.caller.business.id
        refuse_other_business(call.caller, request.business)
        async with self.db.connection() as tx:
            subject = None
            if request.trans_reference is not UNSET:
                subject = await subject_store.find_key(tx, business_id, request.trans_reference)
                if subject is None:
                    return call.answer(wire.RefundPage(results=[], next_cursor=None))
            wanted = wire.filter_from(request, subject)
            scope = f"{business_id} {wanted}"
            numbers = self.public_ids.refund
            before_id = (
                request.cursor.position(scope=scope, numbers=numbers) if isinstance(request.cursor, Cursor) else None
            )
            # One row more than the page, to know whether there is a next page.
            found = await list_store.list_page(tx, business_id, wanted, before_id=before_id, limit=request.per_page + 1)
        shown = found[: request.per_page]
        cursor = str(Cursor.of(shown[-1].refund.id, scope=scope, numbers=numbers)) if len(found) > len(shown) else None
        return call.answer(wire.RefundPage(results=[wire.record_of(view) for view in shown], next_cursor=cursor))

    def operations(self) -> list[Operation]:
        offer = partial(Operation, group="Refunds", credentials=SECRET_KEY)
        return [self._create_operation(offer), *self._look_operations(offer)]

    def _create_operation(self, offer: Callable[..., Operation]) -> Operation:
        return offer(
            method="POST",
            path="/collections/refund",
            name="createRefund",
            summary="Refund a payment or a collection",
            description=examples.CREATE_DESCRIPTION,
            group_words=examples.GROUP,
            handler=self.create,
            right="refund",
            request=wire.CreateRefund,
            request_example=examples.REQUEST,
            response=wire.RefundRecord,
            response_example=examples.PROCESSING,
            success_message="Refund started",
            errors=(
                errors.AccessDenied,
                errors.NotFound,
                errors.Conflict,
                errors.PaymentDisputed,
                errors.InsufficientBalance,
                errors.RefundExceedsAvailable,
                errors.RefundNeedsApproval,
            ),
            is_idempotent_by_key=True,
            prepared_by=examples.PAID,
        )

    def _look_operations(self, offer: Callable[..., Operation]) -> list[Operation]:
        return [
            offer(
                method="GET",
                path="/collections/refund",
                name="listRefunds",
                summary="List refunds",
                description=examples.LIST_DESCRIPTION,
                handler=self.list_refunds,
                query=wire.ListRefunds,
                takes_query_in_body=True,
                query_example={"business": SameAsHeader("x-business-id"), "perPage": "10"},
                response=wire.RefundPage,
                response_example=examples.PAGE,
                success_message="Refunds found",
                errors=(errors.AccessDenied,),
            ),
            offer(
                method="GET",
                path="/collections/refund/{reference}",
                name="getRefund",
                summary="Get a refund",
                description=examples.GET_DESCRIPTION,
                handler=self.get,
                response=wire.RefundRecord,
                response_example=examples.RECORD,
                success_message="Refund found",
                errors=(errors.NotFound,),
                path_parameters=examples.REFERENCE_PARAMETER,
            ),
        ]
