"""The palette: finds payments, refunds, pages and acts by what is typed. A page of its own without script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from tidegate.core.errors import Invalid, NotFound
from tidegate.core.money import Money
from tidegate.dashboard import navigation, search_box
from tidegate.dashboard.format import amount
from tidegate.dashboard.list_filter import search_problems
from tidegate.dashboard.payments import PaymentPages, wanted_in
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment import search
from tidegate.refund import commands as refunds

TEXT_CHARS_MAX = 200
PAYMENTS_MAX = 6


class SearchTarget(NamedTuple):
    """A page, or where an act is done; and other words for it."""

    name: str
    below: str
    permission: Permission
    words: str = ""


class FoundItem(NamedTuple):
    name: str
    more: str
    below: str


ACTS = (
    SearchTarget("New payment", "/payments/new", Permission.MANAGE_PAYMENTS, "create make invoice link"),
    SearchTarget("Make a payment link", "/links/new", Permission.MANAGE_PAYMENTS, "new create qr code poster invoice"),
    SearchTarget("Overpaid payments", "/payments?variance=over", Permission.SEE, "excess too much unusual variance"),
    SearchTarget("Underpaid payments", "/payments?variance=under", Permission.SEE, "short too little unusual variance"),
    SearchTarget("Failed payments", "/payments?status=failed", Permission.SEE, "declined error"),
    SearchTarget("Refunds to approve", "/refunds?tab=approve", Permission.SEE, "approval second person four eyes"),
    SearchTarget("Failed refunds", "/refunds?status=failed", Permission.SEE, "error"),
    SearchTarget("Replay webhooks", "/webhooks/replay", Permission.REPLAY, "resend events again"),
    SearchTarget("Webhooks not delivered", "/webhooks?status=pending", Permission.DELIVERIES, "failing waiting"),
    SearchTarget("Add a webhook endpoint", "/webhooks", Permission.ENDPOINTS, "new url"),
    SearchTarget("Make an API key", "/keys", Permission.KEYS, "new secret restricted scope roll revoke"),
    SearchTarget("Requests that failed", "/developers?only=errors", Permission.REQUEST_LOG, "log api error"),
    SearchTarget("Invite a colleague", "/team", Permission.TEAM, "new person role member"),
    SearchTarget("Refund limits", "/settings", Permission.LIMITS, "second person four eyes"),
    SearchTarget("Variance policy", "/settings", Permission.SETTINGS, "accept top up return overpaid underpaid"),
    SearchTarget("Redirect hosts", "/settings", Permission.ENDPOINTS, "url return"),
)


def search_targets(visitor: DashboardVisitor, typed: str) -> list[FoundItem]:
    """All pages where nothing is typed; otherwise what has a word that begins with each of those typed."""
    pages = [SearchTarget(item.name, item.below, item.permission) for group in navigation.GROUPS for item in group]
    wanted = typed.lower().split()
    shown = pages if not wanted else [*pages, *ACTS]
    return [
        FoundItem(target.name, "", target.below)
        for target in shown
        if visitor.may(target.permission) and _fits(target, wanted)
    ]


def _fits(target: SearchTarget, wanted: list[str]) -> bool:
    words = f"{target.name} {target.words}".lower().split()
    return all(any(word.startswith(one) for word in words) for one in wanted)


@dataclass(frozen=True)
class FindPages:
    shell: DashboardShell
    payments: PaymentPages

    async def show(self, visitor: DashboardVisitor) -> Html:
        query = visitor.request.query
        typed = query.get("q", "").strip()
        if problems := search_problems(query, typed, chars_max=TEXT_CHARS_MAX):
            return self.shell.page(
                visitor, "find.html", title="Find", finds=typed[:TEXT_CHARS_MAX], wrong=Invalid(*problems), status=422,
                payments=[], refunds=[], search_targets=[], more="", others=[],
            )  # fmt: skip
        payments = await self._payments(visitor, typed) if typed else []
        return self.shell.page(
            visitor, "find.html", title=f"Find {typed}" if typed else "Find", finds=typed, payments=payments,
            refunds=await self._refunds(visitor, typed) if typed else [], search_targets=search_targets(visitor, typed),
            more=f"/payments?{urlencode({'q': typed})}" if len(payments) >= PAYMENTS_MAX else "",
            others=search_box.other_searches(typed),
        )  # fmt: skip

    async def _payments(self, visitor: DashboardVisitor, typed: str) -> list[FoundItem]:
        """None where what is typed is no search of payments."""
        by_code = await self.payments.find(visitor, typed)
        if by_code is not None:
            return [FoundItem(by_code.reference, amount(by_code.expected), f"/payments/{by_code.pay_code}")]
        try:
            wanted = wanted_in(visitor, {"q": typed})
            page = await search.list_page(
                self.shell.db, visitor.business.id, wanted, before_id=None, limit=PAYMENTS_MAX
            )
        except Invalid:
            return []
        return [
            FoundItem(
                row.reference,
                f"{amount(Money(row.expected_minor, row.currency))} · {visitor.times.short(row.created_at)}",
                f"/payments/{row.pay_code}",
            )
            for row in page.rows
        ]

    async def _refunds(self, visitor: DashboardVisitor, typed: str) -> list[FoundItem]:
        try:
            view = await refunds.get(self.shell.db, visitor.business.id, typed)
        except (NotFound, Invalid):
            return []
        return [FoundItem(view.refund.reference, amount(view.refund.amount), f"/refunds/{view.refund.reference}")]

    def routes(self) -> list[DashboardRoute]:
        return [DashboardRoute("GET", "/find", "find", Permission.SEE, self.show)]
