"""From an event to a receiver's 2xx: what is sent, to whom, when, and what is kept of it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook

from receiver import OK, Receiver, answer, receiving, reset
from tidegate.audit.model import OPERATOR
from tidegate.core.errors import Conflict
from tidegate.doctor import money_store
from tidegate.infra.db import Database
from tidegate.infra.vault import Vault
from tidegate.webhook import commands, store
from tidegate.webhook.model import IN_FLIGHT_MAX, OPEN_AFTER, OPEN_FIRST, DeliveryResult
from tidegate.webhook.schedule import DELAYS
from webhook.world import NOW, PAYLOAD, World, make_world, new_business


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    async with make_world(db) as made:
        yield made


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


async def test_an_event_arrives_byte_for_byte(world: World, receiver: Receiver) -> None:
    await world.endpoint(receiver.url("/hook?a=%20b"))
    event_id = await world.event()
    await world.deliver()
    [got] = receiver.received
    assert (got.method, got.path, got.body, got.event_id) == ("POST", "/hook?a=%20b", PAYLOAD, event_id)
    delivery = await world.delivery()
    assert (delivery.status, delivery.attempts_made, delivery.due_at) == ("delivered", 1, None)
    assert delivery.delivered_at == NOW
    [attempt] = delivery.attempts
    assert (attempt.number, attempt.status_code, attempt.error, attempt.body) == (1, 200, None, "thank you")
    assert (attempt.url, attempt.started_at) == (receiver.url("/hook?a=%20b"), NOW)


async def test_the_signature_is_of_real_time_whatever_the_sandbox_clock_says(world: World, receiver: Receiver) -> None:
    made = await world.endpoint(receiver.url())
    world.later(days=400)
    await world.event()
    await world.deliver()
    [got] = receiver.received
    assert abs(int(got.headers["webhook-timestamp"]) - datetime.now(UTC).timestamp()) < 60
    Webhook(made.secret).verify(got.body, got.headers)
    assert got.headers["signature"] == hmac.new(made.secret.encode(), got.body, hashlib.sha512).hexdigest()
    assert got.headers["content-type"] == "application/json; charset=utf-8"


async def test_an_event_goes_to_every_endpoint_that_wants_it_and_to_no_other(world: World, receiver: Receiver) -> None:
    await world.endpoint(receiver.url("/usual"))
    await world.endpoint(receiver.url("/refunds"), events=("charge.successful", "refund.failed"))
    gone = await world.endpoint(receiver.url("/gone"))
    await commands.delete(world.db, world.business_id, gone.endpoint.id, by=OPERATOR, now=NOW)
    other = await new_business(world.db)
    await world.endpoint(receiver.url("/other"), business_id=other)
    await world.event(type="charge.successful")
    await world.event(type="refund.failed")
    await world.deliver()
    assert sorted(got.path for got in receiver.received) == ["/refunds", "/refunds", "/usual"]


async def test_what_happened_before_an_endpoint_was_there_is_not_sent_to_it(world: World, receiver: Receiver) -> None:
    await world.event()
    world.later(seconds=1)
    await world.endpoint(receiver.url())
    await world.deliver()
    assert receiver.received == []


async def test_a_repeated_fan_out_makes_nothing_twice(world: World, receiver: Receiver, admin: Any) -> None:
    await world.endpoint(receiver.url())
    await world.event()
    await asyncio.gather(*(world.sender.fan_out() for _ in range(5)))
    await admin.execute("UPDATE event SET is_fanned_out = false")  # As if it had been forgotten half-way.
    await world.deliver()
    assert len(receiver.received) == 1


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_every_2xx_is_a_success(world: World, receiver: Receiver, status: int) -> None:
    receiver.behaviour = answer(status)
    await world.endpoint(receiver.url())
    await world.event()
    await world.deliver()
    assert (await world.delivery()).status == "delivered"


@pytest.mark.parametrize("status", [101, 300, 301, 302, 304, 307, 400, 401, 404, 418, 429, 500, 503, 599])
async def test_everything_else_is_tried_again(world: World, receiver: Receiver, status: int) -> None:
    receiver.script = [answer(status, b"" if status == 304 else b"not yet", location="/elsewhere")]
    await world.endpoint(receiver.url())
    event_id = await world.event()
    await world.deliver()
    delivery = await world.delivery()
    assert (delivery.status, delivery.attempts[0].status_code) == ("pending", status)
    world.later(seconds=7)
    await world.deliver()
    assert (await world.delivery()).status == "delivered"
    assert [(got.path, got.event_id, got.body) for got in receiver.received] == [("/hook", event_id, PAYLOAD)] * 2


async def test_410_disables_the_endpoint_and_enabling_it_goes_on(world: World, receiver: Receiver, admin: Any) -> None:
    receiver.script = [answer(410)]
    made = await world.endpoint(receiver.url())
    await world.event()
    await world.deliver()
    endpoint = await commands.get(world.db, world.business_id, made.endpoint.id)
    assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "gone")
    noted = await admin.fetchrow("SELECT actor, action, subject FROM audit ORDER BY id DESC LIMIT 1")
    assert tuple(noted) == ("tidegate", "webhook.endpoint.disabled", made.endpoint.id)
    world.later(days=1)
    await world.event()
    await world.deliver()
    assert len(receiver.received) == 1
    await commands.change(
        world.db, world.business_id, made.endpoint.id, {"status": "enabled"}, by=OPERATOR, now=world.clock.now()
    )
    await world.deliver()
    # What came while it was disabled is there for a replay; what waited goes on.
    assert len(receiver.received) == 2
    assert [delivery.status for delivery in await world.deliveries()] == ["delivered"]


async def test_the_schedule_is_kept_to_the_end_and_the_rest_can_be_sent_by_hand(
    world: World, receiver: Receiver
) -> None:
    receiver.behaviour = answer(500)
    await world.endpoint(receiver.url())
    await world.event()
    times = []
    for _ in range(20):
        if results := await world.deliver():
            assert len(results) == 1
            times.append(world.clock.now())
        delivery = await world.delivery()
        if delivery.due_at is None:
            break
        world.clock.advance(delivery.due_at - world.clock.now())
    assert delivery.status == "exhausted"
    assert delivery.attempts_made == len(delivery.attempts) == len(times) == 10
    for before, at, delay in zip(times, times[1:], DELAYS[1:], strict=False):
        assert delay * 0.8 <= at - before <= delay * 1.2
    receiver.behaviour = OK
    async with world.db.transaction() as tx:
        await commands.resend(tx, world.business_id, delivery.id, by=OPERATOR, now=world.clock.now())
    await world.deliver()
    again = await world.delivery()
    assert (again.status, again.attempts_made, again.id) == ("delivered", 11, delivery.id)
    assert {got.body for got in receiver.received} == {PAYLOAD}
    assert len({got.event_id for got in receiver.received}) == 1


@pytest.mark.parametrize(
    ("retry_after", "at_least", "at_most"),
    [
        ("60", 60, 60),
        ("1", 4, 6),
        ("1e9", 4, 6),
        ("1000000000", 86_400, 86_400),
        ("-1", 4, 6),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 4, 6),
        ("as soon as you like", 4, 6),
    ],
)
async def test_retry_after_counts_between_the_next_slot_and_a_day(
    world: World, receiver: Receiver, retry_after: str, at_least: int, at_most: int
) -> None:
    receiver.behaviour = answer(503, retry_after=retry_after)
    await world.endpoint(receiver.url())
    await world.event()
    await world.deliver()
    due_at = (await world.delivery()).due_at
    assert due_at is not None
    assert timedelta(seconds=at_least) <= due_at - NOW <= timedelta(seconds=at_most)


async def test_an_endpoint_deleted_under_way_gets_what_was_sent_and_nothing_more(
    world: World, receiver: Receiver
) -> None:
    receiver.behaviour = answer(500)
    made = await world.endpoint(receiver.url())
    await world.event()
    await world.event()
    await world.sender.fan_out()
    first, second = await world.sender.take()
    await commands.delete(world.db, world.business_id, made.endpoint.id, by=OPERATOR, now=world.clock.now())
    failed = await world.sender.send(first)
    receiver.behaviour = OK
    arrived = await world.sender.send(second)
    await world.sender.finish([failed, arrived])
    assert sorted(delivery.status for delivery in await world.deliveries()) == ["cancelled", "delivered"]
    assert all(delivery.attempts_made == 1 for delivery in await world.deliveries())
    world.later(days=2)
    assert await world.deliver() == []


async def test_a_broken_endpoint_does_not_affect_the_other_of_its_business(world: World, receiver: Receiver) -> None:
    async with receiving(reset) as broken:
        await world.endpoint(broken.url())
        await world.endpoint(receiver.url())
        for _ in range(20):
            await world.event()
        await world.deliver()
    assert len(receiver.received) == 20
    statuses = [str(delivery.status) for delivery in await world.deliveries()]
    assert (statuses.count("delivered"), statuses.count("pending")) == (20, 20)


async def test_no_more_than_ten_are_under_way_to_one_endpoint(world: World, receiver: Receiver) -> None:
    await world.endpoint(receiver.url("/a"))
    await world.endpoint(receiver.url("/b"))
    for _ in range(15):
        await world.event()
    await world.sender.fan_out()
    # Two workers who know nothing of each other.
    taken = [*await world.sender.take(), *await world.sender.take()]
    by_url = [delivery.url for delivery in taken]
    assert by_url.count(receiver.url("/a")) == by_url.count(receiver.url("/b")) == IN_FLIGHT_MAX
    await world.sender.finish([await world.sender.send(delivery) for delivery in taken[:3]])
    assert len(await world.sender.take()) == 3


async def test_a_long_queue_gives_no_more_than_a_short_one_each_time(world: World, receiver: Receiver) -> None:
    other = await new_business(world.db)
    await world.endpoint(receiver.url("/long"))
    await world.endpoint(receiver.url("/short"), business_id=other)
    for _ in range(100):
        await world.event()
    await world.event(business_id=other)
    await world.walk()
    assert [got.path for got in receiver.received].count("/short") == 1


async def test_the_rate_of_an_endpoint_is_kept(world: World, receiver: Receiver) -> None:
    await world.endpoint(receiver.url(), rate_per_second=4)
    for _ in range(30):
        await world.event()
    counts = []
    for _ in range(5):
        counts.append(len(await world.deliver()))
        world.later(seconds=1)
    # A bucket that holds a second's worth, and fills while it is emptied.
    assert counts == [4, 4, 4, 4, 4]
    world.later(seconds=100)
    assert len(await world.deliver()) == 4


async def test_a_quarter_of_a_second_earns_its_share(world: World, receiver: Receiver) -> None:
    await world.endpoint(receiver.url(), rate_per_second=4)
    for _ in range(6):
        await world.event()
    assert len(await world.deliver()) == 4
    world.later(seconds=0.24)
    assert len(await world.deliver()) == 0
    world.later(seconds=0.01)
    assert len(await world.deliver()) == 1


async def test_new_events_go_before_retries_and_replays(world: World, receiver: Receiver) -> None:
    receiver.behaviour = answer(500)
    await world.endpoint(receiver.url(), rate_per_second=3)
    old = [await world.event() for _ in range(3)]
    await world.deliver()
    world.later(minutes=1)
    receiver.behaviour = OK
    receiver.received.clear()
    new = await world.event()
    await world.walk()
    order = [got.event_id for got in receiver.received]
    assert len(order) == 3
    assert new in order
    assert set(order) <= {new, *old}


async def test_an_endpoint_that_only_fails_is_left_in_peace_and_tried_now_and_then(
    world: World, receiver: Receiver
) -> None:
    receiver.behaviour = answer(500)
    await world.endpoint(receiver.url())
    for _ in range(OPEN_AFTER + 5):
        await world.event()
    await world.walk()
    assert len(receiver.received) == OPEN_AFTER  # Now its circuit is open.
    assert await world.walk() == []
    world.clock.advance(OPEN_FIRST)
    assert len(await world.deliver()) == 1
    assert await world.walk() == []
    receiver.behaviour = OK
    world.clock.advance(OPEN_FIRST * 2)
    assert len(await world.walk()) == 1
    await world.deliver()
    assert {delivery.status for delivery in await world.deliveries()} == {"delivered"}


async def test_five_days_of_failure_disable_an_endpoint(world: World, receiver: Receiver) -> None:
    receiver.behaviour = answer(500)
    made = await world.endpoint(receiver.url())
    for _ in range(41):
        await world.event()
        await world.deliver()
        endpoint = await commands.get(world.db, world.business_id, made.endpoint.id)
        if world.clock.now() < NOW + timedelta(days=5):
            assert endpoint.status == "enabled"
        world.later(hours=3)
    assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "failing")


async def test_a_success_closes_the_circuit_whatever_fails_with_it(
    world: World, receiver: Receiver, admin: Any
) -> None:
    for with_it in ([], [answer(500)]):
        await admin.execute("DELETE FROM endpoint_state; DELETE FROM webhook_attempt; DELETE FROM webhook_delivery")
        await admin.execute("UPDATE webhook_endpoint SET deleted_at = $1", NOW)
        await world.endpoint(receiver.url())
        await admin.execute("UPDATE endpoint_state SET failures = 9, failing_since = $1, openings = 2", NOW)
        for _ in range(2):
            await world.event()
        receiver.script = list(with_it)
        assert len(await world.walk()) == 2
        state = await admin.fetchrow("SELECT failures, failing_since, openings, open_until FROM endpoint_state")
        assert tuple(state) == (0, None, 0, None)


async def test_a_success_in_between_saves_it(world: World, receiver: Receiver) -> None:
    made = await world.endpoint(receiver.url())
    for number in range(50):
        receiver.behaviour = OK if number == 30 else answer(500)
        await world.event()
        await world.deliver()
        world.later(hours=3)
    assert (await commands.get(world.db, world.business_id, made.endpoint.id)).status == "enabled"


async def test_a_delivery_whose_worker_died_is_sent_again_and_the_log_shows_it(
    world: World, receiver: Receiver
) -> None:
    await world.endpoint(receiver.url())
    await world.event()
    await world.sender.fan_out()
    [lost] = await world.sender.take()
    assert await world.sender.take() == []
    world.later(seconds=46)
    [result] = await world.deliver()
    delivery = await world.delivery()
    assert (delivery.status, delivery.attempts_made) == ("delivered", 2)
    assert [(a.number, a.error, a.status_code) for a in delivery.attempts] == [(1, "interrupted", None), (2, None, 200)]
    assert delivery.attempts[0].started_at == NOW
    assert (result.delivery.event_id, result.delivery.failures) == (lost.event_id, 0)


@pytest.mark.parametrize("status", [200, 500])
async def test_a_worker_that_lost_its_lease_writes_nothing(world: World, receiver: Receiver, status: int) -> None:
    await world.endpoint(receiver.url())
    await world.event()
    await world.sender.fan_out()
    [delivery] = await world.sender.take()
    receiver.behaviour = answer(status)
    late = await world.sender.send(delivery)
    world.later(seconds=46)
    receiver.behaviour = OK
    await world.deliver()
    before = await world.delivery()
    await world.sender.finish([late])
    assert await world.delivery() == before
    assert before.status == "delivered"


async def test_a_resend_while_the_lease_runs_is_refused_and_afterwards_takes_it_over(
    world: World, receiver: Receiver
) -> None:
    await world.endpoint(receiver.url())
    await world.event()
    await world.sender.fan_out()
    [delivery] = await world.sender.take()
    with pytest.raises(Conflict, match="being sent") as refusal:
        async with world.db.transaction() as tx:
            await commands.resend(tx, world.business_id, delivery.delivery_id, by=OPERATOR, now=world.clock.now())
    assert refusal.value.retry_after_s == commands.RESEND_AFTER_S
    late = await world.sender.send(delivery)
    world.later(minutes=1)
    async with world.db.transaction() as tx:
        await commands.resend(tx, world.business_id, delivery.delivery_id, by=OPERATOR, now=world.clock.now())
    await world.sender.finish([late])
    assert (await world.delivery()).attempts_made == 0
    await world.deliver()
    assert (await world.delivery()).attempts_made == 1


async def test_of_a_long_answer_the_first_16_kb_are_kept_as_text(world: World, receiver: Receiver) -> None:
    receiver.behaviour = answer(200, b"\xff\x00<b>" + b"x" * 100_000)
    await world.endpoint(receiver.url())
    await world.event()
    await world.deliver()
    body = (await world.delivery()).attempts[0].body
    assert body is not None
    assert body.startswith("\ufffd\ufffd<b>x")
    assert len(body) == 16 * 1024


async def test_during_a_rotation_both_secrets_verify_and_a_day_later_only_the_new_one(
    world: World, receiver: Receiver
) -> None:
    made = await world.endpoint(receiver.url())
    async with world.db.transaction() as tx:
        turned = await commands.rotate(
            tx, world.webhook_deps.vault, world.business_id, made.endpoint.id, by=OPERATOR, now=world.clock.now()
        )
    for hours, count in ((0, 2), (23.9, 2), (0.2, 1)):
        world.later(hours=hours)
        await world.event()
        await world.deliver()
        got = receiver.received[-1]
        assert len(got.headers["webhook-signature"].split()) == count
        Webhook(turned.secret).verify(got.body, got.headers)
        assert got.headers["signature"] == hmac.new(turned.secret.encode(), got.body, hashlib.sha512).hexdigest()
        if count == 2:
            Webhook(made.secret).verify(got.body, got.headers)


async def test_a_rotation_asked_for_twice_leaves_the_first_secret_its_day(world: World, receiver: Receiver) -> None:
    made = await world.endpoint(receiver.url())
    for _ in range(4):
        async with world.db.transaction() as tx:
            await commands.rotate(
                tx, world.webhook_deps.vault, world.business_id, made.endpoint.id, by=OPERATOR, now=NOW
            )
    with pytest.raises(Conflict, match="valid secrets"):
        async with world.db.transaction() as tx:
            await commands.rotate(
                tx, world.webhook_deps.vault, world.business_id, made.endpoint.id, by=OPERATOR, now=NOW
            )
    await world.event()
    await world.deliver()
    Webhook(made.secret).verify(receiver.received[0].body, receiver.received[0].headers)


async def test_secrets_are_encrypted_in_the_database(world: World, receiver: Receiver, admin: Any) -> None:
    made = await world.endpoint(receiver.url())
    for table in ("webhook_secret", "webhook_endpoint", "audit"):
        rows = await admin.fetch(f"SELECT {table}::text AS row FROM {table}")
        assert rows
        assert not any(made.secret in row["row"] or made.secret[6:] in row["row"] for row in rows)


async def test_a_secret_that_cannot_be_decrypted_fails_the_attempt_and_no_other(
    world: World, receiver: Receiver, admin: Any
) -> None:
    made = await world.endpoint(receiver.url("/a"))
    await world.endpoint(receiver.url("/b"))
    strange = Vault([bytes(32)]).seal(made.secret, owner=world.business_id)
    await admin.execute("UPDATE webhook_secret SET sealed = $1 WHERE endpoint_id = $2", strange, made.endpoint.id)
    await world.event()
    results: list[DeliveryResult] = await world.deliver()
    assert sorted(str(one.error) for one in results) == ["None", "secret_unreadable"]
    assert [got.path for got in receiver.received] == ["/b"]


async def test_the_service_can_neither_change_nor_delete_what_was_logged(db: Database, admin: Any) -> None:
    granted = await admin.fetch(
        """
        SELECT table_name, string_agg(privilege_type, ',' ORDER BY privilege_type) AS rights
          FROM information_schema.role_table_grants
         WHERE grantee = 'tidegate_app' AND table_name IN ('audit', 'webhook_attempt', 'event') GROUP BY 1 ORDER BY 1
        """
    )
    assert [tuple(row) for row in granted] == [
        ("audit", "INSERT,SELECT"), ("event", "INSERT,SELECT"), ("webhook_attempt", "INSERT,SELECT")
    ]  # fmt: skip


async def test_the_doctor_finds_a_delivery_that_was_never_answered(
    world: World, receiver: Receiver, admin: Any
) -> None:
    await world.endpoint(receiver.url())
    await world.event()
    await world.deliver()
    async with world.db.connection() as tx:
        assert await money_store.list_wrongly_delivered(tx) == []
        await admin.execute("UPDATE webhook_attempt SET status_code = 302")
        assert await money_store.list_wrongly_delivered(tx) == [f"{world.business_id}/{(await world.delivery()).id}"]


async def test_a_waiting_secret_is_the_first_endpoints_and_no_others(
    world: World, receiver: Receiver, admin: Any
) -> None:
    given_up = await commands.keep_for_first(world.webhook_deps, world.business_id, None, now=NOW)
    assert await commands.keep_for_first(world.webhook_deps, world.business_id, None, now=NOW) == given_up
    waiting = await commands.keep_for_first(world.webhook_deps, world.business_id, "whsec_of another sandbox", now=NOW)
    assert waiting != given_up
    assert await commands.keep_for_first(world.webhook_deps, world.business_id, waiting, now=NOW) == waiting
    assert await admin.fetchval("SELECT count(*) FROM webhook_secret") == 1
    first, second = await world.endpoint(receiver.url("/1")), await world.endpoint(receiver.url("/2"))
    assert (first.secret, second.secret == waiting) == (waiting, False)
    async with world.db.transaction() as tx:
        await commands.rotate(tx, world.webhook_deps.vault, world.business_id, first.endpoint.id, by=OPERATOR, now=NOW)
        assert await store.find_waiting(tx, world.business_id) is None
