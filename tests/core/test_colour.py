from __future__ import annotations

import colorsys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidegate.core.colour import (
    DARK,
    DEFAULT_ACCENT,
    LIGHT,
    Colour,
    Theme,
    contrast,
    palette_for,
)

# What WCAG 2.2 asks for at level AA: 1.4.3 of text, 1.4.11 of controls.
TEXT_MIN, EDGE_MIN = 4.5, 3.0
BLACK, WHITE = Colour(0, 0, 0), Colour(255, 255, 255)
# The page's neutral text, which stands on tinted grounds too: ink and muted.
NEUTRALS = {LIGHT: ("#171a19", "#5d6663"), DARK: ("#eef2f0", "#9aa6a1")}

channels = st.integers(0, 255)
colours = st.builds(Colour, channels, channels, channels)
each_theme = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def check(accent: Colour, theme: Theme) -> None:
    palette = palette_for(str(accent), theme)
    pairs = [
        (palette.on_accent, palette.accent),
        (palette.accent_text, theme.card),
        (palette.accent_text, theme.page),
        (palette.on_soft, palette.accent_soft),
        *((Colour.parse(neutral), palette.accent_soft) for neutral in NEUTRALS[theme]),
    ]
    assert [pair for pair in pairs if contrast(*pair) < TEXT_MIN] == []
    edges = [contrast(palette.accent_edge, ground) for ground in (theme.card, theme.page)]
    assert min(edges) >= EDGE_MIN


@each_theme
@settings(max_examples=500, deadline=None)
@given(accent=colours)
@example(accent=BLACK)
@example(accent=WHITE)
@example(accent=Colour(118, 118, 118))
def test_everything_can_be_read_whatever_the_accent(accent: Colour, theme: Theme) -> None:
    check(accent, theme)


@each_theme
def test_everything_can_be_read_all_over_the_colour_space(theme: Theme) -> None:
    steps = range(0, 256, 51)
    for accent in (Colour(red, green, blue) for red in steps for green in steps for blue in steps):
        check(accent, theme)


def hue_of(colour: Colour) -> float:
    """By the wheel that everybody knows, as a reckoning of its own."""
    return colorsys.rgb_to_hls(colour.red / 255, colour.green / 255, colour.blue / 255)[0] * 360


@each_theme
@pytest.mark.parametrize("accent", ["#0f7b6c", "#16a34a", "#7c3aed", "#ffd400", "#f97316", "#e91e63", "#00b8d9"])
def test_the_hue_stays_about_what_it_was(accent: str, theme: Theme) -> None:
    palette = palette_for(accent, theme)
    for shade in (palette.accent, palette.accent_edge, palette.accent_text, palette.on_soft):
        turn = abs(hue_of(shade) - hue_of(Colour.parse(accent)))
        assert min(turn, 360 - turn) < 20


def test_the_default_looks_as_it_was_drawn() -> None:
    light, dark = palette_for(None, LIGHT), palette_for(None, DARK)
    assert light == palette_for(DEFAULT_ACCENT, LIGHT)
    assert (str(light.accent), str(light.on_accent), str(light.accent_text)) == ("#0f7b6c", "#ffffff", "#0f7b6c")
    assert str(light.accent_soft) == "#e7f2f0"
    drawn = Colour.parse("#4fd1b5")
    assert max(abs(a - b) for a, b in zip(parts(dark.accent), parts(drawn), strict=True)) <= 8
    assert str(dark.on_accent) == "#0b1210"


def parts(colour: Colour) -> tuple[int, int, int]:
    return colour.red, colour.green, colour.blue


@pytest.mark.parametrize(("accent", "label"), [("#1a237e", "#ffffff"), ("#ffd400", "#171a19"), ("#ffffff", "#171a19")])
def test_a_button_keeps_the_very_accent_when_a_label_can_be_read_on_it(accent: str, label: str) -> None:
    palette = palette_for(accent, LIGHT)
    assert (str(palette.accent), str(palette.on_accent)) == (accent, label)


def test_an_accent_between_both_labels_moves_no_further_than_it_must() -> None:
    palette = palette_for("#ff0000", LIGHT)
    assert palette.accent != Colour.parse("#ff0000")
    assert TEXT_MIN <= contrast(palette.accent, palette.on_accent) < TEXT_MIN + 0.2


def test_an_accent_without_contrast_gets_an_edge() -> None:
    palette = palette_for("#ffffff", LIGHT)
    assert contrast(palette.accent, LIGHT.card) == 1
    assert contrast(palette.accent_edge, LIGHT.card) >= EDGE_MIN


# The contrasts are those that WCAG's own examples and common checkers give.
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("#000000", "#ffffff", 21), ("#777777", "#ffffff", 4.48), ("#767676", "#ffffff", 4.54), ("#ff0000", "#ffffff", 4)],
)
def test_contrast_is_that_of_wcag(one: str, other: str, expected: float) -> None:
    found = contrast(Colour.parse(one), Colour.parse(other))
    assert found == contrast(Colour.parse(other), Colour.parse(one))
    assert found == pytest.approx(expected, abs=0.005)


@given(colours)
def test_a_colour_survives_being_written(colour: Colour) -> None:
    assert Colour.parse(str(colour)) == Colour.parse(str(colour)[1:].upper()) == colour


@pytest.mark.parametrize(
    "text", ["", "#", "#fff", "#0f7b6", "#0f7b6c0", "0f7b6c\n", "##f7b6c", "red", "#0f7b6g", "#٠٠٠٠٠٠"]
)
def test_anything_else_is_no_colour(text: str) -> None:
    with pytest.raises(ValueError, match="must be a colour such as"):
        Colour.parse(text)
