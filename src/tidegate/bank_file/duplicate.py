"""Which entries of a file are new, which stand in an earlier one too, and which cannot be told apart: pure functions.

An entry is recorded only when it is certainly no other's repetition, and left out only when it certainly is one.
Everything between needs a decision.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from datetime import timedelta
from enum import IntEnum, auto
from functools import partial

import msgspec

from tidegate.bank_file.alike import (
    EqualEntries,
    KnownEntries,
    KnownEntry,
    Rivals,
    name_and_number,
    numbered,
    without_place,
)
from tidegate.bank_settings import BankFilesSettings
from tidegate.rail.bankfiles.arrival import classify
from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.bankfiles.key import CONTENT, CUT, MT_REFERENCE_CHARS, NEAR, UETR, VALUED, asked
from tidegate.rail.bankfiles.model import BankEntry, FileKind

# Entries with no identifier in common that are booked further apart are compared only when they have one value date.
_A_DAY = timedelta(days=1)
# Shorter ones are the end of too many others.
NATIONAL_NUMBER_CHARS_MIN = 6


class AskingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the file, with the keys by which entries like it are looked for."""

    entry: BankEntry
    keys: Sequence[str]

    @classmethod
    def of(cls, entry: BankEntry) -> AskingEntry:
        return cls(entry=entry, keys=asked(entry))


class KeptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with the state in which it is kept."""

    entry: BankEntry
    state: str
    note: str | None


class DuplicateVerdict(IntEnum):
    """On two entries. Of several, by several keys in common, the least counts."""

    SAME = auto()
    # They should be the same, and something speaks against it.
    DOUBTED = auto()
    # They may be the same, and nothing speaks against it.
    UNSURE = auto()
    # They are not, and neither is it the same as what that one repeats.
    OTHER = auto()
    # They have nothing to do with each other.
    UNRELATED = auto()


_SAME, _DOUBTED = DuplicateVerdict.SAME, DuplicateVerdict.DOUBTED
_UNSURE, _OTHER = DuplicateVerdict.UNSURE, DuplicateVerdict.OTHER


class DuplicateCheck:
    """Of one file. Its entries come in order, in batches."""

    def __init__(self, settings: BankFilesSettings, file_id: str, kind: FileKind) -> None:
        self._settings = settings
        self._file_id = file_id
        self._kind = kind
        self._known = KnownEntries()
        # Keys of which all entries are known.
        self._complete: set[str] = set()
        # Those that a binding statement has, by their roots.
        self._stated: set[str] = set()
        # How many entries have a name.
        self._numbers: dict[str, int] = {}
        # Those that were kept before the reading was interrupted, by number.
        self._kept: dict[int, KnownEntry] = {}
        # Statements of this file, and what they repeat: each entry once.
        self._repeated: set[tuple[int, str]] = set()
        # Of entries of this batch and the one before, which may go on.
        self._rivals: dict[BankEntry, Rivals] = {}
        self._rivals_before: dict[BankEntry, Rivals] = {}

    def forget(self) -> None:
        """Other files have been written: what was known is not all any more."""
        self._complete.clear()

    def missing(self, asking: Iterable[AskingEntry]) -> list[str]:
        """Keys that these ask for, and of which not all entries are known."""
        return list({key for one in asking for key in one.keys if key not in self._complete})

    async def learn(self, asking: Sequence[AskingEntry], known: AsyncIterable[KnownEntry]) -> list[KeptEntry]:
        """As `check`, of entries that come one after the other."""
        self._begin(asking)
        async for one in known:
            self._learn(one, asking[0].entry.number)
        return [self._checked(one) for one in asking]

    def check(self, asking: Sequence[AskingEntry], known: Iterable[KnownEntry]) -> list[KeptEntry]:
        """`known` has all that have a key that is missing."""
        self._begin(asking)
        for one in known:
            self._learn(one, asking[0].entry.number)
        return [self._checked(one) for one in asking]

    def _begin(self, asking: Sequence[AskingEntry]) -> None:
        wanted = {key for one in asking for key in one.keys}
        self._known.keep_only(wanted & self._complete)
        self._complete = wanted
        self._kept.clear()
        self._rivals_before, self._rivals = self._rivals, {}

    def _learn(self, known: KnownEntry, first: int) -> None:
        if known.file_id == self._file_id and known.entry.number >= first:
            self._kept[known.entry.number] = known
        else:
            self._add(known)

    def _add(self, known: KnownEntry) -> None:
        self._known.add(known)
        name, number = name_and_number(known.entry)
        self._numbers[name] = max(number, self._numbers.get(name, 0))
        if known.entry.is_stated:
            self._stated.add(known.root)

    def _checked(self, asking: AskingEntry) -> KeptEntry:
        entry = asking.entry
        kept = self._kept.get(entry.number)
        if kept is not None:
            made = KeptEntry(entry=kept.entry, state=kept.state, note=None)
        else:
            state, note = classify(entry, self._kind)
            made = KeptEntry(entry=entry, state=state, note=note)
            made = made if state == "ignored" else self._compared(made, asking.keys)
        if made.state != "ignored":
            self._add(KnownEntry(file_id=self._file_id, state=made.state, entry=made.entry))
        self._repeated.update((entry.statement, root) for root in made.entry.all_repeated)
        return made

    def _compared(self, made: KeptEntry, keys: Sequence[str]) -> KeptEntry:
        entry = made.entry
        rivals = self._rivals_of(entry, keys)
        is_taken = partial(self._is_taken, entry.statement)
        firsts = list(rivals.first_of_each(is_taken))
        for one in firsts:
            if _SAME in one.verdicts and not one.verdicts & {_DOUBTED, _OTHER}:
                return _repeat(entry, one.known, note=f"the same as {one.known}")
        batch = self._batch_of(entry, rivals, is_taken)
        if batch:
            return _repeat(entry, *batch, note=f"the sum of a batch with {batch[0]}")
        for one in firsts:
            if one.verdicts & {_SAME, _DOUBTED} or (_UNSURE in one.verdicts and _OTHER not in one.verdicts):
                return KeptEntry(entry=entry, state="problem", note=self._doubt(one.known, entry))
        return msgspec.structs.replace(made, entry=numbered(entry, self._numbers.get(entry.keys[0], 0)))

    def _rivals_of(self, entry: BankEntry, keys: Sequence[str]) -> Rivals:
        """Not in the same statement. Equal entries have the same ones."""
        sharing = {
            one: shared
            for one, shared in self._known.sharing(keys).items()
            if one.file_id != self._file_id or one.entry.statement != entry.statement
        }
        like = without_place(entry)
        found = self._rivals.get(like) or self._rivals_before.get(like)
        if found is None or not found.is_of(sharing):
            found = Rivals(sharing, keys, self._stated, partial(self._least_verdict, entry))
        self._rivals[like] = found
        return found

    def _is_taken(self, statement: int, root: str) -> bool:
        """Repeated by another entry of the statement."""
        return (statement, root) in self._repeated

    def _least_verdict(self, entry: BankEntry, known: EqualEntries, keys: Sequence[str], is_stated: bool) -> int:
        return min(self._verdict(key, known, entry, is_root_stated=is_stated) for key in keys)

    def _verdict(self, key: str, known: EqualEntries, entry: BankEntry, *, is_root_stated: bool) -> DuplicateVerdict:
        other = known.entry
        if key.startswith((CONTENT, NEAR)):
            return self._by_content(key, known, entry, is_root_stated=is_root_stated)
        if _references_differ(other, entry):
            return DuplicateVerdict.DOUBTED if key.startswith(UETR) else DuplicateVerdict.OTHER
        is_strong = key.startswith(UETR) or (not key.startswith((VALUED, CUT)) and _is_of_one_day(other, entry))
        if self._is_contradicted(other, entry):
            return DuplicateVerdict.DOUBTED if is_strong else DuplicateVerdict.OTHER
        return self._by_reference(key, other, entry, is_strong=is_strong)

    @staticmethod
    def _by_reference(key: str, other: BankEntry, entry: BankEntry, *, is_strong: bool) -> DuplicateVerdict:
        """Of entries that do not contradict each other."""
        is_divided = (other.part is None) is not (entry.part is None)
        if key.startswith(UETR) or (other.own_reference and other.own_reference == entry.own_reference):
            is_divided = False
        if is_divided or key.startswith(CUT):
            return DuplicateVerdict.UNSURE
        is_twice = other.is_stated and entry.is_stated and _is_on_another_sheet(other, entry)
        if is_strong:
            # A reference that a bank has given twice.
            return DuplicateVerdict.DOUBTED if is_twice else DuplicateVerdict.SAME
        if key.startswith(VALUED):
            is_twice = is_twice and entry.sheet.is_surely_another_than(other.sheet)
            is_same = _agree(other, entry) and _may_be_one_booking(other, entry) and not is_twice
            return DuplicateVerdict.SAME if is_same else DuplicateVerdict.DOUBTED
        if other.is_dated is not entry.is_dated:
            return DuplicateVerdict.UNSURE
        is_one_payment = _text(given(other.end_to_end_id)) == _text(given(entry.end_to_end_id)) != ""
        return DuplicateVerdict.UNSURE if is_one_payment else DuplicateVerdict.UNRELATED

    def _by_content(self, key: str, known: EqualEntries, entry: BankEntry, *, is_root_stated: bool) -> DuplicateVerdict:
        other = known.entry
        if self._is_contradicted(other, entry):
            return DuplicateVerdict.OTHER
        is_another = _is_on_another_sheet(other, entry) if other.is_stated and entry.is_stated else False
        if is_another and (self._is_of_one_division(known, entry) or entry.sheet.is_surely_another_than(other.sheet)):
            return DuplicateVerdict.OTHER
        if key.startswith(NEAR):
            if abs(other.booked_on - entry.booked_on) > _A_DAY and other.valued_on != entry.valued_on:
                return DuplicateVerdict.UNRELATED
            # What a notice and a statement both have is not what the statement has besides.
            return DuplicateVerdict.UNRELATED if is_root_stated and not other.is_stated else DuplicateVerdict.UNSURE
        if is_another:
            return DuplicateVerdict.DOUBTED
        is_plain = not other.has_reference and not entry.has_reference
        return DuplicateVerdict.SAME if is_plain and is_another is False else DuplicateVerdict.UNSURE

    def _is_of_one_division(self, known: EqualEntries, entry: BankEntry) -> bool:
        """Pages of a statement that follow each other in this file."""
        pages = (known.entry.sheet.page, entry.sheet.page)
        if known.file_id != self._file_id or pages[0] is None or pages[1] is None:
            return False
        return pages[1] - pages[0] == entry.statement - known.entry.statement

    def _is_contradicted(self, other: BankEntry, entry: BankEntry) -> bool:
        """They say different things about what both name. Formats write names and accounts differently."""
        if (
            _money(other) != _money(entry)
            or self._names_another_number(other, entry)
            or _differ(other.uetr, entry.uetr)
        ):
            return True
        if other.family != entry.family:
            return False
        return (
            _differ(_text(given(other.end_to_end_id)), _text(given(entry.end_to_end_id)))
            or not _is_one_account(other.counterparty.account_number, entry.counterparty.account_number)
            or (
                _differ(_text(other.counterparty.name), _text(entry.counterparty.name))
                and _differ(_text(other.remittance), _text(entry.remittance))
            )
        )

    def _names_another_number(self, other: BankEntry, entry: BankEntry) -> bool:
        return _differ(self._virtual(other), self._virtual(entry))

    def _virtual(self, entry: BankEntry) -> str | None:
        account = self._settings.account_of(entry.account)
        return entry.destination if account and entry.destination in account.virtual_numbers else None

    @staticmethod
    def _batch_of(entry: BankEntry, rivals: Rivals, is_taken: Callable[[str], bool]) -> list[KnownEntry]:
        """Transactions that other files have singly, when they make this entry, which is not divided."""
        if entry.part is not None or entry.own_reference or entry.entry_reference is None:
            return []

        def is_part(other: BankEntry) -> bool:
            is_single = other.part is not None or other.own_reference is not None
            is_of_it = other.entry_reference == entry.entry_reference and other.currency == entry.currency
            return is_single and is_of_it and _is_of_one_day(other, entry)

        parts = {one.root: one for one in reversed(list(rivals.all_in(is_part, is_taken)))}
        is_whole = sum(one.entry.amount for one in parts.values()) == entry.amount
        return list(parts.values()) if is_whole and len(parts) > 1 else []

    def _doubt(self, known: KnownEntry, entry: BankEntry) -> str:
        other = known.entry
        if (other.part is None) is not (entry.part is None):
            return f"one of them is a batch that the other divides: {known}"
        if _money(other) != _money(entry):
            return f"it contradicts {known}: another amount"
        if self._names_another_number(other, entry):
            return f"it contradicts {known}: another account"
        if other.is_dated is not entry.is_dated:
            return f"it may be {known}: one of them has no booking date"
        return f"it may be {known}: they have something in common, and not all"


def _repeat(entry: BankEntry, known: KnownEntry, *others: KnownEntry, note: str) -> KeptEntry:
    also = tuple(one.root for one in others)
    repeating = msgspec.structs.replace(entry, repeats=known.root, repeats_also=also)
    return KeptEntry(entry=repeating, state="repeat", note=note)


def _money(entry: BankEntry) -> tuple[object, str]:
    return entry.amount, entry.currency


def _text(text: str | None) -> str:
    return "".join((text or "").casefold().split())


def _differ(one: str | None, two: str | None) -> bool:
    """Both are given, and are not the same."""
    return bool(one and two and one != two)


def _is_one_account(one: str | None, two: str | None) -> bool:
    """A national number is the end of the IBAN."""
    if not one or not two or one == two:
        return True
    return min(len(one), len(two)) >= NATIONAL_NUMBER_CHARS_MIN and (one.endswith(two) or two.endswith(one))


def _references_differ(other: BankEntry, entry: BankEntry) -> bool:
    """Those of the transaction decide, where both have one; MT has one alone, and cuts it."""
    if other.own_reference and entry.own_reference:
        return other.own_reference != entry.own_reference
    here = {text[:MT_REFERENCE_CHARS] for text in (entry.own_reference, entry.entry_reference) if text}
    there = {text[:MT_REFERENCE_CHARS] for text in (other.own_reference, other.entry_reference) if text}
    return bool(here and there and not here & there)


def _agree(other: BankEntry, entry: BankEntry) -> bool:
    """The payer and the payment's own number are given in both, and the same."""
    accounts = (other.counterparty.account_number, entry.counterparty.account_number)
    numbers = (_text(given(other.end_to_end_id)), _text(given(entry.end_to_end_id)))
    return None not in accounts and _is_one_account(*accounts) and numbers[0] == numbers[1] != ""


def _is_of_one_day(other: BankEntry, entry: BankEntry) -> bool:
    """By the booking dates; where one is missing, by the value dates."""
    if other.booked_on == entry.booked_on:
        return True
    return other.is_dated is not entry.is_dated and other.valued_on == entry.valued_on


def _may_be_one_booking(other: BankEntry, entry: BankEntry) -> bool:
    """A statement may book later what a notice has told. Two statements, or two notices, of different days tell of two
    bookings: a bank may count its references anew each day, and give those of a weekend one value date.
    """
    if _is_of_one_day(other, entry):
        return True
    early, late = sorted((other, entry), key=lambda one: one.booked_on)
    return late.is_stated and not early.is_stated


def _is_on_another_sheet(other: BankEntry, entry: BankEntry) -> bool | None:
    return entry.sheet.is_another_than(other.sheet) if other.family == entry.family else False
