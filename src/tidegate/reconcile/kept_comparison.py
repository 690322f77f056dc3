"""The last comparison of each of the staff, and that of the command line, kept for a day: what is explained later was
found by Tidegate itself."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

import msgspec

from tidegate.audit.model import OPERATOR, Actor
from tidegate.core.errors import Invalid, Problem
from tidegate.infra.db import Database, Tx
from tidegate.reconcile import comparison_store as store
from tidegate.reconcile import explanation, explanation_store
from tidegate.reconcile.comparison_store import ComparisonRow
from tidegate.reconcile.explanation_store import ExplainedBreak
from tidegate.reconcile.model import BreakExplanation, Discrepancy
from tidegate.reconcile.report import Report

KEPT_FOR = timedelta(days=1)
FINDINGS_MAX = 200


class KeptFinding(msgspec.Struct, frozen=True):
    finding: Discrepancy
    # None for what is no break. Named when it was compared, since copies are numbered among all of them.
    about: ExplainedBreak | None


class KeptReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report has no findings of its own: the first are beside it, of the others their number."""

    report: Report
    findings: list[KeptFinding]
    further_unexplained: int
    further_explained: int
    further_notices: int


class KeptComparison(msgspec.Struct, frozen=True, kw_only=True):
    """With the explanations that there are now."""

    id: int
    made_at: datetime
    made_by: str
    kept: KeptReport
    explanations: dict[ExplainedBreak, BreakExplanation]

    @property
    def report(self) -> Report:
        return self.kept.report

    @property
    def findings(self) -> list[Discrepancy]:
        """Their places are those that `explain` takes."""
        return [
            msgspec.structs.replace(one.finding, explanation=self.explanations.get(one.about) if one.about else None)
            for one in self.kept.findings
        ]

    @property
    def unexplained(self) -> int:
        found = sum(one.kind.is_break and one.explanation is None for one in self.findings)
        return found + self.kept.further_unexplained

    @property
    def explained(self) -> int:
        return sum(one.explanation is not None for one in self.findings) + self.kept.further_explained

    @property
    def number_of_findings(self) -> int:
        further = self.kept.further_unexplained + self.kept.further_explained + self.kept.further_notices
        return len(self.kept.findings) + further

    @property
    def agrees(self) -> bool:
        return not self.unexplained and self.report.agrees


async def keep(db: Database, by: Actor, made: Report, *, now: datetime) -> None:
    kept = msgspec.json.encode(_to_keep(made))
    async with db.transaction() as tx:
        await store.put(tx, by.actor, kept, now=now)
        await store.remove_older(tx, now - KEPT_FOR)


async def find(tx: Tx, by: Actor, *, now: datetime) -> KeptComparison | None:
    """One's own, or the one of the command line where that is newer."""
    row = await store.find(tx, [by.actor, OPERATOR.actor], since=now - KEPT_FOR)
    return await _with_explanations(tx, row) if row else None


async def find_newest(tx: Tx) -> KeptComparison | None:
    """By any of the staff or the command line."""
    row = await store.find_newest(tx)
    return await _with_explanations(tx, row) if row else None


async def _with_explanations(tx: Tx, row: ComparisonRow) -> KeptComparison:
    kept = msgspec.json.decode(row.report, type=KeptReport)
    transactions = sorted({one.about.transaction_id for one in kept.findings if one.about})
    known = await explanation_store.list_of(tx, kept.report.rail, transactions)
    return KeptComparison(id=row.id, made_at=row.made_at, made_by=row.made_by, kept=kept, explanations=known)


async def explain(
    db: Database, comparison_id: int | None, places: Collection[str], note: str, *, by: Actor, now: datetime
) -> int:
    """Differences of the comparison that was looked at, by their places in it. How many were explained before."""
    async with db.connection() as tx:
        found = await find(tx, by, now=now)
    if found is None or found.id != comparison_id:
        raise Invalid(Problem("breaks", "This comparison was replaced or is over: compare the statement again."))
    breaks = [one.about for place, one in enumerate(found.kept.findings) if str(place) in places and one.about]
    if len(breaks) < len(set(places)):
        raise Invalid(Problem("breaks", "Choose among the differences of this comparison."))
    return await explanation.explain(db, found.report.rail, breaks, note, by=by, now=now)


def _to_keep(made: Report) -> KeptReport:
    breaks = [KeptFinding(_without_words(one), about) for one, about in explanation.named_breaks(made.findings)]
    breaks.sort(key=lambda one: one.finding.explanation is not None)
    found = [*breaks, *(KeptFinding(_without_words(one), None) for one in made.notices)]
    further = [one.finding for one in found[FINDINGS_MAX:]]
    explained = sum(one.explanation is not None for one in further)
    notices = sum(not one.kind.is_break for one in further)
    return KeptReport(
        report=msgspec.structs.replace(made, findings=[]),
        findings=found[:FINDINGS_MAX],
        further_unexplained=len(further) - explained - notices,
        further_explained=explained,
        further_notices=notices,
    )


def _without_words(finding: Discrepancy) -> Discrepancy:
    """The words of a statement may name payers, and no page shows them."""
    line = finding.line and msgspec.structs.replace(finding.line, description=None)
    return msgspec.structs.replace(finding, line=line)
