"""A rail's statement beside the books: uploaded, compared, with advice on each difference, which a note explains."""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Invalid, NotFound, Problem, Refusal
from tidegate.infra.page.response import Html
from tidegate.rail.deps import PaymentDeps
from tidegate.reconcile import commands, explanation, explanation_store, report, statement
from tidegate.reconcile.explanation_store import ExplainedBreak
from tidegate.reconcile.report import Report
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import subject_store

UPLOAD_BYTES_MAX = 10 * 1024 * 1024
SLACK = timedelta(days=1)
SHOWN_MAX = 200
# A form has few fields; the others are explained after the next comparison.
EXPLAINED_AT_ONCE = 40
TRANSACTION_CHARS_MAX, SIDES_CHARS_MAX = 200, 500
NOTES_SHOWN = 20
COLUMN_CHARS_MAX = 100


@dataclass(frozen=True)
class ReconcilePages:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None, made: Report | None = None) -> Html:
        shown = [*made.breaks, *made.notices][:SHOWN_MAX] if made else []
        findings = [(one, report.identifier_of(one), report.moment_of(one), report.advice_on(one)) for one in shown]
        open_ones = _open_ones(made)[:EXPLAINED_AT_ONCE] if made else []
        async with self.shell.db.connection() as tx:
            notes = await explanation_store.list_newest(tx, limit=NOTES_SHOWN)
            staff = await staff_store.list_names(tx)
            owners = {one.movement.business_id or "" for one in shown if one.movement}
            names = await subject_store.names_of(tx, owners)
        return self.shell.page(
            visitor, "reconcile.html", title="Reconcile", section="Reconcile", rails=list(self.deps.rails),
            columns=statement.COLUMNS, made=made, findings=findings, wrong=wrong, status=422 if wrong else 200,
            open_ones=open_ones, notes=notes, staff=staff, names=names,
        )  # fmt: skip

    async def compare(self, visitor: ConsoleVisitor) -> Html:
        try:
            return await self._page(visitor, made=await self._compared(visitor))
        except (Invalid, NotFound) as wrong:
            return await self._page(visitor, wrong)
        except statement.Unreadable as unreadable:
            problems = (Problem("file", f"{problem[:1].upper()}{problem[1:]}") for problem in unreadable.problems)
            return await self._page(visitor, Invalid(*problems))

    async def explain(self, visitor: ConsoleVisitor) -> Html:
        """The differences that were ticked, with one note. The statement itself is not kept."""
        form = visitor.form
        ticked = [form[name] for name in form if name.startswith("break-")]
        try:
            if form.get("rail", "") not in self.deps.rails:
                raise Invalid(Problem("rail", "Compare the statement again: the rail is not known."))
            await explanation.explain(
                self.shell.db, form["rail"], [_break_in(text) for text in ticked], form.get("note", ""),
                by=visitor.by, now=visitor.now,
            )  # fmt: skip
        except Invalid as wrong:
            return await self._page(visitor, wrong)
        return self.shell.to("/reconcile?said=explained")

    async def _compared(self, visitor: ConsoleVisitor) -> Report:
        form = visitor.form
        file, rail = form.files.get("file"), form.get("rail", "")
        if file is None:
            raise Invalid(Problem("file", "Choose the rail's statement, a CSV file."))
        if rail not in self.deps.rails:
            raise Invalid(Problem("rail", "Choose the rail of the statement."))
        named = {name: form.get(f"column-{name}", "").strip()[:COLUMN_CHARS_MAX] for name in statement.COLUMNS}
        lines = statement.read(io.BytesIO(file), {name: theirs for name, theirs in named.items() if theirs})
        period = commands.period_of(lines, first=None, last=None, slack=SLACK)
        return await commands.reconcile(self.shell.db, lines, rail=rail, period=period, is_configured=True)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/reconcile", "showReconcile", StaffPermission.CHECK, self.show),
            ConsoleRoute(
                "POST", "/reconcile", "reconcile", StaffPermission.CHECK, self.compare,
                upload_bytes_max=UPLOAD_BYTES_MAX,
            ),
            ConsoleRoute("POST", "/reconcile/explain", "explainBreaks", StaffPermission.ASK, self.explain),
        ]  # fmt: skip


def _open_ones(made: Report) -> list[str]:
    """As the form sends them back, in the order of `unexplained`."""
    named = explanation.named_breaks(made.findings)
    return [msgspec.json.encode(about).decode() for one, about in named if one.explanation is None]


def _break_in(text: str) -> ExplainedBreak:
    try:
        found = msgspec.json.decode(text, type=ExplainedBreak)
    except msgspec.DecodeError:
        raise Invalid(Problem("breaks", "Compare the statement again.")) from None
    is_sized = 0 < len(found.transaction_id) <= TRANSACTION_CHARS_MAX and len(found.sides) <= SIDES_CHARS_MAX
    if not is_sized or not found.kind.is_break or not (found.transaction_id + found.sides).isprintable():
        raise Invalid(Problem("breaks", "Compare the statement again."))
    return found
