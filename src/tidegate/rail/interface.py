"""The interface of a rail.

Every rail is asynchronous with an unreliable callback. An attempt is started with our reference, which makes a repeat
harmless. The answer is accepted, rejected, or an action for the payer. The outcome is notified later, perhaps twice,
perhaps never; without a notification it is polled for. A time-out is never a failure.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Protocol

import msgspec

from tidegate.core.finding import Finding
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.rail.capability import Capabilities
from tidegate.rail.event import Notification, RawNotification
from tidegate.rail.instrument import Authorization, PaymentInstrument
from tidegate.rail.state import AttemptState, PayoutState


class RailTimeout(Exception):
    """The rail did not answer in time. It may have done the work: ask again, never assume."""


class RailBusy(Exception):
    """The rail takes no more work at the moment, and has done nothing."""

    def __init__(self, why: str, *, retry_after_s: int = 60) -> None:
        super().__init__(why)
        self.retry_after_s = retry_after_s


class RailRefused(Exception):
    """The rail refuses us for every payer: a wrong key, a currency that is not enabled. It has done nothing."""


class NotificationRefused(Exception):
    """The notification does not come from the rail, or is too old; the message says which."""


class NotificationUnreadable(Exception):
    """The signature is right but the content is not understood: kept for an operator to examine."""

    def __init__(self, notification_id: str, why: str) -> None:
        super().__init__(why)
        self.id = notification_id


class PayerContact(msgspec.Struct, frozen=True):
    """As the merchant gave it."""

    email: str
    name: str
    phone: str | None = None


class StartAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """`reference` is ours and the same in every repeat: the rail starts one attempt per reference."""

    business_id: str
    reference: str
    method: Method
    amount: Money
    instrument: PaymentInstrument
    payer: PayerContact
    # The payment's page. After a page of its own the rail sends the payer to `<return_url>/back`.
    return_url: str


class ReturnMoney(msgspec.Struct, frozen=True, kw_only=True):
    """Return received money to where it came from. `reference` is ours and makes a repeat harmless."""

    business_id: str
    reference: str
    transaction_id: str
    amount: Money
    reason: str


class RefundMoney(msgspec.Struct, frozen=True, kw_only=True):
    """Pay money of a settled payment back to the payer. `reference` is ours and makes a repeat harmless."""

    business_id: str
    reference: str
    transaction_id: str
    amount: Money


class OpenAccount(msgspec.Struct, frozen=True, kw_only=True):
    """`reference` is ours and the same in every repeat: the rail opens one account per reference."""

    business_id: str
    reference: str
    currency: Currency
    holder: str


class AccountDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What a payer needs for a transfer. Fields that a country does not use are None."""

    # As notifications will name it: the IBAN where there is one.
    account_number: str
    local_number: str
    iban: str | None = None
    # The national bank code: routing number, sort code, Bankleitzahl.
    bank_code: str
    swift_code: str | None = None
    bank_name: str
    country_code: str
    # The rail's own identifier of the account.
    reference: str


class RailTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """Money that moved, according to the rail."""

    transaction_id: str
    is_incoming: bool
    amount: Money
    booked_at: datetime
    # Ours, where the rail repeats it.
    reference: str | None = None
    # What the rail charged us for it.
    fee: Money | None = None


class Rail(Protocol):
    """Calls raise RailTimeout when the rail does not answer, RailBusy or RailRefused when it has done nothing; any of
    them may be repeated safely.

    `authorize`, `resend`, `poll` and `poll_refund` raise NotFound for a reference that never reached the rail.
    """

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def open(self) -> None:
        """Before the first call. Waits for no network: a rail that is down must not keep the process from starting."""
        ...

    async def close(self) -> None: ...

    async def check(self, *, now: datetime) -> list[Finding]:
        """Examines the key, the network and the account at the rail. Never raises for what the rail does."""
        ...

    async def start(self, attempt: StartAttempt, *, now: datetime) -> AttemptState: ...

    async def authorize(
        self, business_id: str, reference: str, given: Authorization, *, now: datetime
    ) -> AttemptState: ...

    async def resend(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        """Sends the prompt or code of this attempt again, where `capabilities.resends` has its action."""
        ...

    async def poll(self, business_id: str, reference: str, *, now: datetime) -> AttemptState: ...

    async def read(self, raw: RawNotification, *, now: datetime) -> list[Notification]:
        """Authenticates the notification and returns its events.

        Raises NotificationRefused or NotificationUnreadable.
        """
        ...

    async def send_back(self, money: ReturnMoney, *, now: datetime) -> PayoutState:
        """Requests the return, once; a repeat answers how it stands."""
        ...

    async def open_account(self, order: OpenAccount, *, now: datetime) -> AccountDetails: ...

    async def refund(self, money: RefundMoney, *, now: datetime) -> PayoutState: ...

    async def poll_refund(self, money: RefundMoney, *, now: datetime) -> PayoutState: ...

    def list_transactions(self, begin: datetime, end: datetime) -> AsyncIterator[RailTransaction]:
        """Booked from `begin` until before `end`, where `capabilities.lists_transactions`."""
        ...
