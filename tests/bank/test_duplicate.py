"""Which entries of files are the same: recorded once, left out only when certain, everything between a decision."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bank.world import settings_in
from bank_file_maker import DAY, VIRTUAL, camt_file, entry, mt940_file, statement
from tidegate.bank_file.alike import KnownEntry
from tidegate.bank_file.duplicate import AskingEntry, DuplicateCheck
from tidegate.emulator.bank.camt_writer import camt
from tidegate.emulator.bank.model import EmulatedEntry
from tidegate.emulator.bank.mt_writer import mt940
from tidegate.rail.bankfiles import reader
from tidegate.rail.bankfiles.model import BankEntry

SETTINGS = settings_in(Path())
OTHER_VIRTUAL = "DE75512108001245126199"
UETR = "255ae394-9965-4438-ac86-f406feada396"
PLAIN = entry(reference=None, destination=None)
BATCH = entry("30.00", parts=("10.00", "20.00"))
RANKS = ("new", "repeat", "settled", "problem")


class Shelf:
    """Files one after the other, as the database keeps them."""

    def __init__(self) -> None:
        self.known: list[KnownEntry] = []

    def bring(self, file: bytes, *, batch: int = 500, until: int | None = None) -> None:
        """In batches; `until` interrupts it after so many."""
        opened = reader.opened(io.BytesIO(file), SETTINGS.named)
        asking = [AskingEntry.of(part) for part in opened.parts if isinstance(part, BankEntry)]
        file_id = hashlib.sha256(file).hexdigest()
        check = DuplicateCheck(SETTINGS, file_id, opened.kind)
        batches = [asking[start : start + batch] for start in range(0, len(asking), batch)]
        for some in batches[:until]:
            self._keep(file_id, check, some)

    def _keep(self, file_id: str, check: DuplicateCheck, asking: Sequence[AskingEntry]) -> None:
        wanted = {key for one in asking for key in one.keys}
        alike = [one for one in self.known if wanted & set(one.entry.keys)]
        places = {one.place for one in self.known}
        made = [
            KnownEntry(file_id=file_id, state=one.state, entry=one.entry)
            for one in check.check(asking, alike)
            if one.state in RANKS
        ]
        self.known += [one for one in made if one.place not in places]
        self.known.sort(key=lambda one: (RANKS.index(one.state), one.place))

    def states(self) -> list[str]:
        return sorted(one.state for one in self.known)

    def recorded(self) -> Decimal:
        return self._sum("new")

    def waiting(self) -> Decimal:
        return self._sum("problem")

    def _sum(self, state: str) -> Decimal:
        return sum((one.entry.amount for one in self.known if one.state == state), Decimal(0))


def sorted_out(*files: bytes) -> Shelf:
    shelf = Shelf()
    for file in files:
        shelf.bring(file)
    names = [one.entry.keys[0] for one in shelf.known if one.state == "new"]
    assert len(names) == len(set(names))
    return shelf


def notice(*entries: EmulatedEntry, **changed: Any) -> bytes:
    return camt_file(*entries, kind="054", **changed)


def without_details(file: bytes) -> bytes:
    begin, end = file.index(b"<NtryDtls>"), file.rindex(b"</NtryDtls>") + len(b"</NtryDtls>")
    return file[:begin] + file[end:]


def undated(file: bytes) -> bytes:
    return file.replace(b"<BookgDt><Dt>2026-11-15</Dt></BookgDt>", b"")


def valued(file: bytes, day: str) -> bytes:
    return file.replace(b"<ValDt><Dt>2026-11-15", f"<ValDt><Dt>{day}".encode())


def of_a_run(reference: str) -> bytes:
    """The transaction has a reference of its own beside the entry's."""
    file = notice(entry(reference="RUN", end_to_end_id=f"E-{reference}"), id=reference)
    return file.replace(b"<Refs><AcctSvcrRef>RUN<", f"<Refs><AcctSvcrRef>{reference}<".encode())


def with_transaction_id(reference: str | None, **changed: Any) -> bytes:
    """Which the payer's bank chooses: two banks may count alike."""
    one = entry(reference=reference, end_to_end_id=reference or "INV-77", **changed)
    file = notice(one, id=reference or "S-1")
    return file.replace(b"</EndToEndId>", b"</EndToEndId><TxId>000001</TxId>")


