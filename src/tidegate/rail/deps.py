"""What taking money needs: the database, and the rails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.core.public_id import PublicIds
from tidegate.infra.db import Database
from tidegate.infra.keyed_batcher import KeyedBatcher
from tidegate.mail.send import MailTransport
from tidegate.rail.interface import Rail
from tidegate.rail.pause import PausedRails
from tidegate.retention_settings import RetentionDays


class UnknownRail(Exception):
    """The message says which."""


@dataclass(frozen=True)
class InflowTerms:
    """Which inflows are held for review and for how long, and the maximum age of an exchange rate."""

    rate_lasts: timedelta
    # How long a held inflow waits for a decision before it is returned.
    hold: timedelta
    # In major units of any currency; 0 for no review by amount.
    review_from_major: int = 0


@dataclass(frozen=True)
class PaymentDeps:
    db: Database
    rails: Mapping[str, Rail]
    names: MethodNames
    public_ids: PublicIds
    inflow_terms: InflowTerms
    retention: RetentionDays = field(default_factory=RetentionDays)
    # None in live mode without a mail server.
    mail: MailTransport | None = None
    mode: Mode = Mode.SANDBOX
    # What payers' links begin with.
    base_url: str = ""
    paused: PausedRails = field(default_factory=PausedRails)

    @property
    def open_rails(self) -> Mapping[str, Rail]:
        """For new payments and accounts: those that are not paused."""
        if not self.paused.names:
            return self.rails
        return {name: rail for name, rail in self.rails.items() if name not in self.paused.names}

    def rail(self, name: str) -> Rail:
        """Of a recorded attempt, refund or return. Raises UnknownRail for one that is no longer configured."""
        rail = self.rails.get(name)
        if rail is None:
            raise UnknownRail(f"the rail {name} is not configured: its money cannot be followed until it is")
        return rail

    @cached_property
    def batching(self) -> KeyedBatcher:
        """Concurrent lookups and writes are batched."""
        return KeyedBatcher()
