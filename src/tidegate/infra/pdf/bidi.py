"""Which way each character of a line runs: the Unicode bidirectional algorithm (UAX #9).

Isolates are honoured. Embeddings and overrides are not: text is freed of them before it comes here, because an override
can make a document read otherwise than its characters say. Without them every isolating run sequence (X10) is bordered
by its own level on both sides, which is why `sos` and `eos` need no looking up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Literal

Direction = Literal["ltr", "rtl", "auto"]

LEVEL_MAX = 125
BRACKET_DEPTH_MAX = 63

# One letter per class, so that the rules can be written as patterns over a string.
_LETTER_OF_CLASS = {
    "L": "L", "R": "R", "AL": "A", "EN": "E", "AN": "N", "ES": "s", "ET": "t", "CS": "c", "NSM": "m", "BN": "b",
    "B": "o", "S": "o", "WS": "o", "ON": "o", "LRI": "l", "RLI": "r", "FSI": "f", "PDI": "p",
}  # fmt: skip
_OPENERS = "lrf"

# Every pair of Bidi_Paired_Bracket; the two angle brackets U+2329 and U+232A are U+3008 and U+3009 after normalization.
_PAIRS = "()[]{}༺༻༼༽᚛᚜⁅⁆⁽⁾₍₎⌈⌉⌊⌋❨❩❪❫❬❭❮❯❰❱❲❳❴❵⟅⟆⟦⟧⟨⟩⟪⟫⟬⟭⟮⟯⦃⦄⦅⦆⦇⦈⦉⦊⦋⦌⦍⦐⦏⦎⦑⦒⦓⦔⦕⦖⦗⦘⧘⧙⧚⧛⧼⧽⸢⸣⸤⸥⸦⸧⸨⸩⹕⹖⹗⹘⹙⹚⹛⹜"
_PAIRS += "〈〉《》「」『』【】〔〕〖〗〘〙〚〛﹙﹚﹛﹜﹝﹞（）［］｛｝｟｠｢｣"
_CLOSER_OF = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
_CLOSERS = frozenset(_CLOSER_OF.values())


def levels(text: str, direction: Direction) -> tuple[int, list[int]]:
    """The level of the paragraph and of each character in it; odd levels run from right to left."""
    letters = "".join(_LETTER_OF_CLASS.get(unicodedata.bidirectional(c), "L") for c in text)
    base = _first_strong_level(letters) if direction == "auto" else int(direction == "rtl")
    if base == 0 and not re.search("[RANlrf]", letters):
        return base, [0] * len(text)
    found = [base] * len(text)
    for level, indices in _sequences(letters, base):
        resolved = _resolve("".join(letters[i] for i in indices), [text[i] for i in indices], "LR"[level % 2])
        for i, letter in zip(indices, resolved, strict=True):
            found[i] = level + _RISE[level % 2][letter]
    for i, letter in enumerate(letters):
        if letter == "b":
            found[i] = found[i - 1] if i else base
    return base, found


def visual_runs(found: Sequence[int], start: int, end: int) -> list[tuple[int, int, int]]:
    """The pieces (start, end, level) of a line from left to right (L2); an odd piece is still in logical order."""
    runs: list[tuple[int, int, int]] = []
    for level, same in groupby(range(start, end), key=found.__getitem__):
        indices = list(same)
        runs.append((indices[0], indices[-1] + 1, level))
    for floor in range(max((run[2] for run in runs), default=0), 0, -1):
        turned: list[tuple[int, int, int]] = []
        for is_turned, neighbours in groupby(runs, key=lambda run: run[2] >= floor):
            side_by_side = list(neighbours)
            turned += side_by_side[::-1] if is_turned else side_by_side
        runs = turned
    return runs


# I1 and I2: how far a resolved class rises above an even and above an odd level.
_RISE = ({"L": 0, "R": 1, "N": 2, "E": 2}, {"L": 1, "R": 0, "N": 1, "E": 1})


def _first_strong_level(letters: str) -> int:
    """P2 and P3: the first strong character outside isolates decides; none means left to right."""
    depth = 0
    for letter in letters:
        if letter in "LRA" and depth == 0:
            return int(letter != "L")
        if letter in _OPENERS:
            depth += 1
        elif letter == "p":
            depth = max(0, depth - 1)
    return 0


def _content(letters: str, opener: int) -> str:
    """What an isolate holds: up to its own end, or to the end of the text when it has none."""
    depth = 1
    for i in range(opener + 1, len(letters)):
        depth += (letters[i] in _OPENERS) - (letters[i] == "p")
        if depth == 0:
            return letters[opener + 1 : i]
    return letters[opener + 1 :]


def _sequences(letters: str, base: int) -> Iterator[tuple[int, list[int]]]:
    """X1 to X10 for isolates alone: the text outside them, and the inside of each."""
    open_now: list[tuple[int, list[int]]] = [(base, [])]
    too_deep = 0
    for i, letter in enumerate(letters):
        if letter == "p":
            if too_deep:
                too_deep -= 1
            elif len(open_now) > 1:
                yield open_now.pop()
        level, indices = open_now[-1]
        if letter != "b":
            indices.append(i)
        if letter in _OPENERS:
            # Nothing is looked up for an isolate that is too deep: thousands of them cost no more than their reading.
            inner = LEVEL_MAX + 1 if too_deep else _inner_level(letters, i, level)
            if inner > LEVEL_MAX:
                too_deep += 1
            else:
                open_now.append((inner, []))
    yield from open_now


def _inner_level(letters: str, opener: int, outer: int) -> int:
    """X5a to X5c: the next odd level for text that runs from right to left, the next even one for other text."""
    is_odd = letters[opener] == "r"
    if letters[opener] == "f":
        is_odd = _first_strong_level(_content(letters, opener)) == 1
    return outer + 1 if (outer + 1) % 2 == is_odd else outer + 2


def _resolve(letters: str, characters: Sequence[str], side: str) -> str:
    """W1 to N2: every letter becomes L, R, E or N. `side` is where the sequence's own level runs to."""
    weak = _resolve_weak(letters, side)
    with_brackets = _resolve_brackets(weak, letters, characters, side)
    bordered = side + re.sub("[lrfp]", "o", with_brackets) + side
    bordered = re.sub("(?<=L)o+(?=L)", _fill("L"), bordered)
    bordered = re.sub("(?<=[REN])o+(?=[REN])", _fill("R"), bordered)
    return bordered[1:-1].replace("o", side)


