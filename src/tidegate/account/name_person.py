"""Compares names of persons: the holder's first and last name must both be present and equal. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec

from tidegate.account.name_text import Word, are_equal, are_one_letter_apart, joined, shown
from tidegate.account.name_verdict import NameFinding, NameVerdict
from tidegate.account.name_words import (
    GENERATIONS,
    JOINING,
    LEADING_TITLES,
    PARTICLES,
    TITLES,
    UNMISTAKABLE_FORMS,
)

# With more extra words, the text is not a name with middle names but a sentence that contains the name.
EXTRA_NAMES_MAX = 3
# Words in one name: "Anne Marie", "de la Cruz".
_RUN_MAX = 3
# A run of three words overlaps eleven other runs at most, so this many always include a pair without overlap.
_MEETINGS_MAX = 16
# Distances between two names. First and last name are close when their distances add up to _CLOSE_MAX at most: one
# letter in each, or an initial or half of a double name while the other name is equal.
_EQUAL, _ONE_LETTER, _ABBREVIATED, _CLOSE_MAX = 0, 1, 2, 2

WordGroup = tuple[Word, ...]


class Person(msgspec.Struct, frozen=True):
    """A parsed name. A group is one name in several words: joined by a hyphen, or with the particles before it."""

    groups: tuple[WordGroup, ...]
    # Dropped, although each can also be a first name.
    leading_titles: frozenset[str]
    generation: str
    steps: tuple[str, ...]

    @property
    def words(self) -> WordGroup:
        return tuple(word for group in self.groups for word in group)

    @property
    def plain(self) -> frozenset[str]:
        return frozenset(spelling for word in self.words for spelling in word.spellings)


class WordRun(msgspec.Struct, frozen=True):
    """Adjacent words of the typed name. Whole unless it splits a double name."""

    words: WordGroup
    spellings: tuple[str, ...]
    place: frozenset[int]
    is_whole: bool


class NameMatch(msgspec.Struct, frozen=True):
    """A name of the holder, and the words of the typed name that match it."""

    part: str
    holder: str
    typed: str
    place: frozenset[int]
    distance: int
    how: str

    def described(self) -> str:
        return f"the {self.part} {self.how}: {self.typed} / {self.holder}"


def judge_person(typed_words: WordGroup, holder_words: WordGroup) -> NameFinding:
    typed, holder = _take_apart(typed_words, "typed name"), _take_apart(holder_words, "account holder")
    steps = (*typed.steps, *holder.steps)
    if typed.generation and holder.generation and typed.generation != holder.generation:
        reason = f"the names are of two generations: {typed.generation} / {holder.generation}"
        return NameFinding(NameVerdict.DIFFERENT, reason, (*steps, reason))
    matches = _best(typed, holder)
    if not matches:
        return _apart(typed, holder, steps)
    finding = _finding_of(matches, steps)
    return finding.doubted(tuple(_doubts(typed, holder, matches)))


def _take_apart(words: WordGroup, whose: str) -> Person:
    names = [word for word in words if word.plain not in TITLES] or list(words)
    titles = 0
    while len(names) - titles > 2 and names[titles].plain in LEADING_TITLES:
        titles += 1
    leading, names = names[:titles], names[titles:]
    generation = GENERATIONS.get(names[-1].plain, "") if len(names) > 2 else ""
    if generation:
        names.pop()
    groups = tuple(_groups(names))
    steps = [f"{whose}, set aside as the generation: {generation}"] if generation else []
    if dropped := [word for word in words if word.plain in TITLES and word not in names] + leading:
        steps.append(f"{whose}, dropped as a title: {shown(dropped)}")
    steps.append(f"{whose}, names: " + ", ".join(joined(group)[0] for group in groups))
    return Person(groups, frozenset(word.plain for word in leading), generation, tuple(steps))


def _groups(names: Sequence[Word]) -> Iterator[WordGroup]:
    group: list[Word] = []
    for at, word in enumerate(names):
        # A particle at the start is a first name: Al, Van.
        binds = bool(group) and (word.is_tied or (at > 1 and group[-1].plain in PARTICLES))
        if group and not binds:
            yield tuple(group)
            group = []
        group.append(word)
    if group:
        yield tuple(group)


def _best(typed: Person, holder: Person) -> tuple[NameMatch, ...]:
    """The best match of first and last name; empty when it is not close."""
    # With one name only, no second name supports an initial.
    limit = _CLOSE_MAX if len(holder.groups) > 1 else _ONE_LETTER
    ways = [way for way in _ways(typed, holder.groups) if _distance(way) <= limit]
    return min(ways, key=_distance, default=())


def _distance(matches: tuple[NameMatch, ...]) -> int:
    return sum(meeting.distance for meeting in matches)


def _ways(typed: Person, groups: tuple[WordGroup, ...]) -> Iterator[tuple[NameMatch, ...]]:
    """First and last name may have several words each: "Anne Marie" can be a first name."""
    runs = tuple(_runs(typed.groups))
    if len(groups) == 1:
        yield from ((meeting,) for meeting in _matches("only name", groups, runs))
        return
    sizes = range(1, min(_RUN_MAX, len(groups) - 1) + 1)
    firsts = {size: _matches("first name", groups[:size], runs) for size in sizes}
    lasts = {size: _matches("last name", groups[-size:], runs) for size in sizes}
    for first, last in product(sizes, sizes):
        if first + last <= len(groups):
            pairs = product(firsts[first], lasts[last])
            yield from (pair for pair in pairs if pair[0].place.isdisjoint(pair[1].place))


def _matches(part: str, groups: tuple[WordGroup, ...], runs: Sequence[WordRun]) -> list[NameMatch]:
    wanted = tuple(word for group in groups for word in group)
    found = []
    for run in runs:
        if measured := _measure(wanted, run):
            distance, how = measured
            found.append(NameMatch(part, shown(wanted), shown(run.words), run.place, distance, how))
    return sorted(found, key=lambda meeting: meeting.distance)[:_MEETINGS_MAX]


def _runs(groups: tuple[WordGroup, ...]) -> Iterator[WordRun]:
    words = [(word, number) for number, group in enumerate(groups) for word in group]
    for start in range(len(words)):
        for end in range(start + 1, min(start + _RUN_MAX, len(words)) + 1):
            inside = {number for _, number in words[start:end]}
            is_whole = end - start == sum(len(groups[number]) for number in inside)
            run = tuple(word for word, _ in words[start:end])
            yield WordRun(run, joined(run), frozenset(range(start, end)), is_whole)


def _measure(wanted: WordGroup, run: WordRun) -> tuple[int, str] | None:
    holder, typed = joined(wanted), run.spellings
    if are_equal(holder, typed):
        return (_EQUAL, "is equal") if run.is_whole else (_ABBREVIATED, "is part of a double name")
    if are_one_letter_apart(holder, typed):
        return _ONE_LETTER, "differs by one letter"
    if len(run.words) == 1 and typed[0] not in PARTICLES and any(are_equal(w.spellings, typed) for w in wanted):
        return _ABBREVIATED, "was typed only in part"
    if _is_initial(wanted, typed[0]) or _is_initial(run.words, holder[0]):
        return _ABBREVIATED, "is only an initial"
    return None


def _is_initial(name: WordGroup, letters: str) -> bool:
    first = name[0].plain[:1]
    return letters.isascii() and letters in (first, "".join(word.plain[:1] for word in name))


def _finding_of(matches: tuple[NameMatch, ...], steps: tuple[str, ...]) -> NameFinding:
    steps = (*steps, *(m.described() for m in matches))
    off = [m for m in matches if m.distance]
    if not off:
        return NameFinding(NameVerdict.EXACT, " and ".join(f"the {m.part} is equal" for m in matches), steps)
    reason = "; ".join(f"the {m.part} {m.how}: {m.typed} / {m.holder}" for m in off)
    return NameFinding(NameVerdict.CLOSE, reason, steps)


def _doubts(typed: Person, holder: Person, matches: tuple[NameMatch, ...]) -> Iterator[str]:
    """Why it is not certain that the holder is meant, although first and last name are equal."""
    used = frozenset[int]().union(*(m.place for m in matches))
    rest = [word for at, word in enumerate(typed.words) if at not in used and holder.plain.isdisjoint(word.spellings)]
    if typed.generation != holder.generation:
        yield f"only one of the names says {typed.generation or holder.generation}: father and son may share a name"
    if {word.plain for word in rest} & JOINING or (holder.plain & JOINING) - typed.plain:
        yield "one of the names is the name of more than one person"
    if forms := [word for word in rest if word.plain in UNMISTAKABLE_FORMS]:
        yield f"the typed name is a company's ({shown(forms)}), the account holder is a person"
    if any(any(map(str.isdigit, word.plain)) for word in rest):
        yield "the typed name contains numbers"
    if rest and holder.leading_titles - typed.leading_titles:
        yield f"the account holder's title may be the first name, and another name was typed: {shown(rest)}"
    if len(holder.groups) == 1 and rest:
        yield f"the account holder has one name only, and more was typed: {shown(rest)}"
    if sum(word.plain not in PARTICLES for word in rest) > EXTRA_NAMES_MAX:
        yield f"more than {EXTRA_NAMES_MAX} other names were typed: {shown(rest)}"


def _apart(typed: Person, holder: Person, steps: tuple[str, ...]) -> NameFinding:
    if are_equal(joined(typed.words), joined(holder.words)):
        reason = "the letters are the same, but the spaces between them are not"
        return NameFinding(NameVerdict.CLOSE, reason, (*steps, reason))
    missing = tuple(_missing(typed, holder)) or ("the typed name does not hold both the first and the last name",)
    return NameFinding(NameVerdict.DIFFERENT, " and ".join(missing), (*steps, *missing))


def _missing(typed: Person, holder: Person) -> Iterator[str]:
    runs = tuple(_runs(typed.groups))
    ends = (
        {"first": holder.groups[:1], "last": holder.groups[-1:]} if len(holder.groups) > 1 else {"only": holder.groups}
    )
    for part, groups in ends.items():
        found = _matches(part, groups, runs)
        name = shown(groups[0])
        if not found:
            yield f"the {part} name {name} was not typed"
        elif min(m.distance for m in found) > _EQUAL:
            yield f"for the {part} name {name} only {min(found, key=lambda m: m.distance).typed} was typed"
