"""Turns a rail's notifications of inflows into changes, each written in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import structlog

from tidegate.collection import decide, store
from tidegate.collection.model import AccountSnapshot, Collection, CollectionChange
from tidegate.collection.store import NewInflow
from tidegate.core.errors import Unavailable
from tidegate.infra.db import Database, StaleChange
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import MoneyArrived
from tidegate.rail.notification import Destination, DuplicateNotification, NotificationRef
from tidegate.webhook.model import EVENT_CHANNEL

TRIES = 20

log = structlog.get_logger("inflow")


async def record_arrival(
    deps: PaymentDeps, snapshot: AccountSnapshot, transfer: MoneyArrived, *, ref: NotificationRef, now: datetime
) -> Collection:
    """A transfer to a virtual account, in the account's currency. Raises DuplicateNotification, AlreadyReceived."""
    found: AccountSnapshot | None = snapshot
    for _ in range(TRIES):
        if found is None:
            break
        change = decide.on_arrival(found, transfer, rail=ref.rail, terms=deps.inflow_terms, ref=ref, now=now)
        try:
            is_new = await _record(deps, NewInflow(change, found.account.version))
        except StaleChange:  # For example, the account was suspended at the same time.
            found = await find_account(deps, Destination(ref.rail, transfer.account_number, transfer.transaction_id))
            continue
        if not is_new:
            raise DuplicateNotification
        _tell(deps, change)
        return change.collection
    raise Unavailable("this account was changed at the same time; retry after 1 s", retry_after_s=1)


async def find_account(deps: PaymentDeps, destination: Destination) -> AccountSnapshot | None:
    return await deps.batching.do("account", destination, partial(_find_accounts, deps.db))


async def _find_accounts(db: Database, destinations: Sequence[Destination]) -> list[AccountSnapshot | None]:
    async with db.connection() as tx:
        return await store.find_account_snapshots(tx, destinations)


async def _record(deps: PaymentDeps, inflow: NewInflow) -> bool:
    if deps.db.is_cluster:
        async with deps.db.connection() as tx:
            return await store.record(tx, inflow.change, account_version=inflow.account_version)
    return store.is_new(await deps.batching.do("inflows", inflow, partial(_record_all, deps.db), at_once=2))


async def _record_all(db: Database, inflows: Sequence[NewInflow]) -> list[str]:
    async with db.connection() as tx:
        return await store.record_all(tx, inflows)


def _tell(deps: PaymentDeps, change: CollectionChange) -> None:
    if change.event is not None:
        deps.db.notify(EVENT_CHANNEL)
        return
    collection = change.collection
    log.warning("an inflow was not credited", reference=collection.reference, status=collection.status.value,
                why=collection.reason)  # fmt: skip
