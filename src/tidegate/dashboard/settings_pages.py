"""Settings, and the sandbox's own pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from zoneinfo import available_timezones

from tidegate.approval import store as approval_store
from tidegate.approval.model import default_limit
from tidegate.audit import store as audit
from tidegate.core.clock import ShiftedClock
from tidegate.core.errors import Invalid, NotFound, Problem, Refusal
from tidegate.core.fee import FeeBearer
from tidegate.core.money import ACCOUNT_OFFERS, CHECKOUT_OFFERS, Money
from tidegate.dashboard.format import amount, typed
from tidegate.dashboard.refund_form import amount_in
from tidegate.dashboard.shell import PATH, DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.dashboard.sign_in_pages import SignInPages
from tidegate.infra.page.response import Html
from tidegate.member import session_store, team_store
from tidegate.member.permission import Permission
from tidegate.merchant import store as merchants
from tidegate.merchant.redirect_host import typed_hosts
from tidegate.payment import rehearsal_store
from tidegate.payment.rehearsal import RehearsedEnd, rehearse
from tidegate.payment.variance import VariancePolicy
from tidegate.sandbox import store as sandbox_store
from tidegate.sandbox.wire import AHEAD_MAX

POLICIES = {
    "accept": "Accept: settle what came, refund by hand",
    "top_up": "Top up: wait for the rest of too little",
    "return": "Return: send back what differs",
}
# Currencies of payments, and of inflows.
REFUNDED = tuple(dict.fromkeys([*CHECKOUT_OFFERS, *ACCOUNT_OFFERS]))
REHEARSED_DAYS = 30
ADVANCES = {"1h": timedelta(hours=1), "24h": timedelta(days=1)}


@dataclass(frozen=True)
class SettingsPages:
    shell: DashboardShell

    async def show(self, visitor: DashboardVisitor) -> Html:
        wanted = visitor.request.query.get("rehearse")
        wrong = (
            Invalid(Problem("rehearse", "Choose one of the policies.")) if wanted and wanted not in POLICIES else None
        )
        return await self._page(visitor, wrong)

    async def _page(self, visitor: DashboardVisitor, wrong: Refusal | None = None) -> Html:
        wanted = visitor.request.query.get("rehearse", "")
        rehearsal = None
        async with self.shell.db.connection() as tx:
            limits = await approval_store.list_limits(tx, visitor.business.id)
            if wanted in POLICIES and wanted != visitor.business.variance_policy:
                since = visitor.now - timedelta(days=REHEARSED_DAYS)
                transfers = await rehearsal_store.list_transfers(tx, visitor.business.id, since=since)
                rehearsal = rehearse(
                    transfers, today=VariancePolicy(visitor.business.variance_policy), then=VariancePolicy(wanted),
                    tolerance_minor=visitor.business.variance_tolerance_minor,
                )  # fmt: skip
        shown = [(currency.value, typed(limits.get(currency) or default_limit(currency))) for currency in REFUNDED]
        return self.shell.page(
            visitor, "settings.html", title="Settings", section="Settings", wrong=wrong, status=422 if wrong else 200,
            business=visitor.business, policies=POLICIES, limits=shown, zones=sorted(available_timezones()),
            rehearsal=rehearsal, rehearsed_days=REHEARSED_DAYS, end_words=end_words,
            bearers=list(FeeBearer),
        )  # fmt: skip

    async def check(self, visitor: DashboardVisitor) -> Html | None:
        return await self._refused(visitor, settings_in)

    async def check_hosts(self, visitor: DashboardVisitor) -> Html | None:
        return await self._refused(visitor, hosts_in)

    async def check_limits(self, visitor: DashboardVisitor) -> Html | None:
        return await self._refused(visitor, limits_in)

    async def _refused(self, visitor: DashboardVisitor, read: Callable[[DashboardVisitor], Any]) -> Html | None:
        try:
            read(visitor)
        except Invalid as wrong:
            return await self._page(visitor, wrong)
        return None

    async def change(self, visitor: DashboardVisitor) -> Html:
        return await self._save(visitor, settings_in)

    async def change_hosts(self, visitor: DashboardVisitor) -> Html:
        return await self._save(visitor, hosts_in)

    async def _save(self, visitor: DashboardVisitor, read: Callable[[DashboardVisitor], dict[str, Any]]) -> Html:
        try:
            changes = read(visitor)
        except Invalid as wrong:
            return await self._page(visitor, wrong)
        await save(self.shell, visitor, changes, action="business.changed")
        return self.shell.to(visitor, "/settings")

    async def change_limits(self, visitor: DashboardVisitor) -> Html:
        try:
            wanted = limits_in(visitor)
        except Invalid as wrong:
            return await self._page(visitor, wrong)
        async with self.shell.db.transaction() as tx:
            for limit in wanted:
                await approval_store.set_limit(tx, visitor.business.id, limit)
            await audit.insert(
                tx, visitor.business.id, visitor.by, action="refund.limits", subject="refunds",
                details={str(limit.currency): str(limit) for limit in wanted}, now=visitor.now,
            )  # fmt: skip
        return self.shell.to(visitor, "/settings")

    async def change_two_step(self, visitor: DashboardVisitor) -> Html:
        changes = {"two_step_for_all": "two_step_for_all" in visitor.form}
        await save(self.shell, visitor, changes, action="business.changed")
        return self.shell.to(visitor, "/settings")

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("GET", "/settings", "showSettings", Permission.SEE, self.show),
            DashboardRoute(
                "POST", "/settings", "changeSettings", Permission.SETTINGS, self.change, check=self.check,
                confirms="Change how payments are taken",
            ),
            DashboardRoute(
                "POST", "/settings/hosts", "changeHosts", Permission.ENDPOINTS, self.change_hosts,
                check=self.check_hosts, confirms="Change the hosts that customers may be sent back to",
            ),
            DashboardRoute(
                "POST", "/settings/limits", "changeLimits", Permission.LIMITS, self.change_limits,
                check=self.check_limits, confirms="Change from which amount a refund needs a second person",
            ),
            DashboardRoute(
                "POST", "/settings/two-step", "demandTwoStep", Permission.LIMITS, self.change_two_step,
                confirms="Change who must sign in with two steps",
            ),
        ]  # fmt: skip


async def save(shell: DashboardShell, visitor: DashboardVisitor, changes: dict[str, Any], *, action: str) -> None:
    """With its row in the audit log: before → after."""
    async with shell.db.transaction() as tx:
        after = await merchants.update_business(tx, visitor.business.id, changes=changes, now=visitor.now)
        assert after is not None
        before = {name: getattr(visitor.business, name) for name in changes}
        details = {name: [before[name], value] for name, value in changes.items() if before[name] != value}
        await audit.insert(
            tx, visitor.business.id, visitor.by, action=action, subject=visitor.business.id, details=details,
            now=visitor.now,
        )  # fmt: skip


def settings_in(visitor: DashboardVisitor) -> dict[str, Any]:
    form = visitor.form
    policy, zone, minutes, bearer = (form.get(name, "") for name in ("policy", "zone", "session", "bearer"))
    problems = []
    if policy not in POLICIES:
        problems.append(Problem("policy", "Choose what happens when the amount differs."))
    if zone not in available_timezones():
        problems.append(Problem("zone", "Choose a time zone of the list, such as Africa/Lagos."))
    if not minutes.isascii() or not minutes.isdigit() or len(minutes) > 4 or not 15 <= int(minutes) <= 1440:
        problems.append(Problem("session", "Enter how many minutes a payer has, from 15 to 1440."))
    if bearer not in set(FeeBearer):
        problems.append(Problem("bearer", "Choose who pays the fee."))
    if problems:
        raise Invalid(*problems)
    return {
        "variance_policy": policy,
        "time_zone": zone,
        "session_minutes": int(minutes),
        "receipts_by_mail": "receipts" in form,
        "fee_bearer": FeeBearer(bearer),
    }


def limits_in(visitor: DashboardVisitor) -> list[Money]:
    """What was left empty stays as it is. Raises Invalid, with every field that is wrong."""
    found: list[Money] = []
    problems: list[Problem] = []
    for currency in REFUNDED:
        field = f"limit-{currency}"
        if text := visitor.form.get(field, "").strip():
            try:
                found.append(amount_in(text, currency, field))
            except Invalid as wrong:
                problems += wrong.problems
    if problems:
        raise Invalid(*problems)
    return found


def end_words(end: RehearsedEnd) -> str:
    """Paid, ₦2,000.00 sent back."""
    words = f"paid with {amount(end.kept)}" if end.is_paid else "not paid"
    return f"{words}, {amount(end.back)} sent back" if end.back.minor else words


def hosts_in(visitor: DashboardVisitor) -> dict[str, Any]:
    return {"redirect_hosts": tuple(typed_hosts(visitor.form.get("hosts", "")))}


@dataclass(frozen=True)
class SandboxPages:
    """Time travel, and being another person. Absent in live mode."""

    shell: DashboardShell
    sign_in_pages: SignInPages
    clock: ShiftedClock

    async def advance(self, visitor: DashboardVisitor) -> Html:
        length = ADVANCES.get(visitor.form.get("by", ""))
        if length is None:
            raise NotFound("the clock has no such step; open the page again and choose one of its buttons")
        async with self.shell.db.connection() as tx:
            ahead = await sandbox_store.advance(tx, visitor.business.id, length, ahead_max=AHEAD_MAX)
        if ahead is not None:
            self.clock.learn(visitor.business.id, ahead)
        return self.shell.to(visitor, "")

    async def show_people(self, visitor: DashboardVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            team = await team_store.list_team(tx, visitor.business.id)
        people = [one for one in team if one.member.is_of_sandbox]
        return self.shell.page(visitor, "people.html", title="Be someone else", people=people)

    async def become(self, visitor: DashboardVisitor) -> Html:
        """Only the sandbox's own people, who have no factor: a person with a password cannot be chosen."""
        async with self.shell.db.transaction() as tx:
            team = await team_store.list_team(tx, visitor.business.id)
            found = next((one for one in team if one.member.id == visitor.form.get("person")), None)
            if found is None or not found.member.is_of_sandbox or not visitor.session.member.is_of_sandbox:
                raise NotFound("there is no such person of the sandbox; open the page again and choose one of the list")
            signed_in = await self.shell.sign_in.open(
                tx, found.member, self.sign_in_pages.sign_in_request(visitor.request), is_complete=True
            )
            await session_store.delete(tx, visitor.session.token_hash)
        return self.sign_in_pages.entered(signed_in, f"{PATH}/{visitor.membership.business_code}")

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("POST", "/sandbox/advance", "advanceClockOnDashboard", Permission.SANDBOX, self.advance),
            DashboardRoute("GET", "/sandbox/people", "showPeople", Permission.SEE, self.show_people),
            DashboardRoute("POST", "/sandbox/people", "becomePerson", Permission.SEE, self.become),
        ]
