"""Colours of the payer's pages: any accent colour becomes a readable one.

Contrast is that of WCAG 2.2. An accent with too little contrast changes its lightness in small steps in OKLCH, where
equal steps look equal and the hue stays, until there is enough.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

DEFAULT_ACCENT = "#0f7b6c"
TEXT_CONTRAST_MIN = 4.5
# Edges of controls, the focus ring, and icons that carry a meaning.
EDGE_CONTRAST_MIN = 3.0
SOFT_SHARE = 0.10
# A background without meaning needs only to be visible.
SOFT_CONTRAST_MIN = 1.03

_HEX = re.compile(r"#?([0-9a-f]{6})", re.ASCII | re.IGNORECASE)
_LIGHTNESS_STEP = 0.005
# From black to white.
_STEPS_MAX = round(1 / _LIGHTNESS_STEP) + 1
_CHROMA_HALVINGS = 12
# The minimum lightness of an accent on a dark background.
_DARK_LIGHTNESS_MIN = 0.78
# The same chroma looks paler in a lighter colour, so it is raised, unless it is strong already.
_LIFTED_CHROMA_GAIN = 1.3
_STRONG_CHROMA = 0.13
_CACHED_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Colour:
    red: int
    green: int
    blue: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """With or without the #, which starts a comment in a shell."""
        match = _HEX.fullmatch(text)
        if match is None:
            raise ValueError(f"must be a colour such as '{DEFAULT_ACCENT}'")
        return cls(*bytes.fromhex(match[1]))

    def __str__(self) -> str:
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def luminance(self) -> float:
        """WCAG's relative luminance: 0 for black, 1 for white."""
        red, green, blue = _LINEAR[self.red], _LINEAR[self.green], _LINEAR[self.blue]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def over(self, ground: Colour, *, share: float) -> Colour:
        """This colour blended over a background: `share` of this colour, the rest of the background."""
        pairs = ((self.red, ground.red), (self.green, ground.green), (self.blue, ground.blue))
        return Colour(*(round(top * share + below * (1 - share)) for top, below in pairs))


def contrast(one: Colour, other: Colour) -> float:
    """From 1 for two equal colours to 21 for black and white."""
    darker, lighter = sorted((one.luminance, other.luminance))
    return (lighter + 0.05) / (darker + 0.05)


@dataclass(frozen=True, slots=True)
class Theme:
    """The background and text colours that an accent is combined with."""

    card: Colour
    page: Colour
    # Text colours on the accent, the preferred one first.
    labels: tuple[Colour, ...]
    # The direction of more contrast.
    lightness_step: float
    lightness_min: float


LIGHT = Theme(
    card=Colour.parse("#ffffff"),
    page=Colour.parse("#f4f5f3"),
    labels=(Colour.parse("#ffffff"), Colour.parse("#171a19")),
    lightness_step=-_LIGHTNESS_STEP,
    lightness_min=0.0,
)
DARK = Theme(
    card=Colour.parse("#171c1b"),
    page=Colour.parse("#0f1312"),
    labels=(Colour.parse("#0b1210"),),
    lightness_step=_LIGHTNESS_STEP,
    lightness_min=_DARK_LIGHTNESS_MIN,
)


@dataclass(frozen=True, slots=True)
class Palette:
    """An accent in one theme. The text of a colour is its CSS value."""

    # Background of the main button, and of the initial that replaces a missing logo.
    accent: Colour
    # Text and icons on `accent`.
    on_accent: Colour
    # Border of elements with the background `accent`, focus ring, progress bar: visible on card and page.
    accent_edge: Colour
    # Links and icons on card and page.
    accent_text: Colour
    # Tinted background of a status or a small button, on the card.
    accent_soft: Colour
    # Text and icons in the accent's colour on `accent_soft`; the normal text colour is readable there too.
    on_soft: Colour


