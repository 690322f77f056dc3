"""Removes rows after their time: a page of the oldest, a short transaction each. Any number of workers may run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from tidegate.core.clock import Clock
from tidegate.infra.db import Database, Tx
from tidegate.infra.leased_work import RoundResult
from tidegate.rail.deps import PaymentDeps
from tidegate.retention import store
from tidegate.retention.store import START, OldRow
from tidegate.retention_settings import RetentionDays

# Rows of one transaction.
PAGE = 500
# Of rows that stay, so that a round costs the same however many of them there are.
PAGES_MAX = 20


class ListOld(Protocol):
    """The next page of rows that are old, the oldest first."""

    async def __call__(self, tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]: ...


class Remove(Protocol):
    """Removes those of one owner that may leave, and counts them. Returns how many."""

    async def __call__(self, tx: Tx, owner: str, ids: Sequence[str], before: datetime, /) -> int: ...


@dataclass(frozen=True)
class RetentionKind:
    """`name` is that of the kind in the database and in the audit trail."""

    name: str
    days: Callable[[RetentionDays], int]
    list_old: ListOld
    remove: Remove


KINDS = (
    RetentionKind(
        "notifications", lambda kept: kept.notifications, store.list_notifications, store.remove_notifications
    ),
    RetentionKind(
        "webhook_attempts",
        lambda kept: kept.webhook_attempts,
        store.list_webhook_attempts,
        store.remove_webhook_attempts,
    ),
    RetentionKind("events", lambda kept: kept.events, store.list_events, store.remove_events),
    RetentionKind(
        "idempotency_keys",
        lambda kept: kept.idempotency_keys,
        store.list_idempotency_keys,
        store.remove_idempotency_keys,
    ),
    RetentionKind("mails", lambda kept: kept.mails, store.list_mails, store.remove_mails),
    RetentionKind("requests", lambda kept: kept.requests, store.list_requests, store.remove_requests),
    RetentionKind(
        "failed_requests",
        lambda kept: kept.failed_requests,
        store.list_failed_requests,
        store.remove_failed_requests,
    ),
)
# Empty tables in a sandbox.
LIVE_KINDS = (
    RetentionKind("bank_files", lambda kept: kept.bank_files, store.list_bank_files, store.remove_bank_files),
)
# Empty tables in live mode.
SANDBOX_KINDS = (
    RetentionKind(
        "sandbox_notifications",
        lambda kept: kept.sandbox,
        store.list_sandbox_notifications,
        store.remove_sandbox_notifications,
    ),
    RetentionKind(
        "sandbox_attempts", lambda kept: kept.sandbox, store.list_sandbox_attempts, store.remove_sandbox_attempts
    ),
    RetentionKind(
        "sandbox_payouts", lambda kept: kept.sandbox, store.list_sandbox_payouts, store.remove_sandbox_payouts
    ),
)


class Sweep:
    """Removes one kind, page by page, and begins again at the oldest row once it has seen all that are old."""

    def __init__(self, kind: RetentionKind) -> None:
        self.kind = kind
        self._after = START

    async def __call__(self, deps: PaymentDeps, clock: Clock) -> RoundResult:
        """One round of the worker: until a page had something to remove, or there is no more."""
        days = self.kind.days(deps.retention)
        if days == 0:
            return RoundResult()
        before = clock.now() - timedelta(days=days)
        for _ in range(PAGES_MAX):
            removed, is_last = await self.remove_page(deps.db, before=before)
            if removed or is_last:
                return RoundResult(done=removed)
        return RoundResult()

    async def remove_page(self, db: Database, *, before: datetime) -> tuple[int, bool]:
        """How many were removed, and whether it was the last page."""
        async with db.connection() as tx:
            page = await self.kind.list_old(tx, before, self._after, limit=PAGE)
        by_owner: dict[str, list[str]] = defaultdict(list)
        for row in page:
            by_owner[row.owner].append(row.id)
        removed = 0
        async with db.transaction() as tx:
            for owner, ids in by_owner.items():
                removed += await self.kind.remove(tx, owner, ids, before)
            await store.end_day(tx, self.kind.name)
        is_last = len(page) < PAGE
        self._after = START if is_last else page[-1]
        return removed, is_last
