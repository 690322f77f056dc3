"""Imported files, and what is decided about their entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from tidegate.rail.bankfiles.arrival import first_look
from tidegate.rail.bankfiles.model import BankEntry, FileKind


class ImportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is the hash of its bytes; `counts` are its entries by state."""

    id: str
    name: str
    kind: str | None
    state: str
    why: str | None
    byte_count: int
    entry_count: int
    received_at: datetime
    counts: Mapping[str, int] = {}


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    file_id: str
    number: int
    keys: tuple[str, ...]
    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency} of entry {self.number} in file {self.file_id[:12]}"


class KeptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with the state in which it is kept."""

    entry: BankEntry
    state: str
    note: str | None


def sorted_out(
    entries: Sequence[BankEntry], known: Iterable[KnownEntry], *, file_id: str, kind: FileKind
) -> list[KeptEntry]:
    """The first with a key is to be recorded; later ones are repeats, or a problem when they say something else."""
    by_key = {key: one for one in known for key in one.keys}
    kept = []
    for entry in entries:
        state, note = first_look(entry, kind)
        if state != "ignored":
            before = _before(entry, by_key, file_id)
            if before is not None:
                is_same = (before.amount, before.currency) == (entry.amount, entry.currency)
                state = "repeat" if is_same else "problem"
                note = f"{'the same as' if is_same else 'it contradicts'} {before}"
                if is_same:
                    # By a key that only the repeat has, a third file is recognised too.
                    for key in entry.keys:
                        by_key.setdefault(key, before)
            else:
                own = KnownEntry(
                    file_id=file_id, number=entry.number, keys=entry.keys, amount=entry.amount, currency=entry.currency
                )
                by_key.update(dict.fromkeys(entry.keys, own))
        kept.append(KeptEntry(entry=entry, state=state, note=note))
    return kept


def _before(entry: BankEntry, by_key: Mapping[str, KnownEntry], file_id: str) -> KnownEntry | None:
    for key in entry.keys:
        found = by_key.get(key)
        # A file whose reading was interrupted finds its own entries.
        if found is not None and not (found.file_id == file_id and found.number >= entry.number):
            return found
    return None
