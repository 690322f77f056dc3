"""Tamper evidence: a hash chain per business, built after commit, so that posting never waits for it.

Each hash covers the one before it and the whole text of a journal; to change an old journal unnoticed, every later
link would have to be rewritten. A copy of the chain's head, stored elsewhere, detects that too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from tidegate.core.clock import Clock
from tidegate.infra import leased_work
from tidegate.infra.db import Database, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.ledger import store
from tidegate.ledger.audit import store as audit
from tidegate.ledger.model import ChainLink, PostedEntry, PostedJournal

LINKS_PER_BUSINESS = 200
VERIFY_BATCH = 500
# The worker links every few seconds; a journal unlinked for this long shows a fault in the worker or the journal.
UNLINKED_FOR_MAX = timedelta(minutes=15)
START = bytes(32)
EXTEND = WorkKind(store.EXTEND, store.list_businesses_to_link)
MARK_BYTES = 8

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


async def extend(db: Database, clock: Clock) -> RoundResult:
    """One round of the worker: links journals that have no link yet, and returns how many."""

    async def work(lease: Lease, _: datetime) -> int:
        return await link_journals(db, lease.business_id)

    return await leased_work.run_round(db, EXTEND, work, clock)


async def link_journals(db: Database, business_id: str) -> int:
    async with db.transaction() as tx:
        # A lease may expire; two workers with the same head would fork the chain.
        return await _link(tx, business_id) if await store.lock_chain(tx, business_id) else 0


async def _link(tx: Tx, business_id: str) -> int:
    journals = await store.list_to_link(tx, business_id, limit=LINKS_PER_BUSINESS)
    head = await store.find_head(tx, business_id)
    position, previous = (head.position, head.hash) if head else (0, START)
    links = []
    for journal in journals:
        position += 1
        link = link_to(previous, position, journal)
        links.append(link)
        previous = link.hash
    if links:
        await store.insert_links(tx, business_id, links)
    return len(links)


async def verify(tx: Tx, business_id: str, *, now: datetime) -> list[str]:
    """The first difference in the chain of a business, and rows without a link; empty when all is well."""
    wrong = await _first_difference(tx, business_id)
    lost = await audit.list_entries_without_journal(tx, business_id)
    unlinked = await audit.list_unlinked_journals(tx, business_id, waiting_since=now - UNLINKED_FOR_MAX)
    return [*wrong, *(f"entry {name} has no journal" for name in lost), *(f"journal {n} has no link" for n in unlinked)]


async def _first_difference(tx: Tx, business_id: str) -> list[str]:
    position, previous = 0, START
    while found := await store.list_links(tx, business_id, after=position, limit=VERIFY_BATCH):
        if difference := _difference_in(found, business_id, after=position, previous=previous):
            return [difference]
        position, previous = found[-1][0].position, found[-1][0].hash
    return []


async def verify_newest(tx: Tx, business_id: str, *, head: int, links_max: int) -> tuple[int, str | None]:
    """How many links were checked, up to position `head`, and the first difference. The link before them is taken as it
    is."""
    after = max(head - links_max, 0)
    found = await store.list_links(tx, business_id, after=max(after - 1, 0), limit=head - max(after - 1, 0))
    previous = START
    if after > 0:
        if not found or found[0][0].position != after:
            return 0, f"link {business_id}/{after} is missing"
        previous = found.pop(0)[0].hash
    if found and found[-1][0].position != head:
        return len(found), f"link {business_id}/{head} is missing"
    return len(found), _difference_in(found, business_id, after=after, previous=previous)


def _difference_in(
    found: Sequence[tuple[ChainLink, PostedJournal | None]], business_id: str, *, after: int, previous: bytes
) -> str | None:
    for position, (link, journal) in enumerate(found, start=after + 1):
        if link.position != position:
            return f"link {business_id}/{position} is missing"
        if journal is None:
            return f"journal {business_id}/{link.journal_id} is missing"
        if difference := difference_of(previous, link, journal):
            return difference
        previous = link.hash
    return None


def link_to(previous: bytes, position: int, journal: PostedJournal) -> ChainLink:
    texts = list(_texts(journal))
    marks = b"".join(_mark(text) for text in texts)
    return ChainLink(position, journal.id, marks, hashlib.sha256(previous + b"\n".join(texts)).digest())


def difference_of(previous: bytes, link: ChainLink, journal: PostedJournal) -> str | None:
    """The hash decides whether something differs; the marks only help to name it."""
    if link_to(previous, link.position, journal).hash == link.hash:
        return None
    name = f"{journal.business_id}/{journal.id}"
    marks = [link.marks[start : start + MARK_BYTES] for start in range(0, len(link.marks), MARK_BYTES)]
    if not marks or _mark(_head_text(journal)) != marks[0]:
        return f"journal {name} was changed"
    return _entry_difference(name, dict(enumerate(marks[1:], start=1)), journal) or f"link {name} was changed"


def _entry_difference(name: str, mark_of: dict[int, bytes], journal: PostedJournal) -> str | None:
    entry_of = {entry.line: entry for entry in journal.entries}
    for line in sorted(mark_of.keys() | entry_of.keys()):
        if line not in entry_of:
            return f"entry {name}/{line} is missing"
        if line not in mark_of:
            return f"entry {name}/{line} was added"
        if _mark(_entry_text(entry_of[line])) != mark_of[line]:
            return f"entry {name}/{line} was changed"
    return None


def _texts(journal: PostedJournal) -> Iterator[bytes]:
    yield _head_text(journal)
    for entry in journal.entries:
        yield _entry_text(entry)


def _head_text(journal: PostedJournal) -> bytes:
    times = _microseconds(journal.event_at), _microseconds(journal.created_at)
    return _canonical(journal.business_id, journal.id, journal.kind, journal.cause, *times)


def _entry_text(entry: PostedEntry) -> bytes:
    return _canonical(entry.line, entry.account, entry.currency, entry.amount_minor, entry.balance_after_minor)


def _canonical(*values: str | int | None) -> bytes:
    """JSON in ASCII: two different journals never have the same text, whatever a cause contains."""
    return json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode()


def _mark(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:MARK_BYTES]


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
