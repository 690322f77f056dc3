"""A virtual account and its transitions, as pure functions: from an account to an account, or a refusal."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import assert_never

import msgspec

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.errors import IllegalTransition
from tidegate.core.money import Currency
from tidegate.rail.interface import AccountDetails

ID = re.compile("[0-9a-f]{24}")


class AccountStatus(DescribedEnum):
    PENDING = "pending", "Requested; the operator has not decided."
    APPROVED = "approved", "Open: it has an account number and takes money."
    DECLINED = "declined", "Refused by the operator; `reason` says why."
    EXPIRED = "expired", "Past `expiresAt`; money that arrives is returned."
    CLOSED = "closed", "Closed for good; money that arrives is returned."


class AccountType(DescribedEnum):
    INDIVIDUAL = "individual", "Held by a person."
    CORPORATE = "corporate", "Held by a company."


class DocumentType(DescribedEnum):
    """The field of the record that shows the document."""

    MEANS_OF_ID = "meansOfId", "Passport, identity card or similar."
    BANK_STATEMENT = "bankStatement", "A bank statement."
    UTILITY_BILL = "utilityBill", "A bill that proves the address."
    ATTACHMENT = "attachment", "Any other document."


class KycDocument(msgspec.Struct, frozen=True, kw_only=True):
    type: DocumentType
    name: str
    url: str


class Account(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    id: str
    version: int = 0
    status: AccountStatus = AccountStatus.PENDING
    is_suspended: bool = False
    currency: Currency
    # Currency of the wallet that is credited.
    settlement_currency: Currency
    account_type: AccountType
    # The name that payers must type.
    holder: str
    merchant_reference: str | None = None
    # As the merchant sent them: JSON text.
    kyc: str = "{}"
    metadata: str | None = None
    documents: tuple[KycDocument, ...] = ()
    monthly_volume: str | None = None
    entity_name: str | None = None
    payment_flow_description: str | None = None
    note: str | None = None
    # Why it was declined, suspended or closed.
    reason: str | None = None
    rail: str | None = None
    details: AccountDetails | None = None
    expires_at: datetime | None = None
    # Belongs to one payment attempt and ends with it.
    is_temporary: bool = False
    created_at: datetime
    updated_at: datetime

    @property
    def is_permanent(self) -> bool:
        return self.expires_at is None and not self.is_temporary

    def has_expired(self, now: datetime) -> bool:
        is_over = self.expires_at is not None and self.expires_at <= now
        return self.status is AccountStatus.EXPIRED or (self.status is AccountStatus.APPROVED and is_over)

    def is_active(self, now: datetime) -> bool:
        return self.block_reason(now) is None

    def block_reason(self, now: datetime) -> BlockReason | None:
        """Why the account accepts no money; None when it does."""
        if self.has_expired(now):
            return BlockReason.EXPIRED
        if self.is_suspended:
            return BlockReason.SUSPENDED
        match self.status:
            case AccountStatus.APPROVED:
                return None
            case AccountStatus.CLOSED:
                return BlockReason.CLOSED
            case AccountStatus.PENDING | AccountStatus.DECLINED | AccountStatus.EXPIRED:
                return BlockReason.NOT_OPEN
        assert_never(self.status)


class BlockReason(StrEnum):
    SUSPENDED = "suspended"
    EXPIRED = "expired"
    CLOSED = "closed"
    NOT_OPEN = "not_open"


class AccountAction(StrEnum):
    """Done by an operator, or by the worker when the account expires."""

    APPROVE = "approve"
    DECLINE = "decline"
    SUSPEND = "suspend"
    REINSTATE = "reinstate"
    CLOSE = "close"
    EXPIRE = "expire"


def approve(account: Account, details: AccountDetails, *, rail: str, expires_at: datetime | None = None) -> Account:
    refuse_unless_allowed(account, AccountAction.APPROVE)
    return msgspec.structs.replace(
        account, status=AccountStatus.APPROVED, rail=rail, details=details, expires_at=expires_at, reason=None
    )


def decline(account: Account, reason: str) -> Account:
    refuse_unless_allowed(account, AccountAction.DECLINE)
    return msgspec.structs.replace(account, status=AccountStatus.DECLINED, reason=reason)


def suspend(account: Account, reason: str) -> Account:
    refuse_unless_allowed(account, AccountAction.SUSPEND)
    return msgspec.structs.replace(account, is_suspended=True, reason=reason)


def reinstate(account: Account) -> Account:
    refuse_unless_allowed(account, AccountAction.REINSTATE)
    return msgspec.structs.replace(account, is_suspended=False, reason=None)


def close(account: Account, reason: str) -> Account:
    refuse_unless_allowed(account, AccountAction.CLOSE)
    return msgspec.structs.replace(account, status=AccountStatus.CLOSED, is_suspended=False, reason=reason)


def expire(account: Account) -> Account:
    refuse_unless_allowed(account, AccountAction.EXPIRE)
    return msgspec.structs.replace(account, status=AccountStatus.EXPIRED, is_suspended=False)


def allowed(account: Account) -> frozenset[AccountAction]:
    """The actions that its state permits."""
    match account.status:
        case AccountStatus.PENDING:
            return frozenset({AccountAction.APPROVE, AccountAction.DECLINE})
        case AccountStatus.APPROVED:
            toggle = AccountAction.REINSTATE if account.is_suspended else AccountAction.SUSPEND
            return frozenset({toggle, AccountAction.CLOSE, AccountAction.EXPIRE})
        case AccountStatus.EXPIRED:
            return frozenset({AccountAction.CLOSE})
        case AccountStatus.DECLINED | AccountStatus.CLOSED:
            return frozenset()
    assert_never(account.status)


def refuse_unless_allowed(account: Account, action: AccountAction) -> None:
    possible = allowed(account)
    if action in possible:
        return
    state = "suspended" if account.is_suspended else account.status.value
    choices = " or ".join(sorted(possible - {AccountAction.EXPIRE}))
    advice = f"you can {choices} it" if choices else "that is final; request a new account"
    raise IllegalTransition(f"this account is {state}, so you cannot {action.value} it: {advice}")
