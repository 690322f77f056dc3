"""Which credit a bank takes back, as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.bankfiles.model import BankEntry

BY_TRANSACTION_ID = 2


class CreditFound(msgspec.Struct, frozen=True, kw_only=True):
    """A credit that no other debit took back, and that has an identifier in common with this one."""

    key: str
    destination: str
    # How certain the identifier is: the lowest decides.
    rank: int
    end_to_end_id: str | None
    payer_account: str | None


def fitting(taken_back: BankEntry, found: Sequence[CreditFound]) -> list[CreditFound]:
    """Those by the most certain identifier; a contradicted one is not replaced by a less certain one."""
    rank = min((one.rank for one in found), default=0)
    return [one for one in found if one.rank == rank and not _is_contradicted(taken_back, one)]


def _is_contradicted(taken_back: BankEntry, credit: CreditFound) -> bool:
    """Banks of payers use their identifiers again. A UETR is never used again."""
    if credit.rank != BY_TRANSACTION_ID:
        return False
    account = taken_back.counterparty.account_number
    if account in (taken_back.account, credit.destination):
        # The parties of the credit, as some banks write them in its reversal: the recipient is the operator.
        account = None
    facts = [
        (given(taken_back.end_to_end_id), given(credit.end_to_end_id)),
        (account, credit.payer_account),
    ]
    return any(one and two and one != two for one, two in facts)
