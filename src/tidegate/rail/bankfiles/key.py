"""The keys of a transaction, by which it is found again in other files.

The first names it: the bank's own reference of the transaction, or of the entry that holds it, on its booking day. One
key in common makes two entries alike; whether they are the same is for what they say (bank_file/sorting.py).
"""

from __future__ import annotations

import hashlib
from datetime import date, timedelta

import msgspec

from tidegate.rail.bankfiles.model import BankEntry

UETR = "uetr/"
VALUED, CUT, CONTENT, LIKE = "valued/", "cut/", "content/", "like/"
# Before and after the value date: the booking days that an entry without one may have.
DAYS_AROUND = 5
# Of a reference in MT940; camt has longer ones.
MT_REFERENCE_CHARS = 16


def keyed(entry: BankEntry) -> BankEntry:
    """With its keys. The last is that of its content."""
    place = f"{entry.account}/{_side(entry)}"
    at = f"{entry.booked_on}/{place}"
    references = [one for one in (entry.own_reference, entry.entry_reference, entry.transaction_id) if one]
    digest = _digest(entry)
    if not references and not entry.uetr:
        return msgspec.structs.replace(entry, keys=(f"{at}/h:{digest}", f"{CONTENT}{at}/{digest}"), has_reference=False)
    keys = []
    if entry.part and entry.entry_reference and not entry.own_reference:
        keys.append(f"{at}/{entry.entry_reference}#{entry.part}")
    keys += [f"{at}/{text}" for text in references]
    if entry.uetr:
        keys.append(f"{UETR}{_side(entry)}/{entry.uetr}")
    for text in references:
        keys.append(f"{VALUED}{entry.valued_on}/{place}/{text}")
        keys += [f"{day}/{place}/{text}" for day in _other_days(entry)]
        if _may_be_cut(entry, text):
            keys.append(f"{CUT}{at}/{text[:MT_REFERENCE_CHARS]}")
    content = f"{LIKE if references else CONTENT}{at}/{digest}"
    return msgspec.structs.replace(entry, keys=tuple(dict.fromkeys([*keys, content])))


def asked(entry: BankEntry) -> list[str]:
    """Keys by which entries like this one are looked for: of equal content only where one of them has no reference."""
    *others, own = entry.keys
    content = own.removeprefix(LIKE).removeprefix(CONTENT)
    alike = [CONTENT + content] if own.startswith(LIKE) else [CONTENT + content, LIKE + content]
    return [*others, *alike] if entry.has_reference else alike


def shown(entry: BankEntry) -> list[str]:
    """Those that a person compares."""
    return [key for key in entry.keys if key.startswith((f"{entry.booked_on}/", UETR))]


def _may_be_cut(entry: BankEntry, text: str) -> bool:
    return len(text) == MT_REFERENCE_CHARS if entry.family == "mt" else len(text) > MT_REFERENCE_CHARS


def _other_days(entry: BankEntry) -> list[date]:
    if entry.is_dated:
        return []
    return [entry.booked_on + timedelta(days) for days in range(-DAYS_AROUND, DAYS_AROUND + 1)]


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
