"""Why received money is returned: a closed set, so that pages can translate it."""

from __future__ import annotations

from enum import StrEnum


class ReturnReason(StrEnum):
    ALREADY_PAID = "already_paid"
    PAYMENT_ENDED = "payment_ended"
    ACCOUNT_CLOSED = "account_closed"
    TOO_LITTLE = "too_little"
    TOO_MUCH = "too_much"
    REST_MISSING = "rest_missing"
    CANCELLED = "cancelled"

    @property
    def sentence(self) -> str:
        """In English, for the bank."""
        return _SENTENCES[self]


_SENTENCES: dict[ReturnReason, str] = {
    ReturnReason.ALREADY_PAID: "this payment was already paid",
    ReturnReason.PAYMENT_ENDED: "it arrived after the payment had ended",
    ReturnReason.ACCOUNT_CLOSED: "it arrived after the account had closed",
    ReturnReason.TOO_LITTLE: "it was less than the amount asked for",
    ReturnReason.TOO_MUCH: "it was more than the amount asked for",
    ReturnReason.REST_MISSING: "the rest did not arrive in time",
    ReturnReason.CANCELLED: "the payer cancelled before the rest arrived",
}
# Rows of earlier versions hold the sentence itself.
_BY_TEXT: dict[str, ReturnReason] = {
    **{reason.sentence: reason for reason in ReturnReason},
    **{reason.value: reason for reason in ReturnReason},
}


def reason_in(text: str | None) -> ReturnReason | None:
    """Of a stored text; None for free text, as for money in suspense."""
    return _BY_TEXT.get(text or "")
