"""The HTTP status of every refusal. A test walks the tree and finds each class here."""

from __future__ import annotations

from tidegate.core import errors

STATUS_OF: dict[type[errors.Refusal], int] = {
    errors.Malformed: 400,
    errors.Unauthenticated: 401,
    errors.AccessDenied: 403,
    errors.NotFound: 404,
    errors.MethodNotAllowed: 405,
    errors.RequestTimeout: 408,
    errors.Conflict: 409,
    errors.DuplicateReference: 409,
    errors.IllegalTransition: 409,
    errors.ChangedElsewhere: 409,
    errors.PaymentDisputed: 409,
    errors.StillRunning: 409,
    errors.BodyTooLarge: 413,
    errors.UriTooLong: 414,
    errors.UnsupportedMediaType: 415,
    errors.UnknownHost: 421,
    errors.Invalid: 422,
    errors.InsufficientBalance: 422,
    errors.RefundExceedsAvailable: 422,
    errors.RefundNeedsApproval: 422,
    errors.RateLimited: 429,
    errors.TooSoon: 429,
    errors.HeadersTooLarge: 431,
    errors.MethodNotImplemented: 501,
    errors.Unavailable: 503,
}
