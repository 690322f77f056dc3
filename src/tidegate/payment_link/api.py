"""The merchant's operations on payment links."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from tidegate.audit import model as audit
from tidegate.core import errors
from tidegate.core.clock import Clock
from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.core.public_id import PublicIds
from tidegate.idempotency.commands import once
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Answer, Call, Operation
from tidegate.infra.http.read import read
from tidegate.merchant import card_data
from tidegate.merchant.authentication import SECRET_KEY
from tidegate.payment.wire import MethodsTaken
from tidegate.payment_link import commands, examples, wire
from tidegate.payment_link.model import LinkView

PATH = "/checkout/payment-links"
Change = Callable[..., Awaitable[LinkView]]


@dataclass(frozen=True)
class PaymentLinkApi:
    db: Database
    clock: Clock
    names: MethodNames
    public_ids: PublicIds
    mode: Mode
    links_url: str
    taken: MethodsTaken

    async def create(self, call: Call) -> Answer:
        business, now = call.caller.business, self.clock.now_of(call.caller.business.id)
        value = call.json()
        check = partial(
            wire.problems_with,
            value=value if card_data.may_be_in(call.body) else None,
            business=business,
            names=self.names,
            mode=self.mode,
            taken=self.taken,
            now=now,
        )
        terms = wire.terms_from(read(value, wire.CreateLink, check), business, self.names)

        async def act(tx: Tx) -> Answer:
            return self._answer(call, await commands.create(tx, business, terms, by=_by(call), now=now))

        return await once(self.db, call, act, now=now, is_one_statement=False)

    async def list_links(self, call: Call) -> Answer:
        request = read(call.query, wire.ListLinks)
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)
        is_ended, numbers = wire.is_ended(request), self.public_ids.payment_link
        scope = f"{business_id} {is_ended}"
        before = request.cursor.position(scope=scope, numbers=numbers) if isinstance(request.cursor, Cursor) else None
        page = await commands.list_page(
            self.db, business_id, is_ended=is_ended, before_number=before, limit=request.per_page, now=now
        )
        cursor = str(Cursor.of(page.views[-1].link.number, scope=scope, numbers=numbers)) if page.has_more else None
        records = [wire.record_of(view, self.names, self.links_url, now=now) for view in page.views]
        return call.answer(wire.LinkRecordPage(results=records, next_cursor=cursor))

    async def get(self, call: Call) -> Answer:
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)
        return self._answer(call, await commands.get(self.db, business_id, call.path["linkId"], now=now))

    async def end(self, call: Call) -> Answer:
        return await self._change(call, commands.end)

    async def reopen(self, call: Call) -> Answer:
        return await self._change(call, commands.reopen)

    async def _change(self, call: Call, change: Change) -> Answer:
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)
        return self._answer(call, await change(self.db, business_id, call.path["linkId"], by=_by(call), now=now))

    async def duplicate(self, call: Call) -> Answer:
        business = call.caller.business
        now = self.clock.now_of(business.id)

        async def act(tx: Tx) -> Answer:
            view = await commands.duplicate(tx, business, call.path["linkId"], by=_by(call), now=now)
            return self._answer(call, view)

        return await once(self.db, call, act, now=now, is_one_statement=False)

    def _answer(self, call: Call, view: LinkView) -> Answer:
        now = self.clock.now_of(call.caller.business.id)
        return call.answer(wire.record_of(view, self.names, self.links_url, now=now))

    def operations(self) -> list[Operation]:
        offer = partial(Operation, group="Payment links", success_key="status", credentials=SECRET_KEY)
        return [
            offer(
                method="POST",
                path=PATH,
                name="createPaymentLink",
                summary="Create a payment link",
                description=examples.CREATE_DESCRIPTION,
                group_words=examples.GROUP,
                handler=self.create,
                request=wire.CreateLink,
                request_example=examples.REQUEST,
                response=wire.LinkRecord,
                response_example=examples.RECORD,
                success_status=201,
                success_message="Payment link created",
                is_idempotent_by_key=True,
            ),
            offer(
                method="GET",
                path=PATH,
                name="listPaymentLinks",
                summary="List payment links",
                description=examples.LIST_DESCRIPTION,
                handler=self.list_links,
                query=wire.ListLinks,
                query_example={"perPage": "10"},
                response=wire.LinkRecordPage,
                response_example=examples.PAGE,
                success_message="Payment links found",
            ),
            *self._of_one(offer),
        ]

    def _of_one(self, offer: Callable[..., Operation]) -> list[Operation]:
        get = offer(
            method="GET",
            path=f"{PATH}/{{linkId}}",
            name="getPaymentLink",
            summary="Get a payment link",
            description=examples.GET_DESCRIPTION,
            handler=self.get,
            response=wire.LinkRecord,
            response_example=examples.RECORD,
            success_message="Payment link found",
            errors=(errors.NotFound,),
            path_parameters=examples.LINK_PARAMETER,
            prepared_by=examples.A_LINK,
        )
        change = replace(get, method="POST")
        return [
            get,
            replace(
                change,
                path=f"{get.path}/end",
                name="endPaymentLink",
                summary="End a payment link",
                description=examples.END_DESCRIPTION,
                handler=self.end,
                response_example=examples.ENDED_RECORD,
                success_message="Payment link ended",
            ),
            replace(
                change,
                path=f"{get.path}/reopen",
                name="reopenPaymentLink",
                summary="Reopen a payment link",
                description=examples.REOPEN_DESCRIPTION,
                handler=self.reopen,
                success_message="Payment link open",
                errors=(*get.errors, errors.IllegalTransition),
            ),
            replace(
                change,
                path=f"{get.path}/duplicate",
                name="duplicatePaymentLink",
                summary="Duplicate a payment link",
                description=examples.DUPLICATE_DESCRIPTION,
                handler=self.duplicate,
                success_status=201,
                success_message="Payment link created",
                is_idempotent_by_key=True,
            ),
        ]


def _by(call: Call) -> audit.Actor:
    return audit.key(call.caller.key.id, call.client)
