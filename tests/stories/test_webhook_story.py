"""Webhooks from end to end: real payments, real workers that are killed, a receiver of the worst kind; and a merchant
who asks what became of a webhook, with nothing but the API.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
import random
import secrets
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest
from standardwebhooks import Webhook

from build import Shop, make_shop, order
from checkout.paying import WITHOUT_MONEY, card
from conftest import ENCRYPTION_KEY
from process import stop, tidegate
from receiver import OK, Behaviour, Exchange, Received, Receiver, answer, hang, receiving, reset
from serving import serving
from tidegate.infra.db import Database
from tidegate.settings import Settings

KILLS = 10
# Payments in the life of a worker: while it starts, and while it works.
PAID_BEFORE, PAID_MEANWHILE = 3, 2
WITHIN_S = 180.0
LOOK_EVERY_S = 0.1
STALL_S = 0.3
FAIL = answer(500, b"out of order")


async def stall(exchange: Exchange) -> None:
    """Says nothing for a while, and then leaves. One that never leaves would cost fifteen real seconds each time."""
    await asyncio.sleep(STALL_S)
    await exchange.close()


def moods(chance: random.Random, hanging: Behaviour) -> list[Behaviour]:
    """Of every twenty, four fail (20 %), two hang (10 %) and one is reset (5 %)."""
    deck = [FAIL] * 4 + [hanging] * 2 + [reset] + [OK] * 13
    chance.shuffle(deck)
    return deck


@dataclass
class Merchant:
    """One with a server of its own, and with payers; both reach us over HTTP alone."""

    shop: Shop
    database_url: str
    _payers: Iterator[int]

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        headers = {"api-key": self.shop.secret_key}
        given = await self.shop.client.request(method, path, json=body, headers=headers, params=query)
        assert given.is_success, given.text
        return given.json()["data"]

    async def listen(self, receiver: Receiver) -> dict[str, Any]:
        body = {"url": receiver.url(), "ratePerSecond": 1_000}
        made: dict[str, Any] = await self.call("POST", "/webhooks/endpoints", body)
        return made

    async def pay(self) -> str:
        """By a card that has money; gives the merchant's reference."""
        made = (await self.shop.create(order())).json()["data"]
        await self._act(made["payCode"], "charge", card())
        verified = (await self.shop.verify(made["reference"])).json()["data"]
        assert verified["status"] == "success"
        return str(made["reference"])

    async def fail_to_pay(self) -> str:
        """A card without money, and then the payer gives up."""
        made = (await self.shop.create(order())).json()["data"]
        await self._act(made["payCode"], "charge", card(WITHOUT_MONEY))
        await self._act(made["payCode"], "cancel", None)
        return str(made["reference"])

    async def _act(self, pay_code: str, what: str, body: Any) -> None:
        # Payers are limited by their address, so each has one.
        number = next(self._payers)
        address = {"x-forwarded-for": f"10.0.{number // 250}.{number % 250 + 1}"}
        given = await self.shop.client.post(f"/checkout/payments/{pay_code}/{what}", json=body, headers=address)
        assert given.status_code == 200, given.text

    async def let_pass(self, length: timedelta) -> None:
        await self.call("POST", "/sandbox/clock", {"advance": f"{math.ceil(length.total_seconds())}s"})

    async def now(self) -> datetime:
        return datetime.fromisoformat((await self.call("GET", "/sandbox/clock"))["now"])

    async def deliveries(self, **query: str) -> list[dict[str, Any]]:
        """Every page of them."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            page = await self.call("GET", "/webhooks/deliveries", perPage="50", **query, **cursor)
            found += page["results"]
            if page["nextCursor"] is None:
                return found
            cursor = {"cursor": page["nextCursor"]}

    async def delivery(self, reference: str, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The only one of that reference, as soon as it is as wanted."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                match await self.deliveries(reference=reference):
                    case [one] if is_wanted(one):
                        return one
                await asyncio.sleep(LOOK_EVERY_S)

    async def let_all_arrive(self) -> None:
        """Moves the clock on to the next attempts, whenever there is nothing to do before them."""
        async with asyncio.timeout(WITHIN_S):
            while pending := await self.deliveries(status="pending"):
                now = await self.now()
                due = [datetime.fromisoformat(one["nextAttemptAt"]) for one in pending if one["nextAttemptAt"]]
                # One without a next attempt is on its way just now.
                if len(due) == len(pending) and min(due) > now:
                    await self.let_pass(max(due) - now + timedelta(seconds=1))
                await asyncio.sleep(LOOK_EVERY_S)


@pytest.fixture
async def merchant(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Merchant]:
    """In a database of its own: real workers would do the work of other tests as well."""
    url = await make_database("tidegate_test_webhook_story")
    settings = Settings(database_url=url, encryption_keys=(ENCRYPTION_KEY,), trusted_proxies=1)
    db = Database(url)
    await db.open()
    async with serving(settings) as (base_url, _), httpx.AsyncClient(base_url=base_url, timeout=60) as client:
        shop = await make_shop(db, client, rate_per_second=100_000, rate_burst=100_000)
        yield Merchant(shop, url, itertools.count())
    await db.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


@contextmanager
def worker(merchant: Merchant) -> Iterator[subprocess.Popen[str]]:
    process = tidegate("worker", DATABASE_URL=merchant.database_url)
    try:
        yield process
    finally:
        stop(process)


async def test_every_event_arrives_whatever_happens_to_workers_and_receiver(
    merchant: Merchant, receiver: Receiver
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    endpoint = await merchant.listen(receiver)
    successes: list[str] = []
    failures: list[str] = []
    # Those that hang now never end: their worker dies before it has had enough.
    receiver.script = [mood for _ in range(100) for mood in moods(chance, hang)]
    for _ in range(KILLS):
        with worker(merchant) as process:
            seen = len(receiver.received)
            successes += await asyncio.gather(*(merchant.pay() for _ in range(PAID_BEFORE)))
            failures.append(await merchant.fail_to_pay())
            await receiver.got(seen + 1, timeout_s=WITHIN_S)
            seen = len(receiver.received)
            paying = asyncio.gather(*(merchant.pay() for _ in range(PAID_MEANWHILE)))
            # In the middle of it: the receiver has the request, and nobody has written down what it said.
            await receiver.got(seen + PAID_MEANWHILE, timeout_s=WITHIN_S)
            os.killpg(process.pid, signal.SIGKILL)
            successes += await paying
        assert process.returncode == -signal.SIGKILL
        # The leases of the dead run out, and the first attempts to follow are due.
        await merchant.let_pass(timedelta(minutes=6))
    # Some are left for it, since the last worker was killed on the way; the first meet what chance may have left out.
    receiver.script = [reset, FAIL, *(mood for _ in range(100) for mood in moods(chance, stall))]
    with worker(merchant):
        await merchant.let_all_arrive()
    await check_log(merchant, successes)
    await check_receiver(receiver, merchant, secret=endpoint["secret"])
    await check_database(merchant, successes, failures)


async def check_log(merchant: Merchant, successes: list[str]) -> None:
    """One delivery for each payment, none for anything else, and the last word of each is a 2xx."""
    deliveries = await merchant.deliveries()
    assert Counter(one["reference"] for one in deliveries) == Counter(successes)
    assert len(successes) == KILLS * (PAID_BEFORE + PAID_MEANWHILE)
    for one in deliveries:
        assert one["status"] == "delivered"
        assert one["attempts"][-1]["statusCode"] == 200
        assert [attempt["number"] for attempt in one["attempts"]][-1] == one["attemptsMade"]
    errors = Counter(attempt["error"] for one in deliveries for attempt in one["attempts"])
    codes = Counter(attempt["statusCode"] for one in deliveries for attempt in one["attempts"])
    print(f"{sum(codes.values())} attempts: {dict(codes)}, {dict(errors)}")
    # Otherwise nothing was tested.
    assert errors["interrupted"] >= KILLS
    assert errors["connection_lost"] > 0
    assert codes[500] > 0


async def check_receiver(receiver: Receiver, merchant: Merchant, *, secret: str) -> None:
    """Its own log: one body to each id, each signed, and nothing that is not ours."""
    bodies: dict[str, set[bytes]] = {}
    for got in receiver.received:
        verify(got, secret)
        bodies.setdefault(got.event_id, set()).add(got.body)
    assert all(len(of_one_id) == 1 for of_one_id in bodies.values())
    payloads = {one["eventId"]: one["payload"] for one in await merchant.deliveries()}
    assert {event_id: json.loads(body) for event_id, (body,) in bodies.items()} == payloads
    # As many references as ids: what came twice, came with the same id.
    references = {json.loads(body)["data"]["merchantReference"] for (body,) in bodies.values()}
    assert len(references) == len(bodies) < len(receiver.received)


async def check_database(merchant: Merchant, successes: list[str], failures: list[str]) -> None:
    """Nothing is called delivered without a stored 2xx, and no 2xx was got for what is no success."""
    connection = await asyncpg.connect(merchant.database_url)
    try:
        unproved = await connection.fetchval(
            """
            SELECT count(*) FROM webhook_delivery AS delivery
             WHERE status = 'delivered' AND NOT EXISTS (
                   SELECT FROM webhook_attempt AS attempt
                    WHERE attempt.business_id = delivery.business_id AND attempt.delivery_id = delivery.id
                      AND attempt.status_code BETWEEN 200 AND 299 AND attempt.error IS NULL)
            """
        )
        statuses = dict(await connection.fetch("SELECT reference, status FROM payment"))
        events = await connection.fetch("SELECT reference FROM event")
    finally:
        await connection.close()
    assert unproved == 0
    assert statuses == dict.fromkeys(successes, "success") | dict.fromkeys(failures, "failed")
    assert sorted(row["reference"] for row in events) == sorted(successes)


def verify(got: Received, secret: str) -> None:
    """As a receiver does, with somebody else's library. Raises for a signature that does not fit."""
    Webhook(secret).verify(got.body, got.headers)


