"""Deduplication of a rail's notifications."""

from __future__ import annotations

import msgspec


class NotificationRef(msgspec.Struct, frozen=True, kw_only=True):
    """The notification behind a change, recorded with the change so that it is processed once."""

    rail: str
    id: str
    body: bytes


class DuplicateNotification(Exception):
    """A notification with this identifier was already processed."""


class AlreadyReceived(Exception):
    """This transaction of this rail is already recorded; it is the same money."""
