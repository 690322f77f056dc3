"""Files become inflows: each file once, each credit once, whatever comes twice, late or broken."""

from __future__ import annotations

import asyncio
import os
import re
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bank.world import ADA, BankWorld
from bank_file_maker import ACCOUNT, DAY, VIRTUAL, camt_file, entry, mt940_file, statement
from build import Shop
from conftest import check_books
from tidegate.bank_file import decide, duplicate, imports, store
from tidegate.bank_file.folder import FolderWatch
from tidegate.core.errors import Unavailable
from tidegate.core.money import Currency
from tidegate.emulator.bank.camt_writer import camt
from tidegate.infra.leased_work import RoundResult
from tidegate.rail.bankfiles import key
from tidegate.rail.bankfiles import store as rail_store
from tidegate.rail.bankfiles.continuity import gaps_in, working_time_between
from tidegate.rail.bankfiles.model import BankEntry
from tidegate.rail.bankfiles.rail import FOLDERS
from tidegate.runtime import Runtime


@pytest.fixture
async def bank(shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path) -> AsyncIterator[BankWorld]:
    """The books are examined afterwards."""
    yield BankWorld.of(shop, runtime, admin, tmp_path)
    await check_books(runtime)


async def test_a_credit_becomes_an_inflow_by_the_door_of_every_rail(bank: BankWorld) -> None:
    number = await bank.account()
    file = await bank.bring(camt_file(entry(destination=number)))
    assert (file.state, file.kind, file.entry_count) == ("read", "camt.053.001.08", 1)
    [inflow] = await bank.inflows()
    assert (inflow["status"], inflow["source_minor"], inflow["rail"]) == ("successful", 250_00, "bankfiles")
    assert inflow["transaction_id"] == f"{DAY}/{ACCOUNT}/C/2026111500017"
    assert inflow["payee_name"] == "Ada Obi"
    assert await bank.wallet("EUR") > 0


async def test_a_file_is_kept_once_byte_for_byte_and_its_entries_refer_to_it(bank: BankWorld) -> None:
    content = camt_file(entry(destination=await bank.account()))
    first, second = await bank.bring(content, "a.xml"), await bank.bring(content, "b.xml")
    assert second.id == first.id
    assert await bank.admin.fetchval("SELECT count(*) FROM bank_file") == 1
    parts = await bank.admin.fetch("SELECT content FROM bank_file_part ORDER BY number")
    assert b"".join(zlib.decompress(part["content"]) for part in parts) == content
    body = await bank.admin.fetchval("SELECT body FROM notification WHERE rail = 'bankfiles'")
    assert body.decode() == f'{{"file":"{first.id}","entry":1}}'
    assert len(await bank.inflows()) == 1


@pytest.mark.parametrize("order", [("054", "053"), ("053", "054"), ("052", "053")])
async def test_the_same_credit_in_two_files_is_one(bank: BankWorld, order: tuple[str, str]) -> None:
    number = await bank.account()
    for kind in order:
        await bank.bring(camt_file(entry(destination=number), kind=kind))
    assert len(await bank.inflows()) == 1
    assert sorted(await bank.states()) == ["done", "repeat"]


async def test_another_form_of_the_account_number_is_the_same_account(
    shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path
) -> None:
    """The credit is reported by camt.054 under the IBAN, and by MT940 under the form that only MT940 has."""
    bank = BankWorld.of(shop, runtime, admin, tmp_path, also=("37040044/0532013000",))
    credit = entry(destination=await bank.account())
    await bank.bring(camt_file(credit, kind="054"))
    await bank.bring(mt940_file(credit, account="37040044/0532013000"))
    assert sorted(await bank.states()) == ["done", "repeat"]
    await check_books(runtime)


