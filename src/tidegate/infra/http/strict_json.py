"""JSON, read the way money wants it: no repairs, no surprises.

The standard decoder lets pass NaN, keys given twice, lone surrogates and U+0000, overflows the stack on
deep nesting and turns decimals into binary floats. Each of these is refused or avoided here, before a
model sees the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import accumulate, islice
from typing import Any, NoReturn

from tidegate.core.card_number import has_digits_enough
from tidegate.core.errors import PROBLEMS_MAX, Invalid, Malformed, Problem

DEPTH_MAX = 8
# Numbers, texts, lists and so on; each is looked at several times.
VALUES_MAX = 2_000
NUMBER_DIGITS_MAX = 100
NUMBER_EXPONENT_DIGITS_MAX = 3
SHOWN_LENGTH_MAX = 100
# Of a path, so that a long key is not copied for each of the values below it. Longer than what is shown by a card
# number, of which no part is shown.
PATH_LENGTH_MAX = 200

# Possessive, and content with a string that never ends: whatever the body, it is read in one pass.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS = bytes(set(range(256)) - set(_STEP))
# Written out, 1e999999999 would fill the memory.
_FAR_EXPONENT = re.compile(rf"[eE][+-]?\d{{{NUMBER_EXPONENT_DIGITS_MAX + 1}}}")


class _TooLong:
    """Stands for a number with more digits than any amount has, until its place in the body is known."""

    # How many were ever made, which tells whether a body had one.
    made = 0

    def __init__(self) -> None:
        _TooLong.made += 1


def loads(body: bytes) -> Any:
    """The value, with decimals exact; raises Malformed or Invalid."""
    if not body:
        raise Malformed("the request body is empty; send a JSON object")
    if body.startswith(b"\xef\xbb\xbf"):
        raise Malformed("the body starts with a byte order mark; send plain UTF-8")
    _refuse_depth(body)
    too_long_before = _TooLong.made
    try:
        value = _decoder.decode(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise Malformed("the body is not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"the body is not valid JSON: {error.msg} at character {error.pos}") from None
    # A value takes two bytes at least, with what separates it.
    if len(body) > 2 * VALUES_MAX and _values_in(value) > VALUES_MAX:
        raise Malformed(f"the body has more than {VALUES_MAX:,} values; send fewer")
    # Without an escape or an outsized number there is nothing to find, and ordinary bodies are not walked at all.
    if b"\\u" in body or _TooLong.made != too_long_before:
        problems = tuple(islice(_unstorable(value, ""), PROBLEMS_MAX + 1))
        if problems:
            raise Invalid(*problems)
    return value


def walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every scalar of a JSON value with its dotted path; a key counts as text at its own path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield path or "body", key
            yield from walk(item, _cut(f"{path}.{_cut(key)}" if path else key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, _cut(f"{path}[{index}]"))
    else:
        yield path or "body", value


def _cut(path: str) -> str:
    return path[:PATH_LENGTH_MAX]


def _refuse_depth(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= DEPTH_MAX:
        return
    brackets = _STRING.sub(b"", body).translate(None, _NOT_BRACKETS)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > DEPTH_MAX:
        raise Malformed(f"the body is nested deeper than {DEPTH_MAX} levels; flatten it")


def _values_in(value: Any) -> int:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return 1
    return 1 + sum(map(_values_in, value))


_SURROGATE = re.compile("[\ud800-\udfff]")
_TOO_LONG = f"has more than {NUMBER_DIGITS_MAX} digits or {NUMBER_EXPONENT_DIGITS_MAX} in its exponent"


def _unstorable(value: Any, path: str) -> Iterator[Problem]:
    for place, item in walk(value, path):
        if isinstance(item, _TooLong):
            yield Problem(shown(place), _TOO_LONG)
        elif isinstance(item, str) and not _is_storable(item):
            yield Problem(shown(place), "contains a character that is not text (U+0000 or a lone surrogate)")


def _is_storable(text: str) -> bool:
    return "\0" not in text and _SURROGATE.search(text) is None


def shown(text: str) -> str:
    """A key or path of the caller's as an answer may repeat it: short, printable, and never a card number."""
    short = text if len(text) <= SHOWN_LENGTH_MAX else f"{text[:SHOWN_LENGTH_MAX]}…"
    if has_digits_enough(_cut(text)):
        short = re.sub(r"\d", "•", short)
    return short if _is_storable(short) else ascii(short)[1:-1]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Malformed(f"the key {shown(twice)!r} is given twice")
    return result


def _number(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        is_readable = len(text) <= NUMBER_DIGITS_MAX and not _FAR_EXPONENT.search(text)
        return convert(text) if is_readable else _TooLong()

    return read


def _constant(text: str) -> NoReturn:
    raise Malformed(f"{text} is not JSON")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_number(int),
    parse_float=_number(Decimal),
    parse_constant=_constant,
)
