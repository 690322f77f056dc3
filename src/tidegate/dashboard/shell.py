"""The shell of the dashboard: who looks, at which business, as what."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.audit import model as audit_model
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import AccessDenied, NotFound
from tidegate.dashboard import navigation
from tidegate.dashboard.form import OnceAct, do_once, was_done
from tidegate.dashboard.format import Times, ahead_words
from tidegate.dashboard.navigation import NavigationItem
from tidegate.dashboard.signed_in import PageRow, SignedInShell, SignedInVisitor
from tidegate.infra.page.response import Html, see_other
from tidegate.infra.page.router import PageRequest
from tidegate.member import permission
from tidegate.member.model import Membership
from tidegate.member.permission import Grant, Permission
from tidegate.merchant.model import Business

PATH = "/dashboard"


@dataclass(frozen=True, kw_only=True)
class DashboardVisitor(SignedInVisitor):
    membership: Membership
    business: Business
    # By how much the clock of the business is ahead of the real time, in words; only in a sandbox.
    ahead: str

    @property
    def by(self) -> Actor:
        return audit_model.person(self.session.member.id, self.request.client)

    @property
    def times(self) -> Times:
        return Times(self.business.time_zone, self.now)

    @property
    def navigation(self) -> list[list[NavigationItem]]:
        return navigation.seen_by(self.membership.role)

    def may(self, wanted: Permission) -> bool:
        return permission.may(self.membership.role, wanted)

    @property
    def caller(self) -> str:
        """Whose downloads are counted together."""
        return f"{self.business.id} {self.session.member.id}"

    def path(self, below: str = "") -> str:
        return f"{PATH}/{self.membership.business_code}{below}"


DashboardRoute = PageRow[DashboardVisitor, Permission]


@dataclass(frozen=True)
class DashboardShell(SignedInShell[DashboardVisitor, Permission]):
    @property
    def prefix(self) -> str:
        return f"{PATH}/{{business}}"

    async def visitor_of(self, request: PageRequest, wanted: Permission) -> DashboardVisitor | Html:
        code = request.path["business"]
        found = await self.sign_in.find(request.cookies.get(self.session_cookie.name), code)
        if found is None:
            return self.way_in("/sign-in", request)
        if found.session.needs_second_factor:
            return self.way_in("/second-factor", request)
        if found.membership is None or found.business is None:
            raise NotFound("there is nothing at this address")
        if found.session.needs_enrolment(found.membership):
            return self.way_in("/two-step", request)
        now = self.clock.now_of(found.membership.business_id)
        visitor = DashboardVisitor(
            request=request, session=found.session, now=now, membership=found.membership, business=found.business,
            ahead=ahead_words(now, self.clock.now()),
        )  # fmt: skip
        if found.membership.is_viewed and request.method == "POST":
            raise AccessDenied("you view this business for the operator, and cannot change anything")
        if not visitor.may(wanted):
            await self._refuse(visitor, wanted)
        return visitor

    async def _refuse(self, visitor: DashboardVisitor, wanted: Permission) -> None:
        async with self.db.connection() as tx:
            await audit.insert(
                tx, visitor.business.id, visitor.by, action="access.denied", subject=wanted.name.lower(),
                details={"role": visitor.membership.role}, now=visitor.now,
            )  # fmt: skip
        role = visitor.membership.role.value
        raise AccessDenied(f"as {role} you may not {wanted.value}; an owner or admin can change your role")

    def grant_of(self, visitor: DashboardVisitor, wanted: Permission) -> Grant:
        return permission.grant(visitor.membership.role, wanted)

    def right_named(self, name: str) -> Permission:
        return Permission[name]

    def address(self, visitor: DashboardVisitor, below: str) -> str:
        return visitor.path(below)

    def to(self, visitor: DashboardVisitor, below: str) -> Html:
        return see_other(self.site.url(visitor.path(below)))

    async def once(self, visitor: DashboardVisitor, act: OnceAct) -> Html:
        return self.to(visitor, await do_once(self.db, visitor.business.id, visitor.request, act, now=visitor.now))

    async def was_sent(self, visitor: DashboardVisitor) -> bool:
        return await was_done(self.db, visitor.business.id, visitor.request)
