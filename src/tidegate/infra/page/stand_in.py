"""Bytes that stand for a value while a page is compressed.

A compressor refers back to any three bytes that it has seen before. Where such three bytes touch a stand-in, they must
be the same bytes of the same stand-in, or one visitor's value would be read where another value belongs. So stand-ins
are made of bytes that the page does not have: the first and the last byte of each are in no other place at all, and
inside, no two bytes follow each other twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

# A prime number, so that a walk in steps of any size comes to each of them. Enough for 500 bytes altogether.
_INNER_BYTES = 23


def stand_ins_for(lengths: Mapping[int, int], *, unlike: bytes) -> dict[int, bytes]:
    """As long as the values are; none for those that the bytes do not suffice for."""
    free = sorted(set(range(256)) - set(unlike))
    inner, ends = _never_the_same_two(free[:_INNER_BYTES]), iter(free[_INNER_BYTES:])
    made: dict[int, bytes] = {}
    for number, length in lengths.items():
        first = bytes(islice(ends, min(length, 1)))
        last = bytes(islice(ends, min(length - len(first), 1)))
        stand_in = first + bytes(islice(inner, max(length - 2, 0))) + last
        if len(stand_in) == length:
            made[number] = stand_in
    return made


def _never_the_same_two(alphabet: list[int]) -> Iterator[int]:
    if len(alphabet) < _INNER_BYTES:
        return
    at = 0
    for step in range(1, _INNER_BYTES):
        for _ in range(_INNER_BYTES):
            at = (at + step) % _INNER_BYTES
            yield alphabet[at]
