"""Tamper evidence of the audit trail: a hash chain per business, built after commit.

What a payer may have erased (notes, names) is left out of the hash, so that an erasure breaks nothing.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta

from tidegate.audit import chain_store as store
from tidegate.audit.chain_store import AuditLink, AuditRow
from tidegate.core.clock import Clock
from tidegate.infra import leased_work
from tidegate.infra.db import Database, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind

START = bytes(32)
LINKS_AT_ONCE = 200
VERIFY_BATCH = 500
BUSINESSES_AT_ONCE = 100
FOUND_MAX = 10
# The worker links every few seconds.
UNLINKED_FOR_MAX = timedelta(minutes=15)
EXTEND_AUDIT = WorkKind(store.EXTEND_AUDIT, store.list_businesses_to_link)


async def extend(db: Database, clock: Clock) -> RoundResult:
    """One round of the worker."""

    async def work(lease: Lease, _: datetime) -> int:
        return await link_rows(db, lease.business_id)

    return await leased_work.run_round(db, EXTEND_AUDIT, work, clock)


async def link_rows(db: Database, business_id: str) -> int:
    async with db.transaction() as tx:
        # A lease may expire; two workers with the same head would fork the chain.
        if not await store.lock_chain(tx, business_id):
            return 0
        head = await store.find_head(tx, business_id)
        position, previous = (head.position, head.hash) if head else (0, START)
        links = []
        for row in await store.list_to_link(tx, business_id, limit=LINKS_AT_ONCE):
            position, previous = position + 1, hash_of(previous, row)
            links.append(AuditLink(position, row.id, previous))
        if links:
            await store.insert_links(tx, business_id, links)
        return len(links)


def hash_of(previous: bytes, row: AuditRow) -> bytes:
    """JSON in ASCII: two different rows never have the same text."""
    values = (*row[:-2], row.created_at.isoformat(), row.written_at.isoformat())
    return hashlib.sha256(previous + json.dumps(values, ensure_ascii=True).encode()).digest()


async def verify_all(db: Database, *, now: datetime) -> list[str]:
    """The first difference of each chain; empty when all is well."""
    found: list[str] = []
    after = ""
    async with db.transaction() as tx:
        while len(found) < FOUND_MAX and (heads := await store.list_heads(tx, after=after, limit=BUSINESSES_AT_ONCE)):
            for one in heads:
                found += await verify(tx, one.business_id, now=now)
            after = heads[-1].business_id
    return found


async def verify(tx: Tx, business_id: str, *, now: datetime) -> list[str]:
    position, previous = 0, START
    while links := await store.list_links(tx, business_id, after=position, limit=VERIFY_BATCH):
        for link, row in links:
            position += 1
            name = f"{business_id}/{link.audit_id}"
            if link.position != position:
                return [f"link {business_id}/{position} of the audit trail is missing"]
            if row is None:
                return [f"row {name} of the audit trail is missing"]
            if hash_of(previous, row) != link.hash:
                return [f"row {name} of the audit trail was changed"]
            previous = link.hash
    unlinked = await store.list_unlinked(tx, business_id, before=now - UNLINKED_FOR_MAX, limit=FOUND_MAX)
    return [f"row {business_id}/{one} of the audit trail has no link" for one in unlinked]
