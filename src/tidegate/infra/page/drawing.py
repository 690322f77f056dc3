"""Pages that are drawn once for many visitors, and filled for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from markupsafe import escape

from tidegate.infra.page.compress import Constant, splice
from tidegate.infra.page.mould import Mould, Piece, sections_of, taker
from tidegate.infra.page.slot import Slots, Value, split

# Of one drawing, for values of different lengths. Of more than that the oldest goes.
MOULDS_MAX = 8
# No value has it: neither PostgreSQL nor a form nor an address lets it through.
_BETWEEN, _BETWEEN_BYTES = "\x00", b"\x00"


class Filled(msgspec.Struct, frozen=True):
    """A page for one visitor. It is compressed, or not, when it is known what the browser takes."""

    mould: Mould
    values: Sequence[bytes]

    def plain(self) -> bytes:
        return self.mould.plain(self.values)

    def gzip(self) -> bytes:
        return self.mould.gzip(self.values)


class Drawing:
    """A page with slots. `steady` are values that are as long from visitor to visitor, or nearly always."""

    def __init__(
        self, text: str, slots: Slots, constants: Iterable[Constant], *, steady: Callable[[Value], bool]
    ) -> None:
        # Changes come last: what they change is there by then.
        numbers = [*slots.values, *slots.changes]
        places = {number: place for place, number in enumerate(numbers)}
        self._sections = list(sections_of(_pieces(splice(text, constants), places)))
        self._values = list(slots.values.values())
        self._changes = [(places[number], change) for number, change in slots.changes.values()]
        self._steady = [place for place, number in enumerate(numbers) if steady(slots.value_of(number))]
        self._take_steady = taker(self._steady)
        self._moulds: dict[tuple[int, ...], Mould] = {}

    def fill(self, source: Any) -> Filled:
        texts = [value(source) for value in self._values]
        for place, change in self._changes:
            texts.append(change(texts[place]))
        values = _escaped(texts)
        lengths = tuple(map(len, self._take_steady(values)))
        mould = self._moulds.get(lengths)
        if mould is None:
            mould = self._moulds[lengths] = self._mould(lengths)
        return Filled(mould, values)

    def _mould(self, lengths: Sequence[int]) -> Mould:
        if len(self._moulds) >= MOULDS_MAX:
            del self._moulds[next(iter(self._moulds))]
        values = len(self._values) + len(self._changes)
        return Mould(self._sections, values, lengths=dict(zip(self._steady, lengths, strict=True)))


def _escaped(texts: Sequence[str]) -> list[bytes]:
    """As a template would escape each of them, in one go."""
    values = escape(_BETWEEN.join(texts)).encode().split(_BETWEEN_BYTES)
    return values if len(values) == len(texts) else [str(escape(text)).encode() for text in texts]


def _pieces(spliced: Iterable[bytes | Constant], places: Mapping[int, int]) -> Iterable[Piece]:
    for piece in spliced:
        if isinstance(piece, Constant):
            yield piece
        else:
            for part in split(piece.decode()):
                yield places[part] if isinstance(part, int) else part.encode()
