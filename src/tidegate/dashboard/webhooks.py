"""Webhooks: endpoints, deliveries with every try, resend."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tidegate.core.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.address import WebUrl
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.webhook import commands, log_store
from tidegate.webhook.commands import NO_DELIVERY, WebhookDeps
from tidegate.webhook.field import delivery_id, delivery_id_in
from tidegate.webhook.log_store import DeliveryFilter
from tidegate.webhook.model import (
    EVENT_CHANNEL,
    EVENTS,
    EVENTS_ALWAYS,
    EVENTS_ON_REQUEST,
    MEANING_OF_EVENT,
    Delivery,
    DeliveryStatus,
    EndpointStatus,
    NewEndpoint,
    WithSecret,
)

PAGE = 50
REFERENCE_CHARS_MAX = 100
STATUS_WORDS = {
    DeliveryStatus.PENDING: ("Waiting", "warn"),
    DeliveryStatus.DELIVERED: ("Delivered", "good"),
    DeliveryStatus.EXHAUSTED: ("Gave up", "bad"),
    DeliveryStatus.CANCELLED: ("Cancelled", ""),
}


@dataclass(frozen=True)
class WebhookPages:
    shell: DashboardShell
    deps: WebhookDeps

    async def show(self, visitor: DashboardVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: DashboardVisitor, wrong: Refusal | None = None, **facts: Any) -> Html:
        query = visitor.request.query
        endpoints = await commands.list_all(self.shell.db, visitor.business.id)
        before = delivery_id_in(query.get("before", "")) if query.get("before") else None
        wanted = DeliveryFilter(
            status=next((one for one in DeliveryStatus if one.value == query.get("status")), None),
            event_type=next((one for one in EVENTS if one == query.get("event")), None),
            endpoint_id=next((one.id for one in endpoints if one.id == query.get("endpoint")), None),
            reference=query.get("reference", "").strip()[:REFERENCE_CHARS_MAX] or None,
            before_id=before,
        )
        async with self.shell.db.connection() as tx:
            found = await log_store.list_deliveries(tx, visitor.business.id, wanted, limit=PAGE + 1)
        kept = {name: query[name] for name in ("status", "event", "endpoint", "reference") if query.get(name)}
        older = urlencode(kept | {"before": delivery_id(found[PAGE - 1].id)}) if len(found) > PAGE else ""
        return self.shell.page(
            visitor, "webhooks.html", title="Webhooks", section="Webhooks", wrong=wrong, status=422 if wrong else 200,
            public_id=delivery_id, endpoints=endpoints, deliveries=found[:PAGE], words=STATUS_WORDS,
            older=self.shell.site.url(f"{visitor.path('/webhooks')}?{older}") if older else None, wanted=wanted,
            is_filtered=bool(kept), every_event=EVENTS, events=EVENTS_ON_REQUEST, always=EVENTS_ALWAYS,
            meanings=MEANING_OF_EVENT,
            **{"secret": "", **facts},
        )  # fmt: skip

    async def create(self, visitor: DashboardVisitor) -> Html:
        """The secret is in this answer alone."""
        form = visitor.form
        try:
            url = _url_in(form.get("url", ""))
            await commands.refuse_forbidden(self.deps.guard, url)
            events = (*EVENTS_ALWAYS, *(name for name in EVENTS_ON_REQUEST if form.get(f"event-{name}")))

            async def act(tx: Tx) -> WithSecret:
                return await commands.create(
                    tx, self.deps.vault, visitor.business.id, NewEndpoint(url=str(url), events=events), by=visitor.by,
                    now=visitor.now,
                )  # fmt: skip

            return await self._shown_once(visitor, act)
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong)

    async def _shown_once(self, visitor: DashboardVisitor, act: Callable[[Tx], Awaitable[WithSecret]]) -> Html:
        """A reload of the answer makes no second secret, and does not show the first one again."""
        made = await self.shell.first_time(visitor, "/webhooks", act)
        return self.shell.to(visitor, "/webhooks") if made is None else await self._page(visitor, secret=made.secret)

    async def change(self, visitor: DashboardVisitor) -> Html:
        """Enable, disable, rotate, test or delete: one button each."""
        endpoint_id, business_id = visitor.request.path["endpoint"], visitor.business.id
        what = visitor.form.get("what", "")
        by, now = visitor.by, visitor.now
        if what in ("enable", "disable"):
            status = EndpointStatus.ENABLED if what == "enable" else EndpointStatus.DISABLED
            await commands.change(self.shell.db, business_id, endpoint_id, {"status": status}, by=by, now=now)
        elif what == "delete":
            await commands.delete(self.shell.db, business_id, endpoint_id, by=by, now=now)
        elif what == "rotate":
            return await self._rotate(visitor, endpoint_id)
        else:
            raise NotFound("there is no such action")
        return self.shell.to(visitor, "/webhooks")

    async def _rotate(self, visitor: DashboardVisitor, endpoint_id: str) -> Html:
        async def act(tx: Tx) -> WithSecret:
            return await commands.rotate(
                tx, self.deps.vault, visitor.business.id, endpoint_id, by=visitor.by, now=visitor.now
            )

        try:
            return await self._shown_once(visitor, act)
        except Conflict as wrong:
            return await self._page(visitor, wrong)

    async def send_test(self, visitor: DashboardVisitor) -> Html:
        async def act(tx: Tx) -> str:
            delivery = await commands.send_test(
                tx, visitor.business.id, visitor.request.path["endpoint"], by=visitor.by, now=visitor.now
            )
            return f"/webhooks/deliveries/{delivery_id(delivery.id)}"

        try:
            answer = await self.shell.once(visitor, act)
        except Conflict as wrong:
            return await self._page(visitor, wrong)
        self.shell.db.notify(EVENT_CHANNEL)
        return answer

    async def _delivery(self, visitor: DashboardVisitor) -> Delivery:
        delivery_id = delivery_id_in(visitor.request.path["delivery"])
        if delivery_id is None:
            raise NotFound(NO_DELIVERY)
        return await commands.get_delivery(self.shell.db, visitor.business.id, delivery_id)

    async def show_delivery(self, visitor: DashboardVisitor) -> Html:
        return self._delivery_page(visitor, await self._delivery(visitor))

    def _delivery_page(self, visitor: DashboardVisitor, delivery: Delivery, wrong: Refusal | None = None) -> Html:
        word, tint = STATUS_WORDS[delivery.status]
        return self.shell.page(
            visitor, "delivery.html", title=f"{delivery.event_type}", section="Webhooks", wrong=wrong,
            status=409 if wrong else 200, delivery=delivery, word=word, tint=tint, diagnosis=diagnosis_of(delivery),
            public_id=delivery_id(delivery.id), payload=_shown(delivery.payload),
            tries=list(reversed(delivery.attempts)),
        )  # fmt: skip

    async def resend(self, visitor: DashboardVisitor) -> Html:
        delivery = await self._delivery(visitor)

        async def act(tx: Tx) -> str:
            await commands.resend(tx, visitor.business.id, delivery.id, by=visitor.by, now=visitor.now)
            return f"/webhooks/deliveries/{delivery_id(delivery.id)}"

        try:
            answer = await self.shell.once(visitor, act)
        except Conflict as wrong:
            return self._delivery_page(visitor, delivery, wrong)
        self.shell.db.notify(EVENT_CHANNEL)
        return answer

    def routes(self) -> list[DashboardRoute]:
        at = "/webhooks/endpoints"
        return [
            DashboardRoute("GET", "/webhooks", "showWebhooks", Permission.DELIVERIES, self.show),
            DashboardRoute("POST", at, "addEndpointOnDashboard", Permission.ENDPOINTS, self.create),
            DashboardRoute(
                "POST", f"{at}/{{endpoint}}", "changeEndpointOnDashboard", Permission.ENDPOINTS, self.change
            ),
            DashboardRoute("POST", f"{at}/{{endpoint}}/test", "testEndpoint", Permission.REPLAY, self.send_test),
            DashboardRoute(
                "GET", "/webhooks/deliveries/{delivery}", "showDelivery", Permission.DELIVERIES, self.show_delivery
            ),
            DashboardRoute(
                "POST", "/webhooks/deliveries/{delivery}/resend", "resendDelivery", Permission.DELIVERIES, self.resend
            ),
        ]


def _url_in(text: str) -> WebUrl:
    try:
        return WebUrl.parse(text.strip())
    except ValueError as error:
        raise Invalid(Problem("url", f"The address {error}.")) from None


def _shown(payload: bytes | None) -> str:
    if payload is None:
        return "(erased at the payer's request)"
    try:
        return json.dumps(json.loads(payload), indent=2, ensure_ascii=False)
    except ValueError:
        return payload.decode(errors="replace")


def diagnosis_of(delivery: Delivery) -> str:
    """What the newest answer means, in words."""
    if delivery.status is DeliveryStatus.DELIVERED:
        return "Your server has taken it."
    if not delivery.attempts:
        return "It has not been sent yet; it goes out in a moment."
    last = delivery.attempts[-1]
    if last.error:
        return f"Your server did not answer: {last.error}. Nothing is lost; we keep trying."
    code = last.status_code or 0
    if 200 <= code < 300:
        return f"Your server answered {code} and has taken it; it is sent once more in a moment."
    family = _ANSWERS.get(code) or _ANSWERS.get(code // 100 * 100) or "anything but 2xx counts as not taken."
    return f"Your server answered {code}: {family}"


_ANSWERS = {
    300: "it redirects, and webhooks do not follow. Give the final address.",
    401: "a firewall or a check refused it. Compare the secret.",
    403: "a firewall or a check refused it. Compare the secret.",
    404: "there is nothing at this address. Check the path of the endpoint.",
    500: "it was reached, but what stands behind it failed. Nothing is lost; we keep trying.",
}
