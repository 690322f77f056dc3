"""`:86:`, the free text of a statement line: as German, Dutch and other banks structure it, or as it is."""

from __future__ import annotations

import re
from typing import NamedTuple

from tidegate.core.bank_number import normal_account_number
from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.state import Party

REMITTANCE_CHARS_MAX = 1_000
# 166?00GUTSCHRIFT?20EREF+…?30BIC?31account?32name
_SUBFIELD = re.compile(r"\?(\d{2})")
# Inside the German text: EREF+…SVWZ+…
_SEPA = re.compile(r"(EREF|KREF|MREF|CRED|DEBT|SVWZ|ABWA|ABWE|IBAN|BIC)\+")
# Dutch and Swiss: /EREF/…/ORDP//NAME/…/REMI/…
_SLASHED = re.compile(r"/(EREF|ORDP|BENM|NAME|IBAN|BIC|REMI|RTRN|TRTP|CSID|MARF|PREF|ID|CNTP|TRCD)/")
_TEXT_FIELDS = (*(f"{number}" for number in range(20, 30)), *(f"{number}" for number in range(60, 64)))


class EntryDetails(NamedTuple):
    party: Party
    end_to_end_id: str | None
    remittance: str | None


def details_in(text: str) -> EntryDetails:
    joined = text.replace("\n", "")
    if re.match(r"\d{3}\?", joined):
        return _german(joined)
    if _SLASHED.match(joined.lstrip()):
        return _slashed(joined.lstrip())
    plain = " ".join(text.split())
    return EntryDetails(Party(), None, plain[:REMITTANCE_CHARS_MAX] or None)


def _german(text: str) -> EntryDetails:
    parts = _SUBFIELD.split(text)
    fields: dict[str, str] = dict(zip(parts[1::2], parts[2::2], strict=False))
    remittance = "".join(fields.get(name, "") for name in _TEXT_FIELDS)
    marked = _pairs(_SEPA, remittance)
    return _details(
        name=fields.get("32", "") + fields.get("33", ""),
        account=fields.get("31") or marked.get("IBAN"),
        bank=fields.get("30") or marked.get("BIC"),
        reference=marked.get("EREF"),
        remittance=marked.get("SVWZ", remittance if not marked else ""),
    )


def _slashed(text: str) -> EntryDetails:
    marked = _pairs(_SLASHED, text)
    return _details(
        name=marked.get("NAME"),
        account=marked.get("IBAN"),
        bank=marked.get("BIC"),
        reference=marked.get("EREF"),
        remittance=marked.get("REMI", "").removeprefix("USTD//"),
    )


def _pairs(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    """The first of each mark that has a value."""
    parts = pattern.split(text)
    found: dict[str, str] = {}
    for mark, value in zip(parts[1::2], parts[2::2], strict=True):
        if value.strip("/ "):
            found.setdefault(mark, value.strip("/ "))
    return found


def _details(
    *, name: str | None, account: str | None, bank: str | None, reference: str | None, remittance: str | None
) -> EntryDetails:
    party = Party(
        name=(name or "").strip() or None,
        account_number=normal_account_number(account) if account else None,
        bank_code=(bank or "").strip() or None,
    )
    return EntryDetails(party, given(reference), (remittance or "").strip()[:REMITTANCE_CHARS_MAX] or None)
