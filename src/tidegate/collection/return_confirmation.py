"""The end of an inflow's return: the money is back at its payer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from tidegate.collection import event, store
from tidegate.collection.model import Collection
from tidegate.infra.db import Tx
from tidegate.ledger import postings
from tidegate.ledger.model import Journal
from tidegate.rail.deps import PaymentDeps
from tidegate.webhook.model import EVENT_CHANNEL

Posting = Callable[..., Journal]


async def confirm(deps: PaymentDeps, collection: Collection, *, sent_as: str, now: datetime) -> bool:
    """The rail has confirmed the return. False when it was confirmed before."""
    async with deps.db.connection() as tx:
        is_new = await confirm_in(tx, collection, sent_as=sent_as, now=now)
    if is_new:
        deps.db.notify(EVENT_CHANNEL)
    return is_new


async def confirm_in(
    tx: Tx, collection: Collection, *, sent_as: str, now: datetime, post: Posting = postings.return_done
) -> bool:
    """Booked by `post`."""
    assert collection.sent_back is not None
    sent_back = msgspec.structs.replace(collection.sent_back, confirmed_at=now)
    after = msgspec.structs.replace(collection, sent_back=sent_back, updated_at=now)
    journal = post(cause=sent_back.reference, returned=after.amount, event_at=now)
    return await store.confirm_return(tx, after, journal, event.collection_returned(after), sent_as=sent_as, now=now)