@lru_cache(maxsize=_CACHED_MAX)
def palette_for(accent: str | None, theme: Theme) -> Palette:
    """None for a business without an accent."""
    own = _in_theme(Colour.parse(accent or DEFAULT_ACCENT), theme)
    button, label = _button(own, theme)
    text = _moved(own, theme, lambda c: _stands_out(c, theme.card, theme.page, at_least=TEXT_CONTRAST_MIN))
    soft = _soft(button, text, theme)
    return Palette(
        accent=button,
        on_accent=label,
        accent_edge=_moved(own, theme, lambda c: _stands_out(c, theme.card, theme.page, at_least=EDGE_CONTRAST_MIN)),
        accent_text=text,
        accent_soft=soft,
        on_soft=_moved(text, theme, lambda c: _stands_out(c, soft, at_least=TEXT_CONTRAST_MIN)),
    )


def _in_theme(accent: Colour, theme: Theme) -> Colour:
    lightness, chroma, hue = _to_oklch(accent)
    if lightness >= theme.lightness_min:
        return accent
    lifted_chroma = max(chroma, min(chroma * _LIFTED_CHROMA_GAIN, _STRONG_CHROMA))
    return _from_oklch(theme.lightness_min, lifted_chroma, hue)


def _button(own: Colour, theme: Theme) -> tuple[Colour, Colour]:
    """The business's own colour if one of the labels is readable on it."""
    for label in theme.labels:
        if _stands_out(own, label, at_least=TEXT_CONTRAST_MIN):
            return own, label
    label = theme.labels[0]
    return _moved(own, theme, lambda c: _stands_out(c, label, at_least=TEXT_CONTRAST_MIN)), label


def _soft(button: Colour, text: Colour, theme: Theme) -> Colour:
    """A tint of the button; of the links when the button is nearly the card's colour."""
    tint = button.over(theme.card, share=SOFT_SHARE)
    is_seen = _stands_out(tint, theme.card, at_least=SOFT_CONTRAST_MIN)
    return tint if is_seen else text.over(theme.card, share=SOFT_SHARE)


def _stands_out(colour: Colour, *grounds: Colour, at_least: float) -> bool:
    return all(contrast(colour, ground) >= at_least for ground in grounds)


def _moved(colour: Colour, theme: Theme, is_enough: Callable[[Colour], bool]) -> Colour:
    """Towards more contrast, no further than needed. Black, or white in the dark theme, is always enough."""
    if is_enough(colour):
        return colour
    lightness, chroma, hue = _to_oklch(colour)

    def after(steps: int) -> Colour:
        return _from_oklch(lightness + steps * theme.lightness_step, chroma, hue)

    return after(bisect_left(range(_STEPS_MAX), True, lo=1, key=lambda steps: is_enough(after(steps))))


# Björn Ottosson's OKLab (https://bottosson.github.io/posts/oklab/), in polar form: lightness, chroma, hue.


def _to_oklch(colour: Colour) -> tuple[float, float, float]:
    red, green, blue = _LINEAR[colour.red], _LINEAR[colour.green], _LINEAR[colour.blue]
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    lightness = 0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short
    return lightness, math.hypot(a, b), math.atan2(b, a)


def _from_oklch(lightness: float, chroma: float, hue: float) -> Colour:
    """A chroma outside the gamut is reduced; lightness and hue stay."""
    shown = _linear_light(lightness, chroma, hue)
    if not _is_shown(shown):
        low, high = 0.0, chroma
        for _ in range(_CHROMA_HALVINGS):
            middle = (low + high) / 2
            is_inside = _is_shown(_linear_light(lightness, middle, hue))
            low, high = (middle, high) if is_inside else (low, middle)
        shown = _linear_light(lightness, low, hue)
    return Colour(*(round(255 * _encoded(min(max(part, 0.0), 1.0))) for part in shown))


def _linear_light(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _is_shown(light: tuple[float, float, float]) -> bool:
    # A tolerance: the corners of the gamut do not survive the round trip to the last digit.
    return min(light) >= -0.0001 and max(light) <= 1.0001


def _linear(channel: int) -> float:
    """Linear light of an sRGB channel."""
    encoded = channel / 255
    return encoded / 12.92 if encoded <= 0.04045 else math.pow((encoded + 0.055) / 1.055, 2.4)


_LINEAR = tuple(map(_linear, range(256)))


def _encoded(light: float) -> float:
    return 12.92 * light if light <= 0.0031308 else 1.055 * math.pow(light, 1 / 2.4) - 0.055
