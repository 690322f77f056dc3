"""An approval, and the pure rule when a refund of a merchant needs one."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.member import permission
from tidegate.member.permission import Grant, Permission, Role
from tidegate.member.realm import Realm

LASTS = timedelta(days=3)
# A checkout takes at most about 65,000 US dollars: about 325 of them.
_SHARE_OF_MAX = 200
_WITHOUT_CHECKOUT_MAJOR = 300


class RefundStep(StrEnum):
    """What pressing the button does."""

    DO = "do"
    PROPOSE = "propose"


class RefundArguments(msgspec.Struct, frozen=True, kw_only=True):
    currency: Currency
    amount_minor: int
    reason: str | None = None
    note: str | None = None


_refund = msgspec.json.Decoder(RefundArguments)


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A command that one person asks for, on the version of its subject that was seen."""

    business_id: str
    realm: Realm
    command: str
    # What it decides about its subject. Of the staff's proposals one is open at a time.
    topic: str
    subject: str
    version: int
    arguments: msgspec.Struct
    # JSON: what is known of it now, to be read when it is decided.
    facts: str = "[]"
    reason: str
    asked_by: str


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What one person asks for and another one allows."""

    business_id: str
    id: int
    realm: str
    command: str
    subject: str
    subject_version: int
    # JSON, both.
    arguments: str
    facts: str
    reason: str
    asked_by: str
    asked_by_name: str
    asked_at: datetime
    expires_at: datetime
    status: str
    decided_by: str | None
    decided_by_name: str | None
    decided_at: datetime | None
    outcome: str | None

    def is_open(self, now: datetime) -> bool:
        return self.status == "open" and now < self.expires_at

    @property
    def is_taken_back(self) -> bool:
        """Ended by the person who asked, as others decline it."""
        return self.status == "declined" and self.decided_by == self.asked_by

    @property
    def ending(self) -> str:
        return "taken back" if self.is_taken_back else self.status

    @property
    def refund(self) -> RefundArguments:
        """Of a merchant's refund."""
        return _refund.decode(self.arguments)

    @property
    def amount(self) -> Money:
        return Money(self.refund.amount_minor, self.refund.currency)


class WaitingRequest(NamedTuple):
    """Of a merchant's people."""

    request: ApprovalRequest
    # Names of those who may approve it.
    approvers: tuple[str, ...]
    # The merchant's own reference of the payment, or that of the inflow.
    reference: str
    # The payment or inflow has changed since: it can only be declined.
    is_outdated: bool
    # That wait about the same payment or inflow: the first that is approved voids them.
    others: int = 0


class DecidedRequest(NamedTuple):
    """Of a merchant's people."""

    request: ApprovalRequest
    # The merchant's own reference of the payment, or that of the inflow.
    reference: str


def default_limit(currency: Currency) -> Money:
    offer = currency.spec.checkout
    return Money.of_major(offer.max_major // _SHARE_OF_MAX if offer else _WITHOUT_CHECKOUT_MAJOR, currency)


def step_for(role: Role, amount: Money, *, limit: Money, other_approvers: int) -> RefundStep:
    """Without another approver there is no limit: the owner of a shop of one refunds alone."""
    if permission.grant(role, Permission.REFUND) is Grant.PROPOSES:
        return RefundStep.PROPOSE
    return RefundStep.PROPOSE if other_approvers > 0 and limit < amount else RefundStep.DO
