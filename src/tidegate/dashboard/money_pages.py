"""Wallets with their statements; inflows and accounts."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.account import store as account_store
from tidegate.collection import list_store as inflow_list
from tidegate.collection import store as inflow_store
from tidegate.collection.list_store import CollectionFilter
from tidegate.collection.model import REFERENCE, CollectionStatus
from tidegate.core.errors import NotFound
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.payments import payer_of
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.wallet import commands as wallets

PAGE = 50
ACCOUNTS_MAX = 100
INFLOW_WORDS = {
    CollectionStatus.PENDING: ("Held", "warn"),
    CollectionStatus.SUCCESSFUL: ("Credited", "good"),
    CollectionStatus.REVERSED: ("Sent back", ""),
    CollectionStatus.FAILED: ("Failed", "bad"),
}


@dataclass(frozen=True)
class MoneyPages:
    shell: DashboardShell

    async def show_wallets(self, visitor: DashboardVisitor) -> Html:
        holdings = await wallets.list_holdings(self.shell.db, visitor.business.id)
        return self.shell.page(visitor, "wallets.html", title="Wallets", section="Wallets", holdings=holdings)

    async def show_wallet(self, visitor: DashboardVisitor) -> Html:
        currency = visitor.request.path["currency"]
        period = await wallets.get_period(
            self.shell.db, visitor.business.id, currency, start=None, end=None, now=visitor.now
        )
        before = number_in(visitor.request.query.get("before", ""))
        lines, is_more = await wallets.list_page(self.shell.db, period, order="desc", past_id=before, limit=PAGE)
        older = f"{visitor.path(f'/wallets/{currency}')}?before={lines[-1].id}" if is_more else None
        return self.shell.page(
            visitor, "wallet.html", title=f"{currency} wallet", section="Wallets", period=period, lines=lines,
            older=older, currency=currency, is_first=before is None,
        )  # fmt: skip

    async def show_inflows(self, visitor: DashboardVisitor) -> Html:
        query, business_id = visitor.request.query, visitor.business.id
        status = next((one for one in CollectionStatus if one.value == query.get("status")), None)
        before = number_in(query.get("before", ""))
        async with self.shell.db.connection() as tx:
            found = await inflow_list.list_page(
                tx, business_id, CollectionFilter(status=status), before_id=before, offset=0, limit=PAGE + 1
            )
            accounts = await account_store.list_all(tx, business_id=business_id, status=None, limit=ACCOUNTS_MAX)
        kept = f"status={status.value}&" if status else ""
        older = f"{visitor.path('/inflows')}?{kept}before={found[PAGE - 1].id}" if len(found) > PAGE else None
        rows = [(one, *INFLOW_WORDS[one.status], payer_of(visitor, one.payer.name or "")) for one in found[:PAGE]]
        return self.shell.page(
            visitor, "inflows.html", title="Inflows & accounts", section="Inflows & accounts", rows=rows,
            accounts=accounts, older=older, wanted=status, words=INFLOW_WORDS,
        )  # fmt: skip

    async def show_inflow(self, visitor: DashboardVisitor) -> Html:
        reference = visitor.request.path["inflow"]
        found = None
        if REFERENCE.fullmatch(reference):
            async with self.shell.db.connection() as tx:
                found = await inflow_store.find(tx, visitor.business.id, reference)
        if found is None:
            raise NotFound("there is nothing at this address")
        word, tint = INFLOW_WORDS[found.status]
        return self.shell.page(
            visitor, "inflow.html", title=f"Inflow {reference}", section="Inflows & accounts", inflow=found, word=word,
            tint=tint, payer=payer_of(visitor, found.payer.name or ""), check=found.name_check,
            reason=found.reason.meaning if found.reason else "",
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        see = Permission.SEE
        return [
            DashboardRoute("GET", "/wallets", "showWallets", see, self.show_wallets),
            DashboardRoute("GET", "/wallets/{currency}", "showWallet", see, self.show_wallet),
            DashboardRoute("GET", "/inflows", "showInflows", see, self.show_inflows),
            DashboardRoute("GET", "/inflows/{inflow}", "showInflow", see, self.show_inflow),
        ]
