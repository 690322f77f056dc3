"""Rails, and the refunds and returns that rails have not ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from tidegate.alarm import health_store
from tidegate.approval import store as approval_store
from tidegate.console import work_store
from tidegate.console.accounts import reason_in
from tidegate.console.approvals import AT_SUBJECT
from tidegate.console.proposing import propose
from tidegate.console.queue_store import STUCK_AFTER
from tidegate.console.refund_detail import RefundDetailPages
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.console.work_store import StuckRefund
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, Problem, Refusal
from tidegate.dashboard.format import percent
from tidegate.doctor import rail_store
from tidegate.infra.page.response import Html
from tidegate.intake import ask_again, request_again
from tidegate.merchant.field import remark_in
from tidegate.money_return import list_store
from tidegate.money_return.list_store import StuckReturn
from tidegate.rail import notification_store, pause_store
from tidegate.rail import pause as pausing
from tidegate.rail.deps import PaymentDeps
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval.arguments import RefundEndArguments, ReturnEndArguments
from tidegate.staff_approval.commands import NOTHING

PAGE = 100
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class RailPages:
    shell: ConsoleShell
    deps: PaymentDeps
    refunds: RefundDetailPages

    async def show_rails(self, visitor: ConsoleVisitor) -> Html:
        return await self._rails(visitor)

    async def _rails(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        async with self.shell.db.connection() as tx:
            hours = await health_store.list_rail_hours(tx, since=visitor.now - HOUR)
            activity = {name: await rail_store.get_activity(tx, name) for name in self.deps.rails}
            paused = {one.rail: one for one in await pause_store.list_open(tx)}
        rows = [(one, percent(one.succeeded, one.succeeded + one.failed), activity.get(one.rail)) for one in hours]
        quiet = [(name, found) for name, found in activity.items() if name not in {one.rail for one in hours}]
        return self.shell.page(
            visitor, "rails.html", title="Rails", section="Rails", rows=rows, quiet=quiet, paused=paused, wrong=wrong,
            names=list(self.deps.rails), status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
        )  # fmt: skip

    async def show_stuck(self, visitor: ConsoleVisitor) -> Html:
        return await self._stuck(visitor)

    async def _stuck(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        before = visitor.now - STUCK_AFTER
        async with self.shell.db.connection() as tx:
            refunds = await work_store.list_refunds(tx, before=before, limit=PAGE)
            returns = await list_store.list_stuck(tx, before=before, limit=PAGE)
            subjects = await work_store.list_of_returns(tx, [one.reference for one in returns])
            paused = await pause_store.list_open(tx)
            doubts = await notification_store.list_doubts(tx, _in_doubt(refunds, returns))
            names = await staff_store.list_names(tx)
            proposed = {one.subject for one in await approval_store.list_of_staff(tx, is_open=True, limit=PAGE)}
        return self.shell.page(
            visitor, "stuck.html", title="Refunds & returns", section="Refunds & returns", refunds=refunds,
            returns=[(one, subjects.get(one.reference)) for one in returns], proposed=proposed, wrong=wrong,
            paused=paused, stopped={one.rail: one for one in paused}, names=names, doubts=doubts,
            repeatable=request_again.RAILS, status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
        )  # fmt: skip

    async def ask(self, visitor: ConsoleVisitor) -> Html:
        path, rail = visitor.request.path, visitor.form.get("rail", "")
        now = self.shell.clock.now_of(path["business"])
        try:
            await ask_again.ask(
                self.shell.db, path["kind"], path["business"], path["reference"], rail=rail, by=visitor.by, now=now
            )
        except Conflict as wrong:
            return await self._stuck_or_refund(visitor, wrong)
        is_of_refund = visitor.form.get("at") == AT_SUBJECT and path["kind"] == "refund"
        page = f"/stuck/refund/{path['business']}/{path['reference']}" if is_of_refund else "/stuck"
        return self.shell.to(f"{page}?said=done")

    async def _stuck_or_refund(self, visitor: ConsoleVisitor, wrong: Refusal) -> Html:
        """The page that has the form."""
        if visitor.form.get("at") == AT_SUBJECT:
            return await self.refunds.page(visitor, wrong)
        return await self._stuck(visitor, wrong)

    async def end_return(self, visitor: ConsoleVisitor) -> Html:
        path = visitor.request.path
        try:
            arguments = None if is_again(visitor) else ReturnEndArguments(sent_as=sent_as_in(visitor))
            command = "return.end" if arguments else "return.again"
            return await propose(
                self.shell, visitor, command, path["business"], path["reference"], arguments=arguments or NOTHING
            )
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._stuck(visitor, wrong)

    async def end_refund(self, visitor: ConsoleVisitor) -> Html:
        path = visitor.request.path
        try:
            arguments = None if is_again(visitor) else refund_end_in(visitor)
            command = "refund.end" if arguments else "refund.again"
            return await propose(
                self.shell, visitor, command, path["business"], path["reference"], arguments=arguments or NOTHING
            )
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._stuck_or_refund(visitor, wrong)

    async def pause(self, visitor: ConsoleVisitor) -> Html:
        """Stops money, so one person does it."""
        try:
            await pausing.pause(
                self.shell.db, visitor.request.path["rail"], reason_in(visitor), configured=self.deps.rails,
                by=visitor.by, now=visitor.now,
            )  # fmt: skip
        except (Invalid, Conflict) as wrong:
            return await self._rails(visitor, wrong)
        await self.deps.paused.look(self.shell.db)
        return self.shell.to("/rails?said=done")

    async def confirms_pause(self, visitor: ConsoleVisitor) -> str:
        return f"Pause the rail {visitor.request.path['rail']}"

    async def resume(self, visitor: ConsoleVisitor) -> Html:
        try:
            return await propose(self.shell, visitor, "rail.resume", "", visitor.request.path["rail"])
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._rails(visitor, wrong)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/rails", "showRails", StaffPermission.SEE, self.show_rails),
            ConsoleRoute("GET", "/stuck", "showStuck", StaffPermission.SEE, self.show_stuck),
            ConsoleRoute(
                "POST", "/stuck/{kind}/{business}/{reference}/ask", "askRailAgain", StaffPermission.ASK, self.ask
            ),
            ConsoleRoute(
                "POST",
                "/stuck/return/{business}/{reference}/end",
                "endReturn",
                StaffPermission.PROPOSE,
                self.end_return,
            ),
            ConsoleRoute(
                "POST",
                "/stuck/refund/{business}/{reference}/end",
                "endRefund",
                StaffPermission.PROPOSE,
                self.end_refund,
            ),
            ConsoleRoute(
                "POST",
                "/rails/{rail}/pause",
                "pauseRail",
                StaffPermission.SUSPEND,
                self.pause,
                confirms=self.confirms_pause,
            ),
            ConsoleRoute("POST", "/rails/{rail}/resume", "resumeRail", StaffPermission.PROPOSE, self.resume),
        ]


def refund_end_in(visitor: ConsoleVisitor) -> RefundEndArguments:
    outcome = visitor.form.get("outcome", "")
    if outcome not in ("paid", "not-paid"):
        raise Invalid(Problem("outcome", "Choose whether the payer has the money."))
    return RefundEndArguments(is_paid=outcome == "paid", sent_as=sent_as_in(visitor))


def sent_as_in(visitor: ConsoleVisitor) -> str | None:
    given = visitor.form.get("sent_as", "").strip()
    return remark_in("sent_as", given) if given else None


def is_again(visitor: ConsoleVisitor) -> bool:
    """It was never requested there, and is to be requested again."""
    return visitor.form.get("outcome") == "again"


def _in_doubt(refunds: Sequence[StuckRefund], returns: Sequence[StuckReturn]) -> list[str]:
    """The ids under which the quarantine has them."""
    return [
        *(notification_store.refund_in_doubt(one.reference) for one in refunds),
        *(notification_store.return_in_doubt(one.reference) for one in returns),
    ]
