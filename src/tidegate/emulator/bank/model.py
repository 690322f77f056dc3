"""What the emulated bank keeps, and how its files can be made to differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal


@dataclass(frozen=True, kw_only=True)
class EmulatedEntry:
    """One booking on an account, or on a virtual number of it."""

    amount: Decimal
    currency: str
    is_credit: bool = True
    day: date
    # None where the bank gives no reference of its own.
    reference: str | None
    end_to_end_id: str | None = None
    uetr: str | None = None
    # The other side: the payer of a credit, the recipient of a debit.
    name: str | None = None
    account: str | None = None
    bic: str | None = None
    # Of a credit: the name that the payer typed, and the virtual number.
    payee_name: str | None = None
    destination: str | None = None
    remittance: str | None = None
    is_reversal: bool = False
    return_reason: str | None = None
    status: str = "BOOK"
    # Amounts of the transactions of a batch, instead of one; "" for a transaction without amount.
    parts: tuple[str, ...] = ()

    @property
    def signed(self) -> Decimal:
        return self.amount if self.is_credit else -self.amount


@dataclass(frozen=True, kw_only=True)
class EmulatedStatement:
    """A block of a camt file, or a message of an MT file."""

    id: str
    message_id: str
    account: str
    currency: str
    created_at: datetime
    entries: list[EmulatedEntry] = field(default_factory=list)
    opening: Decimal = Decimal(0)
    sequence: int | None = None
    page: int | None = None
    is_last_page: bool = True
    is_copy: bool = False
    # Says so instead of the true sum.
    closing: Decimal | None = None

    @property
    def closes_with(self) -> Decimal:
        booked = sum((one.signed for one in self.entries if one.status == "BOOK"), Decimal(0))
        return self.opening + booked if self.closing is None else self.closing
