"""What moved at pawaPay. Its statements are files made on request: each of our deposits and refunds is asked about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import structlog

from tidegate.infra.db import Database
from tidegate.rail.interface import RailTransaction
from tidegate.rail.pawapay import state, store
from tidegate.rail.pawapay.client import PawapayClient
from tidegate.rail.pawapay.payout import PawapayPayouts
from tidegate.rail.pawapay.wire import Found, PawapayTransaction, PawapayUnreadable
from tidegate.rail.state import Succeeded

# pawaPay dates a transaction by its own clock.
SKEW = timedelta(minutes=5)

log = structlog.get_logger("pawapay")


class Listing:
    def __init__(self, client: PawapayClient, payouts: PawapayPayouts, db: Database) -> None:
        self._client = client
        self._payouts = payouts
        self._db = db

    async def between(self, begin: datetime, end: datetime) -> AsyncIterator[RailTransaction]:
        after = ("", "")
        while deposits := await self._deposits(begin, end, after):
            for deposit in deposits:
                found = await self._client.get(f"/v2/deposits/{deposit.deposit_id}", Found)
                if found.data and (line := _line(found.data, deposit.reference, begin, end, is_incoming=True)):
                    yield line
            after = deposits[-1][:2]
        after = ("", "")
        while payouts := await self._list_payouts(begin, end, after):
            for payout in payouts:
                refund = await self._payouts.find(payout)
                if refund and (line := _line(refund, payout.reference, begin, end, is_incoming=False)):
                    yield line
            after = payouts[-1][:2]

    async def _deposits(self, begin: datetime, end: datetime, after: tuple[str, str]) -> list[store.Deposit]:
        async with self._db.connection() as tx:
            return list(await store.list_deposits(tx, begin - SKEW, end + SKEW, after=after))

    async def _list_payouts(self, begin: datetime, end: datetime, after: tuple[str, str]) -> list[store.PawapayPayout]:
        async with self._db.connection() as tx:
            return list(await store.list_payouts(tx, begin - SKEW, end + SKEW, after=after))


def _line(
    found: PawapayTransaction, reference: str, begin: datetime, end: datetime, *, is_incoming: bool
) -> RailTransaction | None:
    """None for what did not move, or not in the period."""
    try:
        moved = state.of_deposit(found) if is_incoming else state.of_refund(found)
        created = datetime.fromisoformat(found.created or "")
    except (PawapayUnreadable, ValueError) as error:
        log.warning("a transaction of pawaPay is left out", reference=reference, why=str(error))
        return None
    if not isinstance(moved, Succeeded) or created.tzinfo is None or not begin <= created < end:
        return None
    return RailTransaction(
        transaction_id=moved.transaction_id,
        is_incoming=is_incoming,
        amount=moved.amount,
        booked_at=created,
        reference=reference,
    )
