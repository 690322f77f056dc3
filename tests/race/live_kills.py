"""Live mode against the three emulators: API processes and workers are killed fifty times under load. It takes minutes,
and is run by its name: `make live-kills`."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from build import Shop, order
from live_database import live_database
from live_engine import eventually
from process import free_port, stop, supervised_by, tidegate, wait_until_ready
from race.bank_load import BANK_ACCOUNTS, BankLoad, environment_in
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.doctor.commands import examine_books
from tidegate.emulator.bank import server as bank_emulator
from tidegate.emulator.bank.service import BankService
from tidegate.emulator.pawapay import server as pawapay_emulator
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount
from tidegate.emulator.pawapay.server import RunningPawapay
from tidegate.emulator.paystack import server as paystack_emulator
from tidegate.emulator.paystack.model import EmulatedAccount
from tidegate.emulator.paystack.server import RunningPaystack
from tidegate.ledger import chain
from tidegate.merchant import commands as merchants
from tidegate.runtime import Runtime
from tidegate.settings import from_environment

KILLS = int(os.environ.get("TIDEGATE_TEST_KILLS", "50"))
# Which child is killed each time. It is printed, and given to repeat a run.
SEED = int(os.environ.get("TIDEGATE_TEST_SEED") or random.randrange(10**9))
CLIENTS = 4
AMOUNT = 2000
REFUND_WITHIN_S = 10
KEY, TOKEN = "sk_test_emulated0000", "a-token-of-the-tests"
HOST = "pay.example.com"
ENCRYPTION_KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
WAYS: list[tuple[str, dict[str, Any]]] = [
    ("UGX", {"type": "mobile_money", "phone": "+256772345678", "operator": "mtn"}),
    ("ZMW", {"type": "mobile_money", "phone": "+260971234567", "operator": "airtel"}),
    ("NGN", {"type": "bank_transfer"}),
    ("NGN", {"type": "card"}),
    ("UGX", {"type": "bank_transfer"}),
]
# Every so many kills one hits a worker that has begun to read a file.
FILE_KILL_EVERY = 10
OPEN_WORK = """
    SELECT (SELECT count(*) FROM refund WHERE status = 'processing')
         + (SELECT count(*) FROM money_return WHERE status IN ('asked', 'sent'))
         + (SELECT count(*) FROM attempt WHERE status IN ('starting', 'running'))
"""


STILL_OPEN = """
    SELECT 'refund', reference, status, rail, coalesce(sent_as, 'not sent') FROM refund_leg WHERE status = 'processing'
     UNION ALL
    SELECT 'return', reference, status, rail, coalesce(next_try_at::text, 'never') FROM money_return
     WHERE status IN ('asked', 'sent')
     UNION ALL
    SELECT 'attempt', attempt.reference, attempt.status, attempt.rail, payment.status || ' ' || attempt.method
      FROM attempt JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
     WHERE attempt.status IN ('starting', 'running') OR payment.reference = ANY ($1) AND payment.status <> 'success'
