"""How it is told apart whether a rail tells something new."""

from __future__ import annotations

import msgspec


class ToldBy(msgspec.Struct, frozen=True, kw_only=True):
    """The notification behind a change. It is recorded with the change, so that it is acted on once."""

    rail: str
    id: str
    body: bytes


class ToldBefore(Exception):
    """A notification with this identifier was acted on."""


class AlreadyReceived(Exception):
    """This transaction of this rail is recorded; it is the same money."""