def _resolve_weak(letters: str, side: str) -> str:
    text = re.sub("([^m])(m+)", lambda m: m[1] + ("o" if m[1] in "lrfp" else m[1]) * len(m[2]), side + letters)  # W1
    text = re.sub("A[^LRA]*", lambda m: m[0].replace("E", "N"), text).replace("A", "R")  # W2, W3
    text = re.sub("(?<=E)[sc](?=E)", "E", text)  # W4
    text = re.sub("(?<=N)c(?=N)", "N", text)
    text = re.sub("t+(?=E)|(?<=E)t+", _fill("E"), text)  # W5
    text = re.sub("[stc]", "o", text)  # W6
    return re.sub("L[^LR]*", lambda m: m[0].replace("E", "L"), text)[1:]  # W7


def _fill(letter: str) -> Callable[[re.Match[str]], str]:
    return lambda match: letter * len(match[0])


def _resolve_brackets(letters: str, before_weak: str, characters: Sequence[str], side: str) -> str:
    """N0: both brackets of a pair go the same way."""
    found = list(letters)
    for opening, closing in sorted(_bracket_pairs(found, characters)):
        inside = {"R" if letter in "REN" else letter for letter in found[opening + 1 : closing]} & {"L", "R"}
        if not inside:
            continue
        way = side if side in inside else _strong_before(found, opening, side)
        for bracket in (opening, closing):
            found[bracket] = way
            mark = bracket + 1
            while mark < len(found) and before_weak[mark] == "m":
                found[mark] = way
                mark += 1
    return "".join(found)


def _strong_before(letters: Sequence[str], end: int, side: str) -> str:
    for letter in reversed(letters[:end]):
        if letter in "LREN":
            return "L" if letter == "L" else "R"
    return side


def _bracket_pairs(letters: Sequence[str], characters: Sequence[str]) -> Iterator[tuple[int, int]]:
    """BD16."""
    waiting: list[tuple[str, int]] = []
    for i, character in enumerate(characters):
        if letters[i] != "o":
            continue
        if character in _CLOSER_OF:
            if len(waiting) == BRACKET_DEPTH_MAX:
                return
            waiting.append((_CLOSER_OF[character], i))
        elif character in _CLOSERS:
            match = next((n for n in reversed(range(len(waiting))) if waiting[n][0] == character), None)
            if match is not None:
                yield waiting[match][1], i
                del waiting[match:]
