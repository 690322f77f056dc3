"""A rail's statement beside the books: uploaded, compared, with advice on each difference, which a note explains."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Conflict, Invalid, NotFound, Problem, Refusal, Unavailable
from tidegate.dashboard.list_filter import day_in, days_in
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.signed_in import Upload
from tidegate.infra.page.response import Html
from tidegate.rail.deps import PaymentDeps
from tidegate.reconcile import commands, explanation_store, kept_comparison, report, statement
from tidegate.reconcile.kept_comparison import KeptComparison
from tidegate.reconcile.model import Discrepancy, DiscrepancyKind, ReconcilePeriod
from tidegate.reconcile.report import Report
from tidegate.sandbox.wire import Duration
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import subject_store

FILE_BYTES_MAX = 10 * 1024 * 1024
SLACK = "1d"
# A form has few fields; the others are explained after these.
EXPLAINED_AT_ONCE = 40
NOTES_SHOWN = 20
COLUMN_CHARS_MAX = 100
# Of a rail's own list, while a page waits for it; the command line takes any.
LISTED_DAYS_MAX, LIST_WITHIN_S = timedelta(days=31), 60


@dataclass(frozen=True)
class ReconcilePages:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        async with self.shell.db.connection() as tx:
            made = await kept_comparison.find(tx, visitor.by, now=visitor.now)
            notes = await explanation_store.list_newest(tx, limit=NOTES_SHOWN)
            staff = await staff_store.list_names(tx)
            shown = made.findings if made else []
            owners = {one.movement.business_id or "" for one in shown if one.movement}
            names = await subject_store.names_of(tx, owners)
        return self.shell.page(
            visitor, "reconcile.html", title="Reconcile", section="Reconcile", rails=list(self.deps.rails),
            listing=[name for name, rail in self.deps.rails.items() if rail.capabilities.lists_transactions],
            columns=statement.COLUMNS, made=made, findings=shown, groups=groups_of(shown), wrong=wrong,
            status=422 if wrong else 200, explainable=_explainable(made) if made else [], notes=notes, staff=staff,
            names=names, slack=SLACK, sum_words=sum_words, is_own=made is not None and made.made_by == visitor.by.actor,
        )  # fmt: skip

    async def compare(self, visitor: ConsoleVisitor) -> Html:
        try:
            made = await self._compared(visitor)
        except (Invalid, NotFound) as wrong:
            return await self._page(visitor, wrong)
        except statement.Unreadable as unreadable:
            problems = (Problem("file", f"{problem[:1].upper()}{problem[1:]}") for problem in unreadable.problems)
            return await self._page(visitor, Invalid(*problems))
        await kept_comparison.keep(self.shell.db, visitor.by, made, now=visitor.now)
        return self.shell.to("/reconcile")

    async def compare_list(self, visitor: ConsoleVisitor) -> Html:
        """With the rail's own list, for which it is asked now."""
        try:
            made = await self._list_compared(visitor)
        except (Invalid, Conflict, Unavailable) as wrong:
            return await self._page(visitor, wrong)
        except TimeoutError:
            return await self._page(visitor, Invalid(Problem("first", "The rail took too long; choose fewer days.")))
        await kept_comparison.keep(self.shell.db, visitor.by, made, now=visitor.now)
        return self.shell.to("/reconcile")

    async def _list_compared(self, visitor: ConsoleVisitor) -> Report:
        form = visitor.form
        rail = self.deps.rails.get(form.get("rail", ""))
        if rail is None or not rail.capabilities.lists_transactions:
            raise Invalid(Problem("rail", "Choose a rail that has a list."))
        first, last = (day_in(form.get(name, ""), name) for name in ("first", "last"))
        if not timedelta(0) <= last - first < LISTED_DAYS_MAX:
            raise Invalid(Problem("first", f"Choose 1 to {LISTED_DAYS_MAX.days} days."))
        async with asyncio.timeout(LIST_WITHIN_S):
            return await commands.reconcile_with_list(
                self.shell.db, rail, ReconcilePeriod(first, last, slack_in(visitor))
            )

    async def explain(self, visitor: ConsoleVisitor) -> Html:
        """The differences that were ticked, with one note. The statement itself is not kept."""
        form = visitor.form
        try:
            replaced = await kept_comparison.explain(
                self.shell.db, number_in(form.get("comparison", "")),
                [name.removeprefix("break-") for name in form if name.startswith("break-")], form.get("note", ""),
                by=visitor.by, now=visitor.now,
            )  # fmt: skip
        except Invalid as wrong:
            return await self._page(visitor, wrong)
        return self.shell.to(f"/reconcile?said={'explained_anew' if replaced else 'explained'}")

    async def _compared(self, visitor: ConsoleVisitor) -> Report:
        form = visitor.form
        file, rail = form.files.get("file"), form.get("rail", "")
        if file is None:
            raise Invalid(Problem("file", "Choose the rail's statement, a CSV file."))
        if rail not in self.deps.rails:
            raise Invalid(Problem("rail", "Choose the rail of the statement."))
        named = {name: form.get(f"column-{name}", "").strip()[:COLUMN_CHARS_MAX] for name in statement.COLUMNS}
        first, last = days_in(form)
        slack = slack_in(visitor)
        lines = statement.read(io.BytesIO(file), {name: theirs for name, theirs in named.items() if theirs})
        period = commands.period_of(lines, first=first, last=last, slack=slack)
        return await commands.reconcile(self.shell.db, lines, rail=rail, period=period, is_configured=True)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/reconcile", "showReconcile", StaffPermission.CHECK, self.show),
            ConsoleRoute(
                "POST", "/reconcile", "reconcile", StaffPermission.CHECK, self.compare,
                upload=Upload("file", FILE_BYTES_MAX), refused=self._page,
            ),
            ConsoleRoute("POST", "/reconcile/list", "reconcileList", StaffPermission.CHECK, self.compare_list),
            ConsoleRoute("POST", "/reconcile/explain", "explainBreaks", StaffPermission.ASK, self.explain),
        ]  # fmt: skip


def slack_in(visitor: ConsoleVisitor) -> timedelta:
    try:
        return Duration.parse(visitor.form.get("slack", "") or SLACK).length
    except ValueError as error:
        raise Invalid(Problem("slack", f"The slack {error}.")) from None


class FindingRow(NamedTuple):
    # In the comparison.
    place: int
    finding: Discrepancy
    identifier: str
    at: datetime


class FindingGroup(NamedTuple):
    """Those of one class that need the same."""

    kind: DiscrepancyKind
    advice: str
    rows: list[FindingRow]


def groups_of(findings: Sequence[Discrepancy]) -> list[FindingGroup]:
    """Of breaks first, as they come."""
    found: dict[tuple[DiscrepancyKind, str], FindingGroup] = {}
    for place, one in enumerate(findings):
        kind, advice = one.kind, report.advice_on(one)
        group = found.setdefault((kind, advice), FindingGroup(kind, advice, []))
        group.rows.append(FindingRow(place, one, report.identifier_of(one), report.moment_of(one)))
    return list(found.values())


def sum_words(number: Decimal) -> str:
    """With cents; more decimals only where there are more."""
    return f"{number:,.2f}" if number == round(number, 2) else f"{number:,f}"


def _explainable(made: KeptComparison) -> list[int]:
    """Their places: those that nothing explains yet come first, then those whose note may be replaced."""
    found = [place for place, one in enumerate(made.findings) if one.kind.is_break]
    return sorted(found, key=lambda place: made.findings[place].explanation is not None)[:EXPLAINED_AT_ONCE]