def two_blocks() -> bytes:
    file = notice(entry(reference="X"))
    block = file[file.index(b"<Ntfctn>") : file.index(b"</Ntfctn>") + len(b"</Ntfctn>")]
    return file.replace(block, block + block.replace(b"S-1", b"S-2").replace(b"INV-77", b"INV-78"))


def paged(*pages: Sequence[EmulatedEntry], has_balances: bool = True, message: str = "M") -> list[bytes]:
    """A file for each page of a statement."""
    files, opening = [], Decimal(0)
    for number, entries in enumerate(pages, 1):
        made = statement(*entries, sequence=7, page=number, is_last_page=number == len(pages), opening=opening)
        file = camt(replace(made, message_id=f"{message}-{number}"), kind="053")
        files.append(file if has_balances else re.sub(rb"OPBD|CLBD", b"INFO", file))
        opening = made.closes_with
    return files


def pages_of_one_file(*pages: Sequence[EmulatedEntry], again: Sequence[Sequence[EmulatedEntry]] = ()) -> bytes:
    """Each a message of MT940."""
    messages, opening = [], Decimal(0)
    for number, entries in [*enumerate(pages, 1), *enumerate(again, 1)]:
        opening = Decimal(0) if number == 1 else opening
        made = statement(*entries, sequence=7, page=number, opening=opening)
        messages.append(mt940(made))
        opening = made.closes_with
    return b"".join(messages)


def of_a_weekend(*, has_numbers: bool) -> list[bytes]:
    """Two payments, booked on Saturday and on Monday under the first number of the day and valued on Monday: a notice
    and a statement of each. A statement between them is missing.
    """
    files = []
    for number, day in enumerate((DAY - timedelta(days=1), NEXT_DAY)):
        made = entry(reference="00001", day=day)
        sequence = 1 + 2 * number if has_numbers else None
        files.append(notice(made, id=f"N-{day}", message_id=f"N-{day}"))
        files.append(camt_file(made, id=f"S-{day}", opening=Decimal(1000 * number), sequence=sequence))
    return [re.sub(rb"<ValDt><Dt>[^<]*", f"<ValDt><Dt>{NEXT_DAY}".encode(), file) for file in files]


