"""The interface of a rail.

Every rail is asynchronous with an unreliable callback. An attempt is started with our reference, which makes a repeat
harmless. The answer is accepted, rejected, or an action for the payer. The outcome is notified later, perhaps twice,
perhaps never; without a notification it is polled for. A time-out is never a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money


class RailTimeout(Exception):
    """The rail did not answer in time. It may have done the work: ask again, never assume."""


class NotificationRefused(Exception):
    """The notification does not come from the rail, or is too old; the message says which."""


class NotificationUnreadable(Exception):
    """The signature is right but the content is not understood: kept for an operator to examine."""

    def __init__(self, notification_id: str, why: str) -> None:
        super().__init__(why)
        self.id = notification_id


class FailureReason(DescribedEnum):
    """Why an attempt failed, in the terms a payer can act on."""

    DECLINED = "declined", "Refused by the bank."
    INSUFFICIENT_FUNDS = "insufficient_funds", "Not enough money in the account, card or wallet."
    NOT_APPROVED = "not_approved", "The payer did not approve it on the phone."
    NO_SUCH_WALLET = "no_such_wallet", "The phone number has no mobile money wallet."
    WRONG_PIN = "wrong_pin", "The PIN was wrong."
    WRONG_OTP = "wrong_otp", "The one-time code was wrong."
    WRONG_ADDRESS = "wrong_address", "The billing address was wrong."
    EXPIRED = "expired", "The payer did not act in time."
    NOT_A_TEST_CARD = "not_a_test_card", "The sandbox takes only its published test cards."
    NOT_STARTED = "not_started", "It never reached the bank or operator; nothing was charged."
    RETURNED = "returned", "The money arrived, could not be kept, and was returned."


# The payer's next action.


class TransferAction(msgspec.Struct, frozen=True, tag="transfer", tag_field="type"):
    """Send money to this account."""

    account_number: str
    bank_name: str
    bank_code: str
    account_name: str


class PromptAction(msgspec.Struct, frozen=True, tag="prompt", tag_field="type"):
    """Approve the prompt on the phone."""


class DialAction(msgspec.Struct, frozen=True, tag="dial", tag_field="type"):
    """Dial this code on the phone."""

    code: str


class PinAction(msgspec.Struct, frozen=True, tag="pin", tag_field="type"):
    pass


class OtpAction(msgspec.Struct, frozen=True, tag="otp", tag_field="type"):
    pass


class AddressAction(msgspec.Struct, frozen=True, tag="address", tag_field="type"):
    pass


class RedirectAction(msgspec.Struct, frozen=True, tag="redirect", tag_field="type"):
    """Open this page of the issuer."""

    url: str


Action = TransferAction | PromptAction | DialAction | PinAction | OtpAction | AddressAction | RedirectAction


# The payer's payment details. In memory only, on the way to the rail.


# A card is valid until its month is over; UTC-12 is the last time zone in which it ends.
LAST_PLACE_BEHIND = timedelta(hours=12)


class Card(msgspec.Struct, frozen=True):
    number: str
    expiry_month: int
    expiry_year: int
    cvv: str
    holder: str | None = None

    def __repr__(self) -> str:
        return "Card(…)"


def full_year(year: int) -> int:
    """Two digits, as printed on a card, mean this century."""
    return year + 2000 if year < 100 else year


def month_has_passed(*, month: int, year: int, now: datetime) -> bool:
    """In the payer's favour: true only when the month is over in every time zone."""
    somewhere = now - LAST_PLACE_BEHIND
    return (full_year(year), month) < (somewhere.year, somewhere.month)


class Phone(msgspec.Struct, frozen=True):
    """In international form, with the operator chosen by the payer or guessed."""

    number: str
    operator: str


class Bank(msgspec.Struct, frozen=True):
    code: str


class TransferInstrument(msgspec.Struct, frozen=True):
    """A bank transfer needs no details to begin."""

    account_name: str
    expires_at: datetime


PaymentInstrument = Card | Phone | Bank | TransferInstrument


class Pin(msgspec.Struct, frozen=True):
    pin: str

    def __repr__(self) -> str:
        return "Pin(…)"


class Otp(msgspec.Struct, frozen=True):
    otp: str

    def __repr__(self) -> str:
        return "Otp(…)"


