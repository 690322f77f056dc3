"""Turns a rail's notifications of inflows into changes, each written in one transaction."""

from __future__ import annotations

from datetime import datetime

import structlog

from tidegate.collection import decide, store
from tidegate.collection.model import AccountSnapshot, Collection, CollectionChange
from tidegate.core.errors import Unavailable
from tidegate.infra.db import StaleChange
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import MoneyArrived
from tidegate.rail.notification import DuplicateNotification, NotificationRef
from tidegate.webhook.model import EVENT_CHANNEL

TRIES = 20

log = structlog.get_logger("inflow")


async def record_arrival(
    deps: PaymentDeps, place: AccountSnapshot, transfer: MoneyArrived, *, ref: NotificationRef, now: datetime
) -> Collection:
    """A transfer to a virtual account, in the account's currency. Raises DuplicateNotification, AlreadyReceived."""
    found: AccountSnapshot | None = place
    for _ in range(TRIES):
        if found is None:
            break
        change = decide.on_arrival(found, transfer, rail=ref.rail, terms=deps.inflow_terms, ref=ref, now=now)
        async with deps.db.connection() as tx:
            try:
                is_new = await store.record(tx, change, account_version=found.account.version)
            except StaleChange:  # For example, the account was suspended at the same time.
                found = await store.find_account_snapshot(
                    tx, ref.rail, transfer.account_number, transfer.transaction_id
                )
                continue
        if not is_new:
            raise DuplicateNotification
        _tell(deps, change)
        return change.collection
    raise Unavailable("this account was changed at the same time; retry after 1 s", retry_after_s=1)


def _tell(deps: PaymentDeps, change: CollectionChange) -> None:
    if change.event is not None:
        deps.db.notify(EVENT_CHANNEL)
        return
    collection = change.collection
    log.warning("an inflow was not credited", reference=collection.reference, status=collection.status.value,
                why=collection.reason)  # fmt: skip
