"""gzip for a page that is drawn once and filled often.

The compressor runs when the mould is made. Filling it only puts values between ready pieces: each value goes into a
stored block, which is deflate's way to hold bytes as they are. Of a value whose length is known the compressor sees a
stand-in of that length; where the page has a long one again, deflate refers back to its first place, and finds there
what was put in. After a value of unknown length nothing may refer to what is before it, so the compressor begins anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from tidegate.infra.page.compress import GZIP_HEADER, LEVEL_ONCE, RAW, Constant
from tidegate.infra.page.stand_in import stand_ins_for

# Of a page: bytes that stay, the number of a value, or a constant that other pages have too.
Piece = bytes | int | Constant
# So little between two values is not worth a block of its own.
ABSORBED_BYTES_MAX = 12
# Shorter ones are stored each time: a compressor does not refer back to so few bytes.
REFERRED_BYTES_MIN = 8
_STORED_BYTES_MAX = 0xFFFF
_STORED = b"\x00"
# How a flush ends: a stored block without content, its length and the complement of it.
_EMPTY = b"\x00\x00\xff\xff"

# Every byte becomes another one.
_OTHERS = bytes((byte + 128) % 256 for byte in range(256))

Take = Callable[[Sequence[bytes]], Sequence[bytes]]


class Run(NamedTuple):
    """What goes into one stored block: a value, and others that follow it closely."""

    first: int
    others: tuple[tuple[bytes, int], ...] = ()


class Mould:
    """For a number of values; `lengths` says how long those are that are always as long."""

    def __init__(self, sections: Sequence[Section | Constant], values: int, *, lengths: Mapping[int, int]) -> None:
        self._sections = sections
        kept = b"".join(section.kept for section in sections if isinstance(section, Section))
        stand_ins = stand_ins_for(lengths, unlike=kept)
        self._cast(_Caster(stand_ins, values))
        # A compressor may, and need not, refer back: in an unlucky place it spells a stand-in out.
        trial = [stand_ins[number].translate(_OTHERS) if number in stand_ins else b"?" for number in range(values)]
        if not _is_sound(self.gzip(trial)):
            self._cast(_Caster(stand_ins, values, refers_back=False))

    def _cast(self, caster: _Caster) -> None:
        for section in self._sections:
            caster.cast(section)
        caster.end()
        self._blocks, self._runs, self._take = caster.blocks, caster.runs, taker(caster.order)

    def plain(self, values: Sequence[bytes]) -> bytes:
        return b"".join(
            section.content if isinstance(section, Constant) else section.filled(values) for section in self._sections
        )

    def gzip(self, values: Sequence[bytes]) -> bytes:
        checksum = length = 0
        for section in self._sections:
            if isinstance(section, Constant):
                checksum = section.checksum_after(checksum)
                length += len(section.content)
            else:
                plain = section.filled(values)
                checksum = zlib.crc32(plain, checksum)
                length += len(plain)
        blocks = self._blocks.copy()
        contents = [_joined(first, others, values) if others else values[first] for first, others in self._runs]
        stored = [_LENGTHS[len(one)] + one if len(one) < _SHORT else _stored(one) for one in contents]
        blocks[1::2] = self._take([*values, *stored])
        blocks.append((checksum | length % 2**32 << 32).to_bytes(8, "little"))
        return b"".join(blocks)


def _is_sound(packed: bytes) -> bool:
    """What comes out of it has the checksum of what went in."""
    try:
        zlib.decompress(packed, zlib.MAX_WBITS | 16)
    except zlib.error:
        return False
    return True


class Section:
    """Between two constants: bytes and values by turns, beginning and ending with bytes."""

    def __init__(self, pieces: Sequence[bytes | int]) -> None:
        self._kept = [b""]
        self._numbers: list[int] = []
        for piece in pieces:
            if isinstance(piece, int):
                self._numbers.append(piece)
                self._kept += [b"", b""]
            else:
                self._kept[-1] += piece
        self._take = taker(self._numbers)

    @property
    def kept(self) -> bytes:
        return b"".join(self._kept)

    def filled(self, values: Sequence[bytes]) -> bytes:
        filled = self._kept.copy()
        filled[1::2] = self._take(values)
        return b"".join(filled)

    def runs(self, has_known_length: Callable[[int], bool]) -> Iterator[bytes | Run]:
        """Texts for the compressor, and runs for stored blocks. Values that are close together share a block, unless
        deflate could refer back to each of them."""
        texts, numbers = self._kept[::2], self._numbers
        yield texts[0]
        at = 0
        while at < len(numbers):
            end = at + 1
            while end < len(numbers) and len(texts[end]) <= ABSORBED_BYTES_MAX:
                end += 1
            if all(map(has_known_length, numbers[at:end])):
                end = at + 1
            yield Run(numbers[at], tuple(zip(texts[at + 1 : end], numbers[at + 1 : end], strict=True)))
            yield texts[end]
            at = end


def sections_of(pieces: Iterable[Piece]) -> Iterator[Section | Constant]:
    gathered: list[bytes | int] = []
    for piece in pieces:
        if isinstance(piece, Constant):
            yield Section(gathered)
            yield piece
            gathered = []
        else:
            gathered.append(piece)
    yield Section(gathered)


def taker(numbers: Sequence[int]) -> Take:
    """itemgetter gives a bare item for one number, and takes no fewer."""
    return itemgetter(*numbers) if len(numbers) > 1 else lambda values: [values[number] for number in numbers]


def _joined(first: int, others: Iterable[tuple[bytes, int]], values: Sequence[bytes]) -> bytes:
    content = values[first]
    for between, number in others:
        content += between + values[number]
    return content


def _stored(content: bytes) -> bytes:
    """A stored block but for its first byte, which stands at the end of what is before it."""
    parts = [content[at : at + _STORED_BYTES_MAX] for at in range(0, len(content), _STORED_BYTES_MAX)]
    return _STORED.join(_length(len(part)) + part for part in parts)


def _length(size: int) -> bytes:
    return (size | (size ^ 0xFFFF) << 16).to_bytes(4, "little")


# Nearly all are shorter.
_SHORT = 256
_LENGTHS = tuple(map(_length, range(_SHORT)))


class _Caster:
    """Makes blocks and places by turns; `order` says what goes into the places: a value, or after these a run."""

    def __init__(self, stand_ins: Mapping[int, bytes], values: int, *, refers_back: bool = True) -> None:
        self.blocks: list[bytes] = []
        self.order: list[int] = []
        self.runs: list[Run] = []
        self._stand_ins = stand_ins
        self._values = values
        self._refers_back = refers_back
        self._ready = GZIP_HEADER
        self._begin()

    def _begin(self) -> None:
        self._deflate = zlib.compressobj(LEVEL_ONCE, zlib.DEFLATED, RAW)
        # What the reader has in its window, so that it can be referred to.
        self._known: set[int] = set()

    def cast(self, section: Section | Constant) -> None:
        if isinstance(section, Constant):
            self._ready += self._deflate.flush(zlib.Z_FULL_FLUSH) + section.block
            self._begin()
            return
        for part in section.runs(self._stand_ins.__contains__):
            if isinstance(part, bytes):
                self._ready += self._deflate.compress(part)
            elif part.first in self._stand_ins and not part.others:
                self._put_known(part.first)
            else:
                self._put_any(part)

    def end(self) -> None:
        self.blocks.append(self._ready + self._deflate.flush())

    def _put_known(self, number: int) -> None:
        stand_in = self._stand_ins[number]
        if number in self._known:
            self._ready += self._deflate.compress(stand_in)
            return
        self._place(number, _length(len(stand_in)))
        # Only to be remembered: what the compressor says of it, the stored block says.
        self._deflate.compress(stand_in)
        self._deflate.flush(zlib.Z_SYNC_FLUSH)
        if self._refers_back and len(stand_in) >= REFERRED_BYTES_MIN:
            self._known.add(number)

    def _put_any(self, run: Run) -> None:
        if run not in self.runs:
            self.runs.append(run)
        self._place(self._values + self.runs.index(run))
        self._begin()

    def _place(self, number: int, length: bytes = b"") -> None:
        done = self._ready + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        # The empty block at the end of a flush becomes the one that is to be filled.
        opened = done.removesuffix(_EMPTY) if done.endswith(_EMPTY) else done + _STORED
        self.blocks += [opened + length, b""]
        self.order.append(number)
        self._ready = b""
