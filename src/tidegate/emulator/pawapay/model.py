"""What the emulated pawaPay remembers, and its objects as it sends them. Times are of its own clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

COMPLETED, FAILED = "COMPLETED", "FAILED"
FINAL = frozenset({COMPLETED, FAILED})
STUCK = "stuck"


@dataclass
class EmulatedProvider:
    """An operator in one country. `numbers` begin with the stem; their last digits decide."""

    name: str
    country: str
    currency: str
    has_decimals: bool
    stem: str
    # Last digits: the failure, COMPLETED or STUCK.
    numbers: dict[str, str]
    minimum: Decimal = Decimal(1)
    maximum: Decimal = Decimal(5_000_000)
    deposits: str = "OPERATIONAL"
    refunds: str = "OPERATIONAL"
    # The payer must open the prompt by dialling it.
    short_code: str | None = None


_LIMIT, _NOT_FOUND, _NOT_APPROVED = "PAYER_LIMIT_REACHED", "PAYER_NOT_FOUND", "PAYMENT_NOT_APPROVED"
_NO_BALANCE, _IN_PROCESS, _UNSPECIFIED = "INSUFFICIENT_BALANCE", "TRANSACTION_ALREADY_IN_PROCESS", "UNSPECIFIED_FAILURE"
_ENDS = {"129": STUCK, "789": COMPLETED}
PREFIXES = {"KEN": "254", "UGA": "256", "GHA": "233", "ZMB": "260", "TZA": "255"}
# Of refunds to the number that has paid.
REFUND_ENDS = {
    "089": "RECIPIENT_NOT_FOUND",
    "099": "WALLET_LIMIT_REACHED",
    "119": _UNSPECIFIED,
    "129": STUCK,
}


def providers() -> dict[str, EmulatedProvider]:
    rows = [
        EmulatedProvider("MPESA_KEN", "KEN", "KES", False, "254703456", {
            "019": _LIMIT, "039": _NOT_APPROVED, "049": _NO_BALANCE, "059": _IN_PROCESS, "069": _UNSPECIFIED, **_ENDS}),
        EmulatedProvider("MTN_MOMO_UGA", "UGA", "UGX", True, "256783456", {
            "019": _LIMIT, "029": _NOT_FOUND, "069": _UNSPECIFIED, **_ENDS}),
        EmulatedProvider("AIRTEL_OAPI_UGA", "UGA", "UGX", False, "256753456", {
            "019": _LIMIT, "039": _NOT_APPROVED, "049": _NO_BALANCE, "069": _UNSPECIFIED, **_ENDS}),
        EmulatedProvider("MTN_MOMO_GHA", "GHA", "GHS", True, "233593456", {"019": _LIMIT, **_ENDS}),
        EmulatedProvider("VODAFONE_GHA", "GHA", "GHS", True, "233503456", {"039": _NOT_APPROVED, **_ENDS}),
        EmulatedProvider("AIRTELTIGO_GHA", "GHA", "GHS", True, "233273456", {"069": _UNSPECIFIED, **_ENDS}),
        EmulatedProvider("MTN_MOMO_ZMB", "ZMB", "ZMW", True, "260763456", {
            "019": _LIMIT, "029": _NOT_FOUND, "039": _NOT_APPROVED, "069": _UNSPECIFIED, **_ENDS}, short_code="*115#"),
        EmulatedProvider("AIRTEL_OAPI_ZMB", "ZMB", "ZMW", True, "260973456", {
            "019": _LIMIT, "039": _NOT_APPROVED, "049": _NO_BALANCE, "069": _UNSPECIFIED, **_ENDS}),
        EmulatedProvider("ZAMTEL_ZMB", "ZMB", "ZMW", True, "260953456", {
            "704": _NO_BALANCE, "712": _UNSPECIFIED, "789": STUCK, "700": COMPLETED}),
        EmulatedProvider("VODACOM_TZA", "TZA", "TZS", False, "255763456", {"039": _NOT_APPROVED, **_ENDS}),
        EmulatedProvider("TIGO_TZA", "TZA", "TZS", False, "255713456", {"039": _NOT_APPROVED, **_ENDS}),
        EmulatedProvider("AIRTEL_TZA", "TZA", "TZS", True, "255683456", {"019": _LIMIT, **_ENDS}),
        EmulatedProvider("HALOTEL_TZA", "TZA", "TZS", False, "255623456", {"029": _NOT_FOUND, **_ENDS}),
    ]  # fmt: skip
    return {row.name: row for row in rows}


def timestamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@dataclass
class EmulatedTransaction:
    """A deposit, or a refund of one."""

    id: str
    provider: EmulatedProvider
    phone: str
    amount: Decimal
    created_at: datetime
    metadata: dict[str, Any]
    status: str = "ACCEPTED"
    failure: str | None = None
    client_reference: str | None = None
    message: str = "Test Shop"
    # When it ends by itself, and how; None for by hand or never.
    ends_at: datetime | None = None
    ends_with: str = COMPLETED
    # Of a refund.
    deposit: EmulatedTransaction | None = None
    # Of a deposit: refunds that are paid or under way.
    refunded: Decimal = Decimal(0)

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def id_name(self) -> str:
        return "refundId" if self.deposit is not None else "depositId"

    def as_json(self, *, is_callback: bool = False) -> dict[str, Any]:
        party = {"type": "MMO", "accountDetails": {"phoneNumber": self.phone, "provider": self.provider.name}}
        answer: dict[str, Any] = {
            self.id_name: self.id,
            "status": self.status,
            "amount": f"{self.amount:.2f}",
            "currency": self.provider.currency,
            "country": self.provider.country,
            "recipient" if self.deposit is not None else "payer": party,
            "customerMessage": self.message,
            "created": timestamp(self.created_at),
            # A list when sent, an object when returned.
            "metadata": self.metadata,
            "aFieldOfTomorrow": {"nested": [1, None]},
        }
        if self.status == COMPLETED:
            answer["providerTransactionId"] = f"MP{self.id[:8].upper()}"
        if self.failure is not None:
            answer["failureReason"] = {"failureCode": self.failure, "failureMessage": f"It ended with {self.failure}."}
        if self.client_reference and not is_callback:
            answer["clientReferenceId"] = self.client_reference
        return answer


@dataclass
class EmulatedPawapayAccount:
    token: str
    callback_url: str | None = None
    # Of the merchant, for requests; by its name.
    merchant_keys: dict[str, ec.EllipticCurvePublicKey] = field(default_factory=dict)
    signed_requests_only: bool = False
    signed_callbacks: bool = True
    callbacks_twice: bool = False
    # Sends the callback before it answers the request that causes it.
    callbacks_early: bool = False
    # How a rejected refund is reported: both are documented.
    rejects_by_rejection_reason: bool = False


@dataclass
class PawapayMemory:
    deposits: dict[str, EmulatedTransaction] = field(default_factory=dict)
    refunds: dict[str, EmulatedTransaction] = field(default_factory=dict)
    providers: dict[str, EmulatedProvider] = field(default_factory=providers)
    balances: dict[str, Decimal] = field(default_factory=dict)


def public_pem(key: ec.EllipticCurvePublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
