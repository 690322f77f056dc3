"""Accounts, entries and journals.

Sign: an entry is positive when we owe more or have earned more, negative when more is owed to us. So a wallet's
entry is positive when the merchant has more, and money at a rail, which the rail owes us, is a negative sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from tidegate.core import ids
from tidegate.core.described_enum import DescribedEnum
from tidegate.core.money import Currency, Money

# Money that cannot be attributed to a business is booked under this one, which has no keys.
PLATFORM_BUSINESS_ID = ids.PLATFORM_BUSINESS_ID
ROUNDING_MINOR_MAX = 1


class LedgerAccount(StrEnum):
    """Accounts within a business: each business has all of them. Only wallets keep a balance row."""

    WALLET = "wallet"  # what we owe the merchant
    RAIL = "rail"  # cash at the rail: what the rail owes us
    FEE = "fee"  # what we earned
    VAT = "vat"  # what we owe the tax office on it
    SUSPENSE = "suspense"  # received; owner unknown or not yet decided
    RETURNS = "returns"  # to be returned: requested, not yet confirmed
    REFUNDS = "refunds"  # refunds on their way out; a wallet shows them as locked
    DISPUTES = "disputes"  # held while a bank decides on a dispute; a wallet shows them as locked
    CONVERSION = "conversion"  # what we bought in one currency and sold in another
    SPREAD = "spread"  # what we earned on a conversion
    ROUNDING = "rounding"  # the minor unit that does not divide
    EXCHANGE = "exchange"  # gained, or lost when negative, by refunds at another rate than that of their day


class JournalKind(DescribedEnum):
    """Every movement of money; each has its posting in `postings.py`."""

    CHECKOUT_SETTLED = "checkout_settled", "A checkout payment was credited."
    INFLOW_CREDITED = "inflow_credited", "An inflow was credited in its own currency."
    INFLOW_CONVERTED = "inflow_converted", "An inflow was converted and credited."
    RECEIPT_HELD = "receipt_held", "Money was received and waits: for a decision, or for the rest of a payment."
    RECEIPT_UNCLAIMED = "receipt_unclaimed", "Money arrived that belongs to no account."
    HELD_SETTLED = "held_settled", "Held money was credited."
    HELD_CONVERTED = "held_converted", "A held inflow was converted and credited."
    HELD_RETURNING = "held_returning", "Held money is being returned."
    RECEIPT_RETURNING = "receipt_returning", "Money that could not be kept is being returned."
    RETURN_DONE = "return_done", "The bank confirmed a return."
    RETURN_OFFSET = "return_offset", "The bank took back money that it was to return."
    REFUND_STARTED = "refund_started", "A refund was debited."
    REFUND_DONE = "refund_done", "The bank confirmed a refund."
    REFUND_CONVERTED = "refund_converted", "The bank confirmed a refund in another currency than the wallet's."
    REFUND_FAILED = "refund_failed", "A refund failed and was credited again."
    CREDIT_REVERSED = "credit_reversed", "The bank took back money that had been credited."
    HELD_REVERSED = "held_reversed", "The bank took back money that was held."
    DISPUTE_HELD = "dispute_held", "A payment is disputed; its amount is held."
    DISPUTE_RELEASED = "dispute_released", "The amount held for a dispute was released."
    DEBT_COLLECTED = "debt_collected", "What the wallet owed was deducted from new money."
    UNCLAIMED_RELEASED = "unclaimed_released", "Money without an owner was given to one, or settled outside."


class Unbalanced(Exception):
    """These entries are not a valid journal. Always a bug, never a caller's mistake."""


@dataclass(frozen=True, slots=True)
class Entry:
    account: LedgerAccount
    amount: Money


class Columns(NamedTuple):
    """The arguments of `post_journal` in order, between the business and the time."""

    kind: str
    cause: str
    accounts: list[str]
    currencies: list[str]
    amounts_minor: list[int]
    event_at: datetime


@dataclass(frozen=True, slots=True)
class Journal:
    """One movement of money. `cause` identifies its reason; a kind and a cause are posted once per business."""

    kind: JournalKind
    cause: str
    entries: tuple[Entry, ...]
    event_at: datetime

    def __post_init__(self) -> None:
        if not self.entries:
            raise Unbalanced("a journal has at least one entry")
        if any(entry.amount.minor == 0 for entry in self.entries):
            raise Unbalanced("an entry has an amount other than zero")
        places: set[tuple[LedgerAccount, Currency]] = set()
        totals: dict[Currency, int] = {}
        for entry in self.entries:
            currency = entry.amount.currency
            place = (entry.account, currency)
            if place in places:
                raise Unbalanced(f"one line per account and currency, but {place} has more")
            places.add(place)
            totals[currency] = totals.get(currency, 0) + entry.amount.minor
        for currency, minor in totals.items():
            if minor != 0:
                raise Unbalanced(f"the entries in {currency} sum to {minor}")

    def columns(self) -> Columns:
        return Columns(
            kind=self.kind.value,
            cause=self.cause,
            accounts=[entry.account.value for entry in self.entries],
            currencies=[entry.amount.currency.value for entry in self.entries],
            amounts_minor=[entry.amount.minor for entry in self.entries],
            event_at=self.event_at,
        )


@dataclass(frozen=True, slots=True)
class Conversion:
    """The received amount, its worth at the market rate, and its worth at the merchant's rate."""

    received: Money
    worth: Money
    converted: Money
    spread: Money

    def __post_init__(self) -> None:
        if self.received.currency is self.worth.currency:
            raise Unbalanced(f"{self.worth.currency} is not converted to itself")
        if self.worth.minor <= 0 or self.converted.minor < 0:
            raise Unbalanced(f"{self.received} must convert to positive amounts, not {self.worth} and {self.converted}")
        if abs(self.rounding.minor) > ROUNDING_MINOR_MAX:
            raise Unbalanced(f"{self.worth} is not {self.converted} and a spread of {self.spread}")

    @property
    def rounding(self) -> Money:
        """Worth, converted and spread are rounded separately; this is the difference."""
        return self.worth - self.converted - self.spread


@dataclass(frozen=True, slots=True)
class Wallet:
    business_id: str
    number: int
    balance: Money
    locked: Money
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class PostedEntry:
    """An entry as stored. Texts are not parsed: a row that was tampered with must still be readable."""

    line: int
    account: str
    currency: str
    amount_minor: int
    balance_after_minor: int | None


@dataclass(frozen=True, slots=True)
class PostedJournal:
    business_id: str
    id: int
    kind: str
    cause: str
    event_at: datetime
    created_at: datetime
    entries: tuple[PostedEntry, ...]


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A journal's position in the chain of its business."""

    position: int
    journal_id: int
    marks: bytes
    hash: bytes
