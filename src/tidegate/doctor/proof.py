"""Proving the books, and remembering it: all checks of `tidegate doctor --books`, and the audit trail's chain."""

from __future__ import annotations

from datetime import timedelta

from tidegate.audit import chain as audit_chain
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.finding import Finding
from tidegate.doctor import proof_store
from tidegate.doctor.commands import examine_books
from tidegate.doctor.proof_store import Proof
from tidegate.infra.db import Database
from tidegate.infra.leased_work import RoundResult

# An alarm is raised after an hour without one.
PROVEN_EVERY = timedelta(minutes=30)


async def prove(db: Database) -> Proof:
    clock = SystemClock()
    began_at = clock.now()
    findings, _ = await examine_books(db, now=began_at)
    tampered = await audit_chain.verify_all(db, now=began_at)
    findings.append(Finding("audit trail", not tampered, "; ".join(tampered) or "unchanged since it was linked"))
    wrong = [f"{finding.subject}: {finding.what}" for finding in findings if not finding.is_well]
    async with db.connection() as tx:
        journals = await proof_store.count_journals(tx)
        made = Proof(began_at, clock.now(), len(findings), wrong, journals)
        await proof_store.insert(tx, made)
    return made


async def prove_due(db: Database, _clock: Clock) -> RoundResult:
    """One round of the worker. Two at once cost time and harm nothing."""
    async with db.connection() as tx:
        newest = await proof_store.list_newest(tx, limit=1)
    if newest and SystemClock().now() - newest[0].ended_at < PROVEN_EVERY:
        return RoundResult()
    await prove(db)
    return RoundResult(done=1)
