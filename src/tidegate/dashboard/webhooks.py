"""Webhooks: endpoints with their last day, and the list of deliveries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tidegate.core.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.dashboard.delivery_filter import NAMES, STATUS_WORDS, choices_of, filter_in
from tidegate.dashboard.endpoint_health import health_words
from tidegate.dashboard.form import NO_ACTION
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.address import WebUrl
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.webhook import commands, health_store, log_store
from tidegate.webhook.commands import WebhookDeps
from tidegate.webhook.field import delivery_id
from tidegate.webhook.log_store import DeliveryFilter
from tidegate.webhook.model import (
    EVENT_CHANNEL,
    EVENTS_ALWAYS,
    EVENTS_ON_REQUEST,
    MEANING_OF_EVENT,
    Endpoint,
    EndpointStatus,
    NewEndpoint,
    WithSecret,
)

PAGE = 50
# Of an endpoint, by the button.
_ACTS = {
    "enable": "Enable",
    "disable": "Disable",
    "delete": "Delete",
    "rotate": "Make a new secret for",
}


@dataclass(frozen=True)
class WebhookPages:
    shell: DashboardShell
    deps: WebhookDeps

    async def show(self, visitor: DashboardVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: DashboardVisitor, wrong: Refusal | None = None, **facts: Any) -> Html:
        query = visitor.request.query
        async with self.shell.db.connection() as tx:
            fared = await health_store.list_of_day(tx, visitor.business.id, now=visitor.now)
        endpoints = [endpoint for endpoint, _ in fared]
        wrong_filter = None
        try:
            wanted = filter_in(visitor, endpoints)
        except Invalid as problem:
            wanted, wrong_filter = DeliveryFilter(), problem
        limit = 0 if wrong_filter else PAGE + 1
        async with self.shell.db.connection() as tx:
            found = await log_store.list_deliveries(tx, visitor.business.id, wanted, limit=limit)
        kept = {name: query[name] for name in NAMES if query.get(name)}
        older = urlencode(kept | {"before": delivery_id(found[PAGE - 1].id)}) if len(found) > PAGE else ""
        return self.shell.page(
            visitor, "webhooks.html", title="Webhooks", section="Webhooks", wrong=wrong or wrong_filter,
            status=409 if isinstance(wrong, Conflict) else 422 if wrong or wrong_filter else 200,
            is_filter_wrong=wrong is None, public_id=delivery_id,
            endpoints=endpoints, deliveries=found[:PAGE], words=STATUS_WORDS,
            health={endpoint.id: health_words(endpoint, day) for endpoint, day in fared},
            older=self.shell.site.url(f"{visitor.path('/webhooks')}?{older}") if older else None, asked=query,
            choices=choices_of(endpoints),
            is_filtered=bool(kept), events=EVENTS_ON_REQUEST, always=EVENTS_ALWAYS,
            meanings=MEANING_OF_EVENT,
            **{"secret": "", "edited": "", **facts},
        )  # fmt: skip

    async def check_new(self, visitor: DashboardVisitor) -> Html | None:
        return await self._refused_address(visitor)

    async def check_change(self, visitor: DashboardVisitor) -> Html | None:
        if visitor.form.get("what") != "change":
            return None
        return await self._refused_address(visitor, edited=visitor.request.path["endpoint"])

    async def _refused_address(self, visitor: DashboardVisitor, **facts: Any) -> Html | None:
        """Its name is not looked up: what it leads to is shown only after a factor."""
        # A form that was sent before leads to the page as it now is.
        if await self.shell.was_sent(visitor):
            return None
        try:
            url = _url_in(visitor.form.get("url", ""))
            if problem := self.deps.guard.problem_in(url):
                raise Invalid(Problem("url", problem))
            others = await commands.list_all(self.shell.db, visitor.business.id)
            _refuse_second((one for one in others if one.id != visitor.request.path.get("endpoint")), str(url))
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong, **facts)
        return None

    async def confirms_new(self, visitor: DashboardVisitor) -> str:
        return f"Send webhooks to {_url_in(visitor.form.get('url', ''))}"

    async def confirms_change(self, visitor: DashboardVisitor) -> str:
        found = await commands.get(self.shell.db, visitor.business.id, visitor.request.path["endpoint"])
        return f"{_ACTS.get(visitor.form.get('what', ''), 'Change')} the endpoint {found.url}"

    async def create(self, visitor: DashboardVisitor) -> Html:
        """The secret is in this answer alone."""
        try:
            url = _url_in(visitor.form.get("url", ""))
            await commands.refuse_forbidden(self.deps.guard, url)
            events = _events_in(visitor)

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
        """Enable, disable, rotate or delete: one button each; another address or other events: a form."""
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
        elif what == "change":
            return await self._edit(visitor, endpoint_id)
        else:
            raise NotFound(NO_ACTION)
        return self.shell.to(visitor, "/webhooks")

    async def _edit(self, visitor: DashboardVisitor, endpoint_id: str) -> Html:
        try:
            url = _url_in(visitor.form.get("url", ""))
            await commands.refuse_forbidden(self.deps.guard, url)
            changes = {"url": str(url), "events": _events_in(visitor)}
            await commands.change(
                self.shell.db, visitor.business.id, endpoint_id, changes, by=visitor.by, now=visitor.now
            )
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong, edited=endpoint_id)
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

    def routes(self) -> list[DashboardRoute]:
        at = "/webhooks/endpoints"
        return [
            DashboardRoute("GET", "/webhooks", "showWebhooks", Permission.DELIVERIES, self.show),
            DashboardRoute(
                "POST", at, "addEndpointOnDashboard", Permission.ENDPOINTS, self.create, check=self.check_new,
                confirms=self.confirms_new,
            ),
            DashboardRoute(
                "POST", f"{at}/{{endpoint}}", "changeEndpointOnDashboard", Permission.ENDPOINTS, self.change,
                check=self.check_change, confirms=self.confirms_change,
            ),
            DashboardRoute("POST", f"{at}/{{endpoint}}/test", "testEndpoint", Permission.REPLAY, self.send_test),
        ]  # fmt: skip


def _events_in(visitor: DashboardVisitor) -> tuple[str, ...]:
    return (*EVENTS_ALWAYS, *(name for name in EVENTS_ON_REQUEST if visitor.form.get(f"event-{name}")))


def _refuse_second(others: Iterable[Endpoint], url: str) -> None:
    """Every event would arrive there twice. Programs may want that: the API takes it."""
    if any(one.url == url for one in others):
        raise Conflict("there is an endpoint with this address already; change that one, or delete it first")


def _url_in(text: str) -> WebUrl:
    try:
        return WebUrl.parse(text.strip())
    except ValueError as error:
        raise Invalid(Problem("url", f"The address {error}.")) from None
