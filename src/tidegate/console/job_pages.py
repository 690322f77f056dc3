"""Webhook health, jobs, and the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from tidegate.alarm import health_store
from tidegate.audit import chain, chain_store, export
from tidegate.audit.chain_store import TrailFilter
from tidegate.console.audit_words import people_in, subject_of, who_of, words_of
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Conflict, Invalid, Problem
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.dashboard import audit_store
from tidegate.dashboard.audit_words import changes_of
from tidegate.dashboard.format import Times
from tidegate.dashboard.list_filter import checked_period
from tidegate.dashboard.paging import number_in
from tidegate.infra import job_round_store, lease_store
from tidegate.infra.http import csv_text
from tidegate.infra.http.operation import Csv, Stream
from tidegate.infra.job_round import WRITE_EVERY_S
from tidegate.infra.job_round_store import JobRound
from tidegate.infra.page.response import Html, StreamedFile
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import subject_store
from tidegate.webhook import job_command

PAGE = 100
PART_CHARS_MAX = 100
FILTERS = ("business", "subject", "who", "from", "to")
OTHERS = {
    "operator": "Command line",
    "person/": "Merchants' people",
    "key/": "API keys",
    "tidegate": "Tidegate itself",
}
# Numbers of rows.
NOT_SHOWN = frozenset({"approval", "of"})
# Less is the time between a decision and its row; more, a clock that is ahead.
ALIKE = timedelta(minutes=1)


@dataclass(frozen=True)
class JobPages:
    shell: ConsoleShell

    async def show_webhooks(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            found = await health_store.list_endpoints(tx, limit=PAGE)
        return self.shell.page(
            visitor, "webhook_health.html", title="Webhook health", section="Webhook health", endpoints=found
        )

    async def show_jobs(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            found = await lease_store.list_failed(tx, only_parked=False, limit=PAGE)
            rounds = await job_round_store.list_all(tx)
        # Workers write in real time, also where the sandbox's clock was moved.
        now = SystemClock().now()
        return self.shell.page(
            visitor, "jobs.html", title="Jobs", section="Jobs", failed=found,
            rounds=[(one, lag_of(one, now)) for one in rounds],
        )  # fmt: skip

    async def retry(self, visitor: ConsoleVisitor) -> Html:
        """Within seconds, while a worker runs."""
        kind, business_id, id_ = (visitor.form.get(name, "")[:200] for name in ("kind", "business", "id"))
        done = await job_command.retry(
            self.shell.db, kind, business_id=business_id, id_=id_, by=visitor.by, clock=self.shell.clock
        )
        if not done:
            raise Conflict("this work is running, or has been done; look again")
        return self.shell.to("/jobs?said=done")

    async def run(self, visitor: ConsoleVisitor) -> Html:
        await job_command.run(self.shell.db, visitor.form.get("job", "")[:200], by=visitor.by)
        return self.shell.to("/jobs?said=runs")

    async def show_audit(self, visitor: ConsoleVisitor) -> Html:
        return await self._audit(visitor)

    async def _audit(self, visitor: ConsoleVisitor, found_wrong: list[str] | None = None) -> Html:
        query, wanted, wrong = visitor.request.query, TrailFilter(), None
        async with self.shell.db.connection() as tx:
            staff = await staff_store.list_names(tx)
            try:
                wanted = trail_filter_in(query, visitor.times, staff)
            except Invalid as problem:
                wrong = problem
            limit = 0 if wrong else PAGE + 1
            rows = await chain_store.list_trail(tx, wanted, before=_before_in(query.get("before", "")), limit=limit)
            heads = await chain_store.list_heads(tx, after="", limit=PAGE)
            people = await audit_store.list_people(tx, PLATFORM_BUSINESS_ID, people_in(rows))
            merchants = await subject_store.names_of(tx, {one.business_id for one in rows} - {PLATFORM_BUSINESS_ID})
        # Proposers stand there by their number alone.
        people_names = {**{actor: one.name for actor, one in people.items()}, **staff}
        names = {
            **people_names,
            **{actor.partition("/")[2]: name for actor, name in people_names.items()},
            **merchants,
        }
        last = rows[PAGE - 1] if len(rows) > PAGE else None
        kept = {name: query[name] for name in FILTERS if query.get(name)}
        older = urlencode({**kept, "before": f"{last.written_at.isoformat()}_{last.id}"}) if last else None
        return self.shell.page(
            visitor, "audit_trail.html", title="Audit", section="Audit", older=older, wrong=wrong,
            status=422 if wrong else 200, asked=query, people=people_of(staff),
            rows=[
                (one, one.written_at + ALIKE < one.created_at, words_of(one), subject_of(one, names),
                 who_of(one, names), changes_of(one.details, names, left_out=NOT_SHOWN))
                for one in rows[:PAGE]
            ],
            heads=[(one, one.hash.hex()) for one in heads if one.hash],
            found_wrong=found_wrong, names=names,
        )  # fmt: skip

    async def verify(self, visitor: ConsoleVisitor) -> Html:
        return await self._audit(visitor, await chain.verify_all(self.shell.db, now=visitor.now))

    async def export(self, visitor: ConsoleVisitor) -> StreamedFile:
        """All of it, with the heads of the chains below."""
        await export.note(self.shell.db, by=visitor.by, now=visitor.now)
        stream = Stream(export.rows(self.shell.db), "audit.csv")
        return StreamedFile(stream, Csv.content_type, csv_text.row(export.COLUMNS), visitor.staff.member.id)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/webhooks", "showWebhookHealth", StaffPermission.SEE, self.show_webhooks),
            ConsoleRoute("GET", "/jobs", "showJobs", StaffPermission.SEE, self.show_jobs),
            ConsoleRoute("POST", "/jobs/retry", "retryJob", StaffPermission.ASK, self.retry),
            ConsoleRoute("POST", "/jobs/run", "runJob", StaffPermission.ASK, self.run),
            ConsoleRoute("GET", "/audit", "showAuditTrail", StaffPermission.SEE, self.show_audit),
            ConsoleRoute("POST", "/audit/verify", "verifyAudit", StaffPermission.CHECK, self.verify),
            ConsoleRoute(
                "POST",
                "/audit/export",
                "exportAudit",
                StaffPermission.EXPORT,
                self.export,
                confirms="Export the audit trail",
            ),
        ]


def lag_of(one: JobRound, now: datetime) -> int:
    """Seconds by which its round is late; 0 for one in time, which may also be unwritten for a few seconds."""
    late_s = (now - one.ended_at).total_seconds() - one.every_s - 3 * WRITE_EVERY_S
    return max(0, round(late_s))


def people_of(staff: Mapping[str, str]) -> list[tuple[str, str]]:
    """Of whom the trail has acts: the staff by name, and the others by their kind."""
    return [*sorted(staff.items(), key=lambda one: one[1]), *OTHERS.items()]


def trail_filter_in(query: Mapping[str, str], times: Times, staff: Mapping[str, str]) -> TrailFilter:
    too_long = [
        Problem(name, f"Enter at most {PART_CHARS_MAX} characters.")
        for name in ("business", "subject")
        if len(query.get(name, "")) > PART_CHARS_MAX
    ]
    days = checked_period(query, times, FILTERS, {"who": dict(people_of(staff))}, too_long)
    business_id, subject, who = (query.get(name, "").strip() for name in ("business", "subject", "who"))
    return TrailFilter(business_id or None, subject, who, days.start, days.end)


def _before_in(text: str) -> tuple[datetime, int] | None:
    at, _, number = text.partition("_")
    id_ = number_in(number)
    try:
        return (datetime.fromisoformat(at).astimezone(UTC), id_) if id_ else None
    except (ValueError, OverflowError):
        return None
