"""One notification in which a rail contradicts itself: both versions, the money that it is about, and its end."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.approval import store as approval_store
from tidegate.console import find_store
from tidegate.console.proposing import decided_by, propose, show_proposals
from tidegate.console.quarantined import case_of
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Refusal
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.page.response import Html
from tidegate.intake import store as intake_store
from tidegate.rail.deps import PaymentDeps
from tidegate.staff.permission import StaffPermission

SUBJECT_CHARS_MAX = 300
_COMMAND = "quarantine.close"


@dataclass(frozen=True)
class QuarantinePages:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor, visitor.request.query.get("subject", ""))

    async def _page(self, visitor: ConsoleVisitor, subject: str, wrong: Refusal | None = None) -> Html:
        rail, _, notification_id = subject[:SUBJECT_CHARS_MAX].partition("/")
        async with self.shell.db.transaction() as tx:
            by = await decided_by(tx, PLATFORM_BUSINESS_ID, _COMMAND, subject)
            notice = await intake_store.find_quarantined(tx, rail, notification_id, is_closed=by is not None)
            if notice is None:
                raise NotFound("no notification in quarantine has this name")
            found = await approval_store.list_about(tx, PLATFORM_BUSINESS_ID, subject)
            proposed = await show_proposals(self.shell, visitor, tx, found)
            await find_store.read_by_indexes(tx)
            case = await case_of(tx, notice, rails=list(self.deps.rails))
        return self.shell.page(
            visitor, "quarantine.html", title="Notification in quarantine", section="Suspense & quarantine",
            case=case, subject=subject, proposed=proposed, by=by, wrong=wrong,
            is_decidable=by is None and not any(not one.is_void for one in proposed),
            status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
        )  # fmt: skip

    async def close(self, visitor: ConsoleVisitor) -> Html:
        subject = visitor.form.get("subject", "")[:SUBJECT_CHARS_MAX]
        try:
            return await propose(self.shell, visitor, _COMMAND, "", subject)
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, subject, wrong)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/quarantine", "showQuarantined", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", "/quarantine", "closeQuarantine", StaffPermission.PROPOSE, self.close),
        ]
