"""What a rail tells us, right, wrong, twice and out of order: recorded once, believed only when signed."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
import structlog
from structlog.testing import capture_logs

from build import Checkout
from conftest import MakeCheckout
from payment.raw_http import ask, head
from serving import metrics_of, serving, serving_app
from tidegate import app
from tidegate.core import ids
from tidegate.core.clock import monotonic_s
from tidegate.deployment import store as deployment_store
from tidegate.infra import rate_limit
from tidegate.infra.telemetry import Meter
from tidegate.intake import refused
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.rail.sandbox import signed_notification
from tidegate.runtime import Runtime
from tidegate.settings import Settings


@dataclass(frozen=True)
class Bank:
    """Calls our intake over HTTP, signed as the sandbox's rail signs."""

    client: httpx.AsyncClient
    runtime: Runtime
    secret: bytes

    async def notify(self, body: bytes | dict[str, Any], **headers: str) -> httpx.Response:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        signed = signed_notification.sign(raw, self.secret, now=self.runtime.clock.now())
        return await self.client.post("/intake/sandbox", content=raw, headers={**signed.headers, **headers})

    async def notify_until_accepted(self, body: dict[str, Any]) -> httpx.Response:
        """As every rail does: a busy answer means once more."""
        while (answer := await self.notify(body)).status_code == 503:
            pass
        return answer


@pytest.fixture
async def bank(client: httpx.AsyncClient, runtime: Runtime) -> Bank:
    async with runtime.db.connection() as tx:
        found = await deployment_store.find(tx)
    assert found is not None
    return Bank(client, runtime, found.secret)


def credit(account: str, minor: Any = 10_000, **changes: Any) -> dict[str, Any]:
    return {
        "type": "account.credited",
        "id": ids.new_event_id(),
        "accountNumber": account,
        "transactionId": ids.new_event_id(),
        "amount": str(minor) if isinstance(minor, int) else minor,
        "currency": "NGN",
        "payer": {"name": "Ada Obi", "accountNumber": "0123456789", "bankName": "Sample Bank", "bankCode": None},
        "payeeName": None,
        "scheme": "nip",
        "remittance": None,
        "valuedAt": "2026-11-15T09:30:00Z",
        **changes,
    }


async def counts(admin: Any) -> dict[str, int]:
    tables = ("notification", "receipt", "journal", "event", "money_return")
    return {table: await admin.fetchval(f"SELECT count(*) FROM {table}") for table in tables}


async def test_an_unsigned_notification_is_refused_and_not_stored(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    account = await (await new_checkout()).account()
    before = await counts(admin)
    for header in ("", "t=1,v1=" + "0" * 64, "t=99999999999,v1=" + "0" * 64, "junk"):
        answer = await bank.notify(credit(account), **{"sandbox-signature": header})
        assert answer.status_code == 401
    assert await counts(admin) == before


async def test_an_unknown_rail_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.post("/intake/nobody", content=b"{}")).status_code == 404


