"""Everything that can go wrong.

TidegateError
├─ ConfigurationError         a key or an address is missing or wrong
├─ WebhookSignatureError      not from us, too old, or no event: `reason`
├─ APIConnectionError         no answer
│  └─ APITimeoutError
└─ APIError                   the answer was a refusal
   ├─ MalformedRequest        400
   ├─ Unauthenticated         401
   ├─ AccessDenied            403
   ├─ NotFound                404
   ├─ Conflict                409
   │  ├─ DuplicateReference   the payment that has the reference: `link`, `pay_code`
   │  └─ PaymentDisputed      the bank decides about the money
   ├─ ValidationFailed        422; `errors` names every field
   │  ├─ MethodNotSupported   not offered in this currency
   │  ├─ CardDataNotAllowed   a card number outside its field
   │  ├─ RedirectHostNotAllowed
   │  ├─ InsufficientBalance
   │  ├─ RefundExceedsAvailable
   │  └─ RefundNeedsApproval  above the limit of the key
   ├─ RateLimited             429
   └─ ServerError             5xx
      └─ ServiceUnavailable   503
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class TidegateError(Exception):
    """Every error of this library."""


class ConfigurationError(TidegateError):
    pass


class APIConnectionError(TidegateError):
    """There was no answer. Whether the request was carried out is not known, unless it has an idempotency key."""


class APITimeoutError(APIConnectionError):
    pass


class WebhookSignatureError(TidegateError):
    """`reason`: missing_header, bad_timestamp, too_old, too_new, wrong_signature or not_an_event."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class FieldError:
    field: str
    message: str


class APIError(TidegateError):
    """A refusal. Decide by the class, or by `error_type`; `message` is for people."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        error_type: str,
        errors: Sequence[FieldError] = (),
        request_id: str | None = None,
        data: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.error_type = error_type
        self.errors = tuple(errors)
        self.request_id = request_id
        self.data = data
        self.retry_after = retry_after

    def __str__(self) -> str:
        # The message is the first of them.
        others = [error for error in self.errors if not self._says(error)]
        fields = "".join(f"; {error.field}: {error.message}" for error in others)
        return f"{self.message}{fields} ({self.status} {self.error_type}, {self.request_id or 'no request id'})"

    def _says(self, error: FieldError) -> bool:
        return self.message in (f"{error.field} {error.message}", f"{error.field}: {error.message}")


class MalformedRequest(APIError):
    pass


class Unauthenticated(APIError):
    pass


class AccessDenied(APIError):
    pass


class NotFound(APIError):
    pass


class Conflict(APIError):
    pass


class DuplicateReference(Conflict):
    """The reference was used before. `link` and `pay_code` are those of the payment that has it."""

    @property
    def link(self) -> str | None:
        return (self.data or {}).get("link")

    @property
    def pay_code(self) -> str | None:
        return (self.data or {}).get("payCode")

    @property
    def reference(self) -> str | None:
        return (self.data or {}).get("reference")


class PaymentDisputed(Conflict):
    pass


class ValidationFailed(APIError):
    pass


class MethodNotSupported(ValidationFailed):
    pass


class CardDataNotAllowed(ValidationFailed):
    pass


class RedirectHostNotAllowed(ValidationFailed):
    pass


class InsufficientBalance(ValidationFailed):
    pass


class RefundExceedsAvailable(ValidationFailed):
    pass


class RefundNeedsApproval(ValidationFailed):
    pass


class RateLimited(APIError):
    pass


class ServerError(APIError):
    pass


class ServiceUnavailable(ServerError):
    pass


_BY_TYPE: dict[str, type[APIError]] = {
    "DUPLICATE_REFERENCE": DuplicateReference,
    "PAYMENT_DISPUTED": PaymentDisputed,
    "METHOD_NOT_SUPPORTED_FOR_CURRENCY": MethodNotSupported,
    "CARD_DATA_NOT_ALLOWED": CardDataNotAllowed,
    "REDIRECT_HOST_NOT_ALLOWED": RedirectHostNotAllowed,
    "INSUFFICIENT_BALANCE": InsufficientBalance,
    "REFUND_EXCEEDS_AVAILABLE": RefundExceedsAvailable,
    "REFUND_NEEDS_APPROVAL": RefundNeedsApproval,
}
_BY_STATUS: dict[int, type[APIError]] = {
    400: MalformedRequest,
    401: Unauthenticated,
    403: AccessDenied,
    404: NotFound,
    409: Conflict,
    422: ValidationFailed,
    429: RateLimited,
    503: ServiceUnavailable,
}


def error_of(
    status: int, body: Any, *, request_id: str | None, retry_after: int | None, moved_to: str | None = None
) -> APIError:
    """By its errorType; one that this version does not know, by its status."""
    said: Mapping[str, Any] = body if isinstance(body, dict) else {}
    error_type = str(said.get("errorType") or "UNKNOWN")
    by_status = _BY_STATUS.get(status, ServerError if status >= 500 else APIError)
    kind = _BY_TYPE.get(error_type, by_status)
    given = said.get("errors")
    answered = f"the server answered {status}"
    if moved_to is not None:
        answered += f" and names another address, {moved_to}: base_url or TIDEGATE_URL is wrong"
    return kind(
        str(said.get("message") or answered),
        status=status,
        error_type=error_type,
        errors=[
            FieldError(str(one.get("field")), str(one.get("message")))
            for one in (given if isinstance(given, list) else [])
            if isinstance(one, dict)
        ],
        request_id=str(said.get("requestId") or request_id or "") or None,
        data=said.get("data") if isinstance(said.get("data"), dict) else None,
        retry_after=retry_after,
    )