async def test_a_third_file_is_recognised_by_a_reference_that_only_the_second_had(bank: BankWorld) -> None:
    credit = entry(destination=await bank.account())
    both = replace(credit, uetr="255ae394-9965-4438-ac86-f406feada396")
    await bank.bring(camt_file(credit, kind="054"))
    await bank.bring(camt_file(both))
    await bank.bring(camt_file(replace(both, reference=None), kind="052"))
    assert sorted(await bank.states()) == ["done", "repeat", "repeat"]
    assert len(await bank.inflows()) == 1


def undated(file: bytes, valued: str = "2026-11-16") -> bytes:
    return file.replace(b"<BookgDt><Dt>2026-11-15</Dt></BookgDt>", b"").replace(
        b"<ValDt><Dt>2026-11-15", f"<ValDt><Dt>{valued}".encode()
    )


def valued_later(file: bytes) -> bytes:
    return file.replace(b"<ValDt><Dt>2026-11-15", b"<ValDt><Dt>2026-11-16")


@pytest.mark.parametrize("is_notice_first", [True, False])
async def test_a_file_without_booking_dates_is_recognised_by_the_value_date(
    bank: BankWorld, is_notice_first: bool
) -> None:
    credit = entry(destination=await bank.account())
    files = [undated(camt_file(credit, kind="054")), valued_later(camt_file(credit))]
    for file in files if is_notice_first else reversed(files):
        await bank.bring(file)
    assert sorted(await bank.states()) == ["done", "repeat"]
    assert len(await bank.inflows()) == 1


async def test_a_statement_of_the_virtual_number_and_one_of_the_account(bank: BankWorld) -> None:
    credit = entry(destination=await bank.account())
    await bank.bring(camt_file(replace(credit, destination=None), kind="054", account=VIRTUAL))
    await bank.bring(camt_file(credit))
    await bank.bring(mt940_file(replace(credit, destination=None)))
    assert sorted(await bank.states()) == ["done", "repeat", "repeat"]
    [inflow] = await bank.inflows()
    assert inflow["transaction_id"] == f"{DAY}/{ACCOUNT}/C/2026111500017"


async def test_a_credit_in_suspense_is_not_credited_by_the_next_file(bank: BankWorld) -> None:
    """Between the two its number is given to an account."""
    await bank.bring(camt_file(entry(), kind="054"))
    assert await bank.account() == VIRTUAL
    await bank.bring(camt_file(entry()))
    assert await bank.inflows() == []
    assert await bank.admin.fetchval("SELECT count(*) FROM receipt WHERE outcome = 'suspense'") == 1


async def test_two_files_at_once_with_the_same_credit(bank: BankWorld) -> None:
    number = await bank.account()
    files = [camt_file(entry(destination=number), kind=kind) for kind in ("052", "053", "054")]
    await asyncio.gather(*map(bank.bring, files))
    await bank.record()
    assert len(await bank.inflows()) == 1


async def test_a_file_that_contradicts_an_earlier_one_needs_a_decision(bank: BankWorld) -> None:
    number = await bank.account()
    await bank.bring(camt_file(entry(destination=number), kind="054"))
    await bank.bring(camt_file(entry("260.00", destination=number)))
    assert len(await bank.inflows()) == 1
    async with bank.runtime.db.connection() as tx:
        [problem] = await store.list_problems(tx, limit=10)
    assert "contradicts 250.00 EUR" in problem.reason


async def test_equal_credits_without_a_reference_are_credited_from_the_statement_alone(bank: BankWorld) -> None:
    number = await bank.account()
    equal = [entry(reference=None, destination=number), entry(reference=None, destination=number)]
    await bank.bring(camt_file(*equal, kind="054"))
    assert await bank.inflows() == []
    await bank.bring(camt_file(*equal))
    await bank.bring(camt_file(*equal, is_copy=True))
    assert len(await bank.inflows()) == 2


