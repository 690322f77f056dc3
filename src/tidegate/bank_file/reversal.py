"""Which credit a bank takes back, as pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

import msgspec

from tidegate.rail.bankfiles.continuity import KnownStatement, gaps_in
from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.bankfiles.model import BankEntry

BY_TRANSACTION_ID, BY_PAYERS_ID = 2, 3
# A credit may be recalled for 13 months.
RECALLED_WITHIN = timedelta(days=400)


class CreditFound(msgspec.Struct, frozen=True, kw_only=True):
    """A credit that no other debit took back, and that has an identifier in common with this one."""

    key: str
    destination: str
    booked_on: date
    amount: Decimal
    currency: str
    payer: str | None
    # How certain the identifier is: the lowest decides.
    rank: int
    end_to_end_id: str | None
    payer_account: str | None

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency} of {self.booked_on} from {self.payer or 'an unknown payer'}"


def fitting(taken_back: BankEntry, found: Sequence[CreditFound]) -> list[CreditFound]:
    """Those by the most certain identifier; a contradicted one is not replaced by a less certain one."""
    rank = min((one.rank for one in found), default=0)
    return [one for one in found if one.rank == rank and not _is_contradicted(taken_back, one)]


def missing_before(taken_back: BankEntry, statements: Sequence[KnownStatement]) -> str | None:
    """Why a credit that is meant may not have come yet. `statements` are the account's binding ones, in the order in
    which they came, with the one that the debit stands in.
    """
    if not taken_back.is_stated and not any(one.day >= taken_back.booked_on for one in statements):
        return "the statement of its day has not come"
    since = taken_back.booked_on - RECALLED_WITHIN
    return "statements before it are missing" if gaps_in(one for one in statements if one.day >= since) else None


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
