"""References of the sample month. Pure."""

from __future__ import annotations

import re
from datetime import date

# Of each day one customer sends too much, for which the merchant gives the excess back two days later.
OVERPAID = 1
_OVERPAID = re.compile(rf"SAMPLE-[0-9]{{8}}-{OVERPAID + 1}")


def reference_of(day: date, number: int) -> str:
    """`number` counts the payments of the day from 0."""
    return f"SAMPLE-{day:%Y%m%d}-{number + 1}"


def is_overpaid(reference: str) -> bool:
    return _OVERPAID.fullmatch(reference) is not None
