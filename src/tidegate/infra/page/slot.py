"""Places that a page keeps open for what is one visitor's own, while the rest of it is drawn once for many.

A slot stands for a value that is not known yet. It may be written anywhere, and nothing else: to ask whether it is
empty, how long it is or what it begins with is an error, since the answer would be drawn into everybody's page.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

# Says what goes into a slot, of whatever the page is filled from.
Value = Callable[[Any], str]
Change = Callable[[str], str]

# Nobody outside can know it, so nobody's text can contain it. No character of it is ever escaped.
_MARK = secrets.token_hex(16)
_MARK_DIGITS = 4
_WRITTEN = re.compile(f"{_MARK}([0-9]{{{_MARK_DIGITS}}})")
# Writing it, and no more.
_ALLOWED = frozenset(
    {"__new__", "__init__", "__class__", "__str__", "__format__", "__add__", "__doc__", "__getattribute__",
     "__setattr__", "__delattr__", "__init_subclass__", "__subclasshook__", "__dir__", "__getnewargs__", "__hash__"}
)  # fmt: skip


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refused(self: object, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"a slot is only written into the page; {name} would need to know what goes into it")

    return refused


class Slot(str):
    """Made by `Slots`. In a template it is escaped like any text: what goes into it will be."""

    slots: Slots
    number: int

    def then(self, change: Change) -> Slot:
        """Another slot, for the same value after a change."""
        return self.slots.changed(self.number, change)


# An `if` on it, a comparison, a length, a part of it: each is something else than writing it.
for _name in {*dir(str), "__bool__"} - _ALLOWED:
    setattr(Slot, _name, _refuse(_name))


class Slots:
    """All the slots of one page. The same value always has the same slot."""

    def __init__(self) -> None:
        # By the slot's number.
        self.values: dict[int, Value] = {}
        # Of the others: which slot's text it is, and after what change. That slot was made before.
        self.changes: dict[int, tuple[int, Change]] = {}
        self._made: dict[object, Slot] = {}

    def of(self, value: Value) -> Slot:
        made = self._slot_for(value)
        self.values[made.number] = value
        return made

    def changed(self, number: int, change: Change) -> Slot:
        made = self._slot_for((number, change))
        self.changes[made.number] = (number, change)
        return made

    def value_of(self, number: int) -> Value:
        """Before all changes."""
        return self.value_of(self.changes[number][0]) if number in self.changes else self.values[number]

    def _slot_for(self, content: object) -> Slot:
        if content not in self._made:
            number = len(self._made)
            made = self._made[content] = Slot(f"{_MARK}{number:0{_MARK_DIGITS}}")
            made.slots, made.number = self, number
        return self._made[content]


def is_written_in(text: str) -> bool:
    return _MARK in text


def split(text: str) -> Iterator[str | int]:
    """What stands between the slots, and the slots' numbers, by turns. Begins and ends with text."""
    for index, part in enumerate(_WRITTEN.split(text)):
        yield int(part) if index % 2 else part
