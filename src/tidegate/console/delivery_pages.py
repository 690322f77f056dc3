"""What was sent to a merchant's endpoint and did not arrive, one delivery, and sending it again."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Conflict, NotFound, Refusal
from tidegate.dashboard.deliveries import answer_of, diagnosis_of, facts_of
from tidegate.dashboard.delivery_filter import STATUS_WORDS
from tidegate.dashboard.endpoint_health import health_words
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.staff.permission import StaffPermission
from tidegate.webhook import commands, health_store, log_store
from tidegate.webhook.commands import NO_DELIVERY, NO_ENDPOINT
from tidegate.webhook.field import delivery_id, delivery_id_in
from tidegate.webhook.log_store import DeliveryFilter
from tidegate.webhook.model import EVENT_CHANNEL, Delivery, DeliveryStatus

PAGE = 50
# The first is shown where the address names none.
SHOWN = {
    "waiting": DeliveryStatus.PENDING,
    "gave-up": DeliveryStatus.EXHAUSTED,
    "cancelled": DeliveryStatus.CANCELLED,
    "delivered": DeliveryStatus.DELIVERED,
}


@dataclass(frozen=True)
class MerchantDeliveryPages:
    shell: ConsoleShell

    async def show_endpoint(self, visitor: ConsoleVisitor) -> Html:
        business = await merchants.get(self.shell.db, visitor.request.path["business"])
        now = self.shell.clock.now_of(business.id)
        async with self.shell.db.connection() as tx:
            fared = await health_store.list_of_day(tx, business.id, now=now)
        known = next((one for one in fared if one[0].id == visitor.request.path["endpoint"]), None)
        if known is None:
            raise NotFound(NO_ENDPOINT)
        endpoint, day = known
        chosen = visitor.request.query.get("status", "")
        chosen = chosen if chosen in SHOWN else next(iter(SHOWN))
        before = delivery_id_in(visitor.request.query.get("before", ""))
        wanted = DeliveryFilter(endpoint_id=endpoint.id, status=SHOWN[chosen], before_id=before)
        async with self.shell.db.connection() as tx:
            found = await log_store.list_deliveries(tx, business.id, wanted, limit=PAGE + 1)
        older = f"?status={chosen}&before={delivery_id(found[PAGE - 1].id)}" if len(found) > PAGE else ""
        return self.shell.page(
            visitor, "endpoint.html", title=endpoint.url, section="Webhook health", business=business,
            endpoint=endpoint, health=health_words(endpoint, day), found=found[:PAGE],
            chosen=chosen, older=older, words=STATUS_WORDS, statuses=SHOWN, answer=answer_of, public_id=delivery_id,
        )  # fmt: skip

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor, await self._delivery(visitor))

    async def _delivery(self, visitor: ConsoleVisitor) -> Delivery:
        number = delivery_id_in(visitor.request.path["delivery"])
        if number is None:
            raise NotFound(NO_DELIVERY)
        return await commands.get_delivery(self.shell.db, visitor.request.path["business"], number)

    async def _page(self, visitor: ConsoleVisitor, delivery: Delivery, wrong: Refusal | None = None) -> Html:
        business = await merchants.get(self.shell.db, visitor.request.path["business"])
        shown_try, now = visitor.request.query.get("try", ""), self.shell.clock.now_of(business.id)
        async with self.shell.db.connection() as tx:
            facts = await facts_of(tx, business.id, delivery, shown_try, now)
        crumbs = [("Webhook health", "/webhooks"), (business.name, f"/webhooks/{business.id}/{delivery.endpoint_id}")]
        return self.shell.page(
            visitor, "delivery.html", section="Webhook health", wrong=wrong, status=409 if wrong else 200,
            at=_below(business.id, delivery), may_resend=visitor.may(StaffPermission.ASK), replay="",
            explains_signature=False, is_masked=False, awaited_at="",
            diagnosis=diagnosis_of(delivery, f"The server of {business.name}"),
            crumbs=crumbs if facts["health"] else crumbs[:1], **facts,
        )  # fmt: skip

    async def resend(self, visitor: ConsoleVisitor) -> Html:
        """What was sent before, so nothing new leaves: one person does it."""
        business_id, delivery = visitor.request.path["business"], await self._delivery(visitor)

        async def act(tx: Tx) -> str:
            now = self.shell.clock.now_of(business_id)
            await commands.resend(tx, business_id, delivery.id, by=visitor.by, now=now)
            return f"{_below(business_id, delivery)}?said=done"

        try:
            answer = await self.shell.once(visitor, act)
        except Conflict as wrong:
            return await self._page(visitor, delivery, wrong)
        self.shell.db.notify(EVENT_CHANNEL)
        return answer

    def routes(self) -> list[ConsoleRoute]:
        at = "/webhooks/{business}/deliveries/{delivery}"
        return [
            ConsoleRoute(
                "GET", "/webhooks/{business}/{endpoint}", "showEndpointOfMerchant", StaffPermission.SEE,
                self.show_endpoint,
            ),
            ConsoleRoute("GET", at, "showDeliveryOfMerchant", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", f"{at}/resend", "resendForMerchant", StaffPermission.ASK, self.resend),
        ]  # fmt: skip


def _below(business_id: str, delivery: Delivery) -> str:
    return f"/webhooks/{business_id}/deliveries/{delivery_id(delivery.id)}"
