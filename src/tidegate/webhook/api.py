"""The merchant's operations on webhooks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tidegate.audit import model as audit
from tidegate.core import errors
from tidegate.core.clock import Clock
from tidegate.idempotency.commands import IdempotentAct, once
from tidegate.infra.address import WebUrl
from tidegate.infra.db import Tx
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Answer, Call, Operation
from tidegate.infra.http.read import read
from tidegate.infra.rate_limit import RateLimit
from tidegate.merchant.authentication import SECRET_KEY
from tidegate.webhook import commands, examples, log_store, wire
from tidegate.webhook.commands import NO_DELIVERY, WebhookDeps
from tidegate.webhook.field import delivery_id_in
from tidegate.webhook.model import EVENT_CHANNEL, WithSecret

# Resends, replays and test events, per business.
RESENDS_PER_SECOND, RESENDS_BURST = 5, 50


@dataclass(frozen=True)
class WebhookApi:
    webhook_deps: WebhookDeps
    clock: Clock
    limit: RateLimit

    async def create(self, call: Call) -> Answer:
        request = read(call.json(), wire.CreateEndpoint)
        await commands.refuse_forbidden(self.webhook_deps.guard, request.url)
        business_id, vault = call.caller.business.id, self.webhook_deps.vault
        now = self.clock.now_of(business_id)

        async def act(tx: Tx) -> Answer:
            new = wire.new_endpoint_from(request)
            made = await commands.create(tx, vault, business_id, new, by=_by(call), now=now)
            return _shown_once(call, made)

        return await once(self.webhook_deps.db, call, act, now=now, is_one_statement=False)

    async def list_endpoints(self, call: Call) -> Answer:
        endpoints = await commands.list_all(self.webhook_deps.db, call.caller.business.id)
        return call.answer(wire.EndpointList(results=[wire.record_of(endpoint) for endpoint in endpoints]))

    async def get(self, call: Call) -> Answer:
        endpoint = await commands.get(self.webhook_deps.db, call.caller.business.id, call.path["endpointId"])
        return call.answer(wire.record_of(endpoint))

    async def change(self, call: Call) -> Answer:
        changes = wire.changes_from(read(call.json(), wire.ChangeEndpoint))
        business_id, endpoint_id = call.caller.business.id, call.path["endpointId"]
        await commands.get(self.webhook_deps.db, business_id, endpoint_id)
        if "url" in changes:
            await commands.refuse_forbidden(self.webhook_deps.guard, WebUrl(changes["url"]))
        now = self.clock.now_of(business_id)
        after = await commands.change(self.webhook_deps.db, business_id, endpoint_id, changes, by=_by(call), now=now)
        return call.answer(wire.record_of(after))

    async def delete(self, call: Call) -> Answer:
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)
        endpoint = await commands.delete(
            self.webhook_deps.db, business_id, call.path["endpointId"], by=_by(call), now=now
        )
        return call.answer(wire.EndpointDeleted(id=endpoint.id))

    async def rotate(self, call: Call) -> Answer:
        business_id, vault = call.caller.business.id, self.webhook_deps.vault
        now = self.clock.now_of(business_id)

        async def act(tx: Tx) -> Answer:
            made = await commands.rotate(tx, vault, business_id, call.path["endpointId"], by=_by(call), now=now)
            return _shown_once(call, made)

        return await once(self.webhook_deps.db, call, act, now=now, is_one_statement=False)

    async def send_test(self, call: Call) -> Answer:
        self._enforce_rate_limit(call)
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)

        async def act(tx: Tx) -> Answer:
            delivery = await commands.send_test(tx, business_id, call.path["endpointId"], by=_by(call), now=now)
            return call.answer(wire.delivery_record(delivery))

        return await self._once_and_notify(call, act)

    async def list_deliveries(self, call: Call) -> Answer:
        request = read(call.query, wire.ListDeliveries, wire.problems_between)
        business_id = call.caller.business.id
        wanted = wire.filter_from(request)
        scope = f"{business_id} {wanted}"
        if isinstance(request.cursor, Cursor):
            wanted = wanted.older_than(request.cursor.position(scope=scope))
        async with self.webhook_deps.db.connection() as tx:
            # One row more than the page, to know whether there is a next page.
            found = await log_store.list_deliveries(tx, business_id, wanted, limit=request.per_page + 1)
        shown = found[: request.per_page]
        cursor = str(Cursor.of(shown[-1].id, scope=scope)) if len(found) > len(shown) else None
        return call.answer(
            wire.DeliveryPage(results=[wire.delivery_record(delivery) for delivery in shown], next_cursor=cursor)
        )

    async def get_delivery(self, call: Call) -> Answer:
        delivery = await commands.get_delivery(self.webhook_deps.db, call.caller.business.id, _delivery_id(call))
        return call.answer(wire.delivery_record(delivery))

    async def resend(self, call: Call) -> Answer:
        self._enforce_rate_limit(call)
        business_id = call.caller.business.id
        now = self.clock.now_of(business_id)

        async def act(tx: Tx) -> Answer:
            delivery = await commands.resend(tx, business_id, _delivery_id(call), by=_by(call), now=now)
            return call.answer(wire.delivery_record(delivery))

        return await self._once_and_notify(call, act)

    async def replay(self, call: Call) -> Answer:
        request = read(call.json(), wire.ReplayWindow, wire.problems_between)
        self._enforce_rate_limit(call)
        business_id, window = call.caller.business.id, wire.window_from(request)
        now = self.clock.now_of(business_id)

        async def act(tx: Tx) -> Answer:
            if request.confirm:
                count = await commands.replay(tx, business_id, window, by=_by(call), now=now)
            else:
                count = await commands.count_replay(tx, business_id, window)
            return call.answer(wire.ReplayAnswer(count=count.sent, sent=request.confirm, erased=count.erased))

        return await self._once_and_notify(call, act)

    async def _once_and_notify(self, call: Call, act: IdempotentAct) -> Answer:
        now = self.clock.now_of(call.caller.business.id)
        answer = await once(self.webhook_deps.db, call, act, now=now, is_one_statement=False)
        self.webhook_deps.db.notify(EVENT_CHANNEL)
        return answer

    def _enforce_rate_limit(self, call: Call) -> None:
        wait_s = self.limit.wait_s(call.caller.business.number, per_second=RESENDS_PER_SECOND, burst=RESENDS_BURST)
        if wait_s > 0:
            raise errors.RateLimited(
                f"at most {RESENDS_PER_SECOND} resends a second; use a replay to send many at once",
                retry_after_s=math.ceil(wait_s),
            )

    def operations(self) -> list[Operation]:
        base = Operation(
            method="POST",
            path="/webhooks",
            name="",
            summary="",
            handler=self.get,
            credentials=SECRET_KEY,
            right="webhooks",
            response=wire.EndpointRecord,
            response_example=examples.ENDPOINT,
            success_message="",
            group="Webhooks",
            group_words=examples.GROUP,
        )
        one = replace(base, path_parameters=examples.ENDPOINT_PARAMETER, errors=(errors.NotFound,))
        sending = replace(
            one, errors=(errors.NotFound, errors.Conflict), is_idempotent_by_key=True, response=wire.DeliveryRecord,
            response_example=examples.TEST_DELIVERY,
        )  # fmt: skip
        # Last in the reference, so that examples pasted in order have an endpoint as long as they need it.
        deleting = replace(
            one, method="DELETE", path="/webhooks/endpoints/{endpointId}", name="deleteEndpoint",
            summary="Delete an endpoint", description=examples.DELETE, handler=self.delete,
            response=wire.EndpointDeleted, response_example=examples.DELETED, success_message="Endpoint deleted",
        )  # fmt: skip
        return [*self._of_endpoints(base, one, sending), *self._of_deliveries(base, sending), deleting]

    def _of_endpoints(self, base: Operation, one: Operation, sending: Operation) -> list[Operation]:
        return [
            replace(base, path="/webhooks/endpoints", name="createEndpoint", summary="Create an endpoint",
                    description=examples.CREATE, handler=self.create, request=wire.CreateEndpoint,
                    request_example=examples.CREATE_REQUEST, response=wire.EndpointWithSecret,
                    response_example=examples.ENDPOINT_WITH_SECRET, success_status=201,
                    success_message="Endpoint created", errors=(errors.Conflict,), is_idempotent_by_key=True,
                    undone_by="deleteEndpoint"),
            replace(base, method="GET", path="/webhooks/endpoints", name="listEndpoints", summary="List endpoints",
                    description=examples.LIST, handler=self.list_endpoints, response=wire.EndpointList,
                    response_example={"results": [examples.ENDPOINT]}, success_message="Endpoints"),
            replace(one, method="GET", path="/webhooks/endpoints/{endpointId}", name="getEndpoint",
                    summary="Get an endpoint", description=examples.GET, success_message="Endpoint found"),
            replace(one, method="PATCH", path="/webhooks/endpoints/{endpointId}", name="changeEndpoint",
                    summary="Change an endpoint", description=examples.CHANGE, handler=self.change,
                    request=wire.ChangeEndpoint, request_example=examples.CHANGE_REQUEST,
                    success_message="Endpoint changed"),
            replace(one, path="/webhooks/endpoints/{endpointId}/rotate", name="rotateSecret",
                    summary="Rotate an endpoint's secret", description=examples.ROTATE, handler=self.rotate,
                    response=wire.EndpointWithSecret, response_example=examples.ENDPOINT_WITH_SECRET,
                    success_message="Secret rotated", errors=(errors.NotFound, errors.Conflict),
                    is_idempotent_by_key=True),
            replace(sending, path="/webhooks/endpoints/{endpointId}/test", name="testEndpoint",
                    summary="Send a test event", description=examples.TEST, handler=self.send_test,
                    success_message="Test event queued"),
        ]  # fmt: skip

    def _of_deliveries(self, base: Operation, sending: Operation) -> list[Operation]:
        one = replace(sending, path_parameters=examples.DELIVERY_PARAMETER)
        return [
            replace(base, method="GET", path="/webhooks/deliveries", name="listDeliveries", summary="List deliveries",
                    description=examples.DELIVERIES, handler=self.list_deliveries, query=wire.ListDeliveries,
                    response=wire.DeliveryPage, response_example=examples.DELIVERY_PAGE,
                    success_message="Deliveries"),
            replace(one, method="GET", path="/webhooks/deliveries/{deliveryId}", name="getDelivery",
                    summary="Get a delivery", description=examples.DELIVERY, handler=self.get_delivery,
                    errors=(errors.NotFound,), is_idempotent_by_key=False, success_message="Delivery found"),
            replace(one, path="/webhooks/deliveries/{deliveryId}/resend", name="resendDelivery",
                    summary="Resend a delivery", description=examples.RESEND, handler=self.resend,
                    success_message="Delivery queued again"),
            replace(sending, path="/webhooks/replays", name="replayEvents", summary="Replay the events of a period",
                    description=examples.REPLAY, handler=self.replay, path_parameters={}, request=wire.ReplayWindow,
                    request_example=examples.REPLAY_REQUEST, response=wire.ReplayAnswer,
                    response_example=examples.REPLAY_ANSWER, success_message="Counted, and sent if confirmed",
                    errors=(errors.NotFound,)),
        ]  # fmt: skip


def _shown_once(call: Call, made: WithSecret) -> Answer:
    answer = call.answer(wire.record_with_secret(made))
    return replace(answer, kept_body=call.answer(wire.record_of(made.endpoint)).body)


def _by(call: Call) -> audit.Actor:
    return audit.key(call.caller.key.id, call.client)


def _delivery_id(call: Call) -> int:
    found = delivery_id_in(call.path["deliveryId"])
    if found is None:
        raise errors.NotFound(NO_DELIVERY)
    return found
