"""What the emulated Paystack remembers, and its objects as it sends them. Times are of its own clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

CARD_SUCCEEDS = "4084084084084081"
# Card number: how the payment ends, and how its refund ends.
CARDS: dict[str, tuple[str, str]] = {
    CARD_SUCCEEDS: ("success", "processed"),
    "4084080000005408": ("Declined", ""),
    "4084080000670037": ("Insufficient Funds", ""),
    "4084080000671803": ("success", "failed"),
    "4084080000671902": ("success", "needs-attention"),
}
# Mobile numbers that approve by themselves.
APPROVING = ("0551234987", "+254710000000")
OTP = "123456"
FEE_BASIS_POINTS = 150
COUNTRIES = {"NGN": "NG", "GHS": "GH", "ZAR": "ZA", "KES": "KE"}


def timestamp(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000Z" if moment else None


@dataclass
class EmulatedCustomer:
    id: int
    email: str

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "first_name": None,
            "last_name": None,
            "email": self.email,
            "customer_code": f"CUS_{self.id:015d}",
            "phone": None,
            "metadata": None,
            "risk_action": "default",
            "international_format_phone": None,
        }


@dataclass
class EmulatedPayment:
    """A transaction."""

    id: int
    domain: str
    reference: str
    amount: int
    currency: str
    customer: EmulatedCustomer
    channel: str
    created_at: datetime
    status: str = "abandoned"
    requested_amount: int = 0
    fees: int | None = None
    message: str | None = None
    gateway_response: str = "The transaction was not completed"
    paid_at: datetime | None = None
    callback_url: str = ""
    access_code: str = ""
    # Of a transfer.
    account_number: str = ""
    narration: str | None = None
    sender: str = ""
    # When it ends by itself, and how.
    ends_at: datetime | None = None
    ends_with: str = "failed"
    refund_end: str = "processed"
    refunded: int = 0

    @property
    def is_open(self) -> bool:
        return self.status in ("abandoned", "ongoing", "pending")

    def as_json(self) -> dict[str, Any]:
        created_at, paid_at = timestamp(self.created_at), timestamp(self.paid_at)
        return {
            "id": self.id,
            "domain": self.domain,
            "status": self.status,
            "reference": self.reference,
            "receipt_number": None,
            "amount": self.amount,
            "message": self.message,
            "gateway_response": self.gateway_response,
            "paid_at": paid_at,
            "created_at": created_at,
            "channel": self.channel,
            "currency": self.currency,
            "ip_address": "127.0.0.1",
            "metadata": "",
            "log": None,
            "fees": self.fees,
            "fees_split": None,
            "authorization": self._authorization() if self.paid_at else {},
            "customer": self.customer.as_json(),
            "plan": None,
            "split": {},
            "order_id": None,
            "paidAt": paid_at,
            "createdAt": created_at,
            "requested_amount": self.requested_amount,
            "pos_transaction_data": None,
            "source": None,
            "fees_breakdown": None,
            "connect": None,
            "transaction_date": created_at,
            "plan_object": {},
            "subaccount": {},
        }

    def _authorization(self) -> dict[str, Any]:
        own = {
            "authorization_code": f"AUTH_{self.id:010d}",
            "bin": "408408",
            "last4": "4081",
            "exp_month": "12",
            "exp_year": "2030",
            "channel": self.channel,
            "card_type": "visa",
            "bank": "TEST BANK",
            "country_code": COUNTRIES.get(self.currency, "NG"),
            "brand": "visa",
            "reusable": self.channel == "card",
            "signature": f"SIG_{self.id:010d}",
            "account_name": None,
            "receiver_bank_account_number": None,
            "receiver_bank": None,
        }
        if self.channel == "bank_transfer":
            own |= {
                "bin": "008XXX",
                "last4": "X553",
                "card_type": "transfer",
                "bank": None,
                "brand": "Managed Account",
                "sender_country": COUNTRIES.get(self.currency, "NG"),
                "sender_bank": "Demo Bank",
                "sender_bank_account_number": "XXXXXXX553",
                "sender_name": self.sender,
                "narration": self.narration,
                "receiver_bank_account_number": self.account_number,
                "receiver_bank": "Test Bank",
            }
        return own


@dataclass
class EmulatedRefund:
    id: int
    payment: EmulatedPayment
    amount: int
    created_at: datetime
    merchant_note: str
    customer_note: str
    status: str = "pending"
    refunded_at: datetime | None = None

    def as_json(self, *, whole: bool = False) -> dict[str, Any]:
        """A new one has its transaction whole; a listed one its number only."""
        return {
            "integration": 100043,
            "transaction": self.payment.as_json() if whole else self.payment.id,
            "transaction_reference": self.payment.reference,
            "dispute": None,
            "settlement": None,
            "id": self.id,
            "domain": self.payment.domain,
            "currency": self.payment.currency,
            "amount": self.amount,
            "status": self.status,
            "refunded_at": timestamp(self.refunded_at),
            "refunded_by": "tidegate@example.com",
            "customer_note": self.customer_note,
            "merchant_note": self.merchant_note,
            "deducted_amount": self.amount,
            "fully_deducted": True,
            "bank_reference": None,
            "reason": None,
            "customer": self.payment.customer.as_json(),
            "initiated_by": "tidegate@example.com",
            "expected_at": timestamp(self.created_at),
            "createdAt": timestamp(self.created_at),
            "updatedAt": timestamp(self.created_at),
        }


@dataclass
class EmulatedDispute:
    id: int
    payment: EmulatedPayment
    amount: int
    created_at: datetime
    due_at: datetime
    status: str = "awaiting-merchant-feedback"
    resolution: str | None = None
    resolved_at: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "refund_amount": self.amount,
            "currency": self.payment.currency,
            "status": self.status,
            "resolution": self.resolution,
            "domain": self.payment.domain,
            "transaction": self.payment.as_json(),
            "transaction_reference": None,
            "category": "chargeback",
            "customer": self.payment.customer.as_json(),
            "dueAt": timestamp(self.due_at),
            "resolvedAt": timestamp(self.resolved_at),
            "createdAt": timestamp(self.created_at),
        }


@dataclass
class EmulatedAccount:
    """Of the emulated account."""

    secret_key: str
    webhook_url: str | None = None
    currencies: frozenset[str] = frozenset(COUNTRIES)
    # Its option to let payers bear Paystack's fee.
    passes_fees_on: bool = False
    # Requests per minute; None for no limit.
    rate_limit: int | None = None
    # Sends a notification before it answers the call that causes it, and each twice.
    notifies_early: bool = False
    notifies_twice: bool = False

    @property
    def domain(self) -> str:
        return "live" if self.secret_key.startswith("sk_live_") else "test"


@dataclass
class EmulatedMemory:
    payments: dict[str, EmulatedPayment] = field(default_factory=dict)
    refunds: dict[int, EmulatedRefund] = field(default_factory=dict)
    disputes: dict[int, EmulatedDispute] = field(default_factory=dict)
    customers: dict[str, EmulatedCustomer] = field(default_factory=dict)
    # By currency, in hundredths. What payers pay comes on top of it, less the fee.
    balances: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTRIES, 10_000_00))
    serial: int = 0

    def next_serial(self) -> int:
        self.serial += 1
        return self.serial
