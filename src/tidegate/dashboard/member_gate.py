"""Pages before and beside a business: the invitation, and the choice of the business."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.errors import Invalid, RateLimited, Refusal
from tidegate.dashboard.gate import Gate, GateRow
from tidegate.infra.page.response import Html
from tidegate.infra.page.router import PageRequest
from tidegate.member import session_store
from tidegate.member.model import Member, MemberSession
from tidegate.member.team import Team


@dataclass(frozen=True)
class MemberGate(Gate):
    team: Team

    async def show_invitation(self, request: PageRequest) -> Html:
        return await self._invitation_page(request)

    async def _invitation_page(self, request: PageRequest, wrong: Refusal | None = None) -> Html:
        invited, is_known = await self.team.look_at(request.path["link"])
        return self.page(
            request, "invitation.html", title=f"Join {invited.business_name}", wrong=wrong, is_known=is_known,
            business=invited.business_name, email=invited.invitation.email, role=invited.invitation.role.value,
        )  # fmt: skip

    async def accept(self, request: PageRequest) -> Html:
        self.check(request)
        form = request.form
        try:
            signed_in, code = await self.team.accept(
                request.path["link"], form.get("name", ""), form.get("password", ""), self.visit(request)
            )
        except (Invalid, RateLimited) as wrong:
            return await self._invitation_page(request, wrong)
        return self.entered(signed_in, f"{self.path}/{code}")

    async def show_businesses(self, request: PageRequest, session: MemberSession) -> Html:
        async with self.shell.db.connection() as tx:
            memberships = await session_store.list_memberships(tx, session.member.id)
        if len(memberships) == 1:
            return self.to(f"{self.path}/{memberships[0].business_code}")
        return self.page(request, "businesses.html", title="Businesses", memberships=memberships)

    async def role_of(self, member: Member) -> str:
        async with self.shell.db.connection() as tx:
            memberships = await session_store.list_memberships(tx, member.id)
        return memberships[0].role.value if memberships else ""

    def more(self) -> list[GateRow]:
        return [
            ("GET", "", "showBusinesses", self.signed(self.show_businesses)),
            ("GET", "/invitation/{link}", "showInvitation", self.show_invitation),
            ("POST", "/invitation/{link}", "acceptInvitation", self.accept),
        ]
