"""Compares the lines of a statement with the movements of our books. Pure; holds the lines in memory, not the books.

Money is the same when its direction and identifier are: the rail's transaction id, and for outgoing money also our own
reference, which the rail was given. Movements are added one by one:

    a line with the same id, amount and currency   they agree; the line is matched
    a line with the same id and other money        decided at the end: a better match may come for that line
    a line with the same id, other direction       decided at the end
    none                                           extra, if it is within the period and the rail lists its kind

A line without a movement at the end is missing from our books, or a duplicate in the statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegate.reconcile.model import (
    Direction,
    Discrepancy,
    DiscrepancyKind,
    Movement,
    MovementStatus,
    RailLine,
    ReconcilePeriod,
)


class Comparison:
    def __init__(
        self, lines: Sequence[RailLine], period: ReconcilePeriod, *, left_out: frozenset[str] = frozenset()
    ) -> None:
        """`left_out` are kinds of movements that these lines never have."""
        self._lines = [line for line in lines if period.holds(line.booked_at)]
        self._period = period
        self._left_out = left_out
        self._by_id = {direction: _Places() for direction in Direction}
        self._by_reference = {direction: _Places() for direction in Direction}
        self._taken = bytearray(len(self._lines))
        for place, line in enumerate(self._lines):
            self._by_id[line.direction].add(line.transaction_id, place)
            if line.reference is not None:
                self._by_reference[line.direction].add(line.reference, place)
        self._waiting: list[Movement] = []
        self._alone: list[Movement] = []
        self._unconfirmed: list[Discrepancy] = []
        # Matched movements, by the keys that a second line for them would have.
        self._taken_by_reference: dict[str, Movement] = {}
        self._taken_by_id: dict[tuple[Direction, str], Movement] = {}
        self.matched = 0

    @property
    def lines(self) -> Sequence[RailLine]:
        """The lines within the period."""
        return self._lines

    def add(self, movement: Movement) -> None:
        """In any order, each movement once."""
        for place in self._free_places(movement, movement.direction):
            if movement.status is not MovementStatus.FAILED and movement.is_same_money_as(self._lines[place]):
                self._agree(movement, place)
                return
        if any(True for direction in Direction for _ in self._free_places(movement, direction)):
            self._waiting.append(movement)
        else:
            self._leave_alone(movement)

    def unmatched_ids(self) -> list[str]:
        """Identifiers of lines without a movement so far: to be looked up outside the period."""
        lines = [line for line, taken in zip(self._lines, self._taken, strict=True) if not taken]
        return sorted({line.transaction_id for line in lines} | {line.reference for line in lines if line.reference})

    def findings(self) -> list[Discrepancy]:
        """Call once, after all movements: in the order of the lines, then of time."""
        with_line = [*self._unlike(), *self._turned(), *self._failed(), *self._unconfirmed]
        with_line += self._lines_left()
        return sorted(with_line, key=_number_of_line) + sorted(self._movements_left(), key=_time_of_movement)

    def _agree(self, movement: Movement, place: int) -> None:
        self._take(movement, place)
        self.matched += 1
        if movement.status is MovementStatus.UNDER_WAY:
            self._unconfirmed.append(
                Discrepancy(kind=DiscrepancyKind.UNCONFIRMED, line=self._lines[place], movement=movement)
            )

    def _take(self, movement: Movement, place: int) -> None:
        self._taken[place] = True
        line = self._lines[place]
        if movement.reference is not None:
            self._taken_by_reference[movement.reference] = movement
        if self._by_id[line.direction].has_several(line.transaction_id):
            self._taken_by_id[line.direction, line.transaction_id] = movement

    def _leave_alone(self, movement: Movement) -> None:
        """Kept only if the statement should have listed it."""
        if movement.status is MovementStatus.DONE and self._period.holds(movement.at):
            self._alone.append(movement)

    def _free_places(self, movement: Movement, direction: Direction) -> Iterator[int]:
        """Unmatched lines of this money, in the order of the file."""
        for identifier in (movement.transaction_id, movement.reference):
            if identifier is not None:
                yield from self._free(self._by_id[direction], identifier)
        if movement.reference is not None:
            yield from self._free(self._by_reference[direction], movement.reference)

    def _free(self, places: _Places, identifier: str) -> Iterator[int]:
        return (place for place in places.of(identifier) if not self._taken[place])

    def _unlike(self) -> Iterator[Discrepancy]:
        """The same money with another amount or in another currency."""
        still: list[Movement] = []
        for movement in self._waiting:
            place = next(self._free_places(movement, movement.direction), None)
            if place is None or movement.status is MovementStatus.FAILED:
                still.append(movement)
                continue
            self._take(movement, place)
            line = self._lines[place]
            kind = DiscrepancyKind.AMOUNT if line.currency == movement.amount.currency else DiscrepancyKind.CURRENCY
            yield Discrepancy(kind=kind, line=line, movement=movement)
        self._waiting = still

    def _turned(self) -> Iterator[Discrepancy]:
        still: list[Movement] = []
        for movement in self._waiting:
            place = next(self._free_places(movement, movement.direction.other), None)
            if place is None or movement.status is MovementStatus.FAILED:
                still.append(movement)
                continue
            self._take(movement, place)
            yield Discrepancy(kind=DiscrepancyKind.DIRECTION, line=self._lines[place], movement=movement)
        self._waiting = still

    def _failed(self) -> Iterator[Discrepancy]:
        """Failed in our books, done at the rail."""
        for movement in self._waiting:
            place = next(self._free_places(movement, movement.direction), None)
            if movement.status is MovementStatus.FAILED and place is not None:
                self._take(movement, place)
                yield Discrepancy(kind=DiscrepancyKind.MISSING, line=self._lines[place], movement=movement)
            else:
                self._leave_alone(movement)
        self._waiting = []

    def _lines_left(self) -> Iterator[Discrepancy]:
        seen: set[tuple[Direction, str]] = set()
        for place, line in enumerate(self._lines):
            if self._taken[place]:
                continue
            key = line.direction, line.transaction_id
            movement = self._taken_by_id.get(key)
            if movement is None and line.direction is Direction.OUT and line.reference is not None:
                movement = self._taken_by_reference.get(line.reference)
            is_again = movement is not None or key in seen
            seen.add(key)
            yield Discrepancy(
                kind=DiscrepancyKind.DUPLICATE if is_again else DiscrepancyKind.MISSING, line=line, movement=movement
            )

    def _movements_left(self) -> Iterator[Discrepancy]:
        for movement in self._alone:
            yield Discrepancy(kind=self._kind_of(movement), movement=movement)

    def _kind_of(self, movement: Movement) -> DiscrepancyKind:
        if movement.kind in self._left_out:
            return DiscrepancyKind.UNLISTED
        return DiscrepancyKind.EDGE if self._period.is_at_an_end(movement.at) else DiscrepancyKind.EXTRA


class _Places:
    """Positions of the lines per identifier. Nearly all identifiers have one line, which needs no list."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._further: dict[str, list[int]] = {}

    def add(self, identifier: str, place: int) -> None:
        if self._first.setdefault(identifier, place) != place:
            self._further.setdefault(identifier, []).append(place)

    def has_several(self, identifier: str) -> bool:
        return identifier in self._further

    def of(self, identifier: str) -> Iterator[int]:
        if identifier in self._first:
            yield self._first[identifier]
            yield from self._further.get(identifier, ())


def _number_of_line(finding: Discrepancy) -> int:
    assert finding.line is not None
    return finding.line.number


def _time_of_movement(finding: Discrepancy) -> tuple[str, str]:
    assert finding.movement is not None
    return finding.movement.at.isoformat(), finding.movement.transaction_id or finding.movement.reference or ""
