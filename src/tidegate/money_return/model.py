"""Returns of received money."""

from __future__ import annotations

import msgspec

from tidegate.core.money import Money


class ReturnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`reason` is a code of ReturnReason where a payer's page shows it, otherwise a sentence."""

    rail: str
    reference: str
    transaction_id: str
    amount: Money
    reason: str


class KnownReturn(msgspec.Struct, frozen=True, kw_only=True):
    """A requested return. Without a collection it belongs to a checkout."""

    business_id: str
    rail: str
    reference: str
    amount: Money
    collection_id: int | None
