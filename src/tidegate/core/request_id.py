"""The id of the request that is being answered, for what it causes: an event carries it to the merchant's webhook."""

from __future__ import annotations

from contextvars import ContextVar

_current: ContextVar[str | None] = ContextVar("request_id", default=None)


def begin(request_id: str) -> None:
    """For the rest of the task that answers the request."""
    _current.set(request_id)


def current() -> str | None:
    """None for background work."""
    return _current.get()
