"""Webhook health, jobs, and the audit trail."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from tidegate.alarm import health_store
from tidegate.audit import chain, chain_store
from tidegate.audit import store as audit
from tidegate.console.book_pages import download
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Conflict
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.dashboard.paging import number_in
from tidegate.infra import lease_store
from tidegate.infra.page.response import File, Html
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.webhook import log_store
from tidegate.webhook.model import EVENT_CHANNEL
from tidegate.webhook.queue_store import DELIVER

PAGE = 100
EXPORTED_MAX = 100_000
PART_CHARS_MAX = 100
# A cell that begins with one of these is taken for a formula by a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class WorkPages:
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
        return self.shell.page(visitor, "jobs.html", title="Jobs", section="Jobs", failed=found)

    async def retry(self, visitor: ConsoleVisitor) -> Html:
        """As `tidegate job retry`: within seconds, while a worker runs."""
        form = visitor.form
        kind, business_id, id_ = (form.get(name, "")[:200] for name in ("kind", "business", "id"))
        async with self.shell.db.transaction() as tx:
            released = await lease_store.retry(tx, kind, business_id=business_id, id_=id_)
            if not released:
                raise Conflict("this work is running, or has been done; look again")
            if kind == DELIVER:
                for business, delivery_id in released:
                    await log_store.resend(tx, business, int(delivery_id), now=self.shell.clock.now_of(business))
            await audit.insert(
                tx, business_id, visitor.by, action="job.retried", subject=id_, details={"kind": kind},
                now=visitor.now,
            )  # fmt: skip
        self.shell.db.notify(EVENT_CHANNEL)
        return self.shell.to("/jobs?said=done")

    async def show_audit(self, visitor: ConsoleVisitor) -> Html:
        return await self._audit(visitor)

    async def _audit(self, visitor: ConsoleVisitor, found_wrong: list[str] | None = None) -> Html:
        query = visitor.request.query
        business_id, subject = query.get("business", "")[:PART_CHARS_MAX], query.get("subject", "")[:PART_CHARS_MAX]
        async with self.shell.db.connection() as tx:
            rows = await chain_store.list_trail(
                tx, business_id=business_id or None, subject=subject, before=_before_in(query.get("before", "")),
                limit=PAGE + 1,
            )  # fmt: skip
            chains = await chain_store.list_chains(tx)
            names = {f"staff/{one.member.id}": one.member.name for one in await staff_store.list_all(tx)}
        last = rows[PAGE - 1] if len(rows) > PAGE else None
        older = (
            f"?business={quote(business_id)}&subject={quote(subject)}&before={quote(last.created_at.isoformat())}_{last.id}"
            if last
            else None
        )
        return self.shell.page(
            visitor, "audit_trail.html", title="Audit", section="Audit", rows=rows[:PAGE], older=older,
            business_id=business_id, subject=subject, chains=[(*one[:3], one[3].hex()) for one in chains[:PAGE]],
            found_wrong=found_wrong, names=names,
        )  # fmt: skip

    async def verify(self, visitor: ConsoleVisitor) -> Html:
        return await self._audit(visitor, await chain.verify_all(self.shell.db, now=visitor.now))

    async def export(self, visitor: ConsoleVisitor) -> Html | File:
        """The newest, with the heads of the chains below."""
        async with self.shell.db.transaction() as tx:
            rows = await chain_store.list_trail(tx, business_id=None, subject="", before=None, limit=EXPORTED_MAX)
            chains = await chain_store.list_chains(tx)
            await audit.insert(
                tx, PLATFORM_BUSINESS_ID, visitor.by, action="audit.exported", subject="audit",
                details={"rows": len(rows)}, now=visitor.now,
            )  # fmt: skip
        text = io.StringIO()
        lines = csv.writer(text)
        lines.writerow(["business", "id", "actor", "origin", "action", "subject", "details", "at"])
        lines.writerows(
            [_cell(str(value if value is not None else "")) for value in (*row[:-1], row.created_at.isoformat())]
            for row in rows
        )
        lines.writerows(["chain", business_id, position, head.hex()] for business_id, _, position, head in chains)
        return download(text, "audit.csv")

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/webhooks", "showWebhookHealth", StaffPermission.SEE, self.show_webhooks),
            ConsoleRoute("GET", "/jobs", "showJobs", StaffPermission.SEE, self.show_jobs),
            ConsoleRoute("POST", "/jobs/retry", "retryJob", StaffPermission.ASK, self.retry),
            ConsoleRoute("GET", "/audit", "showAuditTrail", StaffPermission.SEE, self.show_audit),
            ConsoleRoute("POST", "/audit/verify", "verifyAudit", StaffPermission.CHECK, self.verify),
            ConsoleRoute("POST", "/audit/export", "exportAudit", StaffPermission.EXPORT, self.export),
        ]


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _before_in(text: str) -> tuple[datetime, int] | None:
    at, _, number = text.partition("_")
    id_ = number_in(number)
    try:
        return (datetime.fromisoformat(at), id_) if id_ else None
    except ValueError:
        return None
