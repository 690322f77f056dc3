"""A rail's statement beside the books: uploaded, compared, with advice on each difference. Changes nothing."""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import timedelta

from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Invalid, NotFound, Problem, Refusal
from tidegate.infra.page.response import Html
from tidegate.rail.deps import PaymentDeps
from tidegate.reconcile import commands, report, statement
from tidegate.reconcile.report import Report
from tidegate.staff.permission import StaffPermission

UPLOAD_BYTES_MAX = 10 * 1024 * 1024
SLACK = timedelta(days=1)
SHOWN_MAX = 200
COLUMN_CHARS_MAX = 100


@dataclass(frozen=True)
class ReconcilePages:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return self._page(visitor)

    def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None, made: Report | None = None) -> Html:
        shown = [*made.breaks, *made.notices][:SHOWN_MAX] if made else []
        findings = [(one, report.identifier_of(one), report.moment_of(one), report.advice_on(one)) for one in shown]
        return self.shell.page(
            visitor, "reconcile.html", title="Reconcile", section="Reconcile", rails=list(self.deps.rails),
            columns=statement.COLUMNS, made=made, findings=findings, wrong=wrong, status=422 if wrong else 200,
        )  # fmt: skip

    async def compare(self, visitor: ConsoleVisitor) -> Html:
        try:
            return self._page(visitor, made=await self._compared(visitor))
        except (Invalid, NotFound) as wrong:
            return self._page(visitor, wrong)
        except statement.Unreadable as unreadable:
            problems = (Problem("file", f"{problem[:1].upper()}{problem[1:]}") for problem in unreadable.problems)
            return self._page(visitor, Invalid(*problems))

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
        ]  # fmt: skip
