"""Values of the API, each with its meaning for the reference."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class DescribedEnum(StrEnum):
    meaning: str

    def __new__(cls, value: str, *meaning: str) -> Self:
        """Takes `*meaning` since a lookup by value is checked against the same signature."""
        [words] = meaning
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = words
        return member
