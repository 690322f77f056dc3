"""The keys of a transaction, by which the same one is recognised in several files.

A bank's own reference is unique within a day and an account. Files may carry different ones of the same transaction, so
all are kept, and one in common is enough. Without any, the content itself is the key.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from tidegate.rail.bankfiles.model import BankEntry

UETR = "uetr/"
# Before and after the value date: the booking days that an entry without one may have.
DAYS_AROUND = 5
_NO_REFERENCE = frozenset({"", "NONREF", "NOTPROVIDED", "NOREF", "0", "UNKNOWN"})
_REFERENCE_CHARS_MAX = 70


class StatementKeys:
    """Of one statement: equal references within it are different transactions, and are numbered."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def keyed(self, entry: BankEntry, references: Sequence[str | None]) -> BankEntry:
        """With its keys. The first is the bank's own reference, where there is one."""
        texts = [text[:_REFERENCE_CHARS_MAX] for text in map(_given, references) if text]
        numbered = [self._numbered(_at(entry, text)) for text in dict.fromkeys(texts)]
        if entry.uetr:
            numbered.append(self._numbered(f"{UETR}{_side(entry)}/{entry.uetr}"))
        if not numbered:
            return msgspec.structs.replace(entry, keys=(_at(entry, f"h:{_digest(entry)}"),), has_reference=False)
        return msgspec.structs.replace(entry, keys=(*numbered, *_of_other_days(entry, numbered)))

    def _numbered(self, text: str) -> str:
        self._seen[text] += 1
        count = self._seen[text]
        return text if count == 1 else f"{text}#{count}"


def own_keys(entry: BankEntry) -> list[str]:
    """Without those of other days."""
    return [key for key in entry.keys if key.startswith((f"{entry.booked_on}/", UETR))]


def _of_other_days(entry: BankEntry, keys: Sequence[str]) -> list[str]:
    """A file that has the booking date is recognised by one of these."""
    if entry.is_dated:
        return []
    days = [entry.booked_on + timedelta(days) for days in range(-DAYS_AROUND, DAYS_AROUND + 1) if days]
    own = f"{entry.booked_on}/"
    return [f"{day}/{key.removeprefix(own)}" for key in keys if key.startswith(own) for day in days]


def _at(entry: BankEntry, text: str) -> str:
    return f"{entry.booked_on}/{entry.account}/{_side(entry)}/{text}"


def _given(reference: str | None) -> str:
    text = (reference or "").strip()
    return "" if text.upper() in _NO_REFERENCE else text


def _side(entry: BankEntry) -> str:
    return "C" if entry.is_credit else "D"


def _digest(entry: BankEntry) -> str:
    party = entry.counterparty
    content = (
        entry.valued_on, entry.amount.normalize(), entry.currency, party.account_number, party.name,
        entry.end_to_end_id, entry.remittance,
    )  # fmt: skip
    text = "\x1f".join("" if part is None else str(part) for part in content)
    return hashlib.sha256(text.encode()).hexdigest()[:40]
