"""The rows of the guide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    name: str
    meaning: str
    # What holds when it is not set; written behind a `#`.
    usual: str = ""
    # What is written for live mode, with the names of `tidegate init` in braces; None: not needed.
    live: str | None = None


@dataclass(frozen=True, kw_only=True)
class SettingSection:
    title: str
    rows: tuple[SettingRow, ...]
    # The section is of this rail only.
    rail: str | None = None
