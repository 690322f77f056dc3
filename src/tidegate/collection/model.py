"""An inflow and its outcome."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

import msgspec

from tidegate.account.model import Account
from tidegate.account.name_rule import NameCheck
from tidegate.collection.rate import Rate
from tidegate.collection.reason import InflowReason
from tidegate.core.described_enum import DescribedEnum
from tidegate.core.fee import Fee
from tidegate.core.money import Currency, Money
from tidegate.ledger.model import Journal
from tidegate.merchant.model import Business
from tidegate.money_return.model import ReturnRequest
from tidegate.rail.notification import NotificationRef
from tidegate.rail.state import Party
from tidegate.webhook.model import Event

REFERENCE = re.compile("[A-Za-z0-9_]{1,100}")


class CollectionStatus(DescribedEnum):
    PENDING = "pending", "Held for review, not credited."
    SUCCESSFUL = "successful", "Credited to your wallet."
    REVERSED = "reversed", "Returned to the payer, or taken back by the bank."
    FAILED = "failed", "Taken back by the bank before it was credited."


class AppliedRate(msgspec.Struct, frozen=True, kw_only=True):
    """The rate of the conversion, and our spread."""

    rate: Decimal
    source: str
    quoted_at: datetime
    spread: Money


class Credited(msgspec.Struct, frozen=True, kw_only=True):
    """`gross` is the whole amount in the wallet's currency; `net` was credited to the wallet."""

    gross: Money
    fee: Fee
    fee_rule_id: str
    applied_rate: AppliedRate | None = None

    @property
    def net(self) -> Money:
        return self.gross - self.fee.total


class InflowReturn(msgspec.Struct, frozen=True, kw_only=True):
    """Two facts: the return was requested, and the rail confirmed it."""

    reference: str
    asked_at: datetime
    confirmed_at: datetime | None = None


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    # Assigned by the database; 0 before the insert.
    id: int = 0
    business_id: str
    reference: str
    version: int = 0
    account_id: str
    merchant_reference: str | None
    status: CollectionStatus
    reason: InflowReason | None = None
    # Why it was held, the first reason first; a decision leaves it.
    held_for: tuple[InflowReason, ...] = ()
    # When it is returned unless it was decided.
    held_until: datetime | None = None
    # The operator's note on the decision.
    note: str | None = None
    amount: Money
    destination_currency: Currency
    credited: Credited | None = None
    # Refunded by the merchant: processing or successful.
    refunded: Money | None = None
    # Reversed by the bank and not covered by the wallet; in the wallet's currency.
    owed: Money | None = None
    rail: str
    # The bank's own.
    transaction_id: str
    payer: Party
    payee_name: str | None
    scheme: str
    remittance: str | None
    valued_at: datetime
    name_check: NameCheck
    sent_back: InflowReturn | None = None
    created_at: datetime
    updated_at: datetime

    @property
    def cause(self) -> str:
        """The cause of its journals."""
        return f"{self.rail}/{self.transaction_id}"


class AccountSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a decision: the account, its business, and the newest rate into its wallet, if it needs one."""

    account: Account
    business: Business
    rate: Rate | None
    # The bank's reversal was notified before the credit itself.
    is_taken_back: bool = False


class CollectionChange(msgspec.Struct, frozen=True, kw_only=True):
    """An inflow after a decision, with everything that is written in the same transaction."""

    collection: Collection
    now: datetime
    journal: Journal
    going_back: ReturnRequest | None = None
    event: Event | None = None
    ref: NotificationRef | None = None
