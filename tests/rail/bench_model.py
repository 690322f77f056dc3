"""A rail with what stands behind it under control: its payers, its notifications, the line to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum, auto

from tidegate.core.clock import Clock
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.intake import commands as intake
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import RawNotification
from tidegate.rail.instrument import PaymentInstrument
from tidegate.rail.interface import Rail


class LineFault(Enum):
    BEFORE = auto()  # no answer, and nothing was done
    AFTER = auto()  # no answer, but it was done
    BUSY = auto()  # too many requests
    DOWN = auto()  # nothing gets through, until it is mended


@dataclass
class Bench(ABC):
    """Attempts are of 100 in the currency. The instrument waits for its payer."""

    rail: Rail
    currency: Currency
    instrument: PaymentInstrument
    method: Method = field(default=Method.MOBILE_MONEY, kw_only=True)
    # False for a rail that only answers when it is asked: `sent` is then empty.
    notifies: bool = field(default=True, kw_only=True)
    # False where notifications have no signature; nobody but the rail can then bring them.
    signs: bool = field(default=True, kw_only=True)
    # False where an attempt begins without a call: nothing can be rejected, limited or lost.
    calls: bool = field(default=True, kw_only=True)

    async def deliver(self, deps: PaymentDeps, raw: RawNotification, clock: Clock) -> None:
        await intake.receive(deps, self.rail.name, raw, clock)

    async def work(self, deps: PaymentDeps, clock: Clock) -> None:  # noqa: B027
        """What the worker and the operator do besides, every minute."""

    @abstractmethod
    async def pay(self, business_id: str, reference: str, amount: Money | None = None) -> None:
        """The payer approves; `amount` is another than was asked for."""

    @abstractmethod
    async def decline(self, business_id: str, reference: str) -> None: ...

    @abstractmethod
    def reject(self) -> PaymentInstrument:
        """The next attempt, by this, is rejected at once."""

    @abstractmethod
    def break_line(self, fault: LineFault) -> None: ...

    @abstractmethod
    def mend_line(self) -> None: ...

    @abstractmethod
    async def sent(self, now: datetime) -> list[RawNotification]:
        """All that it has sent since the last call, signed now."""

    @abstractmethod
    async def foreign(self, now: datetime) -> RawNotification:
        """As its other mode would send it."""

    @abstractmethod
    async def unknown(self, now: datetime) -> RawNotification:
        """Of an event that we do not know."""

    @abstractmethod
    async def end_refunds(self) -> None: ...

    def shorten_refunds(self) -> bool:
        """Of those under way, it pays 25. False where it always pays what was asked for."""
        return False

    @abstractmethod
    async def fail_refunds(self, business_id: str, reference: str) -> Decimal:
        """From now on refunds of this attempt fail; of which amount."""

    @abstractmethod
    def refunds(self) -> int | None:
        """How many it has; None where it does not tell."""
