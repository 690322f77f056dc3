"""The audit log: filters, pages and the whole of it as CSV."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from urllib.parse import urlencode

from tidegate.core.errors import Invalid, Problem
from tidegate.dashboard import audit_store
from tidegate.dashboard.audit_store import AuditFilter, NamedPerson
from tidegate.dashboard.audit_words import ACTIONS, GROUPS, AuditLine, in_zone, line_of, people_in
from tidegate.dashboard.list_filter import CHOOSE, checked_period
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.http import csv_text
from tidegate.infra.http.operation import Csv, Stream
from tidegate.infra.page.response import Html, StreamedFile
from tidegate.member.permission import Permission

PAGE = 50
BATCH = 1_000
NAMES = ("who", "what", "from", "to")
OTHERS = {"key/": "API keys", "operator": "Tidegate's operator", "tidegate": "Tidegate itself"}
COLUMNS = ("time", "who", "action", "what", "thing", "changes", "from")
_PERSON = re.compile(r"person/[0-9a-f]{24}")


@dataclass(frozen=True)
class AuditPages:
    shell: DashboardShell

    async def show(self, visitor: DashboardVisitor) -> Html:
        query = visitor.request.query
        wrong = None
        try:
            wanted = filter_in(visitor)
        except Invalid as problem:
            wrong, wanted = problem, AuditFilter(actor=_own(visitor))
        lines, people = await self._lines(visitor, wanted, number_in(query.get("before", "")), 0 if wrong else PAGE + 1)
        team = [(actor, one.name) for actor, one in people.items() if one.is_member]
        kept = {name: query[name] for name in NAMES if query.get(name)}
        older = urlencode({**kept, "before": lines[PAGE - 1].row.id}) if len(lines) > PAGE else None
        return self.shell.page(
            visitor, "audit.html", title="Audit log", section="Audit log", wrong=wrong, status=422 if wrong else 200,
            lines=[in_zone(line, visitor.times) for line in lines[:PAGE]], older=older,
            is_own=_own(visitor) is not None, is_first="before" not in query,
            people=[*team, *OTHERS.items()], groups=[(name, words) for name, (words, _) in GROUPS.items()],
            asked=query, kept=urlencode(kept),
        )  # fmt: skip

    async def _lines(
        self, visitor: DashboardVisitor, wanted: AuditFilter, before_id: int | None, limit: int
    ) -> tuple[list[AuditLine], dict[str, NamedPerson]]:
        async with self.shell.db.connection() as tx:
            found = await audit_store.list_page(tx, visitor.business.id, wanted, before_id=before_id, limit=limit)
            people = await audit_store.list_people(tx, visitor.business.id, people_in(found))
        names = {actor: one.name for actor, one in people.items()}
        return [line_of(row, names) for row in found], people

    async def export(self, visitor: DashboardVisitor) -> StreamedFile:
        """All that the filters leave."""
        stream = Stream(self._rows(visitor, filter_in(visitor)), "audit-log.csv")
        return StreamedFile(stream, Csv.content_type, csv_text.row(COLUMNS), visitor.caller)

    async def _rows(self, visitor: DashboardVisitor, wanted: AuditFilter) -> AsyncGenerator[bytes, None]:
        """No connection is held between batches."""
        before_id: int | None = None
        is_more = True
        while is_more:
            lines, _ = await self._lines(visitor, wanted, before_id, BATCH)
            is_more = len(lines) == BATCH
            if lines:
                before_id = lines[-1].row.id
                yield b"".join(csv_text.row(_cells(line)) for line in lines)

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("GET", "/audit", "showAudit", Permission.SEE, self.show),
            DashboardRoute("GET", "/audit.csv", "exportAudit", Permission.AUDIT, self.export),
        ]


def _cells(line: AuditLine) -> tuple[csv_text.Cell, ...]:
    row = line.row
    return (row.at, line.who, row.action, line.what, line.thing, "; ".join(line.changes), row.origin)


def _own(visitor: DashboardVisitor) -> str | None:
    """Every member sees their own acts; only some roles see all."""
    return None if visitor.may(Permission.AUDIT) else visitor.by.actor


def filter_in(visitor: DashboardVisitor) -> AuditFilter:
    query = visitor.request.query
    who, what = query.get("who", ""), query.get("what", "")
    is_unknown_actor = who and who not in OTHERS and not _PERSON.fullmatch(who)
    wrong = [Problem("who", CHOOSE)] if is_unknown_actor else []
    days = checked_period(query, visitor.times, NAMES, {"what": GROUPS}, wrong)
    actions = tuple(name for name in ACTIONS if name.startswith(GROUPS[what][1])) if what else ()
    return AuditFilter(actor=_own(visitor) or who or None, actions=actions, start=days.start, end=days.end)
