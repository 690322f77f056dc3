"""Input that costs the most to read, of any size: what an attacker would send, and what a limit in bytes alone lets in.

Each is a way to make so many bytes, so that time can be compared over size.
"""

from __future__ import annotations

from collections.abc import Callable

MakeText = Callable[[int], str]


def _repeated(piece: str) -> MakeText:
    size = len(piece.encode())
    return lambda size_max: piece * (size_max // size)


def _list_of(item: str) -> MakeText:
    return lambda size: f"[{','.join([item] * (size // (len(item) + 1)))}]"


def _below_long_key(key: str, item: str) -> MakeText:
    """Half of it is a key, the other half a list below it."""
    items = _list_of(item)
    return lambda size: f'{{"{key * (size // 2 // len(key))}":{items(size // 2 - 8)}}}'


def _keys(make: Callable[[int], str]) -> MakeText:
    longest = len(f'"{make(99_999)}":1,')
    return lambda size: "{" + ",".join(f'"{make(number)}":1' for number in range(size // longest)) + "}"


# Texts for any field of text; none needs an escape in JSON.
TEXTS: dict[str, MakeText] = {
    "letters": _repeated("a"),
    "digits": _repeated("4"),
    "spaces": _repeated(" "),
    "combining marks": _repeated("\u0315\u0300"),
    "letters with marks": _repeated("e\u0323\u0301"),
    "groups like a card's": _repeated("4111 1111 1111 1112 "),
    "cards in IBANs": _repeated("PL61 1090 1014 0000 0712 1981 2874 4111-1111-1111-1112 "),
    "groups that all begin like a card's": _repeated("4444 "),
    "single digits": _repeated("4 "),
    "digits of other scripts": _repeated("\uff14\u0661\u200b"),
    "dots and at signs": _repeated("a.@"),
    "labels of other letters": lambda size: "https://" + "\u00fc.\u0645" * ((size - 8) // 5),
    "ligatures that unfold": _repeated("\ufdfa"),
}
# JSON values for any field.
VALUES: dict[str, MakeText] = {
    "U+0000 below a key of digits": _below_long_key("4", '"\\u0000"'),
    "numbers below a key of digits": _below_long_key("4", "4111111111111112"),
    "cards below a long key": _below_long_key("k", '"4111111111111111"'),
    "exponents": _list_of("1e999"),
    "long exponents": _list_of("1e9999"),
    "long numbers": _list_of("9" * 100),
    "numbers that are too long": _list_of("9" * 101),
    "halves of characters": _list_of('"\\ud800"'),
    "empty lists": _list_of("[]"),
    "empty objects": _list_of("{}"),
    "many keys": _keys(lambda number: f"k{number}"),
    "the same key": _keys(lambda _: "k"),
    "keys that are cards": _keys(lambda number: f"4111111111111111 {number}"),
    "open brackets": _repeated("["),
    "open objects": _repeated('{"a":'),
    "a text of escapes": lambda size: '"' + '\\"' * (size // 2 - 1) + '"',
    "a text without an end": lambda size: '[[[[[[[[],"' + '\\"' * (size // 2 - 6),
    "escaped marks": lambda size: '"' + "\\u0315\\u0300" * (size // 12) + '"',
    "long keys, nested": lambda size: "".join(f'{{"{"k" * (size // 8)}":' for _ in range(7)) + "1" + "}" * 7,
}
