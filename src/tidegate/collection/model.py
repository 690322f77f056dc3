"""An inflow, and what was done with it."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

import msgspec

from tidegate.account.model import Account
from tidegate.account.name_rule import NameCheck
from tidegate.collection.rate import Rate
from tidegate.collection.reason import InflowReason
from tidegate.core.fee import Fee
from tidegate.core.money import Currency, Money
from tidegate.ledger.model import Journal
from tidegate.merchant.model import Business
from tidegate.money_return.model import GoingBack
from tidegate.rail.interface import Party
from tidegate.rail.told import ToldBy
from tidegate.webhook.model import Event

REFERENCE = re.compile("[A-Za-z0-9_]{1,100}")


class CollectionStatus(StrEnum):
    PENDING = "pending"  # held for review
    SUCCESSFUL = "successful"
    REVERSED = "reversed"  # sent back, or taken back by the bank
    FAILED = "failed"  # taken back by the bank before it was credited


class Exchanged(msgspec.Struct, frozen=True, kw_only=True):
    """At which rate it was converted, and what of it we kept."""

    rate: Decimal
    source: str
    quoted_at: datetime
    spread: Money


class Credited(msgspec.Struct, frozen=True, kw_only=True):
    """`gross` is all of it in the wallet's currency; `net` is what the wallet got."""

    gross: Money
    fee: Fee
    fee_rule_id: str
    exchanged: Exchanged | None = None

    @property
    def net(self) -> Money:
        return self.gross - self.fee.total


class SentBack(msgspec.Struct, frozen=True, kw_only=True):
    """Two facts: it was asked for, and the rail confirmed that it left."""

    reference: str
    asked_at: datetime
    confirmed_at: datetime | None = None


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    # Given by the database; 0 for one that is not written yet.
    id: int = 0
    business_id: str
    reference: str
    version: int = 0
    account_id: str
    merchant_reference: str | None
    status: CollectionStatus
    reason: InflowReason | None = None
    # When it goes back unless it was decided on.
    held_until: datetime | None = None
    # An operator's words on the decision.
    note: str | None = None
    amount: Money
    destination_currency: Currency
    credited: Credited | None = None
    # By its merchant: under way, or arrived.
    refunded: Money | None = None
    # What the bank took back when the wallet no longer held it; in the wallet's currency.
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
    sent_back: SentBack | None = None
    created_at: datetime
    updated_at: datetime

    @property
    def cause(self) -> str:
        """What its journals are posted for."""
        return f"{self.rail}/{self.transaction_id}"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision is made on: the account, whose it is, and the newest rate into its wallet, if it needs one."""

    account: Account
    business: Business
    rate: Rate | None
    # The bank has told that it took this money back, before it told of the money.
    is_taken_back: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """An inflow as it shall be, with everything that must be written together with it or not at all."""

    collection: Collection
    now: datetime
    journal: Journal
    going_back: GoingBack | None = None
    event: Event | None = None
    told_by: ToldBy | None = None
