"""Money from bank files that found no owner, with payments that it may be for."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from tidegate.bank_file import suspense_store
from tidegate.bank_file.suspense_store import TransferCandidate, UnclaimedTransfer
from tidegate.infra.db import Database

# A payer transfers within this time after the reference was shown.
LOOKS_BACK = timedelta(days=14)


class SuspenseCase(msgspec.Struct, frozen=True):
    transfer: UnclaimedTransfer
    candidates: tuple[TransferCandidate, ...]


async def list_cases(db: Database, *, limit: int) -> list[SuspenseCase]:
    """The oldest first. A candidate asks for the same amount in the same currency, and began before the money came."""
    cases = []
    async with db.connection() as tx:
        for one in await suspense_store.list_unclaimed(tx, limit=limit):
            found = await suspense_store.list_candidates(tx, one, since=one.received_at - LOOKS_BACK)
            cases.append(SuspenseCase(one, tuple(found)))
    return cases
