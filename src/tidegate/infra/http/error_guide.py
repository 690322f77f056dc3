"""What each refusal means to a client: its cause, what to do, and a message as it could be. For the reference.

Texts may mark `code` with backticks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tidegate.core import errors
from tidegate.core.errors import Invalid, MethodNotAllowed, Problem, Refusal
from tidegate.infra.http.body import BODY_BYTES_MAX, BODY_TIMEOUT_S
from tidegate.infra.http.error_answer import error_body
from tidegate.infra.http.request_head import HEADER_BYTES_MAX, HEADERS_MAX, METHODS, URL_BYTES_MAX

REQUEST_ID = "req_4fQ0xYb7Lk2ZsW9d"
ONLY_INTERNAL = "INTERNAL_ERROR"


class Guide(NamedTuple):
    cause: str
    remedy: str
    message: str


GUIDE: dict[type[Refusal], Guide] = {
    errors.Malformed: Guide(
        "The body or the query could not be read.",
        "Send one JSON object in UTF-8, no key twice. `message` says what could not be read.",
        "the body is not valid JSON",
    ),
    errors.Unauthenticated: Guide(
        "A header is missing, or its key is mistyped, revoked or of the other mode.",
        "Check the header that `message` names.",
        "send a valid secret key of live mode in the api-key header",
    ),
    errors.AccessDenied: Guide(
        "The headers do not belong together, or the account is suspended.",
        "Check that all headers are of one business; repeating does not help.",
        "the x-business-id header names another business than the api-key",
    ),
    errors.NotFound: Guide(
        "Your business has no record with that id or reference.",
        "Check the path and its values.",
        "this business has no payment with this reference",
    ),
    errors.MethodNotAllowed: Guide(
        "The path exists, the method does not.",
        "Use a method that the `Allow` header lists.",
        "use GET or POST here",
    ),
    errors.MethodNotImplemented: Guide(
        "The method is none that this service knows.",
        f"Use one of {', '.join(METHODS)}, in capital letters.",
        f"use one of {', '.join(METHODS)}",
    ),
    errors.RequestTimeout: Guide(
        f"The body took longer than {BODY_TIMEOUT_S:.0f} seconds to arrive.",
        "Send it again.",
        "the body did not arrive in time",
    ),
    errors.BodyTooLarge: Guide(
        f"The body has more than {BODY_BYTES_MAX} bytes.",
        f"Send at most {BODY_BYTES_MAX} bytes.",
        f"the body may have at most {BODY_BYTES_MAX} bytes",
    ),
    errors.UriTooLong: Guide(
        f"The address has more than {URL_BYTES_MAX} bytes.",
        f"Send an address of at most {URL_BYTES_MAX} bytes.",
        f"the address may have at most {URL_BYTES_MAX} bytes",
    ),
    errors.HeadersTooLarge: Guide(
        f"More than {HEADERS_MAX} headers, or more than {HEADER_BYTES_MAX} bytes of them.",
        f"Send at most {HEADERS_MAX} headers with {HEADER_BYTES_MAX} bytes in all.",
        "the headers are too large",
    ),
    errors.UnsupportedMediaType: Guide(
        "The body is not said to be JSON, or it is compressed.",
        "Send `Content-Type: application/json`, in UTF-8 and not compressed.",
        "send Content-Type: application/json",
    ),
    errors.UnknownHost: Guide(
        "The `Host` header is not a name of this service.",
        "Use the host of this service's base address.",
        "this service is not known by this host name",
    ),
    errors.Conflict: Guide(
        "It conflicts with what is stored.",
        "Read the existing record, then decide.",
        "a record with these values exists already",
    ),
    errors.DuplicateReference: Guide(
        "The reference was used before.",
        "`data`, when present, is the record that has it: go on with that one, or choose a new reference.",
        "this reference was used before",
    ),
    errors.IllegalTransition: Guide(
        "The status of the record does not allow it; some statuses are final.",
        "Read the record again: its status has changed.",
        "the payment has ended",
    ),
    errors.ChangedElsewhere: Guide(
        "The record has changed since you read it.",
        "Read the record again and act on its new state.",
        "it has changed in the meantime",
    ),
    errors.PaymentDisputed: Guide(
        "The customer disputes this money with the bank, which decides about it; a refund would pay it twice.",
        "To give the money back, accept the dispute at the rail that `message` names. Otherwise wait for the event "
        "`charge.disputed`: after a won dispute it can be refunded; after a lost one the customer has it.",
        "nothing can be refunded: dispute 358950 of NGN 2,500.00 is open: to give that money back, accept the dispute "
        "at paystack, or wait for its end",
    ),
    errors.StillRunning: Guide(
        "The first request with this `Idempotency-Key` has not ended yet.",
        "Wait as long as `Retry-After` says and send the same request with the same key.",
        "the first request with this key is still running",
    ),
    errors.Invalid: Guide(
        "One or more fields break a rule.",
        "Correct every field in `errors`, which lists all of them. When all of them break the same special rule, "
        f"`errorType` is its name, such as `{Invalid.METHOD_NOT_SUPPORTED}` or `{Invalid.CARD_DATA}`.",
        "amount must be at least 1",
    ),
    errors.InsufficientBalance: Guide(
        "Your wallet of this currency holds less than the amount.",
        "Use a smaller amount, or wait for more credits.",
        "the NGN wallet holds less than this amount",
    ),
    errors.RefundExceedsAvailable: Guide(
        "More than was received and not refunded yet.",
        "Refund at most what `message` says is left.",
        "at most 2500 NGN can still be refunded",
    ),
    errors.RefundNeedsApproval: Guide(
        "The refund is above the limit of the key that asked for it.",
        "Refund less, use a key with a higher limit, or have a person of the business refund it.",
        "this key may refund at most 500 NGN at once; a person of the business must approve more",
    ),
    errors.RateLimited: Guide(
        "Too many requests in a short time.",
        "Wait as many seconds as `Retry-After` says, then go on more slowly.",
        "too many requests; slow down",
    ),
    errors.TooSoon: Guide(
        "The same was done a moment ago.",
        "Wait as many seconds as `Retry-After` says, then repeat the request.",
        "too many resends; slow down",
    ),
    errors.Unavailable: Guide(
        "The service cannot answer now; nothing is wrong with your request.",
        "Send it again in a moment, a change with the same `Idempotency-Key`.",
        "the service is not available; try again in a moment",
    ),
}
# Rules of their own, instead of `VALIDATION_FAILED`.
RULES: dict[str, Guide] = {
    Invalid.METHOD_NOT_SUPPORTED: Guide(
        "A payment method is not offered in this currency.",
        "Remove the method, or change the currency.",
        "paymentMethods is not offered in KES; choose from mobile_money, bank_transfer",
    ),
    Invalid.CARD_DATA: Guide(
        "A text looks like a card number, outside the field for it.",
        "Never send card numbers to your own server or in metadata; the hosted page takes them.",
        "metadata.note must not contain a card number",
    ),
    "REDIRECT_HOST_NOT_ALLOWED": Guide(
        "The host of `redirectUrl` is not on your business's list.",
        "Use a listed host, or ask the operator to add it.",
        "redirectUrl must have a host on the business's list of redirect hosts",
    ),
    ONLY_INTERNAL: Guide(
        "A fault of this service, with status 500.",
        "Report it with its request id. Whether the request took effect is not known: repeat it with the same "
        "`Idempotency-Key`.",
        "something went wrong on our side; quote the request id when you report it",
    ),
}


def example_of(refusal: type[Refusal]) -> dict[str, Any]:
    """A body as it could be."""
    message = GUIDE[refusal].message
    if refusal is Invalid:
        field, _, words = message.partition(" ")
        return error_body(Invalid(Problem(field, words)), REQUEST_ID)
    if issubclass(refusal, MethodNotAllowed):
        return error_body(MethodNotAllowed(("GET", "POST")), REQUEST_ID)
    return error_body(refusal(message), REQUEST_ID)


def error_types() -> Iterator[tuple[str, Guide]]:
    """Every `errorType` once, with the guide of the class it is named for."""
    seen = set()
    for refusal, guide in GUIDE.items():
        if refusal.error_type not in seen:
            seen.add(refusal.error_type)
            yield refusal.error_type, guide
    yield from RULES.items()