NEXT_DAY = DAY + timedelta(days=1)
TEN, TWENTY = (entry(f"{n}.00", reference="X", end_to_end_id=f"E{n}") for n in (10, 20))
SUM = without_details(camt_file(BATCH))
SUM_ENTRY = SUM[SUM.index(b"<Ntry>") : SUM.index(b"</Ntry>") + len(b"</Ntry>")]
# Of each: the files, what is recorded, and the entries that need a decision.
CASES: dict[str, tuple[list[bytes], str, int]] = {
    "a batch divided by the notice": ([notice(BATCH), SUM], "30", 0),
    "a batch divided later": ([SUM, notice(BATCH)], "30", 2),
    "a batch divided in both, in another order": (
        [notice(BATCH), camt_file(replace(BATCH, parts=("20.00", "10.00")))], "30", 0,
    ),
    "one of a batch was notified by itself": ([notice(entry("10.00")), camt_file(BATCH)], "10", 2),
    "a batch that cannot be divided, and its sum": (
        [notice(entry("30.00", parts=("", ""))), without_details(camt_file(entry("30.00")))], "0", 1,
    ),
    "no reference, to two virtual numbers": (
        [camt_file(PLAIN, account=number, id=number) for number in (VIRTUAL, OTHER_VIRTUAL)], "500", 0,
    ),
    "no reference, to two virtual numbers, in MT940": (
        [mt940_file(PLAIN, account=number, sequence=1) for number in (VIRTUAL, OTHER_VIRTUAL)], "500", 0,
    ),
    "no reference, a statement of the virtual number and one of the account": (
        [camt_file(PLAIN, account=VIRTUAL, sequence=3), camt_file(entry(reference=None), id="P", sequence=9)], "250", 0,
    ),
    "no reference, a copy with another number": (
        [camt_file(PLAIN, sequence=7), camt_file(PLAIN, sequence=8, is_copy=True)], "250", 1,
    ),
    "no reference, two statements of a day without numbers": (
        [camt_file(PLAIN, id="S-1"), camt_file(PLAIN, id="S-2")], "250", 1,
    ),
    "no reference, two statements of a day with numbers": (
        [camt_file(PLAIN, sequence=1), camt_file(PLAIN, sequence=2, id="S-2", opening=Decimal(250))], "500", 0,
    ),
    "no reference, and again under another number with the same balances": (
        [camt_file(PLAIN, sequence=1), camt_file(PLAIN, sequence=2, id="S-2")], "250", 1,
    ),
    "no reference, and again under another number of the same statement": (
        [camt_file(PLAIN, sequence=1), camt_file(PLAIN, sequence=2, opening=Decimal(10))], "250", 1,
    ),
    "a reference in the notice alone": ([notice(entry()), mt940_file(PLAIN)], "250", 1),
    "a reference in the statement's copy alone": ([mt940_file(PLAIN), notice(entry())], "250", 1),
    "credited, and again next day by the same UETR": (
        [camt_file(entry(uetr=UETR)), camt_file(entry(uetr=UETR, reference="2", day=NEXT_DAY))], "250", 1,
    ),
    "one UETR, and two references on one day": (
        [notice(entry(uetr=UETR)), camt_file(entry(uetr=UETR, reference="2"))], "250", 1,
    ),
    "two of a run": ([of_a_run("T1"), of_a_run("T2")], "500", 0),
    "equal references on two pages": (
        [camt_file(entry(end_to_end_id=f"E{n}"), sequence=7, page=n, is_last_page=n == 2) for n in (1, 2)], "250", 1,
    ),
    "equal references in two statements, one after the other by their balances": (
        [camt_file(entry(), sequence=n, id=f"S-{n}", opening=Decimal(250 * n)) for n in (1, 2)], "250", 1,
    ),
    "references, and pages divided otherwise": (
        [*paged([entry(reference="A"), entry(reference="B")], [entry(reference="C")]),
         *paged([entry(reference="A")], [entry(reference="B"), entry(reference="C")], message="N")], "750", 0,
    ),
    "equal references in two blocks of a file": ([two_blocks()], "250", 1),
    "equal references singly, then together": (
        [notice(TEN), notice(TWENTY, id="S-2"), camt_file(TWENTY, TEN)], "10", 1,
    ),
    "equal references together, then one of them": ([camt_file(TEN, TWENTY), camt_file(TWENTY)], "30", 0),
    "one identifier of payers' banks, other references": (
        [with_transaction_id("R1"), with_transaction_id("R2")], "500", 0,
    ),
    "booked by the notice a day before": (
        [valued(notice(entry(day=DAY - timedelta(days=1))), "2026-11-14"),
         valued(camt_file(entry()), "2026-11-14")], "250", 0,
    ),
    "booked by the notice a day before, and nothing else in common": (
        [notice(entry(end_to_end_id=None, day=DAY - timedelta(days=1))),
         valued(camt_file(entry(end_to_end_id=None)), "2026-11-14")], "250", 1,
    ),
    "a reference that counts from 1 each day": (
        [camt_file(entry(reference="1", end_to_end_id=f"{day}", day=day)) for day in (DAY, NEXT_DAY)], "500", 0,
    ),
    "a reference that MT940 cuts": (
        [notice(entry(reference="2026111500017ABCDEF")), mt940_file(entry(reference="2026111500017ABC"))], "250", 1,
    ),
    "undated, and booked long before": (
        [undated(valued(notice(entry()), "2026-11-05")), valued(camt_file(entry()), "2026-11-05")], "250", 0,
    ),
    "undated, of another value date": ([undated(valued(notice(entry()), "2026-11-18")), camt_file(entry())], "250", 1),
    "undated, and dated on two days of one value date": (
        [undated(valued(notice(entry(end_to_end_id=None)), "2026-11-16")),
         valued(camt_file(entry(end_to_end_id=None)), "2026-11-16"),
         camt_file(entry(end_to_end_id=None, day=NEXT_DAY), id="S-2")], "250", 1,
    ),
    "an identifier in the notice alone, a reference in the statement": (
        [with_transaction_id(None), camt_file(entry())], "250", 1,
    ),
    "a TxId in the notice of the day before, and none in the statement": (
        [with_transaction_id(None, day=DAY - timedelta(days=1)), camt_file(entry())], "250", 1,
    ),
    "a TxId in the notice after the statement of the day before": (
        [camt_file(entry(day=DAY - timedelta(days=1))), with_transaction_id(None)], "250", 1,
    ),
    "a TxId in the notice of the weekend, and none in the statement with the same value date": (
        [valued(with_transaction_id(None), "2026-11-18"), camt_file(entry(day=DAY + timedelta(days=3)))], "250", 1,
    ),
    "a TxId in the notice of the day before, of another payment": (
        [with_transaction_id(None, day=DAY - timedelta(days=1)), camt_file(entry(end_to_end_id="E2"))], "500", 0,
    ),
    "a TxId in the notice of an earlier week": (
        [with_transaction_id(None, day=DAY - timedelta(days=7)), camt_file(entry())], "500", 0,
    ),
    "a reference in the notice, and a statement with neither that nor details": (
        [notice(entry()), without_details(camt_file(PLAIN))], "250", 1,
    ),
    "no reference in the statement, of another payer": (
        [notice(entry()), camt_file(replace(PLAIN, end_to_end_id="E2"))], "500", 0,
    ),
    "no reference, beside one that both files have": (
        [notice(entry()), camt_file(entry(), replace(PLAIN, end_to_end_id=None))], "500", 0,
    ),
    "booked and valued a day later": ([notice(entry(day=DAY - timedelta(days=1))), camt_file(entry())], "250", 1),
    "no reference, and statements that are all numbered 0": (
        [re.sub(rb":28C?:[^\r\n]*", b":28C:0", mt940_file(PLAIN, message_id=f"M-{n}")) for n in (1, 2)], "250", 1,
    ),
    "no reference, numbered 0, one after the other by their balances": (
        [re.sub(rb":28C?:[^\r\n]*", b":28C:0", mt940_file(PLAIN, opening=Decimal(n))) for n in (100, 350)], "500", 0,
    ),
    "no reference, pages that are all marked as copies": (
        [camt_file(PLAIN, sequence=7, page=page, opening=Decimal(250 * page), is_copy=True) for page in (1, 2)],
        "500", 0,
    ),
    "no reference, pages whose balances do not say which comes after which": (
        [camt_file(PLAIN, sequence=7, page=page) for page in (1, 2)], "250", 1,
    ),
    "no reference, pages of one file": ([pages_of_one_file([PLAIN], [PLAIN], [PLAIN])], "750", 0),
    "no reference, pages of one file, and divided otherwise in it": (
        [pages_of_one_file([PLAIN], [PLAIN, PLAIN], again=([PLAIN, PLAIN], [PLAIN]))], "750", 2,
    ),
    "no reference, one page, and again as two": (
        [camt_file(PLAIN, PLAIN, sequence=7), *paged([PLAIN], [PLAIN])], "500", 1,
    ),
    "no reference, two pages, and again as one": (
        [*paged([PLAIN], [PLAIN]), camt_file(PLAIN, PLAIN, sequence=7)], "500", 1,
    ),
    "no reference, an account that is emptied every day": (
        [camt_file(PLAIN, replace(PLAIN, is_credit=False), sequence=7, page=page) for page in (1, 2)], "500", 2,
    ),
    "no reference, a virtual number and two pages of the account": (
        [camt_file(PLAIN, account=VIRTUAL), *(camt_file(PLAIN, id="P", sequence=9, page=page) for page in (1, 2))],
        "250", 1,
    ),
    "a batch and its sum in one statement": ([camt_file(BATCH, entry("30.00"))], "60", 0),
    "a batch, and its sum twice in a statement": (
        [notice(BATCH), SUM.replace(b"</Ntry>", b"</Ntry>" + SUM_ENTRY)], "60", 0,
    ),
    "a reference, another payer's, and one without a payer between": (
        [notice(replace(TEN, end_to_end_id=given), id=f"S-{given}") for given in ("A", None, "B")],
        "10", 1,
    ),
    "the payer's account in its national form": ([notice(entry()), camt_file(entry(account="0417164300"))], "250", 0),
    "another reference of the entry, and the same of the transaction": (
        [notice(entry()).replace(b"</ValDt><AcctSvcrRef>", b"</ValDt><AcctSvcrRef>N"), camt_file(entry())], "250", 0,
    ),
    "details in the notice alone": ([notice(entry()), without_details(camt_file(entry()))], "250", 0),
    "a third file by a key of the second": (
        [notice(entry()), camt_file(entry(uetr=UETR)), notice(entry(uetr=UETR, reference=None))], "250", 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_banks_do(case: str) -> None:
    files, recorded, decisions = CASES[case]
    shelf = sorted_out(*files)
    assert (shelf.recorded(), shelf.states().count("problem")) == (Decimal(recorded), decisions)


@pytest.mark.parametrize("has_numbers", [True, False])
@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_two_payments_of_a_weekend_under_one_reference_are_both_recorded_or_wait(
    order: tuple[int, ...], has_numbers: bool
) -> None:
    files = of_a_weekend(has_numbers=has_numbers)
    shelf = sorted_out(*(files[place] for place in order))
    assert shelf.recorded() <= 500 <= shelf.recorded() + shelf.waiting()


@pytest.mark.parametrize("kind", ["notices", "statements"])
def test_a_reference_on_two_booking_days_of_one_value_date_needs_a_decision(kind: str) -> None:
    files = of_a_weekend(has_numbers=False)[kind == "statements" :: 2]
    for order in (files, files[::-1]):
        assert sorted_out(*order).states() == ["new", "problem"]


@pytest.mark.parametrize("days", [1, 3])
@pytest.mark.parametrize("has_uetr", [True, False])
@pytest.mark.parametrize("is_statement_first", [True, False])
def test_an_identifier_in_the_notice_alone_and_another_booking_day_need_a_decision(
    is_statement_first: bool, has_uetr: bool, days: int
) -> None:
    """Both have the value date of the later one."""
    named = entry(reference=None, uetr=UETR) if has_uetr else entry()
    stated = replace(PLAIN, day=DAY + timedelta(days=days))
    files = [valued(notice(named, id="N-1"), str(stated.day)), camt_file(stated)]
    shelf = sorted_out(*(files[::-1] if is_statement_first else files))
    assert shelf.states() == ["new", "problem"]


def test_an_entry_that_was_settled_by_hand_is_not_recorded_from_the_next_file() -> None:
    shelf = sorted_out(notice(entry("30.00", parts=("", ""))))
    [undecided] = shelf.known
    shelf.known = [KnownEntry(file_id=undecided.file_id, state="settled", entry=undecided.entry)]
    shelf.bring(SUM)
    assert shelf.states() == ["repeat", "settled"]


FORMATS: dict[str, Callable[..., bytes]] = {
    "054": notice,
    "053": camt_file,
    "052": lambda *entries, **changed: camt_file(*entries, kind="052", **changed),
    "MT940": mt940_file,
}


@st.composite
def reports(draw: st.DrawFn) -> tuple[Decimal, list[bytes]]:
    """Transactions with the bank's own references, each in some of several files, in any order and format."""
    amounts = draw(st.lists(st.sampled_from(["1.00", "2.00"]), min_size=1, max_size=4))
    credits_ = [
        entry(amount, reference=f"R{n}", end_to_end_id=f"E{n}", uetr=f"{UETR[:-1]}{n}" if draw(st.booleans()) else None)
        for n, amount in enumerate(amounts)
    ]
    files = []
    for number in range(draw(st.integers(1, 4))):
        chosen = draw(st.permutations(credits_).map(lambda some: some[: len(some) // 2 + 1]))
        make = FORMATS[draw(st.sampled_from(sorted(FORMATS)))]
        files.append(make(*chosen, id=f"S-{number}", message_id=f"M-{number}"))
    files.append(camt_file(*credits_, id="S-9", message_id="M-9"))
    return sum(map(Decimal, amounts), Decimal(0)), files


@given(reports())
def test_with_references_every_transaction_is_recorded_once_without_a_decision(
    given_: tuple[Decimal, list[bytes]],
) -> None:
    expected, files = given_
    shelf = sorted_out(*files)
    assert (shelf.recorded(), shelf.states().count("problem")) == (expected, 0)


@given(
    st.lists(st.tuples(st.sampled_from(["054", "053", "052"]), st.booleans(), st.booleans(), st.booleans()), max_size=5)
)
def test_whatever_a_file_leaves_out_nothing_is_recorded_twice(shapes: list[tuple[str, bool, bool, bool]]) -> None:
    """One credit; each file may lack its reference, its booking date and its UETR."""
    files = []
    for number, (kind, has_reference, is_dated, has_uetr) in enumerate(shapes):
        one = entry(reference="R1" if has_reference else None, uetr=UETR if has_uetr else None)
        file = FORMATS[kind](one, id=f"S-{number}", message_id=f"M-{number}")
        files.append(file if is_dated else undated(file))
    shelf = sorted_out(*files)
    assert shelf.recorded() <= 250


def sums_in(file: bytes) -> bytes:
    """The batches of it are not divided."""
    undivided = rb"(<Ntry>(?:(?!</Ntry>).)*?>30\.00<(?:(?!</Ntry>).)*?)<NtryDtls>.*?</NtryDtls>"
    return re.sub(undivided, rb"\1", file, flags=re.DOTALL)


OF_A_STATEMENT = (entry("30.00"), PLAIN, entry(reference="R1", end_to_end_id="E1"), entry("10.00"), TEN, TWENTY)


@given(
    before=st.lists(st.sampled_from([notice(BATCH), SUM, notice(TEN), camt_file(PLAIN, id="S-0")]), unique=True),
    entries=st.lists(st.sampled_from(OF_A_STATEMENT), min_size=1, max_size=6),
    batch=st.integers(1, 3),
    data=st.data(),
)
def test_a_reading_that_was_interrupted_ends_as_one_that_was_not(
    before: list[bytes], entries: list[EmulatedEntry], batch: int, data: st.DataObject
) -> None:
    file = sums_in(camt_file(*entries, id="S-9", message_id="M-9"))
    whole, interrupted = sorted_out(*before), sorted_out(*before)
    whole.bring(file, batch=batch)
    for until in data.draw(st.lists(st.integers(0, len(entries)), min_size=1, max_size=3)):
        interrupted.bring(file, batch=batch, until=until)
    interrupted.bring(file, batch=batch)
    assert interrupted.known == whole.known


def test_a_second_sum_is_recorded_also_after_an_interruption() -> None:
    file = sums_in(camt_file(*[entry("30.00")] * 2))
    shelf = sorted_out(notice(BATCH))
    shelf.bring(file, batch=1, until=1)
    shelf.bring(file, batch=1)
    assert (shelf.recorded(), shelf.states().count("problem")) == (Decimal(60), 0)


def divided(draw: st.DrawFn, entries: list[EmulatedEntry]) -> list[list[EmulatedEntry]]:
    """Into pages of one entry or more."""
    ends = sorted(draw(st.sets(st.integers(1, len(entries) - 1)))) if len(entries) > 1 else []
    return [entries[begin:end] for begin, end in pairwise([0, *ends, len(entries)])]


@st.composite
def divisions(draw: st.DrawFn) -> tuple[Decimal, list[bytes], list[bytes]]:
    """A statement without a reference, and the same one with its pages divided otherwise; in any order."""
    amounts = draw(st.lists(st.sampled_from(["1.00", "2.00"]), min_size=1, max_size=5))
    entries = [replace(PLAIN, amount=Decimal(amount)) for amount in amounts]
    has_balances = draw(st.booleans())
    first, second = (
        draw(st.permutations(paged(*divided(draw, entries), has_balances=has_balances, message=message)))
        for message in ("A", "B")
    )
    return sum(map(Decimal, amounts), Decimal(0)), first, second


@given(divisions())
def test_a_statement_that_comes_again_divided_otherwise_is_not_recorded_twice(
    given_: tuple[Decimal, list[bytes], list[bytes]],
) -> None:
    total, first, second = given_
    before = sorted_out(*first)
    after = sorted_out(*first, *second)
    assert before.recorded() == after.recorded() <= total
    assert before.recorded() + before.waiting() == total


@given(divisions(), st.data())
def test_pages_of_two_divisions_in_any_order_are_not_recorded_twice(
    given_: tuple[Decimal, list[bytes], list[bytes]], data: st.DataObject
) -> None:
    total, first, second = given_
    files = data.draw(st.permutations([*first, *second]))
    shelf = sorted_out(*files)
    assert shelf.recorded() <= total <= shelf.recorded() + shelf.waiting()


class Comparisons:
    """How often two entries are compared."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = DuplicateCheck._verdict

        def counted(*given: Any, **named: Any) -> Any:
            self.count += 1
            return real(*given, **named)

        monkeypatch.setattr(DuplicateCheck, "_verdict", counted)


@pytest.mark.parametrize("amounts", [("1.00",), ("1.00", "2.00")])
def test_however_many_equal_entries_are_compared_once(
    monkeypatch: pytest.MonkeyPatch, amounts: tuple[str, ...]
) -> None:
    counts = []
    for many in (60, 120):
        equal = [replace(PLAIN, amount=Decimal(amounts[n % len(amounts)])) for n in range(many)]
        comparisons, shelf = Comparisons(monkeypatch), Shelf()
        shelf.bring(camt_file(*equal), batch=many // 6)
        assert shelf.states() == ["new"] * many
        # The same statement again: each of them once more.
        shelf.bring(camt_file(*equal, message_id="M-2"), batch=many // 6)
        assert shelf.states() == ["new"] * many + ["repeat"] * many
        assert len({one.root for one in shelf.known}) == many
        counts.append(comparisons.count)
    assert counts[0] == counts[1] <= 6 * 6 * len(amounts)
