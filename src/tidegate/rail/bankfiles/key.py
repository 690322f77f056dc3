"""The keys of a transaction, by which entries like it are found in other files.

The first names it: the bank's own reference of the transaction, or of the entry that holds it, on its booking day. What
two entries with a key in common are to each other is for what they say (bank_file/duplicate.py).
"""

from __future__ import annotations

import hashlib
from datetime import date, timedelta

import msgspec

from tidegate.rail.bankfiles.model import BankEntry

UETR, VALUED, CUT, CONTENT, NEAR = "uetr/", "valued/", "cut/", "content/", "near/"
# Of a reference in MT940; camt has longer ones.
MT_REFERENCE_CHARS = 16
# Before and after the value date: the booking days that an entry without one may have.
_DAYS_WITHOUT_A_DATE = 5
# A weekend: the days between the bookings of one transaction in two files.
_DAYS_BETWEEN = 3
# What identifies an entry: the bank's reference, the identifier of the payer's bank, the UETR. Entries that have a kind
# in common are found by it; others, by amount and day.
_NEAR_KINDS = ("-", "b", "t", "u", "bt", "bu", "tu", "btu")
# Own, entry's, transaction's identifier, UETR: all sets of what a file may give.
_ALL_GIVEN = tuple("".join(one for bit, one in enumerate("oetu") if number >> bit & 1) for number in range(16))


def keyed(entry: BankEntry) -> BankEntry:
    """With its keys."""
    place, at = _place(entry), f"{entry.booked_on}/{_place(entry)}"
    references = _references(entry)
    digest = _digest(entry)
    content = [
        _content(entry, digest, _given(entry)),
        _near(entry, entry.booked_on, _identified_by(entry)),
    ]
    if not references and not entry.uetr:
        name = f"{at}/h:{digest}"
        return msgspec.structs.replace(entry, keys=(name, *content), has_reference=False)
    keys = []
    if entry.part and entry.entry_reference and not entry.own_reference:
        keys.append(f"{at}/{entry.entry_reference}#{entry.part}")
    keys += [f"{at}/{text}" for text in references]
    if entry.uetr:
        keys.append(f"{UETR}{_side(entry)}/{entry.uetr}")
    for text in references:
        keys.append(f"{VALUED}{entry.valued_on}/{place}/{text}")
        if not entry.is_dated:
            keys += [f"{day}/{place}/{text}" for day in _around(entry.booked_on, _DAYS_WITHOUT_A_DATE)]
        if _may_be_cut(entry, text):
            keys.append(f"{CUT}{at}/{text[:MT_REFERENCE_CHARS]}")
    return msgspec.structs.replace(entry, keys=tuple(dict.fromkeys([*keys, *content])))


def asked(entry: BankEntry) -> list[str]:
    """Keys by which entries like this one are looked for.

    Beside its own: its references on near days; the same content under none of the same identifiers; and, where one of
    the two has no identifier of the same kind, the same amount on near days.
    """
    place, own, digest = _place(entry), _given(entry), _digest(entry)
    references = _references(entry)
    days = _around(entry.booked_on, _DAYS_BETWEEN)
    keys = [key for key in entry.keys if not key.startswith((CONTENT, NEAR))] if entry.has_reference else []
    keys += [f"{day}/{place}/{text}" for text in references for day in days]
    keys += [_content(entry, digest, given) for given in _ALL_GIVEN if not set(given) & set(own)]
    kind = _identified_by(entry)
    keys += [_near(entry, day, other) for other in _NEAR_KINDS if other != kind and not set(other) & set(kind)
             for day in days]  # fmt: skip
    if kind == _NEAR_KINDS[0]:
        keys.append(_near(entry, entry.booked_on, kind))
    return list(dict.fromkeys(keys))


def shown(entry: BankEntry) -> list[str]:
    """Those that a person compares."""
    return [key for key in entry.keys if key.startswith((f"{entry.booked_on}/", UETR))]


def _references(entry: BankEntry) -> list[str]:
    given = (entry.own_reference, entry.entry_reference, entry.transaction_id)
    return list(dict.fromkeys(one for one in given if one))


def _given(entry: BankEntry) -> str:
    given = {"o": entry.own_reference, "e": entry.entry_reference, "t": entry.transaction_id, "u": entry.uetr}
    return "".join(kind for kind, text in given.items() if text)


def _may_be_cut(entry: BankEntry, text: str) -> bool:
    return len(text) == MT_REFERENCE_CHARS if entry.family == "mt" else len(text) > MT_REFERENCE_CHARS


def _around(day: date, count: int) -> list[date]:
    return [day + timedelta(days) for days in range(-count, count + 1)]


def _side(entry: BankEntry) -> str:
    return "C" if entry.is_credit else "D"


def _place(entry: BankEntry) -> str:
    return f"{entry.account}/{_side(entry)}"


def _content(entry: BankEntry, digest: str, given: str) -> str:
    return f"{CONTENT}{given or '-'}/{entry.booked_on}/{_place(entry)}/{digest}"


def _identified_by(entry: BankEntry) -> str:
    given = {"b": entry.own_reference or entry.entry_reference, "t": entry.transaction_id, "u": entry.uetr}
    return "".join(kind for kind, text in given.items() if text) or _NEAR_KINDS[0]


def _near(entry: BankEntry, day: date, kind: str) -> str:
    amount = f"{entry.amount.normalize():f}{entry.currency}"
    return f"{NEAR}{kind}/{day}/{_place(entry)}/{amount}"


def _digest(entry: BankEntry) -> str:
    party = entry.counterparty
    content = (
        entry.valued_on, entry.amount.normalize(), entry.currency, party.account_number, party.name,
        entry.end_to_end_id, entry.remittance,
    )  # fmt: skip
    text = "\x1f".join("" if part is None else str(part) for part in content)
    return hashlib.sha256(text.encode()).hexdigest()[:40]
