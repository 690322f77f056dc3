"""Why an inflow was held or returned: a closed set, each with a sentence, and a bank's code for returns."""

from __future__ import annotations

from enum import StrEnum

from tidegate.account.model import BlockReason


class InflowReason(StrEnum):
    # Returned.
    NAME_DIFFERS = "name_differs"
    ACCOUNT_SUSPENDED = "account_suspended"
    ACCOUNT_EXPIRED = "account_expired"
    ACCOUNT_CLOSED = "account_closed"
    REVIEW_REFUSED = "review_refused"
    HOLD_ENDED = "hold_ended"
    # Held for review.
    NAME_IS_CLOSE = "name_is_close"
    NAME_MISSING = "name_missing"
    AMOUNT_IS_LARGE = "amount_is_large"
    BUSINESS_SUSPENDED = "business_suspended"
    RATE_MISSING = "rate_missing"
    RATE_STALE = "rate_stale"
    TOO_SMALL_TO_CONVERT = "too_small_to_convert"
    TOO_LARGE_TO_CONVERT = "too_large_to_convert"
    # Reversed by the bank.
    TAKEN_BACK = "taken_back"

    @property
    def meaning(self) -> str:
        """For the reference, as of a `DescribedEnum`."""
        return f"{self.sentence[0].upper()}{self.sentence[1:]}."

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]

    @property
    def return_code(self) -> str:
        """The reason code of a payment return (ISO 20022)."""
        return _RETURN_CODES.get(self, "NARR")


# What an operator can give for a return, the usual one first.
RETURN_CHOICES = (InflowReason.REVIEW_REFUSED, InflowReason.NAME_DIFFERS)

_SENTENCES: dict[InflowReason, str] = {
    InflowReason.NAME_DIFFERS: "the name given is not the account holder's",
    InflowReason.ACCOUNT_SUSPENDED: "the account is suspended",
    InflowReason.ACCOUNT_EXPIRED: "the account has expired",
    InflowReason.ACCOUNT_CLOSED: "the account is closed",
    InflowReason.REVIEW_REFUSED: "it was reviewed and not accepted",
    InflowReason.HOLD_ENDED: "it was held for review, and the time limit passed without a decision",
    InflowReason.NAME_IS_CLOSE: "the name given is close to the account holder's, but not the same",
    InflowReason.NAME_MISSING: "the bank gave no name for the recipient",
    InflowReason.AMOUNT_IS_LARGE: "amounts of this size are reviewed before they are credited",
    InflowReason.BUSINESS_SUSPENDED: "the business is suspended",
    InflowReason.RATE_MISSING: "there is no exchange rate into the wallet's currency",
    InflowReason.RATE_STALE: "the exchange rate into the wallet's currency is too old",
    InflowReason.TOO_SMALL_TO_CONVERT: "it is worth less than the smallest unit of the wallet's currency",
    InflowReason.TOO_LARGE_TO_CONVERT: "it is worth more than the ledger can hold",
    InflowReason.TAKEN_BACK: "the bank has reversed it",
}
_RETURN_CODES: dict[InflowReason, str] = {
    InflowReason.NAME_DIFFERS: "BE01",
    InflowReason.NAME_IS_CLOSE: "BE01",
    InflowReason.NAME_MISSING: "BE01",
    InflowReason.ACCOUNT_SUSPENDED: "AC06",
    InflowReason.ACCOUNT_EXPIRED: "AC04",
    InflowReason.ACCOUNT_CLOSED: "AC04",
}

REASON_OF_BLOCK: dict[BlockReason, InflowReason] = {
    BlockReason.SUSPENDED: InflowReason.ACCOUNT_SUSPENDED,
    BlockReason.EXPIRED: InflowReason.ACCOUNT_EXPIRED,
    BlockReason.CLOSED: InflowReason.ACCOUNT_CLOSED,
    # An account that is not open has no valid number, so nothing should arrive; if it does, it is returned.
    BlockReason.NOT_OPEN: InflowReason.ACCOUNT_CLOSED,
}
