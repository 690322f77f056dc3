"""A merchant's view of a wallet: its balances, and every line of its statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Self

from tidegate.core.money import Money
from tidegate.ledger.model import JournalKind, Wallet

# By time of booking: the newest first, or the oldest.
SortOrder = Literal["desc", "asc"]


class StatementWords(NamedTuple):
    """The description of a line: its kind, and the word before the name of the payer or the refunded reference."""

    what: str
    link: str


# Every kind of journal that can move a wallet. The important part comes first, since long names are cut at the end.
WORDS_OF: dict[JournalKind, StatementWords] = {
    JournalKind.CHECKOUT_SETTLED: StatementWords("Checkout payment", "from"),
    JournalKind.INFLOW_CREDITED: StatementWords("Bank transfer", "from"),
    JournalKind.INFLOW_CONVERTED: StatementWords("Bank transfer", "from"),
    JournalKind.HELD_SETTLED: StatementWords("Reviewed bank transfer", "from"),
    JournalKind.HELD_CONVERTED: StatementWords("Reviewed bank transfer", "from"),
    JournalKind.CREDIT_REVERSED: StatementWords("Reversal of bank transfer", "from"),
    JournalKind.DEBT_COLLECTED: StatementWords("Rest of a reversed bank transfer", "from"),
    JournalKind.DISPUTE_HELD: StatementWords("Held for a dispute of a payment", "from"),
    JournalKind.DISPUTE_RELEASED: StatementWords("Released after a dispute of a payment", "from"),
    JournalKind.REFUND_STARTED: StatementWords("Refund", "of"),
    JournalKind.REFUND_FAILED: StatementWords("Failed refund", "of"),
}


@dataclass(frozen=True, slots=True)
class WalletLine:
    """One movement of a wallet. `id` is its journal's id."""

    id: int
    kind: JournalKind
    booked_at: datetime
    happened_at: datetime
    # Positive when the wallet is credited.
    amount: Money
    balance: Money
    # The fee already deducted from the amount; negative when returned.
    fee: Money
    vat: Money
    # None only when its subject no longer exists.
    reference: str | None
    about: str | None
    # The received amount, where it was in another currency.
    converted_from: Money | None

    @property
    def description(self) -> str:
        what, link = WORDS_OF[self.kind]
        amount = f" of {self.converted_from}" if self.converted_from else ""
        return f"{what}{amount} {link} {self.about}" if self.about else f"{what}{amount}"

    @property
    def is_in(self) -> bool:
        return self.amount.minor > 0

    @property
    def gross(self) -> Money:
        """Before the fee and the tax on it."""
        return self.amount + self.fee + self.vat

    @property
    def debit(self) -> Money | None:
        return None if self.is_in else -self.amount

    @property
    def credit(self) -> Money | None:
        return self.amount if self.is_in else None


@dataclass(frozen=True, slots=True)
class Holding:
    """A wallet; the inflows held for review; what it owes after reversals."""

    wallet: Wallet
    pending: Money
    owed: Money


@dataclass(frozen=True, slots=True)
class Period:
    """A period of a wallet's statement. Its last line is fixed: later bookings do not change it."""

    wallet: Wallet
    # The start is included, the end is not; None is unbounded.
    start: datetime | None
    end: datetime | None
    # Journal ids: the first and the last line of the period. Empty when first_id is greater than last_id.
    first_id: int
    last_id: int
    opening: Money
    closing: Money


@dataclass(frozen=True, slots=True)
class Totals:
    taken_in: Money
    paid_out: Money
    fee: Money
    vat: Money

    @property
    def net(self) -> Money:
        return self.taken_in - self.paid_out

    @classmethod
    def of(cls, lines: Iterable[WalletLine], nothing: Money) -> Self:
        taken_in = paid_out = fee = vat = nothing
        for line in lines:
            fee, vat = fee + line.fee, vat + line.vat
            if line.is_in:
                taken_in = taken_in + line.amount
            else:
                paid_out = paid_out - line.amount
        return cls(taken_in, paid_out, fee, vat)
