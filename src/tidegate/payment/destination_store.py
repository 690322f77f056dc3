"""SQL that finds the payment for money that arrived on an account."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.infra.db import Tx
from tidegate.payment.attempt_store import snapshot_of
from tidegate.payment.change import PaymentSnapshot
from tidegate.rail.notification import Destination


async def find_by_destinations(tx: Tx, destinations: Sequence[Destination]) -> list[PaymentSnapshot | None]:
    """A bank's notification names only the account; this finds the payment."""
    rows = await tx.fetch("SELECT * FROM find_paid_attempts($1, $2, $3)", *map(list, zip(*destinations, strict=True)))
    found = {row["position"]: snapshot_of(row) for row in rows}
    return [found.get(position) for position in range(1, len(destinations) + 1)]
