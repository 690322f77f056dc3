"""The shell of the console: who of the staff looks, and as what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidegate.audit import model as audit_model
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.console import queue_store
from tidegate.console.navigation import ConsoleItem, console_items
from tidegate.console.queue_store import QueueCounts
from tidegate.core.errors import AccessDenied
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.dashboard.form import OnceAct, do_once
from tidegate.dashboard.format import Times
from tidegate.dashboard.signed_in import PageRow, SignedInShell, SignedInVisitor
from tidegate.infra.page.response import Html, see_other
from tidegate.infra.page.router import PageRequest
from tidegate.member.permission import Grant
from tidegate.member.realm import CONSOLE
from tidegate.staff import store as staff_store
from tidegate.staff.model import StaffMember
from tidegate.staff.permission import StaffPermission, grant_of, is_granted
from tidegate.staff_approval.model import StaffApprovalDeps

PATH = CONSOLE.path
# What a page says after a form; the address has the word alone.
SAID = {
    "proposed": "Proposed. It waits for one of the approvers.",
    "proposed_before": "Proposed. It waits for one of the approvers; this is the next one.",
    "approved": "Approved and done.",
    "no_mail": "Approved. No mail is sent here: on the server, `tidegate approval link` and their e-mail address print "
    "the link for them.",
    "declined": "Declined; nothing was done.",
    "taken_back": "Taken back; nothing was done.",
    "done": "Done.",
    "asked": "Asked. The merchant gets a mail and answers in the dashboard.",
    "question_taken_back": "Taken back. The merchant gets a mail that no answer is needed.",
    "runs": "It runs within seconds, while a worker runs.",
    "explained": "Explained. With the same amounts on both sides they are no breaks in the next comparison.",
    "explained_anew": "Explained. Notes that stood there before are in the audit trail.",
    "created": "Created. The invitation of its owner waits for one of the approvers.",
}


@dataclass(frozen=True, kw_only=True)
class ConsoleVisitor(SignedInVisitor):
    staff: StaffMember
    queues: QueueCounts = field(default_factory=QueueCounts)

    @property
    def by(self) -> Actor:
        return audit_model.staff(self.staff.member.id, self.request.client)

    @property
    def times(self) -> Times:
        return Times("UTC", self.now)

    @property
    def navigation(self) -> list[list[ConsoleItem]]:
        return console_items(self.queues)

    def may(self, wanted: StaffPermission) -> bool:
        return is_granted(self.staff.role, wanted)


ConsoleRoute = PageRow[ConsoleVisitor, StaffPermission]


@dataclass(frozen=True)
class ConsoleShell(SignedInShell[ConsoleVisitor, StaffPermission]):
    approvals: StaffApprovalDeps

    @property
    def prefix(self) -> str:
        return PATH

    async def visitor_of(self, request: PageRequest, wanted: StaffPermission) -> ConsoleVisitor | Html:
        found = await self.sign_in.find(request.cookies.get(self.session_cookie.name), None)
        if found is None:
            return self.way_in("/sign-in", request)
        session = found.session
        if session.needs_second_factor:
            return self.way_in("/second-factor", request)
        if session.lacks_second_factor:
            return self.way_in("/two-step", request)
        async with self.db.connection() as tx:
            staff = await staff_store.find(tx, session.member.id)
            if staff is None:
                return see_other(self.site.url(f"{PATH}/sign-in"))
            queues = await queue_store.count(tx)
        visitor = ConsoleVisitor(request=request, session=session, now=self.clock.now(), staff=staff, queues=queues)
        if not visitor.may(wanted):
            await self._refuse(visitor, wanted)
        return visitor

    async def _refuse(self, visitor: ConsoleVisitor, wanted: StaffPermission) -> None:
        role = visitor.staff.role.value
        async with self.db.connection() as tx:
            await audit.insert(
                tx, PLATFORM_BUSINESS_ID, visitor.by, action="access.denied", subject=wanted.name.lower(),
                details={"role": role}, now=visitor.now,
            )  # fmt: skip
        raise AccessDenied(f"as {role} you may not {wanted.value}; another of the staff can")

    def grant_of(self, visitor: ConsoleVisitor, wanted: StaffPermission) -> Grant:
        return grant_of(visitor.staff.role, wanted)

    def right_named(self, name: str) -> StaffPermission:
        return StaffPermission[name]

    def address(self, visitor: ConsoleVisitor, below: str) -> str:
        return PATH + below

    def facts_of(self, visitor: ConsoleVisitor) -> dict[str, Any]:
        return {"said": SAID.get(visitor.request.query.get("said", ""), "")}

    def to(self, below: str) -> Html:
        return see_other(self.site.url(PATH + below))

    async def once(self, visitor: ConsoleVisitor, act: OnceAct) -> Html:
        return self.to(await do_once(self.db, PLATFORM_BUSINESS_ID, visitor.request, act, now=visitor.now))
