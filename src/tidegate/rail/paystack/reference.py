"""Our references as Paystack takes them: letters, digits, `-`, `.` and `=` only. They name the business too, so that a
notification finds it."""

from __future__ import annotations

import re

_SENT = re.compile(r"([a-z]{2})-([0-9A-Za-z]{1,40})\.([0-9a-f]{24})")


def sent_as(business_id: str, reference: str) -> str:
    return f"{reference.replace('_', '-', 1)}.{business_id}"


def read(text: str) -> tuple[str, str] | None:
    """The business and our reference; None for a transaction that we did not start."""
    found = _SENT.fullmatch(text)
    return (found[3], f"{found[1]}_{found[2]}") if found else None