"""
SETTLED_WITHIN_S = 600


@dataclass
class KillWorld:
    shop: Shop
    runtime: Runtime
    bank: BankLoad
    paystack: RunningPaystack
    pawapay: RunningPawapay
    parents: list[Any]
    # References whose payment and refund were acknowledged.
    paid: list[str] = field(default_factory=list)
    refunds: list[str] = field(default_factory=list)
    is_over: bool = False

    async def shop_for_ever(self, ways: Any) -> None:
        while not self.is_over:
            currency, charge = next(ways)
            with suppress(httpx.TransportError, KeyError, ValueError, AssertionError, TimeoutError):
                await self.buy(currency, charge)

    async def buy(self, currency: str, charge: dict[str, Any]) -> None:
        created = (await self.shop.create(order(amount=AMOUNT, currency=currency))).json()["data"]
        answer = await self.shop.client.post(f"/checkout/payments/{created['payCode']}/charge", json=charge)
        assert answer.status_code == 200
        self.approve(answer.json()["data"])
        self.paid.append(created["reference"])
        if charge["type"] != "mobile_money":
            return  # A refund that never reached Paystack is looked for in its list for ten minutes.
        await self.settled(created["reference"])
        body = {"transReference": created["reference"], "amount": 500}
        headers = {"api-key": self.shop.secret_key, "idempotency-key": created["reference"]}
        answer = await self.shop.client.post("/collections/refund", json=body, headers=headers)
        if answer.is_success:
            self.refunds.append(answer.json()["data"]["reference"])

    async def settled(self, reference: str) -> None:
        """What is not paid yet cannot be refunded. When the processes are away for long, it is not refunded."""
        async with asyncio.timeout(REFUND_WITHIN_S):
            while (await self.shop.verify(reference)).json()["data"]["status"] != "success":  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    def approve(self, charged: dict[str, Any]) -> None:
        attempt, code = charged["attemptId"], (charged["action"] or {}).get("reference")
        if code:
            self.bank.pay_checkout(code, AMOUNT)
        elif (deposit := self.pawapay.service.find(attempt)) is not None:
            self.pawapay.service.approve(deposit)
        else:
            self.paystack.service.pay(self.paystack.service.memory.payments[self.sent_as(attempt)])

    def sent_as(self, attempt: str) -> str:
        return f"{attempt.replace('_', '-')}.{self.shop.business_id}"

    def received(self) -> set[str]:
        """The transactions that the rails with an API have been paid."""
        cards = {str(one.id) for one in self.paystack.service.memory.payments.values() if one.paid_at}
        return cards | {one.id for one in self.pawapay.service.memory.deposits.values() if one.status == "COMPLETED"}


@pytest.fixture
async def world(server_url: str, tmp_path: Path) -> AsyncIterator[KillWorld]:
    port = free_port()
    bank = BankService(tmp_path, BANK_ACCOUNTS)
    account = EmulatedPawapayAccount(TOKEN, f"http://127.0.0.1:{port}/intake/pawapay")
    async with (
        live_database(server_url, "tidegate_test_live_kills") as url,
        paystack_emulator.running(EmulatedAccount(KEY, f"http://127.0.0.1:{port}/intake/paystack")) as paystack,
        pawapay_emulator.running(account) as pawapay,
        bank_emulator.running(bank),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        pawapay.service.callbacks.signed_for = (HOST, "/intake/pawapay")
        environment = {
            "TIDEGATE_MODE": "live", "TIDEGATE_BASE_URL": f"https://{HOST}", "TIDEGATE_HOSTS": "127.0.0.1",
            "DATABASE_URL": url, "TIDEGATE_ENCRYPTION_KEY": ENCRYPTION_KEY, "PORT": str(port),
            "TIDEGATE_RAILS": "pawapay paystack bankfiles", "TIDEGATE_PAYSTACK_SECRET_KEY": KEY,
            "TIDEGATE_PAYSTACK_BASE_URL": paystack.api_url, "TIDEGATE_PAYSTACK_WEBHOOK_IPS": "any",
            "TIDEGATE_PAWAPAY_TOKEN": TOKEN, "TIDEGATE_PAWAPAY_BASE_URL": pawapay.api_url,
            **environment_in(tmp_path),
        }  # fmt: skip
        settings = from_environment(environment)
        assert settings.bankfiles is not None
        runtime = Runtime.of(settings)
        async with runtime.open():
            now = runtime.clock.now()
            new = await merchants.create(
                runtime.db, name="Live Shop", email="live@example.com", mode=Mode.LIVE, now=now
            )
            await merchants.change(runtime.db, new.business.id, {"rate_per_second": 1000, "rate_burst": 1000}, now=now)
            load = BankLoad(bank, runtime, settings.bankfiles)
            await load.open_accounts(new.business.id)
            parents = [tidegate("serve", **environment), tidegate("worker", **environment)]
            try:
                await asyncio.to_thread(wait_until_ready, str(client.base_url).rstrip("/"), parents[0])
                shop = Shop(client, new.business.id, new.secret_key, new.public_key)
                yield KillWorld(shop, runtime, load, paystack, pawapay, parents)
            finally:
                for parent in parents:
                    await asyncio.to_thread(stop, parent)


async def test_fifty_kills_lose_and_double_nothing(world: KillWorld) -> None:
    print(f"TIDEGATE_TEST_SEED={SEED}")
    chance = random.Random(SEED)
    ways = itertools.cycle(WAYS)
    shoppers = [asyncio.create_task(world.shop_for_ever(ways)) for _ in range(CLIENTS)]
    transfers = asyncio.create_task(world.bank.run())
    await _progress(world)
    for number in range(KILLS):
        parent = world.parents[number % 2]
        if number % FILE_KILL_EVERY == 1:
            await _file_begun(world)
        children = await asyncio.to_thread(supervised_by, parent)
        with suppress(ProcessLookupError):
            os.kill(chance.choice(children), signal.SIGKILL)
        await _progress(world)
    world.is_over = True
    await asyncio.gather(*shoppers)
    transfers.cancel()
    with suppress(asyncio.CancelledError):
        await transfers
    await _settled(world)
    world.bank.end_day()
    await _settled(world)
    async with world.runtime.db.connection() as tx:
        receipts = [
            row["transaction_id"]
            for row in await tx.fetch("SELECT transaction_id FROM receipt WHERE rail <> 'bankfiles'")
        ]
        unpaid = await tx.fetchval(
            "SELECT count(*) FROM payment WHERE reference = ANY ($1) AND status <> 'success'", world.paid
        )
        refunds = await tx.fetch("SELECT status FROM refund")
    assert sorted(receipts) == sorted(world.received())
    assert unpaid == 0
    await world.bank.is_whole()
    assert {row["status"] for row in refunds} == {"successful"}
    paid_back = len(world.paystack.service.memory.refunds) + len(world.pawapay.service.memory.refunds)
    assert len(set(world.refunds)) <= len(refunds) == paid_back
    while (await chain.extend(world.runtime.db, SystemClock())).done:
        pass
    findings, _ = await examine_books(world.runtime.db, now=SystemClock().now())
    assert [finding for finding in findings if not finding.is_well] == []
    inflows = world.bank.expected.total()
    print(f"{len(world.paid)} payments, {len(refunds)} refunds, {inflows} inflows by file, {KILLS} kills")


async def _progress(world: KillWorld) -> None:
    """Until another payment is acknowledged."""
    before = len(world.paid)

    async def count() -> int:
        return len(world.paid)

    await eventually(count, lambda now: now > before)


async def _file_begun(world: KillWorld) -> None:
    before = await world.bank.count_files()
    await eventually(world.bank.count_files, lambda now: now > before)


async def _settled(world: KillWorld) -> None:
    # Prompts that nobody approved, since their answer was lost with a process, end.
    world.pawapay.service.advance(timedelta(minutes=6))

    async def open_work() -> Any:
        world.paystack.service.advance(timedelta(seconds=5))
        await world.bank.let_out()
        unread = await world.bank.count_unread()
        async with world.runtime.db.connection() as tx:
            missing = await tx.fetchval(
                "SELECT count(*) FROM payment WHERE reference = ANY ($1) AND status <> 'success'", world.paid
            )
            return missing + unread + await tx.fetchval(OPEN_WORK)

    try:
        async with asyncio.timeout(SETTLED_WITHIN_S):
            while await open_work():  # noqa: ASYNC110
                await asyncio.sleep(0.5)
    except TimeoutError:
        async with world.runtime.db.connection() as tx:
            left = [tuple(row) for row in await tx.fetch(STILL_OPEN, world.paid)]
        raise AssertionError(f"still open: {left}") from None
