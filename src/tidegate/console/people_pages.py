"""The staff; and in a sandbox, being somebody else."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.console.staff_gate import StaffGate
from tidegate.core.errors import NotFound
from tidegate.infra.page.response import Html
from tidegate.member import session_store
from tidegate.staff import permission, store
from tidegate.staff.permission import StaffPermission, StaffRole


@dataclass(frozen=True)
class StaffPages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            found = await store.list_all(tx)
        rights = [(one.value, [permission.grant_of(role, one).value for role in StaffRole]) for one in StaffPermission]
        return self.shell.page(
            visitor, "staff.html", title="Staff", section="Staff", people=found, rights=rights, roles=list(StaffRole)
        )

    def routes(self) -> list[ConsoleRoute]:
        return [ConsoleRoute("GET", "/staff", "showStaff", StaffPermission.SEE, self.show)]


@dataclass(frozen=True)
class SandboxStaffPages:
    """Absent in live mode."""

    shell: ConsoleShell
    gate: StaffGate

    async def show(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            found = [one for one in await store.list_all(tx) if one.member.is_of_sandbox]
        return self.shell.page(visitor, "be_someone.html", title="Be someone else", people=found)

    async def become(self, visitor: ConsoleVisitor) -> Html:
        """Only the sandbox's own staff, who have no factor."""
        async with self.shell.db.transaction() as tx:
            found = await store.find(tx, visitor.form.get("person", ""))
            if found is None or not found.member.is_of_sandbox or not visitor.session.member.is_of_sandbox:
                raise NotFound("there is no such person of the sandbox")
            signed_in = await self.shell.sign_in.open(
                tx, found.member, self.gate.visit(visitor.request), is_complete=True
            )
            await session_store.delete(tx, visitor.session.token_hash)
        return self.gate.entered(signed_in, self.gate.path)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/sandbox/people", "showStaffOfSandbox", StaffPermission.SANDBOX, self.show),
            ConsoleRoute("POST", "/sandbox/people", "becomeStaff", StaffPermission.SANDBOX, self.become),
        ]
