"""The emulated bank, and the product against it: dollars and euros by file, one returned by pain.001."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from bank.world import DOLLARS, SHILLINGS, BankWorld, let_out
from bank_file_maker import ACCOUNT
from build import Shop
from conftest import check_books
from tidegate.bank_file.folder import FolderWatch
from tidegate.core.money import Currency
from tidegate.emulator.bank import server
from tidegate.emulator.bank.server import RunningBank
from tidegate.emulator.bank.service import BankService
from tidegate.emulator.bank.spoil import BadFile
from tidegate.rail.bankfiles import reader
from tidegate.rail.bankfiles import store as rail_store
from tidegate.rail.bankfiles.continuity import gaps_in
from tidegate.rail.bankfiles.model import BankEntry, BankStatement, FileRefused
from tidegate.runtime import Runtime

ACCOUNTS = {ACCOUNT: "EUR", DOLLARS: "USD", SHILLINGS: "UGX"}


@pytest.fixture
async def emulated(tmp_path: Path) -> AsyncIterator[RunningBank]:
    async with server.running(BankService(tmp_path, ACCOUNTS)) as running:
        yield running


@pytest.fixture
async def control(emulated: RunningBank) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(verify=False, base_url=emulated.control_url) as client:
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
    async with httpx.AsyncClient(verify=False, base_url=emulated.page_url, follow_redirects=True) as client:
        form = {"do": "transfer", "account": ACCOUNT, "amount": "12.50", "remittance": "TG & co"}
        shown = await client.post("/", data=form)
        assert "+12.50 EUR" in shown.text
        assert (await client.post("/", data={**form, "amount": "much"})).status_code == 400
        assert (await client.post("/", data={**form, "account": "x"})).status_code == 400
    assert len(list((tmp_path / "in").glob("notice-*.xml"))) == 1


# What banks do, each on request by the control port. No database: what the files say.


class Told(NamedTuple):
    entries: list[BankEntry]
    statements: list[BankStatement]


async def told(control: httpx.AsyncClient, folder: Path, do: str, **given: Any) -> Told:
    """What the files say that this wrote, the first first."""
    before = set((folder / "in").iterdir())
    done = await control.post(f"/{do}", json={"account": ACCOUNT, **given})
    assert done.is_success, done.text
    files = sorted(set((folder / "in").iterdir()) - before, key=lambda path: path.stat().st_mtime_ns)
    parts = [part for path in files for part in reader.opened(io.BytesIO(path.read_bytes())).parts]
    return Told(
        [one for one in parts if isinstance(one, BankEntry)], [one for one in parts if isinstance(one, BankStatement)]
    )


ENTRIES: dict[str, tuple[dict[str, Any], Callable[[BankEntry], bool]]] = {
    "as usual": ({}, lambda one: one.is_credit and one.amount == Decimal("12.50") and one.uetr is not None),
    "in a report of the day": ({"notice": "camt.052"}, lambda one: one.payee_name == "Ada"),
    "in an MT942": ({"notice": "mt942"}, lambda one: one.payee_name is None),
    "without the recipient": ({"payee_name": ""}, lambda one: one.payee_name is None),
    "without any reference": ({"changes": {"reference": None, "uetr": None}}, lambda one: not one.has_reference),
    "pending": ({"changes": {"status": "PDNG"}}, lambda one: not one.is_booked),
    "in another currency": ({"changes": {"currency": "USD"}}, lambda one: one.currency == "USD"),
    "of five decimals": ({"amount": "1.23456"}, lambda one: one.amount == Decimal("1.23456")),
    "of nothing": ({"amount": "0"}, lambda one: one.amount == 0),
    "of another day": ({"changes": {"day": "2026-01-05"}}, lambda one: one.booked_on == date(2026, 1, 5)),
    "a batch without amounts": ({"changes": {"parts": ["", ""]}}, lambda one: one.problem is not None),
}


@pytest.mark.parametrize("how", ENTRIES)
async def test_a_transfer_is_told_as_banks_do(control: httpx.AsyncClient, tmp_path: Path, how: str) -> None:
    given, is_right = ENTRIES[how]
    [entry] = (await told(control, tmp_path, "transfer", **{"amount": "12.50", "payee_name": "Ada", **given})).entries
    assert is_right(entry)


async def test_a_transfer_may_be_told_by_the_statement_alone(control: httpx.AsyncClient, tmp_path: Path) -> None:
    assert await told(control, tmp_path, "transfer", amount="5", notice="none") == Told([], [])
    assert len((await told(control, tmp_path, "statement")).entries) == 1


async def test_a_batch_is_divided_by_its_amounts(control: httpx.AsyncClient, tmp_path: Path) -> None:
    parts = (await told(control, tmp_path, "transfer", amount="7", changes={"parts": ["3", "4"]})).entries
    assert [one.amount for one in parts] == [3, 4]


async def test_statements_have_pages_gaps_and_lies(control: httpx.AsyncClient, tmp_path: Path) -> None:
    for _ in range(4):
        await told(control, tmp_path, "transfer", amount="10")
    [page] = (await told(control, tmp_path, "statement", pages=2, without_page=1)).statements
    assert (page.sequence, page.page, page.opening, page.closing) == (1, 2, Decimal(20), Decimal(40))
    await told(control, tmp_path, "skip")
    [lie] = (await told(control, tmp_path, "statement", closing="41")).statements
    assert (lie.sequence, lie.opening, lie.closing, lie.is_complete) == (3, Decimal(40), Decimal(41), False)
    for how in ("same", "copy", "corrected"):
        [again] = (await told(control, tmp_path, "repeat", how=how)).statements
        assert again.id == lie.id


async def test_credits_are_taken_back_and_payments_come_back(
    control: httpx.AsyncClient, emulated: RunningBank, tmp_path: Path
) -> None:
    [credit] = (await told(control, tmp_path, "transfer", amount="10")).entries
    reference = emulated.service.entries[ACCOUNT][0].reference
    [back] = (await told(control, tmp_path, "reverse", reference=reference, amount="4")).entries
    assert (back.is_credit, back.is_reversal, back.amount, back.uetr) == (False, True, Decimal(4), credit.uetr)
    [unnamed] = (await told(control, tmp_path, "reverse", reference=reference, is_named=False)).entries
    assert (unnamed.uetr, unnamed.end_to_end_id) == (None, None)
    await told(control, tmp_path, "transfer", amount="10", changes={"is_credit": False, "end_to_end_id": "rt-1"})
    [bounced] = (await told(control, tmp_path, "bounce", end_to_end_id="rt-1")).entries
    assert (bounced.is_credit, bounced.is_return, bounced.return_reason) == (True, True, "AC04")


async def test_while_it_is_away_files_are_held(control: httpx.AsyncClient, tmp_path: Path) -> None:
    await told(control, tmp_path, "transfer", amount="1")
    await control.post("/away", json={})
    await control.post("/transfer", json={"account": ACCOUNT, "amount": "2"})
    assert list((tmp_path / "in").iterdir()) == []
    both = await told(control, tmp_path, "back")
    assert sorted(one.amount for one in both.entries) == [1, 2]


@pytest.mark.parametrize("what", BadFile)
async def test_bad_files_are_refused_and_odd_ones_read(
    control: httpx.AsyncClient, tmp_path: Path, what: BadFile
) -> None:
    assert (await control.post("/spoil", json={"account": ACCOUNT, "what": what})).is_success
    content = (tmp_path / "in" / f"{what}.xml").read_bytes()
    if what in (BadFile.UTF_16, BadFile.BYTE_ORDER_MARK, BadFile.STRANGE_ACCOUNT):
        # Whose account it is, the import decides.
        assert len(list(reader.opened(io.BytesIO(content)).parts)) == 1
    else:
        with pytest.raises(FileRefused):
            list(reader.opened(io.BytesIO(content)).parts)


@pytest.mark.parametrize(
    ("do", "given"),
    [
        ("transfer", {"amount": "much"}),
        ("transfer", {"amount": "-1"}),
        ("transfer", {}),
        ("transfer", {"amount": "1", "notice": "fax"}),
        ("transfer", {"amount": "1", "changes": {"colour": "red"}}),
        ("statement", {"account": "x"}),
        ("reverse", {"reference": "never"}),
        ("bounce", {"end_to_end_id": "never"}),
        ("spoil", {"what": "nothing"}),
    ],
)
async def test_what_it_cannot_do_is_said(control: httpx.AsyncClient, do: str, given: dict[str, Any]) -> None:
    refused = await control.post(f"/{do}", json={"account": ACCOUNT, **given})
    assert (refused.status_code, bool(refused.text)) == (400, True)


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
    await let_out(bank.deps, bank.settings, now=bank.now)
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
    await let_out(bank.deps, bank.settings, now=bank.now)
    emulated.service.take_orders()
    await imported(bank)
    row = await bank.admin.fetchrow("SELECT status, failure FROM money_return")
    assert (row["status"], row["failure"]) == ("failed", "RJCT AC04")
    await bank.admin.execute("UPDATE money_return SET status = 'sent', failure = NULL")


async def test_a_file_of_payments_that_comes_twice_is_rejected(
    bank: BankWorld, control: httpx.AsyncClient, emulated: RunningBank
) -> None:
    given = {"account": ACCOUNT, "amount": "9", "destination": await bank.account(), "payee_name": "Chidi Eze"}
    await control.post("/transfer", json=given)
    await control.post("/answers", json={"statuses": ["ACTC", "RJCT"]})
    await imported(bank)
    await bank.work()
    await let_out(bank.deps, bank.settings, now=bank.now)
    emulated.service.take_orders()
    [taken] = (bank.settings.folder / "taken").iterdir()
    taken.rename(bank.settings.folder / "out" / taken.name)
    emulated.service.take_orders()
    assert b"<Cd>AM05</Cd>" in emulated.service.written[-1]
    assert emulated.service.paid == set()