class Address(msgspec.Struct, frozen=True):
    line: str
    city: str
    country: str
    postal_code: str | None = None
    state: str | None = None


Authorization = Pin | Otp | Address


class StartAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """`reference` is ours and the same in every repeat: the rail starts one attempt per reference."""

    business_id: str
    reference: str
    method: Method
    amount: Money
    instrument: PaymentInstrument
    return_url: str


# The state of an attempt at the rail.


class Waiting(msgspec.Struct, frozen=True):
    """The payer has to act; `problem` is what was wrong with the last answer."""

    action: Action
    problem: FailureReason | None = None


class Running(msgspec.Struct, frozen=True):
    """The rail has the attempt; the outcome is not known."""


class Succeeded(msgspec.Struct, frozen=True):
    """`transaction_id` is the rail's own; the same money is recognised by it."""

    transaction_id: str
    amount: Money


class Failed(msgspec.Struct, frozen=True):
    reason: FailureReason


AttemptState = Waiting | Running | Succeeded | Failed


# What a rail notifies.


class Party(msgspec.Struct, frozen=True, kw_only=True):
    name: str | None = None
    account_number: str | None = None
    bank_name: str | None = None
    bank_code: str | None = None


class AttemptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an attempt we started."""

    business_id: str
    reference: str
    state: Succeeded | Failed


class MoneyArrived(msgspec.Struct, frozen=True, kw_only=True):
    """A credit on one of our accounts. Amount and currency are as the bank reports them, whatever was expected."""

    account_number: str
    transaction_id: str
    amount: Money
    payer: Party
    payee_name: str | None
    scheme: str
    remittance: str | None
    valued_at: datetime


class ReturnConfirmed(msgspec.Struct, frozen=True, kw_only=True):
    """A return that we requested has left the rail."""

    business_id: str
    reference: str
    transaction_id: str


class CreditReversed(msgspec.Struct, frozen=True, kw_only=True):
    """The bank has reversed a credit. Its notification may come before that of the credit."""

    account_number: str
    # Of the credit, and of its reversal.
    transaction_id: str
    reversal_id: str
    amount: Money
    reason: str


RailEvent = AttemptOutcome | MoneyArrived | ReturnConfirmed | CreditReversed


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is the rail's identifier of the notification; each is processed once."""

    id: str
    event: RailEvent


class RawNotification(msgspec.Struct, frozen=True):
    """As received, before it is authenticated. Header names are in lower case."""

    body: bytes
    headers: Mapping[str, str]


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


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    methods: Mapping[Currency, frozenset[Method]]
    # Currencies of the permanent accounts it can open.
    account_currencies: frozenset[Currency]
    # Limits of an attempt, in minor units.
    minor_min: int
    minor_max: int
    # Actions whose prompt or code it can send again.
    resends: frozenset[type[Action]] = frozenset()

    def offers(self, method: Method, amount: Money) -> bool:
        is_within = self.minor_min <= amount.minor <= self.minor_max
        return is_within and method in self.methods.get(amount.currency, frozenset())


class Rail(Protocol):
    """Calls raise RailTimeout when the rail does not answer; any of them may be repeated safely.

    `authorize`, `resend`, `ask` and `ask_refund` raise NotFound for a reference that never reached the rail.
    """

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def start(self, attempt: StartAttempt, *, now: datetime) -> AttemptState: ...

    async def authorize(
        self, business_id: str, reference: str, given: Authorization, *, now: datetime
    ) -> AttemptState: ...

    async def resend(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        """Sends the prompt or code of this attempt again, where `capabilities.resends` has its action."""
        ...

    async def ask(self, business_id: str, reference: str, *, now: datetime) -> AttemptState: ...

    def read(self, raw: RawNotification, *, now: datetime) -> list[Notification]:
        """Authenticates the notification and returns its events.

        Raises NotificationRefused or NotificationUnreadable.
        """
        ...

    async def send_back(self, money: ReturnMoney, *, now: datetime) -> None:
        """Requests the return; a notification confirms it later."""
        ...

    async def open_account(self, order: OpenAccount, *, now: datetime) -> AccountDetails: ...

    async def refund(self, money: RefundMoney, *, now: datetime) -> AttemptState: ...

    async def ask_refund(self, business_id: str, reference: str, *, now: datetime) -> AttemptState: ...
