"""Files of a bank, read: every version, what they say, and what is refused."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from bank_file_maker import (
    ACCOUNT,
    DAY,
    PAYER,
    VIRTUAL,
    camt_file,
    entries_in,
    entry,
    mt940_file,
    mt942_file,
    statement,
    statements_in,
)
from tidegate.emulator.bank.camt_writer import camt_lines
from tidegate.rail.bankfiles import reader
from tidegate.rail.bankfiles.model import FileKind, FileRefused

KINDS = ("052", "053", "054")
VERSIONS = (2, 3, 4, 8)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_version_says_the_same(kind: str, version: int) -> None:
    [found] = entries_in(camt_file(entry(), kind=kind, version=version))
    assert (found.amount, found.currency, found.is_credit, found.is_booked) == (Decimal("250.00"), "EUR", True, True)
    assert (found.account, found.destination) == (ACCOUNT, VIRTUAL)
    assert (found.payee_name, found.remittance, found.scheme) == ("Ada Obi", "Invoice 77", "sepa")
    party = found.counterparty
    assert (party.name, party.account_number, party.bank_code) == ("Zeta Ltd", PAYER, "ABNANL2A")
    assert found.keys[0] == f"{DAY}/{ACCOUNT}/C/2026111500017"


def test_the_kind_and_version_are_told() -> None:
    opened = reader.opened(io.BytesIO(camt_file(entry(), kind="054", version=4)))
    assert (opened.kind, opened.name) == (FileKind.CAMT_054, "camt.054.001.04")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_batch_is_as_many_transactions_as_it_lists(version: int) -> None:
    batch = entry("30.00", parts=("10.00", "20.00"))
    first, second = entries_in(camt_file(batch, version=version))
    assert [first.amount, second.amount] == [Decimal(10), Decimal(20)]
    assert [first.keys[0][-2:], second.keys[0][-2:]] == ["#1", "#2"]


@pytest.mark.parametrize("parts", [("10.00", ""), ("10.00", "19.00")])
def test_a_batch_that_cannot_be_divided_is_one_entry_with_a_problem(parts: tuple[str, ...]) -> None:
    version = 8 if all(parts) else 2
    [found] = entries_in(camt_file(entry("30.00", parts=parts), version=version))
    assert found.amount == Decimal(30)
    assert found.problem
    assert found.destination is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_batch_that_details_some_of_its_transactions_is_one_entry_with_a_problem(version: int) -> None:
    file = camt_file(entry("300.00"), version=version)
    [found] = entries_in(file.replace(b"<NtryDtls>", b"<NtryDtls><Btch><NbOfTxs>3</NbOfTxs></Btch>"))
    assert found.problem == "the entry has 3 transactions and tells of 1: it cannot be divided"
    assert (found.amount, found.destination, found.end_to_end_id) == (Decimal(300), None, None)
    [single] = entries_in(file.replace(b"<NtryDtls>", b"<NtryDtls><Btch><NbOfTxs>1</NbOfTxs></Btch>"))
    assert (single.problem, single.destination) == (None, VIRTUAL)


@pytest.mark.parametrize(("told", "has_problem"), [(b"100.00", True), (b"300.00", False), (b"310.00", False)])
def test_a_credit_above_its_one_transaction_has_a_problem(told: bytes, has_problem: bool) -> None:
    """One below it may be net of charges."""
    head, begin, tail = camt_file(entry("300.00")).partition(b"<TxDtls>")
    [found] = entries_in(head + begin + tail.replace(b">300.00<", b">%b<" % told, 1))
    assert (found.amount, bool(found.problem)) == (Decimal(300), has_problem)


def test_reversals_returns_and_pending_entries_are_told_apart() -> None:
    file = camt_file(
        entry(reference="1", status="PDNG"),
        entry(reference="2", is_credit=False, is_reversal=True),
        entry(reference="3", return_reason="AC04"),
    )
    pending, reversed_, returned = entries_in(file)
    assert not pending.is_booked
    assert (reversed_.is_reversal, reversed_.is_credit) == (True, False)
    assert (returned.is_return, returned.return_reason) == (True, "AC04")


def test_of_a_debit_the_other_side_is_the_recipient() -> None:
    [found] = entries_in(camt_file(entry(is_credit=False, end_to_end_id="rt-1")))
    assert (found.counterparty.name, found.destination, found.payee_name) == ("Zeta Ltd", None, None)


def test_balances_sequence_and_page_are_read() -> None:
    file = camt_file(entry(), opening=Decimal("-10.50"), sequence=7, page=2, is_last_page=False)
    [found] = statements_in(file)
    assert (found.opening, found.closing, found.total) == (Decimal("-10.50"), Decimal("239.50"), Decimal(250))
    assert (found.sequence, found.page, found.is_last_page, found.is_complete) == (7, 2, False, True)


def test_a_statement_whose_balances_do_not_fit_says_so() -> None:
    [found] = statements_in(camt_file(entry(), closing=Decimal("1.00")))
    assert found.is_complete is False


def test_an_empty_statement_is_good_news() -> None:
    [found] = statements_in(camt_file())
    assert (found.entries, found.is_complete) == (0, True)


def test_without_a_reference_the_content_is_the_key() -> None:
    first, second, other = entries_in(camt_file(*[entry(reference=None)] * 2, entry("9.00", reference=None)))
    assert not first.has_reference
    assert first.keys == second.keys != other.keys


def test_a_notice_and_a_statement_have_a_key_in_common() -> None:
    uetr = "255ae394-9965-4438-ac86-f406feada396"
    [noticed] = entries_in(camt_file(entry(reference=None, uetr=uetr), kind="054"))
    [stated] = entries_in(camt_file(entry(uetr=uetr)))
    assert set(noticed.keys) & set(stated.keys)


def test_mt940_is_read() -> None:
    file = mt940_file(entry(), entry("1.50", is_credit=False, reference="R2"), opening=Decimal("10.00"), sequence=12)
    credit, debit = entries_in(file)
    assert (credit.amount, credit.currency, credit.is_credit) == (Decimal("250.00"), "EUR", True)
    assert credit.keys[0] == f"{DAY}/{ACCOUNT}/C/2026111500017"
    assert (credit.counterparty.name, credit.counterparty.account_number) == ("Zeta Ltd", PAYER)
    assert (credit.end_to_end_id, credit.remittance) == ("INV-77", "Invoice 77")
    assert (debit.amount, debit.is_credit) == (Decimal("1.50"), False)
    [found] = statements_in(file)
    assert (found.sequence, found.page, found.opening, found.closing) == (12, 1, Decimal(10), Decimal("258.50"))
    assert found.is_complete


def test_mt942_is_read() -> None:
    file = mt942_file(entry())
    assert reader.opened(io.BytesIO(file)).kind is FileKind.MT942
    assert [one.amount for one in entries_in(file)] == [Decimal(250)]
    assert statements_in(file)[0].is_complete is None


def test_a_credit_taken_back_leaves_the_account() -> None:
    [found] = entries_in(mt940_file(entry(is_credit=False, is_reversal=True)))
    assert (found.is_reversal, found.is_credit) == (True, False)


def test_lines_as_real_banks_write_them() -> None:
    lines = """{1:F01BANKDEFFXXXX0000000000}{2:O9401200070904}{4:
:20:STARTUMS
:25:37040044/0532013000
:28C:00001/001
:60F:C070903EUR1234,56
:61:0709070904CR50990,05NTRFNONREF//0724710333343453
:86:051?00UEBERWEISUNG?20EREF+INV 1?21SVWZ+Rechnung?22 12?30ABNANL2A?31NL91ABNA0417164300?32ZETA?33 LTD
:61:0712310102D000000000025,00N102EREF
NL12
:86:/EREF/E-9/BENM//NAME/Beta BV/REMI/USTD//Huur/
:62F:C070904EUR52199,61
-}"""
    first, second = entries_in(lines.encode("latin-1"))
    assert (first.amount, first.counterparty.name) == (Decimal("50990.05"), "ZETA LTD")
    assert (first.end_to_end_id, first.remittance) == ("INV 1", "Rechnung 12")
    assert (second.valued_on.isoformat(), second.booked_on.isoformat()) == ("2007-12-31", "2008-01-02")
    assert (second.counterparty.name, second.end_to_end_id, second.remittance) == ("Beta BV", "E-9", "Huur")
    assert statements_in(lines.encode())[0].is_complete


LINE = "\r\n:61:2611151115C900,00NTRFNONREF//FORGED\r\n:86:TG4F7K9QXM"
HEAD = f"\r\n:20:X\r\n:25:{ACCOUNT}\r\n:28C:1/1\r\n:60F:C261115EUR0,00"
NARRATIONS = {
    "an entry": LINE,
    "an entry and a balance": f"{LINE}\r\n:62F:C261115EUR901,00",
    "a message": f"\r\n-{HEAD}{LINE}\r\n:62F:C261115EUR900,00\r\n-",
    "a message between two": f"\r\n:62F:C261115EUR1,00{HEAD}{LINE}\r\n:62F:C261115EUR900,00{HEAD}",
}


@pytest.mark.parametrize("narration", NARRATIONS)
def test_no_entry_is_certain_in_an_mt940_whose_narration_looks_like(narration: str) -> None:
    file = mt940_file(entry("1.00", remittance="NARRATION"), opening=Decimal(500))
    found = entries_in(file.replace(b"NARRATION", f"{NARRATIONS[narration]}\r\n:86:".encode()))
    assert [one.amount for one in found] == [Decimal(1), Decimal(900)]
    assert all(one.problem for one in found)


REPORT = f"\r\n:20:X\r\n:25:{ACCOUNT}\r\n:28C:1/1\r\n:34F:EUR0,"
NARRATIONS_OF_A_REPORT = {
    "an entry": LINE,
    "an entry and sums": f"{LINE}\r\n:90D:0EUR0,\r\n:90C:2EUR901,00",
    "a message": f"\r\n-{REPORT}{LINE}",
    "a debit": LINE.replace("C900,00", "D900,00"),
}


@pytest.mark.parametrize("narration", NARRATIONS_OF_A_REPORT)
def test_no_entry_is_certain_in_an_mt942_that_has_more_than_its_sums_say(narration: str) -> None:
    file = mt942_file(entry("1.00", remittance="NARRATION"))
    found = entries_in(file.replace(b"NARRATION", f"{NARRATIONS_OF_A_REPORT[narration]}\r\n:86:".encode()))
    assert [one.amount for one in found] == [Decimal(1), Decimal(900)]
    assert all(one.problem for one in found)


@pytest.mark.parametrize("sums", [b":90D:3EUR17,50\r\n:90C:2EUR251,00\r\n", b""], ids=["of more", "not given"])
def test_an_mt942_may_leave_small_entries_out_of_its_lines(sums: bytes) -> None:
    file = mt942_file(entry())
    own = b":90D:0EUR0,\r\n:90C:1EUR250,00\r\n"
    assert own in file
    assert [one.problem for one in entries_in(file.replace(own, sums))] == [None]


def test_sums_that_are_none_are_refused() -> None:
    file = mt942_file(entry()).replace(b":90C:1EUR250,00", b":90C:many")
    with pytest.raises(FileRefused, match=r":90C: is no number and sum of entries: 'many'"):
        entries_in(file)


@pytest.mark.parametrize("word", ["KREF+", "KREF", "EREF+", "NONREF", "NOT-PROVIDED", "not provided", "NOTPROVIDED"])
def test_a_word_in_the_place_of_an_identifier_is_none(word: str) -> None:
    plain = mt940_file(entry(end_to_end_id=None))
    own = plain.replace(b"NONREF", word.encode())
    details = plain.replace(b"?20", f"?20EREF+{word}SVWZ+".encode(), 1)
    assert [one.end_to_end_id for file in (own, details) for one in entries_in(file)] == [None, None]


BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE Document [<!ENTITY a0 "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))
    + b"]><Document>&a9;</Document>"
)
REFUSED = {
    "nothing": (b"", "it is empty"),
    "a text": (b"hello\n", "belongs to no field"),
    "a bomb": (BOMB, "document type"),
    "an external entity": (
        b'<!DOCTYPE Document [<!ENTITY x SYSTEM "file:///etc/hostname">]><Document>&x;</Document>',
        "document type",
    ),
    "an entity in UTF-16": (
        '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x SYSTEM "file:///etc/hostname"><x/>'.encode("utf-16"),
        "document type",
    ),
    "a wrong encoding": (camt_file(entry(name="Zoë")).replace("ë".encode(), b"\xeb"), "encoding"),
    "another message": (b"<html/>", "root is 'html'"),
    "an unknown version": (camt_file(entry()).replace(b"001.08", b"001.13"), "camt.053.001.13 are not read"),
    "another schema": (
        camt_file(entry()).replace(b"<CdtDbtInd>", b"<Side>").replace(b"</CdtDbtInd>", b"</Side>"),
        "Side",
    ),
    "an amount in words": (camt_file(entry()).replace(b">250.00<", b">two hundred<"), "two hundred"),
    "half a file": (camt_file(entry())[:-100], "line"),
    "deep elements": (b"<a>" * 300, "root is"),
    "a NUL": (mt940_file(entry()).replace(b"Zeta", b"Ze\0a"), "NUL"),
    "half an MT940": (mt940_file(entry(), entry(reference="2"))[:200], "the rest is missing"),
    "an MT line of nonsense": (mt940_file(entry()).replace(b"NTRF", b"?"), "no statement line"),
    "a packed file": (b"\x1f\x8b\x08\x00", "gzip"),
    "our own payments": (
        b'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"/>',
        "go to a bank",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_and_why(what: str) -> None:
    file, why = REFUSED[what]
    with pytest.raises(FileRefused, match=why) as refused:
        entries_in(file)
    # Of a sentence of ours, which ends it.
    assert not str(refused.value).endswith(".")


def test_a_file_with_a_bad_entry_gives_none_of_them() -> None:
    file = camt_file(entry(), entry("7.00", reference="2")).replace(b">7.00<", b">seven<")
    with pytest.raises(FileRefused):
        reader.opened(io.BytesIO(file))


def test_one_entry_may_not_be_endless() -> None:
    line = b"<Ustrd>" + b"x" * 140 + b"</Ustrd>"
    file = camt_file(entry()).replace(b"<Ustrd>Invoice 77</Ustrd>", line * 115_000)
    with pytest.raises(FileRefused, match="takes more than"):
        entries_in(file)


MEASURED = """
import resource, sys
from tidegate.rail.bankfiles import reader
from tidegate.rail.bankfiles.model import BankEntry
reader.opened(open(sys.argv[1], "rb"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(isinstance(part, BankEntry) for part in reader.opened(open(sys.argv[2], "rb")).parts)
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


# At full size, 100,000.
ENTRIES = int(os.environ.get("TIDEGATE_TEST_ENTRIES", "5000"))


def test_many_entries_need_little_memory(tmp_path: Path) -> None:
    """Streamed: a tree takes about 15 kB for each."""
    small, large = tmp_path / "small.xml", tmp_path / "large.xml"
    small.write_bytes(camt_file(entry()))
    many = [entry("1.00", reference=f"R{number}") for number in range(ENTRIES)]
    large.write_text("".join(camt_lines(statement(*many), kind="053", version=8)))
    done = subprocess.run([sys.executable, "-c", MEASURED, small, large], capture_output=True, text=True, check=True)
    count, megabytes = map(int, done.stdout.split())
    assert count == ENTRIES
    # The keys that were seen, to number equal ones; nothing of the entries.
    assert megabytes < 20 + ENTRIES / 1_500