async def test_a_merchant_asks_what_was_sent_and_answered_and_has_it_sent_again(
    merchant: Merchant, receiver: Receiver
) -> None:
    receiver.behaviour = answer(500, b"the disk is full")
    endpoint = await merchant.listen(receiver)
    with worker(merchant):
        reference = await merchant.pay()
        other = await merchant.pay()
        # Did you send it? What did I say?
        sent = await merchant.delivery(reference, lambda one: one["attemptsMade"] == 1)
        assert (sent["status"], sent["event"], sent["url"]) == ("pending", "charge.successful", receiver.url())
        [attempt] = sent["attempts"]
        assert (attempt["statusCode"], attempt["responseBody"]) == (500, "the disk is full")
        assert sent["nextAttemptAt"] > attempt["attemptedAt"]
        [first] = [got for got in receiver.received if got.event_id == sent["eventId"]]
        assert sent["payload"] == json.loads(first.body)
        assert sent["payload"]["data"]["merchantReference"] == reference
        # It is mended, and its secret was changed on the occasion.
        receiver.behaviour = OK
        rotated = await merchant.call("POST", f"/webhooks/endpoints/{endpoint['id']}/rotate")
        # Send it again.
        await merchant.call("POST", f"/webhooks/deliveries/{sent['id']}/resend")
        arrived = await merchant.delivery(reference, lambda one: one["status"] == "delivered")
        await merchant.delivery(other, lambda one: one["attemptsMade"] >= 1)
    assert (arrived["id"], arrived["payload"]) == (sent["id"], sent["payload"])
    assert [one["statusCode"] for one in arrived["attempts"]] == [500, 200]
    assert arrived["attempts"][-1]["responseBody"] == "thank you"
    again = [got for got in receiver.received if got.event_id == sent["eventId"]][-1]
    assert (again.event_id, again.body) == (first.event_id, first.body)
    verify(first, endpoint["secret"])
    verify(again, endpoint["secret"])
    verify(again, rotated["secret"])
    await check_dates(merchant, arrived, reference)


async def check_dates(merchant: Merchant, delivery: dict[str, Any], reference: str) -> None:
    """From a moment on, and before another; a day is meant as a whole."""
    made_at = delivery["createdAt"]
    moment = datetime.fromisoformat(made_at)
    just_after = (moment + timedelta(milliseconds=1)).isoformat()
    cases: list[tuple[dict[str, str], bool]] = [
        ({"dateFrom": made_at}, True),
        ({"dateFrom": just_after}, False),
        ({"dateTo": made_at}, False),
        ({"dateTo": just_after}, True),
        ({"dateFrom": made_at, "dateTo": just_after}, True),
        ({"dateFrom": f"{moment:%Y-%m-%d}", "dateTo": f"{moment:%Y-%m-%d}"}, True),
        ({"dateFrom": f"{moment + timedelta(days=1):%Y-%m-%d}"}, False),
        ({"dateTo": f"{moment - timedelta(days=1):%Y-%m-%d}"}, False),
    ]
    for query, is_shown in cases:
        found = await merchant.deliveries(reference=reference, **query)
        assert [one["id"] for one in found] == ([delivery["id"]] if is_shown else []), query
