"""Which entries of a file are new, which stand in an earlier one too, and which cannot be told apart: pure functions.

An entry is recorded only when it is certainly no other's repetition, and left out only when it certainly is one.
Everything between needs a decision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum, auto

import msgspec

from tidegate.bank_settings import BankFilesSettings
from tidegate.rail.bankfiles.arrival import first_look
from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.bankfiles.key import CONTENT, CUT, LIKE, MT_REFERENCE_CHARS, UETR, VALUED, asked
from tidegate.rail.bankfiles.model import BankEntry, FileKind


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    file_id: str
    state: str
    entry: BankEntry

    @property
    def root(self) -> str:
        """Of all that repeat the same entry."""
        return self.entry.repeats or f"{self.file_id}/{self.entry.number}"

    def __str__(self) -> str:
        entry = self.entry
        return f"{entry.amount:f} {entry.currency} of entry {entry.number} in file {self.file_id[:12]}"


class KeptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with the state in which it is kept."""

    entry: BankEntry
    state: str
    note: str | None


class Verdict(Enum):
    SAME = auto()
    OTHER = auto()
    UNSURE = auto()


_BY_SHEET = {True: Verdict.OTHER, False: Verdict.SAME, None: Verdict.UNSURE}


class Sorting:
    """Of one file. Its entries come in order, in batches."""

    def __init__(self, settings: BankFilesSettings, file_id: str, kind: FileKind) -> None:
        self._settings = settings
        self._file_id = file_id
        self._kind = kind
        self._known: defaultdict[str, list[KnownEntry]] = defaultdict(list)
        # Those that were kept before the reading was interrupted, by number.
        self._kept: dict[int, KnownEntry] = {}
        # Statements of this file, and what they repeat: each entry once.
        self._repeated: set[tuple[int, str]] = set()

    def sort(self, entries: Sequence[BankEntry], known: Iterable[KnownEntry]) -> list[KeptEntry]:
        """`known` has all that share a key with one of these: recorded ones first, then repeats, then problems."""
        self._known.clear()
        self._kept.clear()
        for one in known:
            if one.file_id == self._file_id and one.entry.number >= entries[0].number:
                self._kept[one.entry.number] = one
            else:
                self._add(one)
        return [self._sorted(entry) for entry in entries]

    def _add(self, known: KnownEntry) -> None:
        for key in known.entry.keys:
            self._known[key].append(known)

    def _sorted(self, entry: BankEntry) -> KeptEntry:
        kept = self._kept.get(entry.number)
        if kept is not None:
            made = KeptEntry(entry=kept.entry, state=kept.state, note=None)
        else:
            state, note = first_look(entry, self._kind)
            made = KeptEntry(entry=entry, state=state, note=note)
            made = made if state == "ignored" else self._compared(made)
        if made.state != "ignored":
            self._add(KnownEntry(file_id=self._file_id, state=made.state, entry=made.entry))
        if made.entry.repeats:
            self._repeated.add((entry.statement, made.entry.repeats))
        return made

    def _compared(self, made: KeptEntry) -> KeptEntry:
        entry = made.entry
        alike = [(key, one) for key in asked(entry) for one in self._known.get(key, ())]
        unsure: KnownEntry | None = None
        for key, one in alike:
            verdict = self._verdict(key, one, entry)
            if verdict is Verdict.SAME and (entry.statement, one.root) not in self._repeated:
                again = msgspec.structs.replace(entry, repeats=one.root)
                return KeptEntry(entry=again, state="repeat", note=f"the same as {one}")
            if verdict is Verdict.UNSURE and unsure is None:
                unsure = one
        whole = self._sum_of_parts(entry, [one for _, one in alike])
        if whole is not None:
            again = msgspec.structs.replace(entry, repeats=whole.root)
            return KeptEntry(entry=again, state="repeat", note=f"the sum of a batch with {whole}")
        if unsure is not None:
            return KeptEntry(entry=entry, state="problem", note=self._doubt(unsure, entry))
        return msgspec.structs.replace(made, entry=_numbered(entry, [one.entry for _, one in alike]))

    def _verdict(self, key: str, known: KnownEntry, entry: BankEntry) -> Verdict:
        other = known.entry
        if known.file_id == self._file_id and other.statement == entry.statement:
            return Verdict.OTHER
        if key.startswith((CONTENT, LIKE)):
            return self._by_content(other, entry)
        if self._is_contradicted(other, entry):
            # By a reference of another day, or one that was cut, it is then another transaction.
            is_of_one_day = not key.startswith((VALUED, CUT)) and _is_of_one_day(other, entry)
            return Verdict.UNSURE if is_of_one_day or key.startswith(UETR) else Verdict.OTHER
        return self._by_reference(key, known, entry)

    def _by_reference(self, key: str, known: KnownEntry, entry: BankEntry) -> Verdict:
        """Of entries that do not contradict each other."""
        other = known.entry
        if key.startswith(CUT) or (other.part is None) is not (entry.part is None):
            is_same = other.own_reference is not None and other.own_reference == entry.own_reference
            return Verdict.SAME if is_same else Verdict.UNSURE
        if key.startswith(UETR) or _is_of_one_day(other, entry):
            return Verdict.UNSURE if self._is_repeated_on_another_day(known, entry) else Verdict.SAME
        is_near = key.startswith(VALUED) or other.is_dated is not entry.is_dated
        return Verdict.UNSURE if is_near else Verdict.OTHER

    def _by_content(self, other: BankEntry, entry: BankEntry) -> Verdict:
        if self._is_contradicted(other, entry):
            return Verdict.OTHER
        if other.has_reference or entry.has_reference:
            return Verdict.UNSURE
        if other.sheet is None or entry.sheet is None or other.family != entry.family:
            return Verdict.SAME
        return _BY_SHEET[entry.sheet.is_another_than(other.sheet)]

    def _is_contradicted(self, other: BankEntry, entry: BankEntry) -> bool:
        """They say different things about what both name. Formats write names and accounts differently."""
        if _money(other) != _money(entry) or self._names_another_number(other, entry):
            return True
        references = [
            (other.own_reference, entry.own_reference),
            (other.entry_reference, entry.entry_reference),
        ]
        if other.family != entry.family:
            return any(one and two and one[:MT_REFERENCE_CHARS] != two[:MT_REFERENCE_CHARS] for one, two in references)
        facts = [
            *references,
            (other.uetr, entry.uetr),
            (given(other.end_to_end_id), given(entry.end_to_end_id)),
            (other.counterparty.account_number, entry.counterparty.account_number),
        ]
        return any(one and two and one != two for one, two in facts)

    def _names_another_number(self, other: BankEntry, entry: BankEntry) -> bool:
        return len({self._virtual(other), self._virtual(entry)} - {None}) > 1

    def _virtual(self, entry: BankEntry) -> str | None:
        account = self._settings.account_of(entry.account)
        return entry.destination if account and entry.destination in account.virtual_numbers else None

    def _is_repeated_on_another_day(self, known: KnownEntry, entry: BankEntry) -> bool:
        """One without a booking date is the same as one of two days, not of both."""
        return not known.entry.is_dated and any(
            one.root == known.root and one.entry.is_dated and one.entry.booked_on != entry.booked_on
            for key in entry.keys
            for one in self._known.get(key, ())
        )

    def _sum_of_parts(self, entry: BankEntry, alike: Sequence[KnownEntry]) -> KnownEntry | None:
        """A batch that another file divides: one of its parts, when they make the whole."""
        if entry.part is not None or entry.entry_reference is None:
            return None
        batches: defaultdict[tuple[str, int], dict[int, KnownEntry]] = defaultdict(dict)
        for one in alike:
            if one.entry.part is not None and one.entry.entry_reference == entry.entry_reference:
                batches[one.file_id, one.entry.statement][one.entry.number] = one
        for parts in batches.values():
            first = next(iter(parts.values()))
            is_whole = sum(one.entry.amount for one in parts.values()) == entry.amount
            if is_whole and first.entry.currency == entry.currency and _is_of_one_day(first.entry, entry):
                return first
        return None

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


def _numbered(entry: BankEntry, alike: Iterable[BankEntry]) -> BankEntry:
    """With a name that none of these has: a bank may give its reference twice."""
    name, *others = entry.keys
    taken = [one.keys[0].removeprefix(name) for one in alike if one.keys[0].startswith(name)]
    numbers = [int(text.removeprefix("~") or 1) for text in taken if not text or text.startswith("~")]
    return msgspec.structs.replace(entry, keys=(f"{name}~{max(numbers) + 1}", name, *others)) if numbers else entry


def _money(entry: BankEntry) -> tuple[object, str]:
    return entry.amount, entry.currency


def _is_of_one_day(other: BankEntry, entry: BankEntry) -> bool:
    """By the booking dates; where one is missing, by the value dates."""
    if other.booked_on == entry.booked_on:
        return True
    return other.is_dated is not entry.is_dated and other.valued_on == entry.valued_on
