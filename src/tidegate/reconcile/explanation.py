"""Differences that an operator has explained: with the same amounts, they are no breaks any more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Invalid, Problem
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Database, Tx
from tidegate.reconcile import explanation_store as store
from tidegate.reconcile import report
from tidegate.reconcile.explanation_store import ExplainedBreak
from tidegate.reconcile.model import Discrepancy

NOTE_CHARS_MAX = 500


def break_of(finding: Discrepancy) -> ExplainedBreak:
    return ExplainedBreak(finding.kind, report.identifier_of(finding), sides_of(finding))


def sides_of(finding: Discrepancy) -> str:
    """What the rail and the books have; with another amount on either side it is another difference."""
    line, movement = finding.line, finding.movement
    rail = f"{line.direction} {line.currency} {report.plain(line.amount, line.currency)}" if line else "nothing"
    books = (
        f"{movement.direction} {movement.amount.currency} "
        f"{report.plain(movement.amount.major, movement.amount.currency)} {movement.standing}"
        if movement
        else "nothing"
    )
    return f"rail: {rail}, books: {books}"


async def add_to(tx: Tx, rail: str, findings: Sequence[Discrepancy]) -> list[Discrepancy]:
    """The findings, with what explains each."""
    breaks = [finding for finding in findings if finding.kind.is_break]
    if not breaks:
        return list(findings)
    known = await store.list_of(tx, rail, sorted({report.identifier_of(finding) for finding in breaks}))
    return [
        msgspec.structs.replace(finding, explanation=known.get(break_of(finding))) if finding.kind.is_break else finding
        for finding in findings
    ]


async def explain(
    db: Database, rail: str, breaks: Sequence[ExplainedBreak], note: str, *, by: Actor, now: datetime
) -> None:
    """Moves no money and books nothing."""
    note = " ".join(note.split())
    if not 0 < len(note) <= NOTE_CHARS_MAX:
        raise Invalid(Problem("note", f"Say why, in at most {NOTE_CHARS_MAX} characters."))
    if not breaks:
        raise Invalid(Problem("breaks", "Choose at least one of the differences."))
    async with db.transaction() as tx:
        for one in sorted(set(breaks)):
            await store.insert(tx, rail, one, note, by=by.actor, now=now)
            await audit.insert(
                tx, PLATFORM_BUSINESS_ID, by, action="break.explained", subject=one.transaction_id,
                details={"rail": rail, "kind": one.kind.value, "sides": one.sides, "why": note}, now=now,
            )  # fmt: skip
