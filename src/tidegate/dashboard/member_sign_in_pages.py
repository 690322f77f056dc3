"""Pages before and beside a business: the invitation, and the choice of the business."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.errors import Invalid, RateLimited, Refusal
from tidegate.dashboard.sign_in_pages import SignInPages, SignInRow
from tidegate.infra.page.response import Html
from tidegate.infra.page.router import PageRequest
from tidegate.member import session_store, store
from tidegate.member.model import Member, MemberSession, hash_of_token
from tidegate.member.team import Team
from tidegate.member.view_as import VIEW
from tidegate.merchant import store as merchants


@dataclass(frozen=True)
class MemberSignInPages(SignInPages):
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
                request.path["link"], form.get("name", ""), form.get("password", ""), self.sign_in_request(request)
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

    async def show_view(self, request: PageRequest) -> Html:
        """Nothing is spent by looking."""
        member = await self.shell.sign_in.find_link(request.path["link"], VIEW)
        return self.page(request, "view_as.html", title="View a dashboard", member=member)

    async def view(self, request: PageRequest) -> Html:
        """To the one business that the link is about."""
        self.check(request)
        token_hash = hash_of_token(request.path["link"]) or b""
        async with self.shell.db.connection() as tx:
            business_id = await store.find_viewed(tx, token_hash)
            business = await merchants.find_business(tx, business_id or "")
        signed_in = await self.shell.sign_in.view(request.path["link"], self.sign_in_request(request))
        return self.entered(signed_in, f"{self.path}/{business.code}" if business else self.path)

    async def role_of(self, member: Member) -> str:
        async with self.shell.db.connection() as tx:
            memberships = await session_store.list_memberships(tx, member.id)
        return memberships[0].role.value if memberships else ""

    def more(self) -> list[SignInRow]:
        return [
            ("GET", "", "showBusinesses", self.signed(self.show_businesses)),
            ("GET", "/invitation/{link}", "showInvitation", self.show_invitation),
            ("POST", "/invitation/{link}", "acceptInvitation", self.accept),
            ("GET", "/view/{link}", "showViewAs", self.show_view),
            ("POST", "/view/{link}", "viewAs", self.view),
        ]