async def test_the_same_notification_fifty_times_credits_once(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    body = credit(await checkout.account())
    answers = await asyncio.gather(*(bank.notify_until_accepted(body) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    assert (await checkout.record())["status"] == "success"
    assert await counts(admin) == {"notification": 1, "receipt": 1, "journal": 1, "event": 1, "money_return": 0}


async def test_the_same_money_under_two_notifications_credits_once(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    bodies = [credit(account, transactionId="T-1") for _ in range(10)]
    answers = await asyncio.gather(*(bank.notify_until_accepted(body) for body in bodies))
    assert {answer.status_code for answer in answers} == {200}
    seen = await counts(admin)
    assert (seen["notification"], seen["receipt"], seen["journal"]) == (10, 1, 1)


async def test_the_same_money_with_another_amount_is_quarantined(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await bank.notify(credit(account, transactionId="T-1"))
    assert (await bank.notify(credit(account, 20_000, transactionId="T-1"))).status_code == 200
    row = await admin.fetchrow("SELECT note FROM notification WHERE state = 'quarantined'")
    assert "T-1" in row["note"]
    assert (await counts(admin))["receipt"] == 1


@pytest.mark.parametrize("amount", [0, -1, "0", "-5", "1.5", "1e3", "", "x", None, [], 10**19])
async def test_an_amount_that_is_no_amount_is_quarantined(
    bank: Bank, new_checkout: MakeCheckout, admin: Any, amount: Any
) -> None:
    account = await (await new_checkout()).account()
    answer = await bank.notify(credit(account, amount=amount))
    assert answer.status_code == 200
    assert await admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 1
    assert (await counts(admin))["receipt"] == 0


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"type":"other"}', b"[" * 50_000])
async def test_signed_nonsense_is_kept_and_acknowledged(bank: Bank, admin: Any, db: Any, body: bytes) -> None:
    """A rail repeats what is not acknowledged, for days; this would not become readable."""
    assert (await bank.notify(body)).status_code == 200
    assert await admin.fetchval("SELECT state FROM notification") == "quarantined"


async def test_another_currency_goes_to_suspense(bank: Bank, new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    assert (await bank.notify(credit(account, currency="KES"))).status_code == 200
    row = await admin.fetchrow("SELECT business_id, outcome, reason FROM receipt")
    assert (row["business_id"], row["outcome"]) == (checkout.shop.business_id, "suspense")
    assert (await checkout.record())["status"] == "pending"


async def test_money_for_an_unknown_account_goes_to_suspense_under_the_operators_business(
    bank: Bank, admin: Any, db: Any
) -> None:
    for _ in range(3):
        assert (await bank.notify(credit("0000000000", id="same", transactionId="T-9"))).status_code == 200
    assert (await bank.notify(credit("0000000000", id="other", transactionId="T-9"))).status_code == 200
    rows = await admin.fetch("SELECT business_id, amount_minor FROM receipt")
    assert [(row["business_id"], row["amount_minor"]) for row in rows] == [(PLATFORM_BUSINESS_ID, 10_000)]
    suspense = await admin.fetchval("SELECT sum(amount_minor) FROM entry WHERE account = 'suspense'")
    assert suspense == 10_000


async def test_an_outcome_for_an_unknown_attempt_goes_to_suspense(bank: Bank, admin: Any, db: Any) -> None:
    attempt = {"businessId": ids.new_business_id(), "reference": "at_unknown"}
    won = {
        "type": "attempt.succeeded",
        "id": "n-1",
        "transactionId": "T-1",
        "amount": "500",
        "currency": "NGN",
        **attempt,
    }
    lost = {"type": "attempt.failed", "id": "n-2", "reason": "declined", **attempt}
    assert (await bank.notify(won)).status_code == 200
    assert (await bank.notify(lost)).status_code == 200
    assert (await counts(admin))["receipt"] == 1
    states = await admin.fetch("SELECT state FROM notification ORDER BY id")
    assert [row["state"] for row in states] == ["suspense", "suspense"]


async def test_two_transfers_in_the_same_moment_are_two(bank: Bank, new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    halves = [credit(account, 5_000), credit(account, 5_000)]
    await asyncio.gather(*(bank.notify(half) for half in halves))
    assert (await checkout.record())["status"] == "success"
    assert (await counts(admin))["receipt"] == 2


async def attempt_of(checkout: Checkout) -> str:
    reference: str = (await checkout.view())["attempt"]["attemptId"]
    return reference


async def test_shuffled_and_contradictory_outcomes_have_one_effect(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    await checkout.charge({"type": "payAttitude", "bank": "058"})
    attempt = {"businessId": checkout.shop.business_id, "reference": await attempt_of(checkout)}
    won = {"type": "attempt.succeeded", "transactionId": "T-1", "amount": "10000", "currency": "NGN", **attempt}
    first = await bank.notify({**won, "id": "first"})
    assert first.status_code == 200
    storm = [{**won, "id": f"won-{n % 20}"} for n in range(40)]
    storm += [{"type": "attempt.failed", "id": f"lost-{n}", "reason": "declined", **attempt} for n in range(10)]
    random.Random(7).shuffle(storm)
    answers = await asyncio.gather(*(bank.notify_until_accepted(body) for body in storm))
    assert {answer.status_code for answer in answers} == {200}
    assert (await checkout.record())["status"] == "success"
    seen = await counts(admin)
    assert (seen["receipt"], seen["journal"], seen["event"], seen["money_return"]) == (1, 1, 1, 0)


async def test_a_success_after_a_failure_of_the_same_attempt_is_money_all_the_same(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    await checkout.charge({"type": "payAttitude", "bank": "058"})
    attempt = {"businessId": checkout.shop.business_id, "reference": await attempt_of(checkout)}
    await bank.notify({"type": "attempt.failed", "id": "a", "reason": "declined", **attempt})
    assert (await checkout.view())["status"] == "pending"
    won = {
        "type": "attempt.succeeded",
        "id": "b",
        "transactionId": "T",
        "amount": "10000",
        "currency": "NGN",
        **attempt,
    }
    await bank.notify(won)
    assert (await checkout.record())["status"] == "success"


async def test_the_event_is_written_with_the_money(bank: Bank, new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(metadata={"cart": 1})
    await bank.notify(credit(await checkout.account()))
    event = json.loads(await admin.fetchval("SELECT payload FROM event"))
    assert event["event"] == "charge.successful"
    data = event["data"]
    assert data["reference"] == data["transactionReference"] == checkout.pay_code
    assert data["merchantReference"] == data["paymentReference"] == checkout.reference
    assert (data["type"], data["method"], data["metadata"]) == ("bank_transfer", "bank_transfer", {"cart": 1})
    account = data["virtualAccount"]
    assert (account["payerAccountName"], account["business"]) == ("Ada Obi", checkout.shop.business_id)
    assert len(account["id"]) == 24


@pytest.mark.parametrize("minor", [4_000, 25_000])
async def test_returned_money_is_recognised_when_notified_again(
    bank: Bank, new_checkout: MakeCheckout, admin: Any, minor: int
) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    account = await checkout.account()
    for _ in range(3):
        assert (await bank.notify(credit(account, minor, transactionId="T-1"))).status_code == 200
    seen = await counts(admin)
    assert (seen["notification"], seen["receipt"], seen["money_return"]) == (3, 1, 1)


async def test_other_words_under_the_same_identifier_are_quarantined(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    account = await (await new_checkout()).account()
    assert (await bank.notify(credit(account, id="same", transactionId="T-1"))).status_code == 200
    assert (await bank.notify(credit(account, 99, id="same", transactionId="T-1"))).status_code == 200
    states = await admin.fetch("SELECT state FROM notification ORDER BY state")
    assert [row["state"] for row in states] == ["done", "quarantined"]


async def test_an_outcome_in_another_currency_goes_to_suspense(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    await checkout.charge({"type": "payAttitude", "bank": "058"})
    attempt = {"businessId": checkout.shop.business_id, "reference": await attempt_of(checkout)}
    won = {
        "type": "attempt.succeeded",
        "id": "n",
        "transactionId": "T",
        "amount": "10000",
        "currency": "KES",
        **attempt,
    }
    assert (await bank.notify(won)).status_code == 200
    assert await admin.fetchval("SELECT outcome FROM receipt") == "suspense"
    assert (await checkout.record())["status"] == "pending"


async def test_notifications_that_are_refused_are_counted_and_logged_once_a_minute_of_each_kind(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, meter = monotonic_s(), Meter()
    monkeypatch.setattr(refused, "monotonic_s", lambda: now)
    monkeypatch.setattr(refused, "log", structlog.get_logger("intake"))  # A used one may be bound elsewhere.
    settings = Settings(database_url=database_url)
    async with (
        serving_app(lambda _: app.build(settings, meter=meter)) as (url, _),
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        with capture_logs() as logged:
            for path, status in (("sandbox", 401), ("nobody", 404), ("sandbox", 401)):
                for _ in range(5):
                    assert (await client.post(f"/intake/{path}", content=b"{}")).status_code == status
                now += 31
    lines = [(line["kind"], line["more_since_last_line"]) for line in logged if line["event"] != "request"]
    assert lines == [("UNAUTHENTICATED", 0), ("RESOURCE_NOT_FOUND", 0), ("UNAUTHENTICATED", 4)]
    assert 'tidegate_notifications_refused_total{kind="UNAUTHENTICATED"} 10.0' in metrics_of(meter)


async def test_who_sends_many_that_are_refused_is_refused_before_the_body_has_come_and_a_rail_beside_it_is_not(
    bank: Bank, new_checkout: MakeCheckout, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = monotonic_s()
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: now)
    async with serving(Settings(database_url=database_url, trusted_proxies=1)) as (url, _):

        def a_head(address: bytes) -> bytes:
            line = b"POST /intake/sandbox HTTP/1.1"
            return head(None, b"x-forwarded-for: " + address, length=1, line=line)

        for _ in range(60):
            assert (await ask(url, a_head(b"192.0.2.1") + b"x")).status_code == 401
        assert (await ask(url, a_head(b"192.0.2.1"))).status_code == 429
        assert (await ask(url, a_head(b"192.0.2.2") + b"x")).status_code == 401
        account = await (await new_checkout()).account()
        async with httpx.AsyncClient(base_url=url, headers={"x-forwarded-for": "192.0.2.3"}, timeout=60) as client:
            for _ in range(70):
                assert (await replace(bank, client=client).notify(credit(account))).status_code == 200