async def test_equal_credits_without_a_reference_on_two_pages(bank: BankWorld) -> None:
    """Each page comes again, with other bytes."""
    equal = entry(reference=None, destination=None, end_to_end_id=None, remittance=None, name=None, account=None)
    pages = [
        camt_file(equal, sequence=7, page=1, is_last_page=False),
        camt_file(equal, equal, sequence=7, page=2, is_last_page=True, opening=Decimal(250)),
    ]
    await bank.bring(pages[1])
    await bank.bring(pages[0])
    assert await bank.states() == ["done"] * 3
    for page in pages:
        await bank.bring(page.replace(b"M-1", b"M-2"))
    assert sorted(await bank.states()) == ["done"] * 3 + ["repeat"] * 3
    assert await bank.admin.fetchval("SELECT count(DISTINCT transaction_id) FROM receipt") == 3


@pytest.mark.parametrize("changed", [{"payee_name": "absent"}, {"payee_name": "owner"}])
async def test_without_the_typed_name_an_inflow_is_held(
    shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path, changed: dict[str, str]
) -> None:
    """Never compared with the payer's own name, and never returned for the lack of it."""
    bank = BankWorld.of(shop, runtime, admin, tmp_path, **changed)
    await bank.bring(camt_file(entry(destination=await bank.account(), name="Ada Obi")))
    [inflow] = await bank.inflows()
    assert (inflow["status"], inflow["reason"], inflow["payee_name"]) == ("pending", "name_missing", None)


async def test_mt940_of_a_virtual_account_is_held_too(bank: BankWorld) -> None:
    number = await bank.account()
    await bank.bring(mt940_file(entry(), account=number))
    [inflow] = await bank.inflows()
    assert (inflow["status"], inflow["reason"]) == ("pending", "name_missing")


async def test_what_is_not_booked_or_has_no_money_is_not_recorded(bank: BankWorld) -> None:
    number = await bank.account()
    await bank.bring(camt_file(entry(status="PDNG", destination=number), entry("0.00", reference="2"), kind="052"))
    assert await bank.states() == ["ignored", "ignored"]
    await bank.bring(camt_file(entry(destination=number)))
    assert len(await bank.inflows()) == 1


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"amount": Decimal("1.005")}, "more decimals"),
        ({"currency": "CHF"}, "CHF is not a currency"),
        ({"amount": Decimal(30), "parts": ("10", "19")}, "do not make 30"),
    ],
)
async def test_what_cannot_be_credited_waits_for_a_decision(bank: BankWorld, changed: dict[str, Any], why: str) -> None:
    await bank.bring(camt_file(entry(**{"amount": "250.00", "destination": await bank.account(), **changed})))
    async with bank.runtime.db.connection() as tx:
        [problem] = await store.list_problems(tx, limit=10)
    assert why in problem.reason
    assert problem.entry.line > 0
    assert await bank.inflows() == []


