"""The arguments of each command, as an approval keeps them, and what an approver reads."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Self

import msgspec

from tidegate.collection.reason import RETURN_CHOICES, InflowReason
from tidegate.core.errors import Invalid, Problem
from tidegate.core.fee import FeeOnRefund, FeeRule
from tidegate.core.money import Currency, Money
from tidegate.merchant.key_terms import KeyRequest
from tidegate.merchant.model import KeyPrint
from tidegate.refund.model import RefundRate
from tidegate.staff.permission import StaffRole
from tidegate.webhook.model import EndpointStatus

_RATES = {RefundRate.CREDIT: "the rate of its credit", RefundRate.TODAY: "today's rate"}


class NoArguments(msgspec.Struct, frozen=True, kw_only=True):
    pass


class ReturnArguments(msgspec.Struct, frozen=True, kw_only=True):
    """What the payer's bank is told."""

    reason: InflowReason = InflowReason.REVIEW_REFUSED

    @classmethod
    def of(cls, text: str) -> Self:
        if text not in RETURN_CHOICES:
            raise Invalid(Problem("reason", f"The reason is one of {', '.join(RETURN_CHOICES)}."))
        return cls(reason=InflowReason(text))


def return_words(arguments: ReturnArguments) -> str:
    return f"Return a held inflow to its payer: {arguments.reason.sentence} ({arguments.reason.return_code})"


class ApprovalArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Of an account that is approved: permanent, or until then."""

    expires_at: datetime | None = None


class PartialArguments(msgspec.Struct, frozen=True, omit_defaults=True):
    """Those that are absent stay."""

    @property
    def changes(self) -> dict[str, Any]:
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class SettingArguments(PartialArguments, frozen=True, kw_only=True):
    """Settings of a merchant that widen what it may do, or what is credited."""

    status: str | None = None
    rate_per_second: int | None = None
    rate_burst: int | None = None
    variance_policy: str | None = None
    variance_tolerance_minor: int | None = None
    inflow_name_policy: str | None = None
    redirect_hosts: list[str] | None = None
    checkout_origins: list[str] | None = None


class PriceArguments(msgspec.Struct, frozen=True, kw_only=True):
    currency: Currency
    method: str
    basis_points: int
    vat_basis_points: int
    fixed_minor: int = 0
    cap_minor: int | None = None
    on_refund: FeeOnRefund = FeeOnRefund.KEPT


class KeyArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The secret was shown to the one who proposed it, and works once it is approved."""

    request: KeyRequest
    secret: KeyPrint


class RollArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Of a restricted key, or of the key with all rights."""

    secret: KeyPrint
    overlap_s: int
    key_id: int | None = None


def subject_of_roll(key_id: int | None) -> str:
    return "main" if key_id is None else f"key/{key_id}"


class RateArguments(msgspec.Struct, frozen=True, kw_only=True):
    base: Currency
    quote: Currency
    rate: Decimal
    source: str
    spread_basis_points: int = 0
    # When it was proposed, unless it says: an old proposal makes an old rate.
    quoted_at: datetime | None = None


class ImportArguments(msgspec.Struct, frozen=True, kw_only=True):
    rates: list[RateArguments]


class EndpointArguments(msgspec.Struct, frozen=True, kw_only=True):
    """A new endpoint. Its secret is the merchant's, who makes one by rotating it."""

    url: str
    events: tuple[str, ...]
    description: str | None = None
    rate_per_second: int


class EndpointChanges(PartialArguments, frozen=True, kw_only=True):
    """Where a merchant's data is sent, and which."""

    url: str | None = None
    events: tuple[str, ...] | None = None
    status: EndpointStatus | None = None


