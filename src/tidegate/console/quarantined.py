"""What a notification in quarantine is about: the money that the rail said something else of before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tidegate.console import find_store
from tidegate.console.find import find_by_our_name, page_of_result, state_of
from tidegate.console.find_store import SearchResult, Sought
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.intake.contradiction import FieldVersions
from tidegate.intake.store import QuarantinedNotice
from tidegate.rail.notification_store import refund_in_doubt, return_in_doubt

# A rail calls money by few names; each is looked for.
KEYS_MAX = 4
# What is shorter may also be the beginning of a sender's name.
KEY_CHARS_MIN = 8
_OURS = re.compile(f"(?:{refund_in_doubt('')}|{return_in_doubt('')})(.+)")
_IN_NOTE = re.compile(r"(?:\bof )?(\S+) was (?:recorded|reversed|taken back)")
_KEYS = frozenset({"transactionid", "transaction_id", "reference", "depositid", "payoutid", "refundid", "id"})


class QuarantineCase(NamedTuple):
    """Ready for a template."""

    notice: QuarantinedNotice
    body: str
    versions: list[FieldVersions]
    # None where no money of ours has any of its names.
    about: SearchResult | None
    page: str
    state: tuple[str, str]
    amount: Money | None

    @property
    def booked(self) -> str:
        """What the books have of it."""
        if self.about is None:
            return "No money that we know has its names: nothing was booked by it."
        if self.about.kind == "refund" or self.notice.id.startswith(return_in_doubt("")):
            return "It was booked as asked for. What the rail says now is not booked, and ends nothing."
        return "What the rail said first is booked, as its page shows. What it said then is not."


async def case_of(tx: Tx, notice: QuarantinedNotice, *, rails: Sequence[str]) -> QuarantineCase:
    versions = notice.versions
    about = await _about(tx, keys_of(notice, versions), rails)
    body = (notice.body or b"").decode("utf-8", "replace")
    if about is None:
        return QuarantineCase(notice, body, versions, None, "", ("", ""), None)
    amount = Money(about.minor, Currency(about.currency)) if about.minor is not None and about.currency else None
    return QuarantineCase(notice, body, versions, about, page_of_result(about), state_of(about), amount)


def keys_of(notice: QuarantinedNotice, versions: Sequence[FieldVersions]) -> list[str]:
    """The names by which its money may be known: those of the first version before those of the second."""
    ours, noted = _OURS.fullmatch(notice.id), _IN_NOTE.search(notice.note or "")
    named = [one for one in versions if one.name.rpartition(".")[2].lower() in _KEYS]
    found = [
        *([ours[1]] if ours else []),
        *([noted[1]] if noted else []),
        *(one.first for one in named),
        *(one.then for one in named),
    ]
    return list(dict.fromkeys(key for key in found if key))[:KEYS_MAX]


async def _about(tx: Tx, keys: Sequence[str], rails: Sequence[str]) -> SearchResult | None:
    for key in keys:
        sought = Sought(key, email=None, amounts=(), references=(), number=None, account_number=key)
        found = [
            *await find_by_our_name(tx, key),
            *await find_store.find_by_transaction(tx, key, rails=rails),
            *(await find_store.find_waiting(tx, sought) if len(key) >= KEY_CHARS_MIN else []),
        ]
        if found:
            return found[0]
    return None
