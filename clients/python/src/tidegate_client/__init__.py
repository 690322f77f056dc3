"""Client of the Tidegate API."""

from tidegate_client import _types
from tidegate_client import _webhooks as webhooks
from tidegate_client._client import AsyncTidegate, Tidegate
from tidegate_client._errors import (
    AccessDenied,
    APIConnectionError,
    APIError,
    APITimeoutError,
    CardDataNotAllowed,
    ConfigurationError,
    Conflict,
    DuplicateReference,
    FieldError,
    InsufficientBalance,
    MalformedRequest,
    MethodNotSupported,
    NotFound,
    PaymentDisputed,
    RateLimited,
    RedirectHostNotAllowed,
    RefundExceedsAvailable,
    RefundNeedsApproval,
    ServerError,
    ServiceUnavailable,
    TidegateError,
    Unauthenticated,
    ValidationFailed,
    WebhookSignatureError,
)
from tidegate_client._model import NOT_GIVEN, Model, Page, Pager
from tidegate_client._types import *  # noqa: F403  every record by its name
from tidegate_client._version import __version__
from tidegate_client._webhooks import UnknownEvent

__all__ = [
    "NOT_GIVEN",
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AccessDenied",
    "AsyncTidegate",
    "CardDataNotAllowed",
    "ConfigurationError",
    "Conflict",
    "DuplicateReference",
    "FieldError",
    "InsufficientBalance",
    "MalformedRequest",
    "MethodNotSupported",
    "Model",
    "NotFound",
    "Page",
    "Pager",
    "PaymentDisputed",
    "RateLimited",
    "RedirectHostNotAllowed",
    "RefundExceedsAvailable",
    "RefundNeedsApproval",
    "ServerError",
    "ServiceUnavailable",
    "Tidegate",
    "TidegateError",
    "Unauthenticated",
    "UnknownEvent",
    "ValidationFailed",
    "WebhookSignatureError",
    "__version__",
    "webhooks",
]
__all__ += _types.__all__
