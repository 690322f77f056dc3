"""Rails, rates, and the refunds and returns that rails have not ended."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from tidegate.alarm import health_store
from tidegate.approval import store as approval_store
from tidegate.collection import set_rate
from tidegate.collection.rate_wire import RateNumber, SpreadPercent
from tidegate.console import work_store
from tidegate.console.accounts import reason_in
from tidegate.console.approvals import AT_SUBJECT
from tidegate.console.proposing import propose
from tidegate.console.queue_store import STUCK_AFTER
from tidegate.console.refund_detail import RefundDetailPages
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, Problem, Refusal
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.core.money import Currency
from tidegate.dashboard.format import percent
from tidegate.doctor import rail_store
from tidegate.infra.http.query import Moment
from tidegate.infra.page.response import Html
from tidegate.intake import ask_again
from tidegate.money_return import list_store
from tidegate.rail import pause as pausing
from tidegate.rail import pause_store
from tidegate.rail.bankfiles.ecb import FILE_BYTES_MAX
from tidegate.rail.bankfiles.model import FileRefused
from tidegate.rail.deps import PaymentDeps
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval import rate_file
from tidegate.staff_approval.arguments import RateArguments, RefundEndArguments, percent_of

PAGE = 100
# With room for the other fields.
RATE_FILE_BYTES_MAX = FILE_BYTES_MAX + 64 * 1024
HOUR = timedelta(hours=1)
SOURCE_CHARS_MAX = 40
RATE_CHARS_MAX = 30
# A rate that is further off than this from the last one is typed twice.
OFF_MAX = Decimal("0.1")
# Not 1e3 or 1_000, which are read wrongly.
_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?")


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
            names = await staff_store.list_names(tx)
            proposed = {one.subject for one in await approval_store.list_of_staff(tx, is_open=True, limit=PAGE)}
        return self.shell.page(
            visitor, "stuck.html", title="Refunds & returns", section="Refunds & returns", refunds=refunds,
            returns=[(one, subjects.get(one.reference)) for one in returns], proposed=proposed, wrong=wrong,
            paused=paused, stopped={one.rail for one in paused}, names=names,
            status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
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
            return await propose(self.shell, visitor, "return.end", path["business"], path["reference"])
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._stuck(visitor, wrong)

    async def end_refund(self, visitor: ConsoleVisitor) -> Html:
        path = visitor.request.path
        try:
            return await propose(
                self.shell, visitor, "refund.end", path["business"], path["reference"], arguments=refund_end_in(visitor)
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

    async def resume(self, visitor: ConsoleVisitor) -> Html:
        try:
            return await propose(self.shell, visitor, "rail.resume", "", visitor.request.path["rail"])
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._rails(visitor, wrong)

    async def show_rates(self, visitor: ConsoleVisitor) -> Html:
        return await self._rates(visitor)

    async def _rates(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        newest = await set_rate.list_rates(self.shell.db)
        async with self.shell.db.connection() as tx:
            history = await work_store.list_rates(tx, PLATFORM_BUSINESS_ID, limit=PAGE)
        lasts = self.deps.inflow_terms.rate_lasts
        return self.shell.page(
            visitor, "rates.html", title="Rates", section="Rates", history=history, wrong=wrong,
            rates=[(one, visitor.now - one.quoted_at <= lasts) for one in newest],
            currencies=[one.value for one in Currency], status=422 if wrong else 200, percent_of=percent_of,
            asks_again=isinstance(wrong, Invalid) and any(one.field == "again" for one in wrong.problems),
        )  # fmt: skip

    async def decide_rate(self, visitor: ConsoleVisitor) -> Html:
        try:
            rate = rate_in(visitor)
            newest = {(one.base, one.quote): one.rate for one in await set_rate.list_rates(self.shell.db)}
            _refuse_far_off(rate.rate, newest.get((rate.base, rate.quote)), visitor.form.get("again", ""))
            pair = f"{rate.base}/{rate.quote}"
            async with self.shell.db.connection() as tx:
                version = await staff_approvals.version_of(tx, "rate.set", PLATFORM_BUSINESS_ID, pair)
            return await propose(
                self.shell, visitor, "rate.set", PLATFORM_BUSINESS_ID, pair, arguments=rate, version=version
            )
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._rates(visitor, wrong)

    async def import_rates(self, visitor: ConsoleVisitor) -> Html:
        file = visitor.form.files.get("file")
        try:
            if file is None:
                raise Invalid(Problem("file", "Choose eurofxref-daily.xml."))
            typed = visitor.form.get("spread", "").strip()
            spread = _decimal(typed, "spread", SpreadPercent) if typed else None
            rates = rate_file.arguments_in(io.BytesIO(file), spread_percent=spread, now=visitor.now)
            async with self.shell.db.connection() as tx:
                version = await staff_approvals.version_of(tx, "rate.import", PLATFORM_BUSINESS_ID, rate_file.SOURCE)
            return await propose(
                self.shell, visitor, "rate.import", PLATFORM_BUSINESS_ID, rate_file.SOURCE, arguments=rates,
                version=version,
            )  # fmt: skip
        except FileRefused as refused:
            return await self._rates(visitor, Invalid(Problem("file", f"The file cannot be read: {refused}.")))
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._rates(visitor, wrong)

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
            ConsoleRoute("POST", "/rails/{rail}/pause", "pauseRail", StaffPermission.SUSPEND, self.pause),
            ConsoleRoute("POST", "/rails/{rail}/resume", "resumeRail", StaffPermission.PROPOSE, self.resume),
            ConsoleRoute("GET", "/rates", "showRates", StaffPermission.SEE, self.show_rates),
            ConsoleRoute("POST", "/rates", "proposeRate", StaffPermission.PROPOSE, self.decide_rate),
            ConsoleRoute(
                "POST",
                "/rates/import",
                "proposeRates",
                StaffPermission.PROPOSE,
                self.import_rates,
                upload_bytes_max=RATE_FILE_BYTES_MAX,
            ),
        ]


def refund_end_in(visitor: ConsoleVisitor) -> RefundEndArguments:
    outcome = visitor.form.get("outcome", "")
    if outcome not in ("paid", "not-paid"):
        raise Invalid(Problem("outcome", "Choose whether the payer has the money."))
    return RefundEndArguments(is_paid=outcome == "paid")


def rate_in(visitor: ConsoleVisitor) -> RateArguments:
    form = visitor.form
    try:
        base, quote = Currency(form.get("base", "")), Currency(form.get("quote", ""))
    except ValueError:
        raise Invalid(Problem("base", "Choose two currencies of the list.")) from None
    if base is quote:
        raise Invalid(Problem("quote", "Choose two different currencies."))
    source = " ".join(form.get("source", "").split())
    if not 0 < len(source) <= SOURCE_CHARS_MAX:
        raise Invalid(Problem("source", f"Name the source of the rate, in at most {SOURCE_CHARS_MAX} characters."))
    return RateArguments(
        base=base, quote=quote, source=source, rate=_decimal(form.get("rate", ""), "rate", RateNumber),
        spread_basis_points=int(_decimal(form.get("spread", "") or "0", "spread", SpreadPercent) * 100),
        quoted_at=_quoted_at(form.get("quoted_at", "").strip(), visitor.now),
    )  # fmt: skip


def _quoted_at(text: str, now: datetime) -> datetime | None:
    try:
        quoted_at = Moment.parse(text).start if text else None
    except ValueError as error:
        raise Invalid(Problem("quoted_at", f"The time of the quote {error}.")) from None
    if quoted_at is not None and quoted_at > now:
        raise Invalid(Problem("quoted_at", "The time of the quote must not be in the future."))
    return quoted_at


def _decimal(text: str, field: str, check: type[RateNumber] | type[SpreadPercent]) -> Decimal:
    try:
        number = Decimal(text) if len(text) <= RATE_CHARS_MAX and _PLAIN.fullmatch(text) else Decimal("NaN")
        return Decimal(check.parse(number))
    except InvalidOperation:
        raise Invalid(Problem(field, f"The {field} must be a number such as 1652.5.")) from None
    except ValueError as error:
        raise Invalid(Problem(field, f"The {field} {error}.")) from None


def _refuse_far_off(rate: Decimal, before: Decimal | None, again: str) -> None:
    if before is None or abs(rate - before) <= before * OFF_MAX or _is_same(again, rate):
        return
    raise Invalid(Problem("again", f"It is more than 10 % off the last one, {before}. Type the rate once more."))


def _is_same(text: str, rate: Decimal) -> bool:
    try:
        return len(text) <= RATE_CHARS_MAX and Decimal(text) == rate
    except InvalidOperation:
        return False
