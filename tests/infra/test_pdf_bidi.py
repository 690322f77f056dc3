"""The order of the eye. The rows of numbers are from Unicode's own BidiCharacterTest.txt."""

from __future__ import annotations

import pytest

from tidegate.infra.pdf.bidi import LEVEL_MAX, Direction, levels, visual_runs

FSI, LRI, RLI, PDI = "\u2068", "\u2066", "\u2067", "\u2069"
RLM = "\u200f"


def seen(text: str, direction: Direction) -> str:
    """The characters from left to right, without the ones that steer. Capitals stand for letters from right to left."""
    hebrew = "".join(chr(ord("א") + ord(c) - ord("A")) if "A" <= c <= "Z" else c for c in text)
    _, found = levels(hebrew, direction)
    order = [
        index
        for start, end, level in visual_runs(found, 0, len(text))
        for index in (reversed(range(start, end)) if level % 2 else range(start, end))
    ]
    return "".join(text[i] for i in order if text[i] not in FSI + LRI + RLI + PDI + RLM)


@pytest.mark.parametrize(
    ("text", "direction", "expected"),
    [
        ("paid to you", "ltr", "paid to you"),
        ("PAID TO", "rtl", "OT DIAP"),
        # A word from the other side, and digits, keep their own order.
        ("PAID shop NOW", "rtl", "WON shop DIAP"),
        ("the word PAID TO is", "ltr", "the word OT DIAP is"),
        ("PAID 10,000.50 NOW", "rtl", "WON 10,000.50 DIAP"),
        ("AT 14:08", "rtl", "14:08 TA"),
        ("LEFT -5 %", "rtl", "% 5- TFEL"),
        ("COSTS ₦500", "rtl", "₦500 STSOC"),
        ("OF 5%", "rtl", "5% FO"),
        # Numbers of the Arabic script are kept together by other signs.
        ("ON ١٥/١١", "rtl", "١٥/١١ NO"),
        ("PAID lcr-20418 NOW", "rtl", "WON lcr-20418 DIAP"),
        # A bracket goes with its partner.
        ("PAID (ref) NOW", "rtl", "WON )ref( DIAP"),
        ("shop (PAID) now", "ltr", "shop (DIAP) now"),
        ("SHOP shop(s)", "rtl", "shop(s) POHS"),
        # Neutral signs at the end belong to the paragraph.
        ("PAID shop.", "rtl", ".shop DIAP"),
        ("acme inc.", "auto", "acme inc."),
        # The first letter decides, if asked to; without one it is left to right.
        ("PAID shop", "auto", "shop DIAP"),
        ("shop PAID", "auto", "shop DIAP"),
        ("12 + 3", "auto", "12 + 3"),
        (RLM + "12 + 3", "auto", "3 + 12"),
        (f"{FSI}shop{PDI} PAID", "auto", "DIAP shop"),
        # Isolates.
        ("CALL +234 803", "rtl", "803 234+ LLAC"),
        (f"CALL {FSI}+234 803{PDI}", "rtl", "+234 803 LLAC"),
        (f"CALL {LRI}+234 803{PDI}.", "rtl", ".+234 803 LLAC"),
        (f"shop {RLI}PAID 5{PDI} 6", "ltr", "shop 5 DIAP 6"),
        (f"{FSI}A {FSI}b c{PDI} D{PDI} e", "ltr", "D b c A e"),
        (f"PAID {FSI}a b", "rtl", "a b DIAP"),
        (f"PAID{PDI} a{PDI}", "rtl", "a DIAP"),
    ],
)
def test_a_line_is_seen_as_readers_expect(text: str, direction: Direction, expected: str) -> None:
    assert seen(text, direction) == expected


@pytest.mark.parametrize(
    "row",
    [
        "05D0 05D1 0028 05D2 05D3 005B 0026 0065 0066 005D 002E 0029 0067 0068;0;0;1 1 0 1 1 0 0 0 0 0 0 0 0 0",
        "05D0 05D1 0028 05D2 05D3 005B 0026 0065 0066 005D 002E 0029 0067 0068;1;1;1 1 1 1 1 1 1 2 2 1 1 1 2 2",
        "0061 0062 0063 0020 0028 0064 0065 0066 0020 0627 0628 062C 0029 0020 05D0 05D1 05D2;1;1;"
        "2 2 2 1 1 2 2 2 1 1 1 1 1 1 1 1 1",
        "05D0 05D1 05D2 0020 0028 0064 0065 0066 0020 0627 0628 062C 0029 0020 0061 0062 0063;0;0;"
        "1 1 1 0 0 0 0 0 0 1 1 1 0 0 0 0 0",
        "0627 0628 062C 0020 0062 006F 006F 006B 0028 0073 0029;0;0;1 1 1 0 0 0 0 0 0 0 0",
        "0627 0628 062C 0020 0062 006F 006F 006B 0028 0073 0029;1;1;1 1 1 1 2 2 2 2 2 2 2",
        "0061 0028 0332 0062 0029 0333;1;1;2 2 2 2 2 2",
        "05D0 0028 0332 05D1 0029 0333;0;0;1 1 1 1 1 1",
        "0661 0028 0332 0662 0029 0333;0;0;2 1 1 2 1 1",
    ],
)
def test_levels_are_those_of_the_standard(row: str) -> None:
    text, direction, base, expected = row.split(";")
    ways: tuple[Direction, ...] = ("ltr", "rtl", "auto")
    found = levels("".join(chr(int(code, 16)) for code in text.split()), ways[int(direction)])
    assert found == (int(base), [int(level) for level in expected.split()])


def test_isolates_nest_only_so_deep() -> None:
    _, found = levels(RLI * 10_000 + "a", "ltr")
    assert max(found) <= LEVEL_MAX + 1
