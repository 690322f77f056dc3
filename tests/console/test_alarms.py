"""Alarms: raised once, shown, mailed, posted, ended by themselves."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checkout.paying import SUCCEEDS, WITHOUT_MONEY, card
from conftest import MakeCheckout
from console.people import SignedInStaff
from dashboard.people import People
from inflow import Inflows
from receiver import Receiver, answer, receiving
from tidegate.alarm.commands import AlarmWatch, facts_of, update
from tidegate.alarm.health_store import EndpointHealth, RailHour
from tidegate.alarm.model import AlarmFacts, CardHour, advice_of, alarms_of
from tidegate.core.clock import SystemClock
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


def endpoint(*, failing_for: timedelta, waiting: int, status: str = "enabled") -> EndpointHealth:
    return EndpointHealth("b", "Bakery", "ep", "https://x", status, NOW - failing_for, 5, waiting, NOW)


@pytest.mark.parametrize(
    ("facts", "raised"),
    [
        ({}, set()),
        ({"proven_at": NOW - 59 * MINUTE}, set()),
        ({"proven_at": NOW - 61 * MINUTE}, {"books_unproven"}),
        ({"first_journal_at": NOW - 2 * HOUR}, {"books_unproven"}),
        ({"proven_at": NOW, "proof_findings": ("chain: journal x was changed",)}, {"books_wrong"}),
        ({"queues": (("Returns", NOW - 9 * MINUTE),)}, set()),
        ({"queues": (("Returns", NOW - 11 * MINUTE),)}, {"queue_old"}),
        ({"parked": 1}, {"work_parked"}),
        ({"rails": (RailHour("r", "NGN", 10, 10, 0),)}, set()),
        ({"rails": (RailHour("r", "NGN", 9, 11, 0),)}, {"rail_failing"}),
        ({"rails": (RailHour("r", "NGN", 0, 19, 0),)}, set()),
        ({"endpoints": (endpoint(failing_for=HOUR, waiting=100),)}, {"endpoint_failing"}),
        ({"endpoints": (endpoint(failing_for=HOUR, waiting=99),)}, set()),
        ({"endpoints": (endpoint(failing_for=HOUR, waiting=200, status="disabled"),)}, set()),
        ({"endpoints": (endpoint(failing_for=MINUTE, waiting=200),)}, set()),
        ({"cards": (CardHour("b", "Bakery", 3, 17),)}, {"cards_declined"}),
        ({"cards": (CardHour("b", "Bakery", 4, 16),)}, set()),
        ({"owed": (("b", "Bakery", "EUR 5.00"),)}, {"wallet_owed"}),
    ],
)
def test_what_is_alarming(facts: dict[str, Any], raised: set[str]) -> None:
    found = alarms_of(AlarmFacts(now=NOW, **facts))
    assert {rule for rule, _ in found} == raised
    # Each says what to do, and has a page to do it on.
    assert all(advice_of(*key) and alarm.page for key, alarm in found.items())


async def test_an_alarm_is_raised_once_told_and_ends_by_itself(
    operator: SignedInStaff, inflows: Inflows, receiver: Receiver, admin: Any
) -> None:
    await admin.execute(
        """
        INSERT INTO leased_work (business_id, kind, id, next_try_at, failures, last_error, parked_at)
        VALUES ($1, 'send_returns', 'ret_1', 'infinity', 20, 'no', now())
        """,
        inflows.shop.business_id,
    )
    watch, deps = AlarmWatch("https://console.example", receiver.url()), inflows.runtime.deps
    for _ in range(2):
        await watch(deps, SystemClock())
    assert await admin.fetchval("SELECT count(*) FROM alarm") == 1
    assert await admin.fetchval("SELECT count(*) FROM mail WHERE recipient = $1", operator.member.email) == 1
    assert "is parked" in (await operator.get()).text
    await admin.execute("DELETE FROM leased_work")
    for _ in range(2):
        await watch(deps, SystemClock())
    told = [json.loads(one.body) for one in receiver.received]
    assert [(one["rule"], one["endedAt"] is None) for one in told] == [("work_parked", True), ("work_parked", False)]
    page = (await operator.get("/alarms")).text
    assert "Nothing is alarming" in page
    assert "is parked" in page


async def test_what_is_wrong_with_the_books_hides_nothing_else_that_is(
    operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    """Each has its own alarm and mail, says what it is now, and ends alone."""
    quarantine, tampered = "quarantine: one notice", "audit trail: row 17"
    words = {
        quarantine: "A rail contradicts itself: one notice",
        f"{quarantine} and another": "A rail contradicts itself: one notice and another",
        tampered: "The audit trail was changed: row 17",
    }
    for findings in ((quarantine,), (f"{quarantine} and another", tampered), (tampered,)):
        facts = AlarmFacts(now=SystemClock().now(), proven_at=SystemClock().now(), proof_findings=findings)
        await update(inflows.runtime.db, facts, "")
        rows = await admin.fetch("SELECT sentence FROM alarm WHERE ended_at IS NULL")
        assert {row["sentence"] for row in rows} == {words[finding] for finding in findings}
        overview = (await operator.get()).text
        assert all(words[finding] in overview for finding in findings)
    assert await admin.fetchval("SELECT count(*) FROM mail WHERE recipient = $1", operator.member.email) == 2


async def test_the_page_of_an_alarm_says_what_to_do_where_and_when_it_was_there_before(
    operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    db, now = inflows.runtime.db, SystemClock().now()
    owed = AlarmFacts(now=now, owed=((inflows.shop.business_id, "Bakery", "EUR 5.00"),))
    for facts in (owed, AlarmFacts(now=now), owed):
        await update(db, facts, "https://console.example")
    overview = (await operator.get()).text
    (found,) = re.findall(r'href="/console(/alarms/\d+)">What to do', overview)
    page = (await operator.get(found)).text
    for words in (
        "Bakery owes EUR 5.00", "Agree with the merchant how it pays", "The same before",
        f'href="/console/merchants/{inflows.shop.business_id}">Go to the merchant',
    ):  # fmt: skip
        assert words in page, words
    letter = await admin.fetchval("SELECT text_body FROM mail ORDER BY id DESC LIMIT 1")
    assert "Agree with the merchant how it pays" in letter
    assert f"https://console.example/console{found}" in letter
    for other in ("/alarms/0", "/alarms/x", "/alarms/99999999999999999999"):
        await operator.get(other, status=404)


async def test_cards_that_are_tried_out_are_paused_until_the_operator_lifts_it(
    operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    business_id, now = inflows.shop.business_id, SystemClock().now()
    facts = AlarmFacts(now=now, cards=(CardHour(business_id, "Bakery", 1, 40),))
    await update(inflows.runtime.db, facts, "")
    at = f"/merchants/{business_id}"
    page = (await operator.get(at)).text
    assert ("Its cards were paused." in page, "Cards paused" in page) == (True, True)
    assert (await operator.send(f"{at}/cards", at=at, what="lift")).status_code == 303
    # While the alarm lasts, what was lifted stays lifted, and the alarm says so.
    lifted = (await facts_of(inflows.runtime.db)).lifted
    await update(inflows.runtime.db, replace(facts, lifted=lifted), "")
    overview = (await operator.get()).text
    assert ("The pause of its cards was lifted." in overview, "were paused" in overview) == (True, False)
    assert await admin.fetchval("SELECT count(*) FROM card_pause WHERE lifted_at IS NULL") == 0
    assert (await operator.send(f"{at}/cards", at=at, what="lift")).status_code == 409


async def test_a_pause_of_cards_ends_with_its_alarm_and_one_of_the_staff_s_stays(
    operator: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    business_id, now, db = inflows.shop.business_id, SystemClock().now(), inflows.runtime.db
    owner = await people.person(inflows.shop, Role.OWNER)
    takes = "SELECT takes_cards FROM business WHERE id = $1"
    alarming = AlarmFacts(now=now, cards=(CardHour(business_id, "Bakery", 1, 40),))
    await update(db, alarming, "")
    assert await admin.fetchval(takes, business_id) is False
    assert "Cards are paused" in (await owner.get()).text
    await update(db, AlarmFacts(now=now), "")
    assert await admin.fetchval(takes, business_id) is True
    at = f"/merchants/{business_id}"
    paused = await operator.send(f"{at}/cards", at=at, what="pause", reason="their site leaks")
    assert paused.status_code == 303
    for facts in (alarming, AlarmFacts(now=now)):
        await update(db, facts, "")
        assert await admin.fetchval(takes, business_id) is False


async def test_declines_are_counted_by_payment(inflows: Inflows, new_checkout: MakeCheckout) -> None:
    once, often = await new_checkout(inflows.shop), await new_checkout(inflows.shop)
    for checkout, numbers in ((once, (WITHOUT_MONEY, SUCCEEDS)), (often, (WITHOUT_MONEY,) * 3)):
        for number in numbers:
            assert (await checkout.charge(card(number))).status_code == 200
    facts = await facts_of(inflows.runtime.db)
    assert [(one.succeeded, one.declined) for one in facts.cards] == [(1, 1)]


async def test_an_alarm_that_does_not_arrive_is_posted_again(inflows: Inflows, receiver: Receiver, admin: Any) -> None:
    await admin.execute(
        """
        INSERT INTO alarm (business_id, rule, subject, sentence, page, raised_at, ended_at)
        VALUES ('000000000000000000000000', 'x', 'x', 'x', '/', now(), now())
        """
    )
    await AlarmWatch("", "http://127.0.0.1:9")(inflows.runtime.deps, SystemClock())
    assert await admin.fetchval("SELECT posted_at FROM alarm") is None
    await AlarmWatch("", receiver.url())(inflows.runtime.deps, SystemClock())
    assert len(receiver.received) == 1


async def test_an_alarm_that_the_operator_s_webhook_refuses_holds_up_no_other(
    inflows: Inflows, receiver: Receiver, admin: Any
) -> None:
    await admin.execute(
        """
        INSERT INTO alarm (business_id, rule, subject, sentence, page, raised_at, ended_at)
        SELECT '000000000000000000000000', 'x', subject, 'x', '/', now(), now() FROM unnest('{a,b}'::text[]) AS subject
        """
    )
    receiver.script = [answer(400)]
    await AlarmWatch("", receiver.url())(inflows.runtime.deps, SystemClock())
    waiting = await admin.fetch("SELECT subject FROM alarm WHERE posted_at IS NULL")
    assert [row["subject"] for row in waiting] == ["a"]
