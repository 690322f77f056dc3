"""The palette: finds payments, refunds, pages and acts by what is typed. A page of its own without script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from tidegate.core.errors import Invalid, NotFound
from tidegate.core.money import Money
from tidegate.dashboard import navigation
from tidegate.dashboard.format import amount
from tidegate.dashboard.payments import PaymentPages, wanted_in
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment import search
from tidegate.refund import commands as refunds

TEXT_CHARS_MAX = 200
PAYMENTS_MAX = 6


class Place(NamedTuple):
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
    Place("New payment", "/payments/new", Permission.DISABLE_PAYMENT, "create make invoice link"),
    Place("Make a payment link", "/links", Permission.DISABLE_PAYMENT, "new create qr code poster invoice"),
    Place("Overpaid payments", "/payments?variance=over", Permission.SEE, "excess too much unusual variance"),
    Place("Underpaid payments", "/payments?variance=under", Permission.SEE, "short too little unusual variance"),
    Place("Failed payments", "/payments?status=failed", Permission.SEE, "declined error"),
    Place("Refunds to approve", "/refunds?tab=approve", Permission.SEE, "approval second person four eyes"),
    Place("Failed refunds", "/refunds?status=failed", Permission.SEE, "error"),
    Place("Replay webhooks", "/webhooks/replay", Permission.REPLAY, "resend events again"),
    Place("Webhooks not delivered", "/webhooks?status=pending", Permission.DELIVERIES, "failing waiting"),
    Place("Add a webhook endpoint", "/webhooks", Permission.ENDPOINTS, "new url"),
    Place("Make an API key", "/keys", Permission.KEYS, "new secret restricted scope roll revoke"),
    Place("Requests that failed", "/developers?only=errors", Permission.REQUEST_LOG, "log api error"),
    Place("Invite a colleague", "/team", Permission.TEAM, "new person role member"),
    Place("Refund limits", "/settings", Permission.LIMITS, "second person four eyes"),
    Place("Variance policy", "/settings", Permission.SETTINGS, "accept top up return overpaid underpaid"),
    Place("Redirect hosts", "/settings", Permission.ENDPOINTS, "url return"),
)


def places(visitor: DashboardVisitor, typed: str) -> list[FoundItem]:
    """All pages where nothing is typed; otherwise what has a word that begins with each of those typed."""
    pages = [Place(item.name, item.below, item.permission) for group in navigation.GROUPS for item in group]
    wanted = typed.lower().split()
    shown = pages if not wanted else [*pages, *ACTS]
    return [
        FoundItem(place.name, "", place.below)
        for place in shown
        if visitor.may(place.permission) and _fits(place, wanted)
    ]


def _fits(place: Place, wanted: list[str]) -> bool:
    words = f"{place.name} {place.words}".lower().split()
    return all(any(word.startswith(one) for word in words) for one in wanted)


@dataclass(frozen=True)
class FindPages:
    shell: DashboardShell
    payments: PaymentPages

    async def show(self, visitor: DashboardVisitor) -> Html:
        typed = visitor.request.query.get("q", "").strip()[:TEXT_CHARS_MAX]
        payments = await self._payments(visitor, typed) if typed else []
        return self.shell.page(
            visitor, "find.html", title=f"Find {typed}" if typed else "Find", finds=typed, payments=payments,
            refunds=await self._refunds(visitor, typed) if typed else [], places=places(visitor, typed),
            more=f"/payments?{urlencode({'q': typed})}" if len(payments) >= PAYMENTS_MAX else "",
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
