"""Differences that an operator has explained: with the same amounts, they are no breaks any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Invalid, Problem
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Database, Tx
from tidegate.merchant.field import remark_in
from tidegate.reconcile import explanation_store as store
from tidegate.reconcile import report
from tidegate.reconcile.explanation_store import ExplainedBreak
from tidegate.reconcile.model import Discrepancy


def named_breaks(findings: Sequence[Discrepancy]) -> list[tuple[Discrepancy, ExplainedBreak]]:
    """In the order of the comparison, since the second of two that are the same is another one."""
    copies: Counter[ExplainedBreak] = Counter()
    found = []
    for finding in findings:
        if finding.kind.is_break:
            one = ExplainedBreak(finding.kind, report.identifier_of(finding), sides_of(finding))
            copies[one] += 1
            is_first = copies[one] == 1
            found.append((finding, one if is_first else one._replace(sides=f"{one.sides}, number {copies[one]}")))
    return found


def sides_of(finding: Discrepancy) -> str:
    """What the rail and the books have; with another amount on either side it is another difference."""
    line, movement = finding.line, finding.movement
    rail = f"{line.direction} {line.currency} {report.plain(line.amount, line.currency)}" if line else "nothing"
    books = (
        f"{movement.direction} {movement.amount.currency} "
        f"{report.plain(movement.amount.major, movement.amount.currency)} {movement.status}"
        if movement
        else "nothing"
    )
    return f"rail: {rail}, books: {books}"


async def add_to(tx: Tx, rail: str, findings: Sequence[Discrepancy]) -> list[Discrepancy]:
    """The findings, with what explains each."""
    named = named_breaks(findings)
    if not named:
        return list(findings)
    known = await store.list_of(tx, rail, sorted({one.transaction_id for _, one in named}))
    explained = [msgspec.structs.replace(finding, explanation=known.get(one)) for finding, one in named]
    return explained + [finding for finding in findings if not finding.kind.is_break]


async def explain(
    db: Database, rail: str, breaks: Sequence[ExplainedBreak], note: str, *, by: Actor, now: datetime
) -> int:
    """Moves no money and books nothing. How many notes it took the place of; those are in the audit trail."""
    note = remark_in("note", note)
    if not breaks:
        raise Invalid(Problem("breaks", "Choose at least one of the differences."))
    replaced = 0
    async with db.transaction() as tx:
        for one in sorted(set(breaks)):
            earlier = await store.put(tx, rail, one, note, by=by.actor, now=now)
            replaced += earlier is not None
            before = {} if earlier is None else {"before": earlier}
            await audit.insert(
                tx, PLATFORM_BUSINESS_ID, by, action="break.explained", subject=one.transaction_id,
                details={"rail": rail, "kind": one.kind.value, "sides": one.sides, "why": note, **before}, now=now,
            )  # fmt: skip
    return replaced
