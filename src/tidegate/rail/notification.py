"""What a rail's notification is about, and its deduplication."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class NotificationRef(msgspec.Struct, frozen=True, kw_only=True):
    """The notification behind a change, recorded with the change so that it is processed once."""

    rail: str
    id: str
    body: bytes


class Destination(NamedTuple):
    """The account and transaction that a rail reports for incoming money."""

    rail: str
    account_number: str
    transaction_id: str


class DuplicateNotification(Exception):
    """A notification with this identifier was already processed."""


class AlreadyReceived(Exception):
    """This transaction of this rail is already recorded; it is the same money."""
