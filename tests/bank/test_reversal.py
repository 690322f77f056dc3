"""Money that the bank takes back: from which credit, in whatever order the two come."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from bank.world import ADA, BankWorld
from bank_file_maker import ACCOUNT, CREATED, DAY, camt_file, entry, mt940_file
from build import Shop
from tidegate.bank_file import decide, imports, record, store
from tidegate.core.errors import Conflict, NotFound
from tidegate.emulator.bank.model import EmulatedEntry
from tidegate.runtime import Runtime

UETR = "255ae394-9965-4438-ac86-f406feada396"
OTHER_UETR = "0f6e9a3c-5d2b-4c1e-9a77-1b2c3d4e5f60"
NEXT_DAY = DAY + timedelta(days=1)
BACK = entry(is_credit=False, is_reversal=True, reference="REV-1", day=NEXT_DAY)


@pytest.fixture
async def bank(shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path) -> BankWorld:
    return BankWorld.of(shop, runtime, admin, tmp_path)


def reversal_file(**changed: Any) -> bytes:
    return camt_file(replace(BACK, **changed), id="S-2", message_id="M-2", opening=Decimal(250))


def with_transaction_id(file: bytes, text: str) -> bytes:
    return file.replace(b"</EndToEndId>", f"</EndToEndId><TxId>{text}</TxId>".encode())


async def taken_back(bank: BankWorld) -> list[str]:
    rows = await bank.admin.fetch("SELECT transaction_id FROM credit_reversal")
    return [row["transaction_id"] for row in rows]


async def only_entry(bank: BankWorld, *, is_credit: bool) -> Any:
    return await bank.admin.fetchrow("SELECT * FROM bank_entry WHERE is_credit = $1", is_credit)


async def alone(_: Any) -> None:
    """Nothing else is written with the decision."""


def numbered(sequence: int, opening: int, *entries: EmulatedEntry) -> bytes:
    """Statements of which one can be missed."""
    name = f"N-{sequence}"
    return camt_file(*entries, sequence=sequence, opening=Decimal(opening), id=name, message_id=name)


async def choose(bank: BankWorld, credit: str) -> None:
    found = await only_entry(bank, is_credit=False)
    subject = f"{found['file_id']}/{found['number']}"
    await decide.take_back(bank.runtime.db, subject, credit, note="they say so", by=ADA, now=bank.now, also=alone)
    await bank.record()


async def record_by_hand(bank: BankWorld, found: Any, why: str) -> None:
    subject = f"{found['file_id']}/{found['number']}"
    await decide.record(bank.runtime.db, subject, note=why, by=ADA, now=bank.now, also=alone)
    await bank.record()


@pytest.mark.parametrize(
    ("credit", "back", "is_found"),
    [
        # The payer's identifier, the amount and the payer's account.
        ({}, {}, True),
        ({}, {"amount": BACK.amount / 2}, False),
        ({}, {"name": "Omega BV", "account": "NL26VAYB8060476890"}, False),
        ({}, {"account": None}, False),
        ({"end_to_end_id": "NOTPROVIDED"}, {"end_to_end_id": "NOTPROVIDED"}, False),
        ({"end_to_end_id": "not provided"}, {"end_to_end_id": "not provided"}, False),
        # The UETR alone, and against everything else.
        ({"uetr": UETR}, {"uetr": UETR, "end_to_end_id": None, "account": None}, True),
        ({"uetr": UETR}, {"uetr": OTHER_UETR}, False),
    ],
)  # fmt: skip
async def test_a_reversal_takes_from_the_credit_that_it_certainly_means(
    bank: BankWorld, credit: dict[str, Any], back: dict[str, Any], is_found: bool
) -> None:
    await bank.bring(camt_file(entry(destination=await bank.account(), **credit)))
    await bank.bring(reversal_file(**back))
    assert len(await taken_back(bank)) == is_found
    assert (await only_entry(bank, is_credit=False))["state"] == ("done" if is_found else "problem")


async def test_the_identifier_of_the_payers_bank_goes_before_the_payers(bank: BankWorld) -> None:
    number = await bank.account()
    for text in ("T-1", "T-2"):
        await bank.bring(with_transaction_id(camt_file(entry(destination=number, reference=text), id=text), text))
    await bank.bring(with_transaction_id(reversal_file(account=None), "T-2"))
    [transaction_id] = await taken_back(bank)
    assert transaction_id.endswith("T-2")


@pytest.mark.parametrize(
    ("back", "is_found"),
    [
        ({"account": None, "end_to_end_id": "NOT-PROVIDED"}, True),
        # The parties of the credit, as they were.
        ({"account": ACCOUNT}, True),
        ({"name": "Omega BV", "account": "NL26VAYB8060476890"}, False),
        ({"end_to_end_id": "OTHER"}, False),
    ],
)
async def test_the_identifier_of_the_payers_bank_does_not_go_before_what_contradicts_it(
    bank: BankWorld, back: dict[str, Any], is_found: bool
) -> None:
    number = await bank.account()
    await bank.bring(with_transaction_id(camt_file(entry(destination=number)), "000001"))
    await bank.bring(with_transaction_id(reversal_file(**back), "000001"))
    assert len(await taken_back(bank)) == is_found
    assert (await only_entry(bank, is_credit=False))["awaits_credit"] is not is_found


@pytest.mark.parametrize("amount", ["100.00", "500.00"])
@pytest.mark.parametrize("uetr", [UETR, None])
async def test_a_reversal_of_another_amount_than_its_credit_needs_a_decision(
    bank: BankWorld, uetr: str | None, amount: str
) -> None:
    def identified(file: bytes) -> bytes:
        return file if uetr else with_transaction_id(file, "T-1")

    await bank.bring(identified(camt_file(entry(destination=await bank.account(), uetr=uetr))))
    before = await bank.wallet("EUR")
    await bank.bring(identified(reversal_file(uetr=uetr, amount=Decimal(amount))))
    found = await only_entry(bank, is_credit=False)
    assert (found["state"], found["takes_back"], found["awaits_credit"]) == ("problem", None, False)
    assert found["note"].startswith("the bank takes money back; the credit that it means is 250.00 EUR of 2026-11-15")
    assert await taken_back(bank) == []
    assert await bank.wallet("EUR") == before
    # It is no choice, which would debit nobody.
    async with bank.runtime.db.connection() as tx:
        [problem] = await store.list_problems(tx, limit=10)
    assert not problem.choices
    with pytest.raises(Conflict):
        await choose(bank, (await only_entry(bank, is_credit=True))["keys"][0])
    # The whole is taken back by the debit of the whole.
    whole = camt_file(replace(BACK, uetr=uetr, reference="REV-2"), id="S-3", message_id="M-3", opening=Decimal(250))
    await bank.bring(identified(whole))
    if uetr:
        # Under two references, which is a decision of its own.
        found = await bank.admin.fetchrow("SELECT * FROM bank_entry WHERE NOT is_credit AND amount = 250")
        await record_by_hand(bank, found, "another debit")
    assert len(await taken_back(bank)) == 1
    assert await bank.wallet("EUR") < before


async def test_parts_that_the_bank_takes_back_are_settled_by_hand(bank: BankWorld) -> None:
    await bank.bring(camt_file(entry(destination=await bank.account(), uetr=UETR)))
    parts = (replace(BACK, uetr=UETR, amount=Decimal(part), reference=f"R-{part}") for part in (100, 150))
    await bank.bring(camt_file(*parts, id="S-2", message_id="M-2", opening=Decimal(250)))
    for found in await bank.admin.fetch("SELECT * FROM bank_entry WHERE state = 'problem'"):
        subject = f"{found['file_id']}/{found['number']}"
        await decide.settle(bank.runtime.db, subject, note="agreed with them", by=ADA, now=bank.now, also=alone)
    assert await bank.states() == ["done", "settled", "settled"]
    assert await taken_back(bank) == []


async def test_two_reversals_take_two_equal_credits_back_whichever_comes_first(bank: BankWorld) -> None:
    number = await bank.account()
    await bank.bring(camt_file(entry(destination=number, reference="A")))
    both = (BACK, replace(BACK, reference="REV-2"))
    await bank.bring(camt_file(*both, id="S-2", message_id="M-2", opening=Decimal(250)))
    assert len(await taken_back(bank)) == 1
    debits = await bank.admin.fetch("SELECT state, awaits_credit FROM bank_entry WHERE NOT is_credit ORDER BY state")
    assert [tuple(one) for one in debits] == [("done", False), ("problem", True)]
    late = entry(destination=number, reference="B")
    await bank.bring(camt_file(late, id="S-3", message_id="M-3", opening=Decimal(-250)))
    assert sorted(key[-2:] for key in await taken_back(bank)) == ["/A", "/B"]
    assert await bank.states() == ["done"] * 4


async def test_of_credits_with_one_identifier_none_is_taken_while_another_may_be_to_come(bank: BankWorld) -> None:
    number = await bank.account()
    await bank.bring(numbered(1, 0, entry(destination=number, reference="A")))
    await bank.bring(numbered(3, 500, BACK))
    found = await only_entry(bank, is_credit=False)
    assert found["note"].endswith("another may be to come: statements before it are missing")
    assert await taken_back(bank) == []
    await bank.bring(numbered(2, 250, entry(destination=number, reference="B")))
    found = await only_entry(bank, is_credit=False)
    assert (found["state"], found["awaits_credit"]) == ("problem", False)
    assert found["note"].endswith("several credits of ours fit it")
    async with bank.runtime.db.connection() as tx:
        [problem] = await store.list_problems(tx, limit=10)
    [chosen] = [one for one in problem.choices if one.key.endswith("/B")]
    assert str(chosen) == "250.00 EUR of 2026-11-15 from Zeta Ltd"
    with pytest.raises(Conflict):
        await choose(bank, chosen.key + "~2")
    await choose(bank, chosen.key)
    assert await taken_back(bank) == [chosen.key]
    assert (await only_entry(bank, is_credit=False))["state"] == "done"
    # It is decided.
    with pytest.raises(NotFound):
        await choose(bank, chosen.key)


async def test_the_statement_that_was_missing_shows_that_no_other_credit_is_meant(bank: BankWorld) -> None:
    await bank.bring(numbered(1, 0, entry(destination=await bank.account())))
    await bank.bring(numbered(3, 251, BACK))
    assert await taken_back(bank) == []
    await bank.bring(numbered(2, 250, entry("1.00", reference="C", end_to_end_id="E-2")))
    assert len(await taken_back(bank)) == 1


async def test_a_reversal_in_a_notice_waits_for_the_statement_of_its_day(bank: BankWorld) -> None:
    await bank.bring(numbered(1, 0, entry(destination=await bank.account())))
    await bank.bring(camt_file(BACK, kind="054", id="S-2", message_id="M-2"))
    found = await only_entry(bank, is_credit=False)
    assert found["note"].endswith("the statement of its day has not come")
    created_at = CREATED + timedelta(days=1)
    await bank.bring(camt_file(BACK, id="S-3", sequence=2, opening=Decimal(250), created_at=created_at))
    assert len(await taken_back(bank)) == 1
    assert sorted(await bank.states()) == ["done", "done", "repeat"]


async def test_no_earlier_credit_is_taken_while_one_like_it_waits_for_a_decision(bank: BankWorld) -> None:
    number = await bank.account()
    await bank.bring(numbered(1, 0, entry(destination=number, reference="A")))
    # Under a reference that the bank has given before.
    await bank.bring(numbered(2, 250, entry(destination=number, reference="A")))
    assert sorted(await bank.states()) == ["done", "problem"]
    await bank.bring(numbered(3, 500, BACK))
    assert await taken_back(bank) == []
    found = await only_entry(bank, is_credit=False)
    assert found["note"].endswith("one credit fits it, and another is not recorded yet")


async def test_a_second_debit_of_a_credit_is_not_recorded_by_decision(bank: BankWorld) -> None:
    await bank.bring(camt_file(entry(destination=await bank.account(), uetr=UETR)))
    await bank.bring(reversal_file(uetr=UETR))
    # Under the same reference; the bank says that it is another one.
    await bank.bring(camt_file(replace(BACK, uetr=UETR, amount=BACK.amount / 2), id="S-3", message_id="M-3"))
    second = await bank.admin.fetchrow("SELECT * FROM bank_entry WHERE state = 'problem'")
    await record_by_hand(bank, second, "a second debit")
    after = await bank.admin.fetchrow("SELECT * FROM bank_entry WHERE state = 'problem'")
    assert after["note"].endswith("a second debit; the bank takes money back; no credit of ours fit it")


async def test_an_interrupted_reversal_keeps_its_credit(bank: BankWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    number, real = await bank.account(), store.end_entry
    await bank.bring(camt_file(entry(destination=number, reference="A")))

    async def dies(*_: Any, **__: Any) -> None:
        raise ConnectionError("killed")

    monkeypatch.setattr(store, "end_entry", dies)
    await bank.bring(reversal_file())
    monkeypatch.setattr(store, "end_entry", real)
    await bank.bring(camt_file(entry(destination=number, reference="B"), id="S-3", message_id="M-3"))
    await bank.admin.execute("DELETE FROM leased_work")
    await bank.record()
    [transaction_id] = await taken_back(bank)
    found = await only_entry(bank, is_credit=False)
    assert (found["state"], found["note"]) == ("done", f"takes back {transaction_id}")
    assert transaction_id.endswith("/A")


async def test_an_mt_reversal_names_the_payers_account(bank: BankWorld) -> None:
    await bank.bring(camt_file(entry(destination=await bank.account())))
    await bank.bring(mt940_file(BACK, message_id="M-2", opening=Decimal(250)))
    assert len(await taken_back(bank)) == 1


async def test_of_one_round_credits_are_recorded_first(bank: BankWorld) -> None:
    credit = camt_file(entry(destination=await bank.account(), uetr=UETR))
    files = (reversal_file(uetr=UETR, remittance=str(number)) for number in range(1000))
    # Files are listed by their hashes.
    back = next(file for file in files if sha256(file).digest() < sha256(credit).digest())
    for name, content in (("a.xml", credit), ("b.xml", back)):
        path = bank.settings.folder / name
        path.write_bytes(content)
        await imports.import_file(bank.deps, bank.settings, path, now=bank.now)
    async with bank.runtime.db.connection() as tx:
        [first, _] = await record.RECORD.list_due(tx, bank.now, limit=10)
    assert first.id.startswith(sha256(credit).hexdigest())


async def test_a_reversal_that_came_first_waits_for_its_credit(bank: BankWorld) -> None:
    await bank.bring(reversal_file(uetr=UETR))
    number = await bank.account()
    # Another one with the payer's identifier changes nothing.
    await bank.bring(camt_file(entry(destination=number, reference="7", uetr=OTHER_UETR), id="S-7", message_id="M-7"))
    found = await only_entry(bank, is_credit=False)
    assert (found["state"], found["note"]) == ("problem", "the bank takes money back; no credit of ours fit it")
    await bank.bring(camt_file(entry(destination=number, reference="8", uetr=UETR)))
    [transaction_id] = await taken_back(bank)
    assert transaction_id.endswith("/8")
    assert (await only_entry(bank, is_credit=False))["state"] == "done"


async def test_a_credit_recorded_between_the_look_and_the_end_is_seen(
    bank: BankWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, judge = await bank.account(), record._judge

    async def judged(*given: Any) -> record.RecordedAs | None:
        outcome = await judge(*given)
        if outcome is None:
            monkeypatch.undo()
            await bank.bring(camt_file(entry(destination=number, uetr=UETR)))
        return outcome

    monkeypatch.setattr(record, "_judge", judged)
    await bank.bring(reversal_file(uetr=UETR))
    assert len(await taken_back(bank)) == 1


async def test_a_settled_reversal_waits_no_more(bank: BankWorld) -> None:
    await bank.bring(reversal_file(uetr=UETR))
    found = await only_entry(bank, is_credit=False)
    subject = f"{found['file_id']}/{found['number']}"
    await decide.settle(bank.runtime.db, subject, note="by hand", by=ADA, now=bank.now, also=alone)
    await bank.bring(camt_file(entry(destination=await bank.account(), uetr=UETR)))
    assert await taken_back(bank) == []


async def test_a_debit_is_judged_again_by_decision(bank: BankWorld) -> None:
    await bank.bring(reversal_file(end_to_end_id=None))
    await bank.bring(camt_file(entry(destination=await bank.account())))
    before = await only_entry(bank, is_credit=False)
    for why in ("asked the bank", "asked it again"):
        await record_by_hand(bank, before, why)
    after = await only_entry(bank, is_credit=False)
    no_credit = "the bank takes money back; no credit of ours fit it"
    assert (after["state"], after["note"]) == ("problem", f"{no_credit}; asked the bank; asked it again")
    assert after["keys"] == before["keys"]
    await bank.admin.execute("UPDATE bank_entry SET details = details || jsonb_build_object('uetr', 'u')")
    await record_by_hand(bank, before, "the UETR is known")
    assert len(await taken_back(bank)) == 1


async def test_a_credit_that_fails_again_keeps_the_decision_and_one_key(bank: BankWorld) -> None:
    await bank.bring(camt_file(entry("1.005", destination=await bank.account())))
    for _ in range(2):
        await record_by_hand(bank, await only_entry(bank, is_credit=True), "the bank confirms it")
    found = await only_entry(bank, is_credit=True)
    assert found["state"] == "problem"
    assert "the bank confirms it" in found["note"]
    assert len([key for key in found["keys"] if key.startswith("entry/")]) == 1
