"""Proving the books, and remembering it: all checks of `tidegate doctor --books`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import timedelta

from tidegate.core.clock import Clock, SystemClock
from tidegate.doctor import proof_store
from tidegate.doctor.commands import examine_audit_trail, examine_books
from tidegate.doctor.proof_store import Proof
from tidegate.infra import job_round_store
from tidegate.infra.db import Database
from tidegate.infra.leased_work import RoundResult

# An alarm is raised after an hour without one.
PROVEN_EVERY = timedelta(minutes=30)
# The name of the worker's job.
JOB = "prove_books"


async def prove(db: Database) -> Proof:
    clock = SystemClock()
    began_at = clock.now()
    findings, _ = await examine_books(db, now=began_at)
    findings.append(await examine_audit_trail(db, now=began_at))
    wrong = [f"{finding.subject}: {finding.what}" for finding in findings if not finding.is_well]
    async with db.connection() as tx:
        heads = await proof_store.list_heads(tx)
        made = Proof(began_at, clock.now(), len(findings), wrong, sum(length for _, length, _ in heads), head_of(heads))
        await proof_store.insert(tx, made)
    return made


def head_of(heads: Iterable[tuple[str, int, bytes]]) -> bytes:
    """Another one whenever any chain has another length or another end."""
    return hashlib.sha256(b"".join(f"{of}/{length}/{link.hex()}\n".encode() for of, length, link in heads)).digest()


async def prove_due(db: Database, _clock: Clock) -> RoundResult:
    """One round of the worker: when it is due, or an operator has asked for it. Two at once cost only time."""
    async with db.connection() as tx:
        newest = await proof_store.list_newest(tx, limit=1)
        wanted_at = (await job_round_store.list_wanted(tx)).get(JOB)
    is_wanted = bool(newest) and wanted_at is not None and wanted_at > newest[0].began_at
    if newest and not is_wanted and SystemClock().now() - newest[0].ended_at < PROVEN_EVERY:
        return RoundResult()
    await prove(db)
    return RoundResult(done=1)
