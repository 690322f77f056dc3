"""Each alarm from its cause in the database: raised once, shown, mailed, posted; ended once the cause is gone."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from checkout.paying import WITHOUT_MONEY, card
from conftest import MakeCheckout
from console.people import SignedInStaff
from dashboard.people import People
from earlier import earlier
from inflow import Inflows, credit
from receiver import Receiver, receiving
from tidegate.alarm.commands import AlarmWatch
from tidegate.audit import chain
from tidegate.core.clock import SystemClock
from tidegate.doctor.proof import prove
from tidegate.member.permission import Role
from tidegate.webhook import queue

pytestmark = pytest.mark.usefixtures("unlimited")


class Causes:
    """Each begins something wrong, and gives what ends it."""

    def __init__(self, inflows: Inflows, admin: Any, people: People, new_checkout: MakeCheckout) -> None:
        self.inflows, self.admin, self.people, self.new_checkout = inflows, admin, people, new_checkout
        self.db, self.business_id = inflows.runtime.db, inflows.shop.business_id

    async def books_unproven(self) -> Callable[[], Awaitable[Any]]:
        await prove(self.db)
        await self.admin.execute(f"UPDATE proof SET {earlier('ended_at', '61 min')}")
        return lambda: prove(self.db)

    async def books_wrong(self) -> Callable[[], Awaitable[Any]]:
        while (await chain.extend(self.db, SystemClock())).done:
            pass
        row = await self.admin.fetchrow("SELECT id, actor FROM audit ORDER BY id DESC LIMIT 1")
        tamper = "UPDATE audit SET actor = $2 WHERE id = $1"
        await self.admin.execute(tamper, row["id"], "operator/nobody")
        await prove(self.db)

        async def mend() -> None:
            await self.admin.execute(tamper, *row)
            await prove(self.db)

        return mend

    async def queue_old(self) -> Callable[[], Awaitable[Any]]:
        await self.inflows.notify(credit(await self.inflows.number()))
        await self.admin.execute(f"UPDATE event SET {earlier('created_at', '11 min')}")
        return lambda: queue.fan_out(self.db, self.inflows.now)

    async def rail_failing(self) -> Callable[[], Awaitable[Any]]:
        """So many payments by card, which are declined: the cards of the merchant are paused too."""
        for _ in range(20):
            answer = await (await self.new_checkout(self.inflows.shop)).charge(card(WITHOUT_MONEY))
            assert answer.status_code == 200
        return lambda: self.admin.execute(f"UPDATE payment SET {earlier('created_at', '61 min')}")

    cards_declined = rail_failing

    async def endpoint_failing(self) -> Callable[[], Awaitable[Any]]:
        owner = await self.people.person(self.inflows.shop, Role.OWNER)
        await owner.send("/webhooks/endpoints", at="/webhooks", url="https://hooks.example.com/in")
        await self.inflows.notify(credit(await self.inflows.number()))
        await self.admin.execute(
            """
            INSERT INTO event
            SELECT (jsonb_populate_record(one, jsonb_build_object('id', one.id || number, 'cause', number))).*
              FROM event AS one, generate_series(1, 100) AS number
            """
        )
        await queue.fan_out(self.db, self.inflows.now)
        state = "UPDATE endpoint_state SET failures = $1, failing_since = $2"
        await self.admin.execute(state, 5, SystemClock().now() - timedelta(minutes=31))
        return lambda: self.admin.execute(state, 0, None)

    async def wallet_owed(self) -> Callable[[], Awaitable[Any]]:
        await self.inflows.notified(credit(await self.inflows.number()))
        await self.admin.execute("UPDATE collection SET owed_minor = 500")
        return lambda: self.admin.execute("UPDATE collection SET owed_minor = 0")


@pytest.fixture
def causes(inflows: Inflows, admin: Any, people: People, new_checkout: MakeCheckout) -> Causes:
    return Causes(inflows, admin, people, new_checkout)


@pytest.mark.parametrize(
    "rule",
    ["books_unproven", "books_wrong", "queue_old", "rail_failing", "cards_declined", "endpoint_failing", "wallet_owed"],
)
async def test_it_is_raised_shown_mailed_posted_and_ends_by_itself(
    rule: str, causes: Causes, operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    mend = await getattr(causes, rule)()
    async with receiving() as webhook:
        watch = AlarmWatch("https://console.example", webhook.url())
        for _ in range(2):
            await watch(inflows.runtime.deps, SystemClock())
        raised = await admin.fetch("SELECT id, sentence FROM alarm WHERE rule = $1 AND ended_at IS NULL", rule)
        assert len(raised) == 1
        number, sentence = raised[0]
        assert f'href="/console/alarms/{number}">What to do' in (await operator.get()).text
        mailed = "SELECT count(*) FROM mail WHERE recipient = $1 AND text_body LIKE '%' || $2 || '%'"
        assert await admin.fetchval(mailed, operator.member.email, f"/console/alarms/{number}\n") == 1
        await mend()
        for _ in range(2):
            await watch(inflows.runtime.deps, SystemClock())
        assert posted(webhook, rule) == [(sentence, True), (sentence, False)]
    assert await admin.fetchval("SELECT ended_at IS NOT NULL FROM alarm WHERE id = $1", number)
    assert f"/alarms/{number}" not in (await operator.get()).text


def posted(webhook: Receiver, rule: str) -> list[tuple[str, bool]]:
    """What was said of it, and whether it was still going on."""
    told = [json.loads(one.body) for one in webhook.received]
    return [(one["text"], one["endedAt"] is None) for one in told if one["rule"] == rule]
