"""Entries of files, gathered: those that cannot be told apart are compared once, however many there are.

A file may have a hundred thousand equal entries, and come again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tidegate.rail.bankfiles.model import BankEntry

# Recorded ones come before these.
_LAST_STATES = ("repeat", "settled", "problem")


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


class EqualEntries:
    """Of one statement of a file, in one state: they differ in their numbers, and in what they repeat."""

    def __init__(self, file_id: str, state: str, entry: BankEntry) -> None:
        self.file_id = file_id
        self.entry = entry
        self._state = state
        # By their numbers.
        self.roots: dict[int, str] = {}

    @property
    def rank(self) -> tuple[int, str, int]:
        later = _LAST_STATES.index(self._state) + 1 if self._state in _LAST_STATES else 0
        return later, self.file_id, min(self.roots)

    def member(self, number: int) -> KnownEntry:
        root = self.roots[number]
        repeats = None if root == f"{self.file_id}/{number}" else root
        entry = msgspec.structs.replace(self.entry, number=number, repeats=repeats)
        return KnownEntry(file_id=self.file_id, state=self._state, entry=entry)


class KnownEntries:
    """By their keys."""

    def __init__(self) -> None:
        self._all: dict[tuple[str, str, BankEntry], EqualEntries] = {}
        self._by_key: defaultdict[str, list[EqualEntries]] = defaultdict(list)

    def add(self, known: KnownEntry) -> None:
        """May be repeated."""
        alike = without_place(known.entry)
        found = self._all.get((known.file_id, known.state, alike))
        if found is None:
            found = self._all[known.file_id, known.state, alike] = EqualEntries(known.file_id, known.state, alike)
            for key in alike.keys:
                self._by_key[key].append(found)
        found.roots[known.entry.number] = known.root

    def keep_only(self, keys: Container[str]) -> None:
        """Those that have one of these."""
        kept = {name: one for name, one in self._all.items() if any(key in keys for key in one.entry.keys)}
        if len(kept) == len(self._all):
            return
        self._all = kept
        self._by_key.clear()
        for one in kept.values():
            for key in one.entry.keys:
                self._by_key[key].append(one)

    def sharing(self, keys: Sequence[str]) -> dict[EqualEntries, list[str]]:
        """With what they have of these keys."""
        found: defaultdict[EqualEntries, list[str]] = defaultdict(list)
        for key in keys:
            for one in self._by_key.get(key, ()):
                found[one].append(key)
        return found


class Rival(NamedTuple):
    """What an entry may repeat, and what each of the places of that is to it."""

    known: KnownEntry
    verdicts: frozenset[int]


class _RivalsAlike(NamedTuple):
    """Roots that stand in the same places: one is as good as another."""

    verdicts: frozenset[int]
    # Where they stand first, and their numbers there.
    place: EqualEntries
    roots: deque[tuple[str, int]]


class Rivals:
    """Of an entry, and of all that equal it in its statement.

    `judge` says what a place is to it, where its root is among `stated` and where it is not.
    """

    def __init__(
        self, sharing: Mapping[EqualEntries, list[str]], keys: Sequence[str], stated: Container[str],
        judge: Callable[[EqualEntries, Sequence[str], bool], int],
    ) -> None:  # fmt: skip
        ordered = sorted(sharing, key=lambda one: (keys.index(sharing[one][0]), one.rank))
        self._seen = [(one, len(one.roots)) for one in sharing]
        by_root: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, place in enumerate(ordered):
            for number, root in sorted(place.roots.items()):
                by_root[root].append((at, number))
        alike: dict[tuple[frozenset[int], bool], _RivalsAlike] = {}
        for root, places in by_root.items():
            where = frozenset(at for at, _ in places), root in stated
            if where not in alike:
                verdicts = frozenset(judge(ordered[at], sharing[ordered[at]], where[1]) for at in where[0])
                alike[where] = _RivalsAlike(verdicts, ordered[places[0][0]], deque())
            alike[where].roots.append((root, places[0][1]))
        self._alike = list(alike.values())

    def is_of(self, sharing: Mapping[EqualEntries, list[str]]) -> bool:
        """Whether nothing has come since."""
        return self._seen == [(one, len(one.roots)) for one in sharing]

    def first_of_each(self, is_taken: Callable[[str], bool]) -> Iterator[Rival]:
        """What is taken once stays so."""
        for one in self._alike:
            while one.roots and is_taken(one.roots[0][0]):
                one.roots.popleft()
            if one.roots:
                yield Rival(one.place.member(one.roots[0][1]), one.verdicts)

    def all_in(self, fits: Callable[[BankEntry], bool], is_taken: Callable[[str], bool]) -> Iterator[KnownEntry]:
        """Those in places that fit."""
        for place, _ in self._seen:
            if fits(place.entry):
                yield from (place.member(number) for number, root in place.roots.items() if not is_taken(root))


def without_place(entry: BankEntry) -> BankEntry:
    """As those that equal it are, too."""
    return msgspec.structs.replace(
        entry, number=0, line=0, keys=_name_and_number(entry.keys)[2], repeats=None, repeats_also=()
    )


def numbered(entry: BankEntry, last: int) -> BankEntry:
    """With a name that none of so many has: a bank may give its reference twice."""
    name = entry.keys[0]
    return msgspec.structs.replace(entry, keys=(f"{name}~{last + 1}", *entry.keys)) if last else entry


def name_and_number(entry: BankEntry) -> tuple[str, int]:
    return _name_and_number(entry.keys)[:2]


def _name_and_number(keys: tuple[str, ...]) -> tuple[str, int, tuple[str, ...]]:
    """The name of all that equal it, its number among them, and the keys without it."""
    first, *others = keys
    if others and first.startswith(f"{others[0]}~"):
        return others[0], int(first.removeprefix(f"{others[0]}~")), tuple(others)
    return first, 1, keys