class StaffArguments(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    role: StaffRole


class AssignArguments(msgspec.Struct, frozen=True, kw_only=True):
    """To a payment, by pay code or merchant reference, or to a virtual account."""

    business_id: str
    payment: str | None = None
    account_id: str | None = None


class TakeBackArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Of an entry by which a bank takes money back: the credit that it means, by its id at the rail."""

    credit: str


class PayoutArguments(msgspec.Struct, frozen=True, kw_only=True):
    """What the approver reads; where it goes is in the payment itself, from where a payer can be erased."""

    amount: str
    account_ends: str


class OperatorRefund(msgspec.Struct, frozen=True, kw_only=True):
    """Without an amount: the excess of an overpayment, otherwise all that remains."""

    amount: Decimal | None = None
    # Read by the customer.
    reason: str | None = None
    # Of an inflow that was converted.
    rate: RefundRate | None = None


class RefundEndArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the payer has the money, as the operator found out at the rail, and its identifier there."""

    is_paid: bool
    sent_as: str | None = None


class ReturnEndArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The identifier of what was paid back, where there is one."""

    sent_as: str | None = None


class DisputeEndArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Who has the money, as the operator found out at the rail."""

    is_won: bool


def percent_of(basis_points: int) -> str:
    return f"{basis_points // 100}.{basis_points % 100:02d} %"


def fee_words(rule: FeeRule | PriceArguments, currency: Currency) -> str:
    fixed = f" + {Money(rule.fixed_minor, currency)}" if rule.fixed_minor else ""
    cap = f", at most {Money(rule.cap_minor, currency)}" if rule.cap_minor is not None else ""
    returned = ", given back with a refund" if rule.on_refund is FeeOnRefund.RETURNED else ""
    vat = f", VAT {percent_of(rule.vat_basis_points)}" if rule.vat_basis_points else ", no VAT"
    return f"{percent_of(rule.basis_points)}{fixed}{cap}{vat}{returned}"


def setting_words(wanted: SettingArguments) -> str:
    return "Reinstate a merchant" if wanted.changes == {"status": "active"} else "Change a merchant's settings"


def key_words(wanted: KeyArguments) -> str:
    return f"Make the key {wanted.request.name} with the rights {', '.join(wanted.request.scopes)}"


def roll_words(wanted: RollArguments) -> str:
    which = "the key with all rights" if wanted.key_id is None else f"key {wanted.key_id}"
    until = f"after {wanted.overlap_s / 3600:g} hours" if wanted.overlap_s else "at once"
    return f"Replace {which}; the old one ends {until}"


def rate_words(rate: RateArguments) -> str:
    return f"Set the rate of {rate.base} in {rate.quote}"


def import_words(wanted: ImportArguments) -> str:
    spreads = {one.spread_basis_points for one in wanted.rates}
    return f"Set the rates of a file, spread {', '.join(map(percent_of, sorted(spreads)))}"


def refund_words(wanted: OperatorRefund) -> str:
    at = f" at {_RATES[wanted.rate]}" if wanted.rate else ""
    return f"Refund{' what remains' if wanted.amount is None else ''} for the merchant{at}"


def refund_end_words(wanted: RefundEndArguments) -> str:
    how = "the payer has the money" if wanted.is_paid else "it was not paid, and goes back to the merchant's wallet"
    return f"End a refund by hand: {how}{_sent_as(wanted.sent_as)}"


def return_end_words(wanted: ReturnEndArguments) -> str:
    return f"End a return by hand: it was paid back{_sent_as(wanted.sent_as) or ' by another way'}"


def _sent_as(identifier: str | None) -> str:
    return f", as {identifier}" if identifier else ""


def dispute_end_words(wanted: DisputeEndArguments) -> str:
    how = (
        "won, what is held goes back to the merchant's wallet" if wanted.is_won else "lost, the merchant's wallet pays"
    )
    return f"End a dispute by hand: {how}"


def payout_words(wanted: PayoutArguments) -> str:
    return f"Pay {wanted.amount} by the bank to the account that ends in {wanted.account_ends}"


def shown(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, list | tuple) else str(value)
