"""The staff; and in a sandbox, being another person."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.console.proposing import propose
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.console.staff_sign_in_pages import StaffSignInPages
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Refusal
from tidegate.infra.page.response import Html
from tidegate.member import session_store
from tidegate.member.model import email_in, name_in
from tidegate.staff import permission, store
from tidegate.staff.model import staff_role_in
from tidegate.staff.permission import StaffPermission, StaffRole
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.arguments import StaffArguments


@dataclass(frozen=True)
class StaffPages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        async with self.shell.db.connection() as tx:
            found = await store.list_all(tx)
            versions = {
                one.member.email: await staff_approvals.version_of(tx, "staff.remove", "", one.member.email)
                for one in found
            }
        rights = [(one.value, [permission.grant_of(role, one).value for role in StaffRole]) for one in StaffPermission]
        return self.shell.page(
            visitor, "staff.html", title="Staff", section="Staff", people=found, rights=rights, roles=list(StaffRole),
            versions=versions, wrong=wrong, status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
        )  # fmt: skip

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        """A role is changed by adding the address again."""
        form = visitor.form
        try:
            email = email_in(form.get("email", ""))
            if form.get("what") == "remove":
                return await propose(self.shell, visitor, "staff.remove", "", email)
            added = StaffArguments(name=name_in(form.get("name", "")), role=staff_role_in(form.get("role", "")))
            async with self.shell.db.connection() as tx:
                version = await staff_approvals.version_of(tx, "staff.add", "", email)
            return await propose(self.shell, visitor, "staff.add", "", email, arguments=added, version=version)
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, wrong)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/staff", "showStaff", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", "/staff", "proposeOnStaff", StaffPermission.STAFF, self.decide),
        ]


@dataclass(frozen=True)
class SandboxStaffPages:
    """Absent in live mode."""

    shell: ConsoleShell
    sign_in_pages: StaffSignInPages

    async def show(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            found = [one for one in await store.list_all(tx) if one.member.is_of_sandbox]
        return self.shell.page(visitor, "be_someone.html", title="Be someone else", people=found)

    async def become(self, visitor: ConsoleVisitor) -> Html:
        """Only the sandbox's own staff, who have no factor."""
        async with self.shell.db.transaction() as tx:
            found = await store.find(tx, visitor.form.get("person", ""))
            if found is None or not found.member.is_of_sandbox or not visitor.session.member.is_of_sandbox:
                raise NotFound("there is no such person of the sandbox; open the page again and choose one of the list")
            signed_in = await self.shell.sign_in.open(
                tx, found.member, self.sign_in_pages.sign_in_request(visitor.request), is_complete=True
            )
            await session_store.delete(tx, visitor.session.token_hash)
        return self.sign_in_pages.entered(signed_in, self.sign_in_pages.path)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/sandbox/people", "showStaffOfSandbox", StaffPermission.SANDBOX, self.show),
            ConsoleRoute("POST", "/sandbox/people", "becomeStaff", StaffPermission.SANDBOX, self.become),
        ]
