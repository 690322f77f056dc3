"""What was found wrong with the books, for a person: in words, where to look, and what to do. Pure."""

from __future__ import annotations

from typing import NamedTuple


class BooksFault(NamedTuple):
    words: str
    # Below the console.
    page: str
    advice: str


_WRITTEN = "Stop payouts, and find out what wrote this to the database: no command of Tidegate does."
_FAULTS = {
    "quarantine": BooksFault(
        "A rail contradicts itself",
        "/suspense",
        "Ask the rail which of its notifications is right, then propose to close them under Suspense & quarantine; of "
        "a refund or a return, propose its end under Refunds & returns. Nothing was booked by them.",
    ),
    "failed returns": BooksFault(
        "Money could not be sent back",
        "/stuck",
        "Pay it back by another way, then propose the return's end under Refunds & returns.",
    ),
    "sessions": BooksFault(
        "Payments are open beyond their time",
        "/jobs",
        "Look under Jobs whether a worker runs, and what failed.",
    ),
    "audit trail": BooksFault("The audit trail was changed", "/audit", _WRITTEN),
    "chain": BooksFault("Journals were changed after they were linked", "/books", _WRITTEN),
    "journals": BooksFault("Journals do not balance", "/books", _WRITTEN),
    "ledger": BooksFault("The ledger does not sum to zero", "/books", _WRITTEN),
    "wallets": BooksFault("A wallet is not the sum of its entries", "/books", _WRITTEN),
    "statements": BooksFault("A balance does not follow from the entries before it", "/books", _WRITTEN),
    "overdrafts": BooksFault("A wallet is below zero", "/books", _WRITTEN),
}
_REPORT = "Leave the database unchanged and report it: this is a mistake in Tidegate. Stop payouts of these merchants."


def fault_of(subject: str) -> BooksFault:
    return _FAULTS.get(subject) or BooksFault(f"The books are wrong about {subject}", "/books", _REPORT)


def sentence_of(finding: str) -> str:
    """Of a finding that a proof has kept, which is its subject and what it found."""
    subject, _, what = finding.partition(": ")
    return f"{fault_of(subject).words}: {what}"
