"""The merchant's accent as CSS."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tidegate.core.colour import DARK, LIGHT, Palette, palette_for

_REMEMBERED_MAX = 1_000


@dataclass(frozen=True)
class Colours:
    """For both themes."""

    light: str
    dark: str


@lru_cache(maxsize=_REMEMBERED_MAX)
def colours_of(accent: str | None) -> Colours:
    return Colours(_css(palette_for(accent, LIGHT)), _css(palette_for(accent, DARK)))


def _css(palette: Palette) -> str:
    return (
        f"--accent:{palette.accent};--on-accent:{palette.on_accent};--accent-edge:{palette.accent_edge};"
        f"--accent-text:{palette.accent_text};--accent-soft:{palette.accent_soft};--on-soft:{palette.on_soft}"
    )
