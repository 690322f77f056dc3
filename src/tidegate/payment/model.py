"""A checkout payment and the rules on it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from tidegate.core import ids
from tidegate.core.described_enum import DescribedEnum
from tidegate.core.fee import Fee, FeeBearer, amount_expected
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.merchant.model import Business
from tidegate.payment.variance import Variance


class PaymentStatus(DescribedEnum):
    INITIATED = "initiated", "Created; the customer has not chosen a method."
    PENDING = "pending", "A method was chosen; waiting for the customer."
    PROCESSING = "processing", "The bank or operator has the charge; the outcome is not known."
    SUCCESS = "success", "Money was received. Final; check `varianceType`."
    FAILED = "failed", "The customer cancelled, or used up all attempts. Final."
    EXPIRED = "expired", "Not paid in time. Final."


class Ending(DescribedEnum):
    """Why a payment failed finally."""

    CANCELLED = "cancelled", "The customer cancelled."
    ATTEMPTS_USED_UP = "attempts_used_up", "No attempt is left for any method."


class Customer(msgspec.Struct, frozen=True):
    name: str
    email: str
    phone: str | None


class PaymentOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The merchant's request, validated and complete. `metadata` is JSON text, as sent."""

    reference: str | None
    asked: Money
    fee_bearer: FeeBearer
    methods: tuple[Method, ...]
    default_method: Method
    customer: Customer
    redirect_url: str | None
    success_message: str | None
    metadata: str | None

    def fingerprint(self) -> bytes:
        """Equal for equal orders: distinguishes a repeated request from another one with the same reference."""
        return hashlib.blake2b(msgspec.json.encode(self), digest_size=16).digest()


class Payment(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    business_id: str
    pay_code: str
    status: PaymentStatus
    variance: Variance | None
    order: PaymentOrder
    reference: str
    expected: Money
    fee_rule_id: str
    # In the payment's currency, as are all amounts below.
    received: Money
    held: Money
    returned: Money
    # Refunds by the merchant, in progress or paid out.
    refunded: Money
    # Reversed by the payer's bank.
    reversed: Money
    fee: Fee | None
    settled: Money | None
    method_chosen: Method | None
    attempts: int
    # Methods without attempts are left out.
    attempts_by_method: Mapping[Method, int]
    ending: Ending | None
    is_disabled: bool
    version: int
    paid_at: datetime | None
    expires_at: datetime
    created_at: datetime
    updated_at: datetime

    @property
    def is_reversed(self) -> bool:
        """True only when all of it is reversed."""
        return self.reversed.minor > 0 and self.reversed == self.received


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A payment before the insert, which assigns its id."""

    business_id: str
    pay_code: str
    reference: str
    order: PaymentOrder
    expected: Money
    fee_rule_id: str
    fingerprint: bytes
    created_at: datetime
    expires_at: datetime
    payment_link_id: str | None = None


def draft(order: PaymentOrder, business: Business, *, now: datetime, payment_link_id: str | None = None) -> Draft:
    pay_code = ids.new_pay_code(business.code)
    # The payer may choose another method; until then the default method sets the price.
    rule = business.fee_rule_for(order.asked.currency, order.default_method)
    return Draft(
        business_id=business.id,
        pay_code=pay_code,
        reference=order.reference or pay_code,
        order=order,
        expected=amount_expected(order.asked, order.fee_bearer, rule),
        fee_rule_id=rule.id,
        fingerprint=order.fingerprint(),
        created_at=now,
        expires_at=now + timedelta(minutes=business.session_minutes),
        payment_link_id=payment_link_id,
    )
