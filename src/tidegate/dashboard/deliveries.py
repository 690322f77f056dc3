"""One delivery: every try with its request and answer, what the last answer means, the next tries; resend."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

import msgspec

from tidegate.core.errors import Conflict, NotFound, Refusal
from tidegate.dashboard.delivery_filter import STATUS_WORDS
from tidegate.dashboard.endpoint_health import health_words
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.payer_mask import event_of
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.webhook import commands, health_store, schedule
from tidegate.webhook.commands import NO_DELIVERY
from tidegate.webhook.field import delivery_id, delivery_id_in
from tidegate.webhook.model import EVENT_CHANNEL, Delivery, DeliveryAttempt, DeliveryStatus

# How often the page of a delivery that is being sent again is drawn anew, without script too.
LOOK_AGAIN_S = 3


@dataclass(frozen=True)
class DeliveryPages:
    shell: DashboardShell

    async def _delivery(self, visitor: DashboardVisitor) -> Delivery:
        delivery_id = delivery_id_in(visitor.request.path["delivery"])
        if delivery_id is None:
            raise NotFound(NO_DELIVERY)
        return await commands.get_delivery(self.shell.db, visitor.business.id, delivery_id)

    async def show(self, visitor: DashboardVisitor) -> Html:
        return await self._page(visitor, await self._delivery(visitor))

    async def _page(self, visitor: DashboardVisitor, delivery: Delivery, wrong: Refusal | None = None) -> Html:
        delivery = msgspec.structs.replace(delivery, payload=event_of(visitor, delivery.payload))
        async with self.shell.db.connection() as tx:
            facts = await facts_of(tx, visitor.business.id, delivery, visitor.request.query.get("try", ""), visitor.now)
        at = f"/webhooks/deliveries/{delivery_id(delivery.id)}"
        since = visitor.times.field(delivery.created_at)
        replay = f"/webhooks/replay?which=failed&endpoint={delivery.endpoint_id}&since={since}"
        resent = number_in(visitor.request.query.get("resent", ""))
        is_awaited = resent is not None and delivery.attempts_made <= resent
        page = self.shell.page(
            visitor, "delivery.html", section="Webhooks", wrong=wrong, status=409 if wrong else 200, at=at,
            awaited_at=f"{at}?resent={resent}" if is_awaited else "",
            may_resend=visitor.may(Permission.DELIVERIES), explains_signature=True,
            replay=replay if facts["tint"] != "good" and visitor.may(Permission.REPLAY) else "",
            is_masked=not visitor.may(Permission.SEE_PAYER), diagnosis=diagnosis_of(delivery),
            crumbs=[("Webhooks", "/webhooks")], **facts,
        )  # fmt: skip
        refresh = (b"refresh", str(LOOK_AGAIN_S).encode())
        return msgspec.structs.replace(page, headers=[*page.headers, refresh]) if is_awaited else page

    async def resend(self, visitor: DashboardVisitor) -> Html:
        delivery = await self._delivery(visitor)

        async def act(tx: Tx) -> str:
            await commands.resend(tx, visitor.business.id, delivery.id, by=visitor.by, now=visitor.now)
            return f"/webhooks/deliveries/{delivery_id(delivery.id)}?resent={delivery.attempts_made}"

        try:
            answer = await self.shell.once(visitor, act)
        except Conflict as wrong:
            return await self._page(visitor, delivery, wrong)
        self.shell.db.notify(EVENT_CHANNEL)
        return answer

    def routes(self) -> list[DashboardRoute]:
        at = "/webhooks/deliveries/{delivery}"
        return [
            DashboardRoute("GET", at, "showDelivery", Permission.DELIVERIES, self.show),
            DashboardRoute("POST", f"{at}/resend", "resendDelivery", Permission.DELIVERIES, self.resend),
        ]


async def facts_of(tx: Tx, business_id: str, delivery: Delivery, shown_try: str, now: datetime) -> dict[str, Any]:
    """What the page of a delivery shows, in the dashboard and in the console."""
    fared = await health_store.list_of_day(tx, business_id, now=now)
    word, tint = STATUS_WORDS[delivery.status]
    return {
        "title": title_of(delivery),
        "delivery": delivery,
        "word": word,
        "tint": tint,
        "payload": _shown(delivery.payload),
        "sent": (delivery.payload or b"").decode(errors="replace"),
        "shown": chosen(delivery.attempts, shown_try),
        "answer": answer_of,
        "tries": list(reversed(delivery.attempts)),
        "next_tries": next_tries(delivery),
        "health": next((health_words(one, day) for one, day in fared if one.id == delivery.endpoint_id), None),
    }


def title_of(delivery: Delivery) -> str:
    what = f"{delivery.event_type} for {delivery.reference}" if delivery.reference else delivery.event_type
    if delivery.status is DeliveryStatus.DELIVERED:
        return f"{what} has arrived"
    return f"{what} has not arrived yet" if delivery.status is DeliveryStatus.PENDING else f"{what} did not arrive"


def chosen(attempts: Sequence[DeliveryAttempt], text: str) -> DeliveryAttempt | None:
    """The try that the address names, or the newest."""
    number = number_in(text)
    return next((one for one in attempts if one.number == number), attempts[-1] if attempts else None)


def next_tries(delivery: Delivery) -> list[tuple[int, datetime]]:
    """Number and time of each try to come; all but the first are approximate."""
    if delivery.due_at is None:
        return []
    at, number, found = delivery.due_at, delivery.attempts_made + 1, []
    for failures in range(delivery.failures, schedule.ATTEMPTS_MAX):
        if failures > delivery.failures:
            at += schedule.DELAYS[failures]
            number += 1
        found.append((number, at))
    return found


def answer_of(attempt: DeliveryAttempt) -> str:
    """504 Gateway Timeout, or why there is no answer."""
    if attempt.error:
        return ERROR_WORDS.get(attempt.error, attempt.error)
    code = attempt.status_code or 0
    return f"{code} {_PHRASES.get(code, '')}".strip()


_PHRASES = {status.value: status.phrase for status in HTTPStatus}
# Why there was no whole answer.
ERROR_WORDS = {
    "address_refused": "its address is not allowed",
    "tls_failed": "its certificate was not accepted",
    "name_not_found": "its name has no address",
    "connect_timeout": "no connection within 5 s",
    "timeout": "no answer within 15 s",
    "connect_failed": "no connection",
    "connection_lost": "the connection was lost",
    "bad_response": "the answer was no HTTP",
    "interrupted": "interrupted on our side; whether it arrived is unknown",
    "secret_unreadable": "its secret cannot be read; make a new secret",
    "internal_error": "an error on our side",
    "payload_erased": "erased at the payer's request",
}


def _shown(payload: bytes | None) -> str:
    if payload is None:
        return "(erased at the payer's request)"
    try:
        return json.dumps(json.loads(payload), indent=2, ensure_ascii=False)
    except ValueError:
        return payload.decode(errors="replace")


def diagnosis_of(delivery: Delivery, server: str = "Your server") -> str:
    """What the newest answer means, in words."""
    if delivery.status is DeliveryStatus.DELIVERED:
        return f"{server} has taken it."
    if not delivery.attempts:
        return "It has not been sent yet; it goes out in a moment."
    last = delivery.attempts[-1]
    if last.error:
        goes_on = "Nothing is lost; we keep trying." if delivery.due_at else "It can be sent again."
        return f"{server} has not taken it: {answer_of(last)}. {goes_on}"
    code = last.status_code or 0
    if 200 <= code < 300:
        return f"{server} answered {code} and has taken it; it is sent once more in a moment."
    family = _ANSWERS.get(code) or _ANSWERS.get(code // 100 * 100) or "anything but 2xx counts as not taken."
    return f"{server} answered {code}: {family}"


_ANSWERS = {
    300: "it redirects, and webhooks do not follow. Give the final address.",
    401: "a firewall or a check refused it. Compare the secret.",
    403: "a firewall or a check refused it. Compare the secret.",
    404: "there is nothing at this address. Check the path of the endpoint.",
    500: "it was reached, but what stands behind it failed. Nothing is lost; we keep trying.",
}
