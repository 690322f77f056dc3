"""Which entries of a file are new, which stand in an earlier one too, and which cannot be told apart: pure functions.

An entry is recorded only when it is certainly no other's repetition, and left out only when it certainly is one.
Everything between needs a decision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from enum import IntEnum, auto

import msgspec

from tidegate.bank_settings import BankFilesSettings
from tidegate.rail.bankfiles.arrival import classify
from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.bankfiles.key import CONTENT, CUT, MT_REFERENCE_CHARS, NEAR, UETR, VALUED, asked
from tidegate.rail.bankfiles.model import BankEntry, FileKind

# Entries with no identifier in common that are booked further apart are compared only when they have one value date.
_A_DAY = timedelta(days=1)
# Shorter ones are the end of too many others.
NATIONAL_NUMBER_CHARS_MIN = 6


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    file_id: str
    state: str
    entry: BankEntry

    @property
    def place(self) -> tuple[str, int]:
        return self.file_id, self.entry.number

    @property
    def root(self) -> str:
        """Of all that repeat the same entry."""
        return self.entry.repeats or f"{self.file_id}/{self.entry.number}"

    def __str__(self) -> str:
        entry = self.entry
        return f"{entry.amount:f} {entry.currency} of entry {entry.number} in file {self.file_id[:12]}"


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


class DuplicateCheck:
    """Of one file. Its entries come in order, in batches."""

    def __init__(self, settings: BankFilesSettings, file_id: str, kind: FileKind) -> None:
        self._settings = settings
        self._file_id = file_id
        self._kind = kind
        self._known: defaultdict[str, list[KnownEntry]] = defaultdict(list)
        # Those that a binding statement has, by their roots.
        self._stated: set[str] = set()
        # Those that were kept before the reading was interrupted, by number.
        self._kept: dict[int, KnownEntry] = {}
        # Statements of this file, and what they repeat: each entry once.
        self._repeated: set[tuple[int, str]] = set()

    def check(self, asking: Sequence[AskingEntry], known: Iterable[KnownEntry]) -> list[KeptEntry]:
        """`known` has all that have a key that one of these asks for: recorded ones first, then repeats, then
        problems.
        """
        self._known.clear()
        self._stated.clear()
        self._kept.clear()
        for one in known:
            if one.file_id == self._file_id and one.entry.number >= asking[0].entry.number:
                self._kept[one.entry.number] = one
            else:
                self._add(one)
        return [self._checked(one) for one in asking]

    def _add(self, known: KnownEntry) -> None:
        for key in known.entry.keys:
            self._known[key].append(known)
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

    def _compared(self, made: KeptEntry, keys: Iterable[str]) -> KeptEntry:
        entry = made.entry
        alike = [(key, one) for key in keys for one in self._known.get(key, ())]
        free = [(key, one) for key, one in alike if not self._is_taken(one, entry)]
        of_each: dict[tuple[str, int], DuplicateVerdict] = {}
        for key, one in free:
            verdict = self._verdict(key, one, entry)
            of_each[one.place] = min(verdict, of_each.get(one.place, verdict))
        found: dict[str, set[DuplicateVerdict]] = defaultdict(set)
        for _, one in free:
            found[one.root].add(of_each[one.place])
        first = {one.root: one for _, one in reversed(free)}
        for root, verdicts in found.items():
            if DuplicateVerdict.SAME in verdicts and not verdicts & {DuplicateVerdict.DOUBTED, DuplicateVerdict.OTHER}:
                return _repeat(entry, first[root], note=f"the same as {first[root]}")
        batch = self._batch_of(entry, [one for _, one in free])
        if batch:
            return _repeat(entry, *batch, note=f"the sum of a batch with {batch[0]}")
        for root, verdicts in found.items():
            is_one_of_them = bool(verdicts & {DuplicateVerdict.SAME, DuplicateVerdict.DOUBTED})
            if is_one_of_them or (DuplicateVerdict.UNSURE in verdicts and DuplicateVerdict.OTHER not in verdicts):
                return KeptEntry(entry=entry, state="problem", note=self._doubt(first[root], entry))
        return msgspec.structs.replace(made, entry=_numbered(entry, [one.entry for _, one in alike]))

    def _is_taken(self, known: KnownEntry, entry: BankEntry) -> bool:
        """In the same statement, or repeated by another entry of it."""
        is_beside = known.file_id == self._file_id and known.entry.statement == entry.statement
        return is_beside or (entry.statement, known.root) in self._repeated

    def _verdict(self, key: str, known: KnownEntry, entry: BankEntry) -> DuplicateVerdict:
        other = known.entry
        if key.startswith((CONTENT, NEAR)):
            return self._by_content(key, known, entry)
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

    def _by_content(self, key: str, known: KnownEntry, entry: BankEntry) -> DuplicateVerdict:
        other = known.entry
        if self._is_contradicted(other, entry):
            return DuplicateVerdict.OTHER
        is_another = _is_on_another_sheet(other, entry) if other.is_stated and entry.is_stated else False
        if is_another and (self._is_of_one_division(known, entry) or entry.sheet.is_surely_another_than(other.sheet)):
            return DuplicateVerdict.OTHER
        if key.startswith(NEAR):
            if abs(other.booked_on - entry.booked_on) > _A_DAY and other.valued_on != entry.valued_on:
                return DuplicateVerdict.UNRELATED
            # What a notice told and a statement has too is not what the statement has besides.
            return (
                DuplicateVerdict.UNRELATED
                if known.root in self._stated and not other.is_stated
                else DuplicateVerdict.UNSURE
            )
        if is_another:
            return DuplicateVerdict.DOUBTED
        is_plain = not other.has_reference and not entry.has_reference
        return DuplicateVerdict.SAME if is_plain and is_another is False else DuplicateVerdict.UNSURE

    def _is_of_one_division(self, known: KnownEntry, entry: BankEntry) -> bool:
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
    def _batch_of(entry: BankEntry, alike: Sequence[KnownEntry]) -> list[KnownEntry]:
        """Transactions that other files have singly, when they make this entry, which is not divided."""
        if entry.part is not None or entry.own_reference or entry.entry_reference is None:
            return []
        parts = {
            one.root: one
            for one in reversed(alike)
            if one.entry.entry_reference == entry.entry_reference
            and (one.entry.part is not None or one.entry.own_reference)
            and one.entry.currency == entry.currency
            and _is_of_one_day(one.entry, entry)
        }
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


def _numbered(entry: BankEntry, alike: Iterable[BankEntry]) -> BankEntry:
    """With a name that none of these has: a bank may give its reference twice."""
    name, *others = entry.keys
    taken = [one.keys[0].removeprefix(name) for one in alike if one.keys[0].startswith(name)]
    numbers = [int(text.removeprefix("~") or 1) for text in taken if not text or text.startswith("~")]
    return msgspec.structs.replace(entry, keys=(f"{name}~{max(numbers) + 1}", name, *others)) if numbers else entry


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
