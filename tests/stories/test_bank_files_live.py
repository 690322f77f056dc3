"""Live mode with a bank's files: a server, its worker, and the emulated bank; a checkout, an inflow, a refund."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from bank.world import DOLLARS, SHILLINGS, settings_in
from bank_file_maker import ACCOUNT
from build import Shop, order
from live_database import live_database
from tidegate import app, worker
from tidegate.bank_file import payout as payouts
from tidegate.bank_file import payout_store
from tidegate.bank_file.folder import FolderWatch
from tidegate.bank_settings import BankFilesSettings
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.doctor.commands import examine_books, examine_rails
from tidegate.emulator.bank import server as emulator
from tidegate.emulator.bank.service import BankService
from tidegate.infra.http.server import GracefulServer, bind, configure
from tidegate.infra.telemetry import Meter
from tidegate.ledger import chain
from tidegate.merchant import commands as merchants
from tidegate.reconcile import commands as reconcile
from tidegate.reconcile import rail_list
from tidegate.reconcile.model import ReconcilePeriod
from tidegate.runtime import Runtime
from tidegate.settings import Settings

DATABASE = "tidegate_test_bank_files"
WITHIN_S = 120


@dataclass(frozen=True)
class LiveBank:
    shop: Shop
    bank: BankService
    runtime: Runtime
    settings: Settings
    files: BankFilesSettings

    async def view(self, code: str) -> dict[str, Any]:
        data: dict[str, Any] = (await self.shop.client.get(f"/checkout/payments/{code}")).json()["data"]
        return data


async def eventually(look: Callable[[], Awaitable[Any]], is_right: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(WITHIN_S):
        while not is_right(seen := await look()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return seen


@pytest.fixture
async def world(server_url: str, tmp_path: Path) -> AsyncIterator[LiveBank]:
    files = settings_in(tmp_path)
    service = BankService(tmp_path, {ACCOUNT: "EUR", DOLLARS: "USD", SHILLINGS: "UGX"})
    # The same loops, without the five seconds between two looks.
    loops = tuple(
        replace(loop, round=FolderWatch(), every_s=0.2) if loop.name == "import_bank_files" else loop
        for loop in worker.LIVE_LOOPS
    )
    async with live_database(server_url, DATABASE) as url, emulator.running(service):
        settings = Settings(
            mode=Mode.LIVE, database_url=url, base_url="https://api.example.com", rails=("bankfiles",), bankfiles=files
        )
        runtime = Runtime.of(settings)
        with bind("127.0.0.1", 0) as listening:
            server = GracefulServer(configure(app.build(settings)))
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            async with runtime.open(), httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=60
            ) as client:  # fmt: skip
                await eventually(_is_started(server, serving), bool)
                working = asyncio.create_task(worker.run(runtime.deps, runtime.clock, Meter(), loops))
                yield LiveBank(await _shop(runtime, client), service, runtime, settings, files)
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
            server.should_exit = True
            await serving


def _is_started(server: GracefulServer, serving: asyncio.Task[Any]) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        assert not serving.done(), "the server did not start"
        return server.started

    return look


async def _shop(runtime: Runtime, client: httpx.AsyncClient) -> Shop:
    now = SystemClock().now()
    new = await merchants.create(runtime.db, name="Live Shop", email="live@example.com", mode=Mode.LIVE, now=now)
    return Shop(client, new.business.id, new.secret_key, new.public_key)


async def test_a_checkout_is_paid_by_its_reference_refunded_and_reconciled(world: LiveBank) -> None:
    answer = await world.shop.create(order(amount=10_000, currency="UGX"))
    assert answer.status_code == 201, answer.text
    code = answer.json()["data"]["payCode"]
    charged = await world.shop.client.post(f"/checkout/payments/{code}/charge", json={"type": "bank_transfer"})
    action = charged.json()["data"]["action"]
    assert (action["type"], action["virtualAccount"]["accountNumber"]) == ("transfer", SHILLINGS)
    page = (await world.shop.client.get(f"/pay/{code}")).text
    assert action["reference"] in page

    world.bank.transfer(
        SHILLINGS, Decimal(10_000), payee_name=None, destination=None,
        remittance=f"order {action['reference'].lower()}",
    )  # fmt: skip
    await eventually(lambda: world.view(code), lambda view: view["status"] == "success")

    body = {"transReference": code, "amount": 4_000, "reason": "sold out"}
    headers = {"api-key": world.shop.secret_key}
    answer = await world.shop.client.post("/collections/refund", json=body, headers=headers)
    assert answer.is_success, answer.text

    async def proposed() -> list[payout_store.ProposedPayout]:
        async with world.runtime.db.connection() as tx:
            return await payout_store.list_payouts(tx, is_open=True, limit=10)

    [payout] = await eventually(proposed, bool)
    now = SystemClock().now()
    await payouts.approve(world.runtime.db, payout.reference, by="ada", now=now)
    await payouts.export(world.runtime.deps, world.files, by="bisi", now=now, on_written=lambda *_: None)

    async def refund() -> str:
        async with world.runtime.db.connection() as tx:
            return str(await tx.fetchval("SELECT status FROM refund"))

    await eventually(refund, lambda status: status == "successful")
    world.bank.statement(SHILLINGS)

    async def read() -> int:
        async with world.runtime.db.connection() as tx:
            return int(await tx.fetchval("SELECT count(*) FROM bank_entry WHERE state = 'repeat'"))

    await eventually(read, lambda count: count == 2)
    await _is_in_order(world)


async def _is_in_order(world: LiveBank) -> None:
    now = SystemClock().now()
    while (await chain.extend(world.runtime.db, SystemClock())).done:
        pass
    findings, _ = await examine_books(world.runtime.db, now=now)
    assert [one for one in findings if not one.is_well] == []
    rails = await examine_rails(world.runtime.db, world.settings, now=now)
    assert [one for one in rails if not one.is_well] == []
    period = ReconcilePeriod(now.date(), now.date(), timedelta(days=1))
    lines = await rail_list.fetch(world.runtime.rails["bankfiles"], period)
    report = await reconcile.reconcile(world.runtime.db, lines, rail="bankfiles", period=period, is_configured=True)
    assert (report.lines, report.matched, report.findings) == (2, 2, [])
