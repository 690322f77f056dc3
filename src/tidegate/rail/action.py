"""The payer's next action, and why an attempt fails."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.core.described_enum import DescribedEnum


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
    LIMIT_REACHED = "limit_reached", "Above a limit of the payer's wallet or card, or of the bank or operator."
    RAIL_UNAVAILABLE = "rail_unavailable", "The bank or operator could not take it at the moment."
    ANOTHER_UNDER_WAY = "another_under_way", "The payer's wallet has another prompt open, and takes one at a time."
    NOT_STARTED = "not_started", "It never reached the bank or operator; nothing was charged."
    RETURNED = "returned", "The money arrived, could not be kept, and was returned."


class TransferAction(msgspec.Struct, frozen=True, tag="transfer", tag_field="type", omit_defaults=True):
    """Send money to this account."""

    account_number: str
    bank_name: str
    # Empty where the rail gives none.
    bank_code: str
    account_name: str
    # To be typed as the narration, where several payments share the account.
    reference: str | None = None
    # The rail closes the account then, whatever we would allow.
    expires_at: datetime | None = None
    # The rail reports the money when it is asked; otherwise only notifications do.
    is_polled: bool = False
    # The bank tells of the money in a file, perhaps on the next working day.
    is_notified_later: bool = False

    @property
    def destination(self) -> str:
        """As notifications name it: the account and, where it is shared, the reference."""
        return f"{self.account_number}/{self.reference}" if self.reference else self.account_number


class PromptAction(msgspec.Struct, frozen=True, tag="prompt", tag_field="type", omit_defaults=True):
    """Approve the prompt on the phone."""

    # What the rail wants said, such as the name that the prompt shows.
    text: str | None = None
    # To be dialled where the prompt does not appear by itself.
    dial: str | None = None


class DialAction(msgspec.Struct, frozen=True, tag="dial", tag_field="type"):
    """Dial this code on the phone."""

    code: str


class PinAction(msgspec.Struct, frozen=True, tag="pin", tag_field="type"):
    pass


class OtpAction(msgspec.Struct, frozen=True, tag="otp", tag_field="type", omit_defaults=True):
    # How the payer gets the code, in the rail's words.
    text: str | None = None


class AddressAction(msgspec.Struct, frozen=True, tag="address", tag_field="type"):
    pass


class RedirectAction(msgspec.Struct, frozen=True, tag="redirect", tag_field="type", omit_defaults=True):
    """Open this page of the issuer or, for a hosted method, of the rail."""

    url: str
    is_hosted: bool = False


def is_polled(action: Action | None) -> bool:
    """The payer acts outside our page, and the rail's notification may be lost."""
    if isinstance(action, TransferAction):
        return action.is_polled
    return isinstance(action, PromptAction | DialAction | RedirectAction)


Action = TransferAction | PromptAction | DialAction | PinAction | OtpAction | AddressAction | RedirectAction
