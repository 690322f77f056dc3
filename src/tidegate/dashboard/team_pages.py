"""The team."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.errors import Conflict, Invalid, NotFound, Refusal
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member import permission
from tidegate.member.permission import Grant, Permission, Role
from tidegate.member.team import Team, invitation_in, role_in

_GRANT_WORDS = {
    Grant.YES: "yes",
    Grant.STEP_UP: "yes, with a proof",
    Grant.PROPOSES: "asks; another allows",
    Grant.NO: "–",
}


@dataclass(frozen=True)
class TeamPages:
    shell: DashboardShell
    team: Team
    # Where none is sent, the page shows the link to copy.
    sends_mail: bool

    async def show(self, visitor: DashboardVisitor) -> Html:
        return await self._page(visitor)

    async def _page(
        self, visitor: DashboardVisitor, wrong: Refusal | None = None, link: str = "", invited: str = ""
    ) -> Html:
        members, invitations = await self.team.list_all(visitor.business.id)
        return self.shell.page(
            visitor, "team.html", title="Team", section="Team", wrong=wrong,
            status=200 if wrong is None else 409 if isinstance(wrong, Conflict) else 422,
            members=members, invitations=invitations, roles=permission.roles_given_by(visitor.membership.role),
            link=link, invited=invited, sends_mail=self.sends_mail, all_roles=list(Role),
            rights=[(one.value, [_GRANT_WORDS[permission.grant(role, one)] for role in Role]) for one in Permission],
        )  # fmt: skip

    async def check_invitation(self, visitor: DashboardVisitor) -> Html | None:
        try:
            invitation_in(visitor.membership, visitor.form.get("email", ""), visitor.form.get("role", ""))
        except Invalid as wrong:
            return await self._page(visitor, wrong)
        return None

    async def confirms_invitation(self, visitor: DashboardVisitor) -> str:
        return f"Invite {visitor.form.get('email', '').strip()} as {visitor.form.get('role', '')}"

    async def invite(self, visitor: DashboardVisitor) -> Html:
        form = visitor.form
        try:
            link = await self.team.invite(
                visitor.session.member, visitor.membership, form.get("email", ""), form.get("role", ""),
                origin=visitor.request.client,
            )  # fmt: skip
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong)
        if self.sends_mail:
            return self.shell.to(visitor, "/team")
        return await self._page(visitor, link=link, invited=form.get("email", "").strip())

    async def check_withdrawal(self, visitor: DashboardVisitor) -> None:
        await self.team.invited(visitor.membership, _number_in(visitor))

    async def confirms_withdrawal(self, visitor: DashboardVisitor) -> str:
        return f"Withdraw the invitation of {(await self.team.invited(visitor.membership, _number_in(visitor))).email}"

    async def withdraw(self, visitor: DashboardVisitor) -> Html:
        await self.team.withdraw(
            visitor.session.member, visitor.membership, _number_in(visitor), origin=visitor.request.client
        )
        return self.shell.to(visitor, "/team")

    async def check_change(self, visitor: DashboardVisitor) -> Html | None:
        try:
            await self.team.changeable(visitor.membership, visitor.request.path["person"], _wanted_in(visitor))
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong)
        return None

    async def confirms_change(self, visitor: DashboardVisitor) -> str:
        wanted = _wanted_in(visitor)
        member = await self.team.changeable(visitor.membership, visitor.request.path["person"], wanted)
        return f"Make {member.name} {wanted.value}" if wanted else f"Remove {member.name} from the team"

    async def change(self, visitor: DashboardVisitor) -> Html:
        member, at, person = visitor.session.member, visitor.membership, visitor.request.path["person"]
        origin = visitor.request.client
        try:
            if visitor.form.get("what") == "remove":
                await self.team.remove(member, at, person, origin=origin)
            else:
                await self.team.change_role(member, at, person, visitor.form.get("role", ""), origin=origin)
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong)
        return self.shell.to(visitor, "/team")

    async def check_reset(self, visitor: DashboardVisitor) -> Html | None:
        try:
            await self.team.resettable(visitor.membership, visitor.request.path["person"])
        except Conflict as wrong:
            return await self._page(visitor, wrong)
        return None

    async def confirms_reset(self, visitor: DashboardVisitor) -> str:
        member = await self.team.resettable(visitor.membership, visitor.request.path["person"])
        return f"Reset the second factors of {member.name}"

    async def reset_factors(self, visitor: DashboardVisitor) -> Html:
        person, origin = visitor.request.path["person"], visitor.request.client
        try:
            await self.team.reset_factors(visitor.session.member, visitor.membership, person, origin=origin)
        except Conflict as wrong:
            return await self._page(visitor, wrong)
        return self.shell.to(visitor, "/team")

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("GET", "/team", "showTeam", Permission.SEE, self.show),
            DashboardRoute(
                "POST", "/team/invitations", "invite", Permission.TEAM, self.invite, check=self.check_invitation,
                confirms=self.confirms_invitation,
            ),
            DashboardRoute(
                "POST", "/team/invitations/{invitation}/withdraw", "withdrawInvitation", Permission.TEAM,
                self.withdraw, check=self.check_withdrawal, confirms=self.confirms_withdrawal,
            ),
            DashboardRoute(
                "POST", "/team/{person}", "changeMember", Permission.TEAM, self.change, check=self.check_change,
                confirms=self.confirms_change,
            ),
            DashboardRoute(
                "POST", "/team/{person}/reset", "resetFactors", Permission.LIMITS, self.reset_factors,
                check=self.check_reset, confirms=self.confirms_reset,
            ),
        ]  # fmt: skip


def _number_in(visitor: DashboardVisitor) -> int:
    number = number_in(visitor.request.path["invitation"])
    if number is None:
        raise NotFound("there is nothing at this address")
    return number


def _wanted_in(visitor: DashboardVisitor) -> Role | None:
    """None of one who is removed. Raises Invalid."""
    return None if visitor.form.get("what") == "remove" else role_in(visitor.form.get("role", ""))
