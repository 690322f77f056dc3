"""Which entries of a file are new, which stand in an earlier one too, and which cannot be told apart: pure functions.

An entry is recorded only when it is certainly no other's repetition, and left out only when it certainly is one.
Everything between needs a decision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tidegate.bank_settings import BankFilesSettings
from tidegate.rail.bankfiles.arrival import first_look
from tidegate.rail.bankfiles.key import UETR
from tidegate.rail.bankfiles.model import BankEntry, FileKind


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    file_id: str
    state: str
    entry: BankEntry

    def __str__(self) -> str:
        entry = self.entry
        return f"{entry.amount:f} {entry.currency} of entry {entry.number} in file {self.file_id[:12]}"


class KeptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with the state in which it is kept."""

    entry: BankEntry
    state: str
    note: str | None


class Sorting:
    """Of one file. Its entries come in order, in batches."""

    def __init__(self, settings: BankFilesSettings, file_id: str, kind: FileKind) -> None:
        self._settings = settings
        self._file_id = file_id
        self._kind = kind
        self._known: defaultdict[str, list[KnownEntry]] = defaultdict(list)
        # Statements of this file, and the entries of others that they repeat.
        self._repeated: set[tuple[int, str, int]] = set()

    def sort(self, entries: Sequence[BankEntry], known: Iterable[KnownEntry]) -> list[KeptEntry]:
        """`known` has all that share a key with one of these: recorded ones first, then repeats, then problems."""
        self._known.clear()
        for one in known:
            self._add(one)
        return [self._sorted(entry) for entry in entries]

    def _add(self, known: KnownEntry) -> None:
        for key in known.entry.keys:
            self._known[key].append(known)

    def _sorted(self, entry: BankEntry) -> KeptEntry:
        state, note = first_look(entry, self._kind)
        if state == "ignored":
            return KeptEntry(entry=entry, state=state, note=note)
        found = self._by_reference(entry) if entry.has_reference else self._by_content(entry)
        if isinstance(found, BankEntry):
            entry = found
        else:
            state, note = found
        self._add(KnownEntry(file_id=self._file_id, state=state, entry=entry))
        return KeptEntry(entry=entry, state=state, note=note)

    def _by_reference(self, entry: BankEntry) -> BankEntry | tuple[str, str]:
        """The entry, when it is new."""
        same = [one for key, one in self._sharing(entry) if _is_same(key, one.entry, entry)]
        for one in same:
            if self._contradiction(one.entry, entry) is None:
                return "repeat", f"the same as {one}"
        if same:
            return "problem", f"it contradicts {same[0]}: {self._contradiction(same[0].entry, entry)}"
        for _, one in self._sharing(entry):
            if one.entry.is_dated is not entry.is_dated and _money(one.entry) == _money(entry):
                return "problem", f"it may be {one}: the reference is the same, and one of them has no booking date"
        return entry

    def _sharing(self, entry: BankEntry) -> Iterator[tuple[str, KnownEntry]]:
        for key in entry.keys:
            yield from ((key, one) for one in self._known.get(key, ()) if not self._is_own(one, entry))

    def _is_own(self, known: KnownEntry, entry: BankEntry) -> bool:
        """A file whose reading was interrupted finds its own entries."""
        return known.file_id == self._file_id and known.entry.number >= entry.number

    def _contradiction(self, known: BankEntry, entry: BankEntry) -> str | None:
        if _money(known) != _money(entry):
            return "another amount"
        numbers = {self._virtual(known), self._virtual(entry)} - {None}
        return "another account" if len(numbers) > 1 else None

    def _virtual(self, entry: BankEntry) -> str | None:
        account = self._settings.account_of(entry.account)
        return entry.destination if account and entry.destination in account.virtual_numbers else None

    def _by_content(self, entry: BankEntry) -> BankEntry | tuple[str, str]:
        """Equal ones of a statement are different transactions; another statement may repeat each of them once."""
        content = entry.keys[0]
        alike = [one for one in self._known.get(content, ()) if one.state != "repeat"]
        for one in alike:
            repeated = (entry.statement, one.file_id, one.entry.number)
            if repeated not in self._repeated and not self._is_beside(one, entry):
                self._repeated.add(repeated)
                return "repeat", f"the same as {one}"
        # One that was settled by hand has left the list, so they are not counted.
        numbers = [int(one.entry.keys[0].partition("#")[2] or 1) for one in alike if not self._is_own(one, entry)]
        if not numbers:
            return entry
        return msgspec.structs.replace(entry, keys=(f"{content}#{max(numbers) + 1}", content))

    def _is_beside(self, known: KnownEntry, entry: BankEntry) -> bool:
        """In the same statement, or on a page that holds other entries."""
        if known.file_id == self._file_id and (known.entry.statement == entry.statement or self._is_own(known, entry)):
            return True
        here, there = entry.sheet, known.entry.sheet
        return here is not None and there is not None and here.is_another_than(there)


def _money(entry: BankEntry) -> tuple[object, str]:
    return entry.amount, entry.currency


def _is_same(key: str, known: BankEntry, entry: BankEntry) -> bool:
    """By a key in common. Of two booking dates the key speaks; where one is missing, the value date does."""
    if key.startswith(UETR) or known.booked_on == entry.booked_on:
        return True
    return known.is_dated is not entry.is_dated and known.valued_on == entry.valued_on