async def test_a_strange_account_refuses_the_file_until_it_is_configured(bank: BankWorld) -> None:
    content = camt_file(entry(), account="NL26VAYB8060476890")
    refused = await bank.bring(content)
    assert (refused.state, refused.entry_count) == ("refused", 0)
    assert "NL26VAYB8060476890" in (refused.reason or "")
    bank.settings = replace(bank.settings, accounts=(replace(bank.settings.accounts[0], also=("NL26VAYB8060476890",)),))
    assert (await bank.bring(content)).state == "read"


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "half a file": lambda file: file[: len(file) // 2],
    "another schema": lambda file: file.replace(b"CdtDbtInd", b"Side"),
    "a document type": lambda file: file.replace(b"<Document ", b'<!DOCTYPE x [<!ENTITY e "e">]><Document ', 1),
    "a wrong encoding": lambda file: file.replace(b"Zeta", b"Z\xeb\xff"),
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_file_leaves_a_record_and_nothing_else(bank: BankWorld, how: str) -> None:
    number = await bank.account()
    file = await bank.bring(BROKEN[how](camt_file(entry(destination=number))))
    assert file.state == "refused"
    assert file.reason
    assert await bank.states() == []
    assert await bank.inflows() == []
    # The whole one comes later.
    await bank.bring(camt_file(entry(destination=number)))
    assert len(await bank.inflows()) == 1


def die_after(monkeypatch: pytest.MonkeyPatch, batches: int, *, of: int) -> None:
    """Once."""
    monkeypatch.setattr(imports, "BATCH", of)
    real, calls = store.insert_entries, []

    async def dies_later(*given: Any) -> None:
        calls.append(given)
        if len(calls) == batches + 1:
            raise ConnectionError("killed")
        await real(*given)

    monkeypatch.setattr(store, "insert_entries", dies_later)


async def test_an_interrupted_import_is_finished_by_the_next(bank: BankWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    number = await bank.account()
    many = [entry("1.00", reference=f"R{place}", destination=number) for place in range(30)]
    die_after(monkeypatch, 1, of=10)
    with pytest.raises(Unavailable):
        await bank.bring(camt_file(*many), "big.xml")
    await bank.record()
    assert (await bank.bring(camt_file(*many), "big.xml")).state == "read"
    assert len(await bank.inflows()) == 30
    assert await bank.states() == ["done"] * 30


@pytest.mark.parametrize("batches", [0, 1, 2, 3])
async def test_a_second_sum_of_a_batch_is_credited_wherever_the_reading_is_interrupted(
    bank: BankWorld, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    await bank.bring(camt_file(entry("30.00", parts=("10.00", "20.00")), kind="054"))
    divided = camt_file(*[entry("30.00")] * 3, entry("1.00", reference="R"))
    sums = re.sub(rb"<NtryDtls>.*?</NtryDtls>", b"", divided, flags=re.DOTALL)
    die_after(monkeypatch, batches, of=1)
    with pytest.raises(Unavailable):
        await bank.bring(sums, "sums.xml")
    file = await bank.bring(sums, "sums.xml")
    rows = await bank.admin.fetch("SELECT state FROM bank_entry WHERE file_id = $1 ORDER BY number", file.id)
    assert [row["state"] for row in rows] == ["repeat", "done", "done", "done"]


async def test_a_copy_is_imported_before_an_interrupted_reading_is_finished(
    bank: BankWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two equal credits without a reference, in batches of one."""
    equal = entry(reference=None, destination=await bank.account())
    die_after(monkeypatch, 1, of=1)
    with pytest.raises(Unavailable):
        await bank.bring(camt_file(equal, equal), "interrupted.xml")
    await bank.bring(camt_file(equal, equal, is_copy=True))
    await bank.bring(camt_file(equal, equal), "interrupted.xml")
    assert sorted(await bank.states()) == ["done", "done", "repeat", "repeat"]
    assert len(await bank.inflows()) == 2


async def test_what_an_entry_is_looked_for_by_is_made_once(bank: BankWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    real, made = key.asked, list[int]()

    def asked(one: BankEntry) -> list[str]:
        made.append(one.number)
        return real(one)

    monkeypatch.setattr(duplicate, "asked", asked)
    await bank.bring(camt_file(entry(), entry(reference="2"), kind="054"))
    await bank.bring(camt_file(entry()))
    assert made == [1, 2, 1]


# At full size, 100,000.
ENTRIES = int(os.environ.get("TIDEGATE_TEST_ENTRIES", "600"))


async def test_many_entries_in_two_files_are_credited_once_each(bank: BankWorld) -> None:
    number = await bank.account()
    many = [entry("1.00", reference=f"R{place}", destination=number) for place in range(ENTRIES)]
    notice = await bank.bring(camt_file(*many, kind="054"))
    await bank.bring(camt_file(*many))
    assert notice.entry_count == ENTRIES
    assert await bank.admin.fetchval("SELECT count(*) FROM collection") == ENTRIES
    assert await bank.admin.fetchval("SELECT count(*) FROM bank_entry WHERE state = 'repeat'") == ENTRIES


async def test_equal_entries_are_read_once_however_many_pages_they_fill(
    bank: BankWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the statement itself, and when it comes again."""
    monkeypatch.setattr(imports, "BATCH", 10)
    real, read = rail_store.entry_of, list[str]()

    def entry_of(details: str) -> BankEntry:
        read.append(details)
        return real(details)

    monkeypatch.setattr("tidegate.bank_file.store.entry_of", entry_of)
    equal = [entry("1.00", reference=None, destination=await bank.account())] * 80
    for number, expected in ((1, 0), (2, 80)):
        path = bank.settings.folder / f"{number}.xml"
        path.write_bytes(camt_file(*equal, message_id=f"M-{number}"))
        read.clear()
        await imports.import_file(bank.deps, bank.settings, path, now=bank.now)
        assert len(read) == expected
    assert sorted(await bank.states()) == ["new"] * 80 + ["repeat"] * 80


async def test_what_another_import_writes_between_two_pages_is_seen(
    bank: BankWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 1)
    equal = entry("1.00", reference=None, destination=await bank.account())
    other = bank.settings.folder / "other.xml"
    other.write_bytes(camt_file(equal, equal, is_copy=True))
    real, pages = store.insert_entries, list[str]()

    async def insert(tx: Any, file_id: str, kept: Any) -> None:
        await real(tx, file_id, kept)
        pages.append(file_id)

    monkeypatch.setattr(store, "insert_entries", insert)
    keep_statements = imports._Import._keep_statements

    async def then_the_other(importing: Any, *given: Any) -> None:
        await keep_statements(importing, *given)
        if len(pages) == 1:
            await imports.import_file(bank.deps, bank.settings, other, now=bank.now)

    monkeypatch.setattr(imports._Import, "_keep_statements", then_the_other)
    await bank.bring(camt_file(equal, equal), "first.xml")
    assert sorted(await bank.states()) == ["done", "done", "repeat", "repeat"]
    assert len(await bank.inflows()) == 2


async def test_a_credit_without_a_common_reference_waits_and_is_credited_when_it_is_another(
    bank: BankWorld,
) -> None:
    """A notice with the identifier of the payer's bank alone, a statement of the next day with the bank's reference."""
    number = await bank.account()
    told = camt_file(entry(reference=None, destination=number), kind="054")
    await bank.bring(told.replace(b"</EndToEndId>", b"</EndToEndId><TxId>T-1</TxId>"))
    later = DAY + timedelta(days=1)
    await bank.bring(camt_file(*(entry(reference=f"R{n}", destination=number, day=later) for n in (1, 2)), id="S-2"))
    assert sorted(await bank.states()) == ["done", "problem", "problem"]
    assert len(await bank.inflows()) == 1
    async with bank.runtime.db.connection() as tx:
        same, another = await store.list_problems(tx, limit=10)
    assert "it may be 250.00 EUR of entry 1 in file" in same.reason

    async def alone(_: Any) -> None:
        """Nothing else is written with the decision."""

    common: dict[str, Any] = {"note": "the bank says so", "by": ADA, "now": bank.now, "also": alone}
    await decide.settle(bank.runtime.db, f"{same.file_id}/{same.entry.number}", **common)
    await decide.record(bank.runtime.db, f"{another.file_id}/{another.entry.number}", **common)
    await bank.record()
    assert len(await bank.inflows()) == 2


async def test_one_entry_that_fails_holds_up_no_other(bank: BankWorld) -> None:
    number = await bank.account()
    await bank.admin.execute("ALTER TABLE notification ADD CONSTRAINT broken CHECK (id NOT LIKE '%/2')")
    try:
        many = [entry("1.00", reference=f"R{place}", destination=number) for place in range(3)]
        await bank.bring(camt_file(*many))
        assert await bank.states() == ["done", "new", "done"]
    finally:
        await bank.admin.execute("ALTER TABLE notification DROP CONSTRAINT broken")
    await bank.admin.execute("DELETE FROM leased_work")
    await bank.record()
    assert len(await bank.inflows()) == 3


async def test_many_entries_are_written_in_pages_and_recorded_one_by_one(
    bank: BankWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of them to an account, half in suspense; each page is a transaction of its own."""
    monkeypatch.setattr(imports, "BATCH", 25)
    number = await bank.account()
    many = [
        entry("10.00", reference=f"R{n}", end_to_end_id=f"E{n}", destination=number if n % 2 else None)
        for n in range(110)
    ]
    path = bank.settings.folder / "many.xml"
    path.write_bytes(camt_file(*many))
    made = await imports.import_file(bank.deps, bank.settings, path, now=bank.now)
    assert (made.state, made.entry_count) == ("read", 110)
    pages = await bank.admin.fetch("SELECT count(*) AS entries FROM bank_entry GROUP BY xmin::text")
    assert sorted(page["entries"] for page in pages) == [10, 25, 25, 25, 25]
    await bank.record()
    assert await bank.states() == ["done"] * 110
    assert len(await bank.inflows()) == 55
    assert await bank.admin.fetchval("SELECT sum(amount_minor) FROM receipt WHERE outcome = 'suspense'") == 55 * 10_00


async def test_the_folder_is_watched(bank: BankWorld) -> None:
    number = await bank.account()
    inbox = bank.settings.folder / "in"
    inbox.mkdir()
    (inbox / "good.xml").write_bytes(camt_file(entry(destination=number)))
    (inbox / "bad.xml").write_bytes(b"<html/>")
    (inbox / os.fsdecode(b"\xff.xml")).write_bytes(camt_file(entry(destination=number, reference="2"), id="S-2"))
    (inbox / "writing.xml.part").write_bytes(b"<")
    (inbox / ".hidden").write_bytes(b"<")
    watch = FolderWatch()
    await watch(bank.deps, bank.runtime.clock)
    # It grows between two looks.
    (inbox / "slow.xml").write_bytes(b"<Doc")
    assert await watch(bank.deps, bank.runtime.clock) == RoundResult()
    assert sorted(path.name for path in inbox.iterdir()) == [".hidden", "slow.xml", "writing.xml.part"]
    done = [os.fsencode(path.name) for path in (bank.settings.folder / "done").rglob("*.xml")]
    assert sorted(done) == [b"good.xml", b"\xff.xml"]
    assert "html" in (bank.settings.folder / "bad" / "bad.xml.why").read_text()
    await bank.record()
    assert len(await bank.inflows()) == 2


async def test_two_workers_on_one_folder_take_each_file_once(bank: BankWorld) -> None:
    number = await bank.account()
    inbox = bank.settings.folder / "in"
    inbox.mkdir()
    for place in range(5):
        content = camt_file(entry(destination=number, reference=f"R{place}"), id=f"S-{place}", message_id=f"M-{place}")
        (inbox / f"{place}.xml").write_bytes(content)
    workers = [FolderWatch(), FolderWatch()]
    for _ in range(2):
        done = await asyncio.gather(*(worker(bank.deps, bank.runtime.clock) for worker in workers))
        assert [one.failed for one in done] == [0, 0]
    await bank.record()
    assert len(await bank.inflows()) == 5
    assert len(list((bank.settings.folder / "done").rglob("*.xml"))) == 5
    assert list(inbox.iterdir()) == list((bank.settings.folder / "bad").iterdir()) == []


async def test_gaps_pages_and_balances_are_told(bank: BankWorld) -> None:
    def day(sequence: int, opening: str, **changed: Any) -> bytes:
        one = entry("10.00", reference=f"R{sequence}")
        return camt(
            statement(one, id=f"S{sequence}", sequence=sequence, opening=Decimal(opening), **changed), kind="053"
        )

    async def told() -> list[str]:
        async with bank.runtime.db.connection() as tx:
            return gaps_in(await rail_store.list_statements(tx))

    await bank.bring(day(1, "0"))
    await bank.bring(day(2, "10"))
    assert await told() == []
    await bank.bring(day(4, "30", closing=Decimal(41)))
    missing, wrong = sorted(await told(), key=lambda text: "differs" in text)
    assert "statement 3 is missing" in missing
    assert "differs" in wrong
    # The missing one comes late, and in another order.
    await bank.bring(day(3, "20"))
    [wrong] = await told()
    assert "differs" in wrong
    await bank.bring(day(5, "41", page=1, is_last_page=False))
    assert any("next page is missing" in text for text in await told())


MONDAY = datetime(2026, 11, 16, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("begin", "end", "hours"),
    [
        (MONDAY, MONDAY + timedelta(hours=5), 5),
        (MONDAY, MONDAY + timedelta(days=1), 24),
        # From Friday 17:00 to Monday 9:00.
        (MONDAY - timedelta(days=2, hours=16), MONDAY, 16),
        # All of it on a weekend.
        (MONDAY - timedelta(days=2), MONDAY - timedelta(days=1), 0),
        (MONDAY, MONDAY, 0),
    ],
)
def test_banks_are_quiet_on_weekends(begin: datetime, end: datetime, hours: int) -> None:
    assert working_time_between(begin, end) == timedelta(hours=hours)


async def test_a_bank_that_sends_nothing_and_files_that_were_refused_are_found(bank: BankWorld) -> None:
    async def bad_news(now: datetime) -> list[str]:
        return [one.what for one in await bank.rail.check(now=now) if not one.is_well]

    for name in FOLDERS:
        (bank.settings.folder / name).mkdir()
    assert await bad_news(MONDAY) == []
    await bank.bring(camt_file(sequence=1))
    await bank.admin.execute("UPDATE bank_file SET received_at = $1", MONDAY)
    assert await bad_news(MONDAY + timedelta(hours=26)) == []
    [quiet] = await bad_news(MONDAY + timedelta(hours=27))
    assert "the last file came at 2026-11-16T09:00" in quiet
    for name in ("page.html", "page.html.why"):
        (bank.settings.folder / "bad" / name).write_text("x")
    [refused] = await bad_news(MONDAY)
    assert "1 refused files" in refused
    assert "page.html" in refused


async def test_money_that_the_bank_takes_back(bank: BankWorld) -> None:
    uetr = "255ae394-9965-4438-ac86-f406feada396"
    number = await bank.account()
    await bank.bring(camt_file(entry(destination=number, uetr=uetr)))
    back = entry(is_credit=False, is_reversal=True, reference="REV-1", uetr=uetr)
    await bank.bring(camt_file(back, id="S-2", message_id="M-2"))
    reversal = await bank.admin.fetchrow("SELECT * FROM credit_reversal")
    assert (reversal["account_number"], reversal["amount_minor"]) == (number, 250_00)
    [inflow] = await bank.inflows()
    assert reversal["transaction_id"] == inflow["transaction_id"]


async def test_a_reversal_of_nothing_known_needs_a_decision(bank: BankWorld) -> None:
    await bank.bring(camt_file(entry(is_credit=False, is_reversal=True, end_to_end_id=None)))
    assert await bank.states() == ["problem"]


async def test_the_banks_charges_are_not_ours_to_record(bank: BankWorld) -> None:
    await bank.bring(camt_file(entry("5.00", is_credit=False, end_to_end_id="FEE")))
    assert await bank.states() == ["ignored"]


async def test_dollars_arrive_too(bank: BankWorld) -> None:
    number = await bank.account(Currency.USD)
    credit = entry("99.50", currency="USD", destination=number)
    await bank.bring(camt_file(credit, account="001234567", currency="USD"))
    [inflow] = await bank.inflows()
    assert (inflow["status"], inflow["source_currency"], inflow["source_minor"]) == ("successful", "USD", 99_50)
