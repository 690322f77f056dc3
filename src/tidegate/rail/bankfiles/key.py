"""The keys of a transaction, by which the same one is recognised in several files.

A bank's own reference is unique within a day and an account. Files may carry different ones of the same transaction, so
all are kept, and one in common is enough. Without any, the content itself is the key.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import msgspec

from tidegate.rail.bankfiles.model import BankEntry

_NO_REFERENCE = frozenset({"", "NONREF", "NOTPROVIDED", "NOREF", "0", "UNKNOWN"})
_REFERENCE_CHARS_MAX = 70


class StatementKeys:
    """Of one statement: equal references within it are different transactions, and are numbered."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._seen: Counter[str] = Counter()

    def keyed(self, entry: BankEntry, references: Sequence[str | None]) -> BankEntry:
        """With its keys. The first is the bank's own reference, where there is one."""
        place = f"{entry.booked_on}/{self._account}/{_side(entry)}"
        texts = [f"{place}/{text[:_REFERENCE_CHARS_MAX]}" for text in map(_given, references) if text]
        if entry.uetr:
            texts.append(f"uetr/{_side(entry)}/{entry.uetr}")
        keys = tuple(self._numbered(text) for text in dict.fromkeys(texts))
        if keys:
            return msgspec.structs.replace(entry, keys=keys)
        return msgspec.structs.replace(
            entry, keys=(self._numbered(f"{place}/h:{_digest(entry)}"),), has_reference=False
        )

    def _numbered(self, text: str) -> str:
        self._seen[text] += 1
        count = self._seen[text]
        return text if count == 1 else f"{text}#{count}"


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
