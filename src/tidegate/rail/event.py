"""What a rail notifies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.money import Money
from tidegate.rail.state import Failed, Party, Succeeded

# As JSON writes it: no text of a database can hold it.
NUL = rb"\u0000"


class AttemptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an attempt we started."""

    business_id: str
    reference: str
    state: Succeeded | Failed


class MoneyArrived(msgspec.Struct, frozen=True, kw_only=True):
    """A credit on one of our accounts. Amount and currency are as the bank reports them, whatever was expected."""

    # Of an account that payments share: the number, a slash, and the reference in the narration.
    account_number: str
    transaction_id: str
    amount: Money
    payer: Party
    payee_name: str | None
    scheme: str
    remittance: str | None
    valued_at: datetime
    # False where the bank never reports the name that the payer typed for the recipient: the inflow is held.
    is_payee_reported: bool = True


class ReturnConfirmed(msgspec.Struct, frozen=True, kw_only=True):
    """A return that we requested has left the rail."""

    business_id: str
    reference: str
    transaction_id: str


class ReturnFailed(msgspec.Struct, frozen=True, kw_only=True):
    """A return that we requested was rejected, or came back; an operator decides what to do with the money."""

    business_id: str
    reference: str
    reason: str


class CreditReversed(msgspec.Struct, frozen=True, kw_only=True):
    """The bank has reversed a credit. Its notification may come before that of the credit."""

    # None where the rail names the transaction only, as in a chargeback of a card.
    account_number: str | None
    # Of the credit, and of its reversal.
    transaction_id: str
    reversal_id: str
    amount: Money
    reason: str


class DisputeStatus(DescribedEnum):
    OPEN = "open", "The bank has not decided; the amount is held from the wallet."
    WON = "won", "The bank left the money; the amount is back in the wallet."
    LOST = "lost", "The bank takes the money back."


class DisputeChanged(msgspec.Struct, frozen=True, kw_only=True):
    """The payer disputes a payment, or the dispute has ended. The money of a lost one is notified as CreditReversed."""

    dispute_id: str
    transaction_id: str
    amount: Money
    status: DisputeStatus
    # When our answer is due.
    due_at: datetime | None
    reason: str


class PollSubject(StrEnum):
    ATTEMPT = "attempt"
    REFUND = "refund"
    RETURN = "return"


class PollRequested(msgspec.Struct, frozen=True, kw_only=True):
    """Something has changed. The notification does not say what, or is not signed: the worker asks the rail."""

    subject: PollSubject
    business_id: str
    reference: str


RailEvent = (
    AttemptOutcome | MoneyArrived | ReturnConfirmed | ReturnFailed | CreditReversed | DisputeChanged | PollRequested
)


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is the rail's identifier of the notification; each is processed once."""

    id: str
    event: RailEvent
    # What is stored of it; None for all that was received. Of a file with many events, the part of this one.
    body: bytes | None = None


class RawNotification(msgspec.Struct, frozen=True):
    """As received, before it is authenticated. Header names are in lower case; equal ones are joined by commas."""

    body: bytes
    headers: Mapping[str, str]
    method: str = "POST"
    # As configured, whatever a proxy has made of them: a signature may cover both.
    authority: str = ""
    path: str = ""
    # The sender's address, behind our own proxies.
    peer: str = ""
