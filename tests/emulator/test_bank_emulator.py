"""The emulated bank, and the product against it: dollars and euros by file, one returned by pain.001."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from bank.world import DOLLARS, SHILLINGS, BankWorld
from bank_file_maker import ACCOUNT
from build import Shop
from conftest import check_books
from tidegate.bank_file import payout as payouts
from tidegate.bank_file import payout_store
from tidegate.bank_file.folder import FolderWatch
from tidegate.core.money import Currency
from tidegate.emulator.bank import server
from tidegate.emulator.bank.server import RunningBank
from tidegate.emulator.bank.service import BankService
from tidegate.rail.bankfiles import reader
from tidegate.rail.bankfiles import store as rail_store
from tidegate.rail.bankfiles.continuity import gaps_in
from tidegate.runtime import Runtime

ACCOUNTS = {ACCOUNT: "EUR", DOLLARS: "USD", SHILLINGS: "UGX"}


@pytest.fixture
async def emulated(tmp_path: Path) -> AsyncIterator[RunningBank]:
    async with server.running(BankService(tmp_path, ACCOUNTS)) as running:
        yield running


@pytest.fixture
async def control(emulated: RunningBank) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=emulated.control_url) as client:
        yield client


@pytest.fixture
async def bank(
    shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path, emulated: RunningBank
) -> AsyncIterator[BankWorld]:
    """The books are examined afterwards."""
    yield BankWorld.of(shop, runtime, admin, tmp_path)
    await check_books(runtime)


async def imported(bank: BankWorld) -> None:
    """What the worker does: two looks at the folder, and the entries."""
    watch = FolderWatch()
    for _ in range(2):
        await watch(bank.deps, bank.runtime.clock)
    await bank.record()


@pytest.mark.parametrize("version", [2, 3, 4, 8])
def test_its_files_fit_their_schemas(tmp_path: Path, version: int) -> None:
    service = BankService(tmp_path, ACCOUNTS, version=version)
    for _ in range(2):
        service.transfer(ACCOUNT, Decimal(12), payee_name="Ada", destination=None, remittance="x & y")
    service.statement(ACCOUNT)
    service.statement(ACCOUNT, kind="mt940")
    files = list((tmp_path / "in").iterdir())
    assert len(files) == 4
    for path in files:
        assert list(reader.opened(io.BytesIO(path.read_bytes())).parts)


async def test_a_person_makes_a_transfer_on_its_page(emulated: RunningBank, tmp_path: Path) -> None:
    async with httpx.AsyncClient(base_url=emulated.page_url, follow_redirects=True) as client:
        form = {"do": "transfer", "account": ACCOUNT, "amount": "12.50", "remittance": "TG & co"}
        shown = await client.post("/", data=form)
        assert "+12.50 EUR" in shown.text
        assert (await client.post("/", data={**form, "amount": "much"})).status_code == 400
        assert (await client.post("/", data={**form, "account": "x"})).status_code == 400
    assert len(list((tmp_path / "in").glob("notice-*.xml"))) == 1


async def test_dollars_and_euros_arrive_by_file_and_one_is_returned(
    bank: BankWorld, control: httpx.AsyncClient, emulated: RunningBank
) -> None:
    euros, dollars = await bank.account(), await bank.account(Currency.USD)
    for account, number, name in ((ACCOUNT, euros, "Chidi Eze"), (DOLLARS, dollars, "Ada Obi")):
        given = {"account": account, "amount": "250.00", "destination": number, "payee_name": name}
        assert (await control.post("/transfer", json=given)).is_success
    await imported(bank)
    statuses = {row["source_currency"]: row["status"] for row in await bank.inflows()}
    assert statuses == {"EUR": "reversed", "USD": "successful"}

    await bank.work()
    async with bank.runtime.db.connection() as tx:
        [payout] = await payout_store.list_payouts(tx, is_open=True, limit=10)
    await payouts.approve(bank.runtime.db, payout.reference, by="ada", now=bank.now)
    await payouts.export(bank.deps, bank.settings, by="bisi", now=bank.now, on_written=lambda *_: None)
    emulated.service.take_orders()
    for account in (ACCOUNT, DOLLARS):
        assert (await control.post("/statement", json={"account": account})).is_success
    await imported(bank)
    row = await bank.admin.fetchrow("SELECT status, failure FROM money_return")
    assert (row["status"], row["failure"]) == ("confirmed", None)
    # Every credit and the debit came twice, in a notice and in the statement.
    assert sorted(await bank.states()) == ["done"] * 3 + ["repeat"] * 3
    assert await bank.wallet("USD") > 0
    async with bank.runtime.db.connection() as tx:
        assert gaps_in(await rail_store.list_statements(tx)) == []
    assert not list((bank.settings.folder / "bad").iterdir())


async def test_a_closed_account_rejects_the_return_with_its_reason(
    bank: BankWorld, control: httpx.AsyncClient, emulated: RunningBank
) -> None:
    given = {"account": ACCOUNT, "amount": "9", "destination": await bank.account(), "payee_name": "Chidi Eze"}
    await control.post("/transfer", json=given)
    await control.post("/close", json={"number": "NL91ABNA0417164300"})
    await imported(bank)
    await bank.work()
    async with bank.runtime.db.connection() as tx:
        [payout] = await payout_store.list_payouts(tx, is_open=True, limit=10)
    await payouts.approve(bank.runtime.db, payout.reference, by="ada", now=bank.now)
    await payouts.export(bank.deps, bank.settings, by="bisi", now=bank.now, on_written=lambda *_: None)
    emulated.service.take_orders()
    await imported(bank)
    row = await bank.admin.fetchrow("SELECT status, failure FROM money_return")
    assert (row["status"], row["failure"]) == ("failed", "RJCT AC04")
    await bank.admin.execute("UPDATE money_return SET status = 'sent', failure = NULL")
