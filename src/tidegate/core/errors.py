"""Refusals: one tree of exceptions, each with its `errorType`.

    Refusal
    ├─ Malformed              not JSON, a key twice, too deep, wrong encoding
    ├─ Unauthenticated        a credential is missing or wrong
    ├─ AccessDenied           the caller is known but not allowed
    ├─ NotFound               it does not exist, or belongs to another business
    ├─ WrongRequest           method, size, type or duration of the request
    │  ├─ MethodNotAllowed
    │  ├─ MethodNotImplemented
    │  ├─ RequestTimeout
    │  ├─ BodyTooLarge
    │  ├─ HeadersTooLarge
    │  ├─ UnknownHost
    │  ├─ UriTooLong
    │  └─ UnsupportedMediaType
    ├─ Conflict               it conflicts with the stored state
    │  ├─ DuplicateReference
    │  ├─ IllegalTransition
    │  ├─ ChangedElsewhere
    │  ├─ PaymentDisputed
    │  └─ StillRunning
    ├─ Invalid                fields that break a rule, all at once
    ├─ InsufficientBalance    the wallet holds less than the amount
    ├─ RefundExceedsAvailable more than was received and not refunded yet
    ├─ RefundNeedsApproval    more than the key may refund
    ├─ RateLimited
    │  └─ TooSoon
    └─ Unavailable            temporary; the request itself is fine

The HTTP status of each is in one table, `infra/http/status.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class Refusal(Exception):
    """An error for the caller. `message` says what to do."""

    error_type: str = "REFUSED"

    def __init__(
        self,
        message: str,
        *,
        data: Mapping[str, Any] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.data = data
        self.retry_after_s = retry_after_s


class Malformed(Refusal):
    error_type = "MALFORMED_REQUEST"


class Unauthenticated(Refusal):
    error_type = "UNAUTHENTICATED"


class AccessDenied(Refusal):
    error_type = "ACCESS_DENIED"


class NotFound(Refusal):
    error_type = "RESOURCE_NOT_FOUND"


class WrongRequest(Refusal):
    error_type = "WRONG_REQUEST"


class MethodNotAllowed(WrongRequest):
    error_type = "METHOD_NOT_ALLOWED"

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__(f"use {' or '.join(allowed)} here")
        self.allowed = allowed


class MethodNotImplemented(WrongRequest):
    error_type = "METHOD_NOT_IMPLEMENTED"


class RequestTimeout(WrongRequest):
    error_type = "REQUEST_TIMEOUT"


class BodyTooLarge(WrongRequest):
    error_type = "BODY_TOO_LARGE"


class HeadersTooLarge(WrongRequest):
    error_type = "HEADERS_TOO_LARGE"


class UnknownHost(WrongRequest):
    error_type = "UNKNOWN_HOST"


class UriTooLong(WrongRequest):
    error_type = "URI_TOO_LONG"


class UnsupportedMediaType(WrongRequest):
    error_type = "UNSUPPORTED_MEDIA_TYPE"


class Conflict(Refusal):
    error_type = "CONFLICT"


class DuplicateReference(Conflict):
    error_type = "DUPLICATE_REFERENCE"


class IllegalTransition(Conflict):
    """The current state does not allow the action; a final state allows none."""


class ChangedElsewhere(Conflict):
    """It has changed since the caller read it."""


class PaymentDisputed(Conflict):
    """A dispute that is open or lost is about this money."""

    error_type = "PAYMENT_DISPUTED"


class StillRunning(Conflict):
    """The first request with this idempotency key has not ended yet."""


class InsufficientBalance(Refusal):
    error_type = "INSUFFICIENT_BALANCE"


class RefundExceedsAvailable(Refusal):
    error_type = "REFUND_EXCEEDS_AVAILABLE"


class RefundNeedsApproval(Refusal):
    error_type = "REFUND_NEEDS_APPROVAL"


class RateLimited(Refusal):
    error_type = "RATE_LIMITED"


class TooSoon(RateLimited):
    """The same action was done a moment ago."""


class Unavailable(Refusal):
    error_type = "SERVICE_UNAVAILABLE"


VALIDATION_FAILED = "VALIDATION_FAILED"
# Per request. The rest is reported once these are corrected.
PROBLEMS_MAX = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One field that breaks a rule. `rule` is set where the rule has its own `errorType`.

    `kind` is set where a field has several rules, for pages that translate the message.
    """

    field: str
    message: str
    rule: str = VALIDATION_FAILED
    kind: str | None = None

    @property
    def text(self) -> str:
        """With the name of the field: before "must be …", or set off from a whole sentence."""
        separator = ": " if self.message[:1].isupper() else " "
        return f"{self.field}{separator}{self.message}".strip()


class Invalid(Refusal):
    """Every problem at once, up to a limit; named after the rule when all of them break the same one."""

    METHOD_NOT_SUPPORTED: ClassVar[str] = "METHOD_NOT_SUPPORTED_FOR_CURRENCY"
    CARD_DATA: ClassVar[str] = "CARD_DATA_NOT_ALLOWED"
    error_type = VALIDATION_FAILED

    def __init__(self, *problems: Problem) -> None:
        super().__init__(problems[0].text)
        self.problems = problems[:PROBLEMS_MAX]
        rules = {problem.rule for problem in self.problems}
        self.error_type = rules.pop() if len(rules) == 1 else VALIDATION_FAILED
        if len(problems) > PROBLEMS_MAX:
            more = f"has more problems than these {PROBLEMS_MAX}; correct them and send it again to see the rest"
            self.problems += (Problem("request", more, self.error_type),)
