"""The books: when they were proven, the trial balance with its entries, and the chains."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.audit import store as audit
from tidegate.console import ledger_store, merchant_store
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.clock import SystemClock
from tidegate.core.errors import NotFound
from tidegate.core.finding import Finding
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.core.money import Currency, Money
from tidegate.dashboard.paging import number_in
from tidegate.doctor import proof_store
from tidegate.doctor.commands import examine, examine_rails
from tidegate.doctor.fault import sentence_of
from tidegate.doctor.proof import prove
from tidegate.infra.page.response import File, Html
from tidegate.ledger import books
from tidegate.ledger.model import LedgerAccount
from tidegate.merchant import commands as merchants
from tidegate.settings import Settings
from tidegate.staff.permission import StaffPermission

PAGE = 50
PROOFS = 20


@dataclass(frozen=True)
class BookPages:
    shell: ConsoleShell
    settings: Settings

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, findings: Sequence[Finding] = ()) -> Html:
        async with self.shell.db.connection() as tx:
            sums = await books.trial_balance(tx)
            proofs = await proof_store.list_newest(tx, limit=PROOFS)
            heads = await ledger_store.list_heads(tx, limit=PAGE)
        balance = [(one.currency, one.account, Money(one.minor, Currency(one.currency))) for one in sums]
        return self.shell.page(
            visitor, "books.html", title="Books", section="Books", balance=balance, proofs=proofs, heads=heads,
            sentence_of=sentence_of, account_words=account_words,
            findings=sorted(findings, key=lambda one: one.is_well),
        )  # fmt: skip

    async def prove(self, visitor: ConsoleVisitor) -> Html:
        await prove(self.shell.db)
        return self.shell.to("/books?said=done")

    async def examine(self, visitor: ConsoleVisitor) -> Html:
        """The settings, the database and the rails, as `tidegate doctor` does."""
        now, vault = SystemClock().now(), self.shell.sign_in.vault
        findings = [one async for one in examine(self.shell.db, self.settings, vault, now=now)]
        findings += await examine_rails(self.shell.db, self.settings, now=now)
        return await self._page(visitor, findings)

    async def show_entries(self, visitor: ConsoleVisitor) -> Html:
        """What makes a figure of the trial balance."""
        path = visitor.request.path
        if path["currency"] not in Currency.__members__ or path["account"] not in set(LedgerAccount):
            raise NotFound("there is nothing at this address")
        before = number_in(visitor.request.query.get("before", ""))
        async with self.shell.db.connection() as tx:
            found = await ledger_store.list_entries(
                tx, account=path["account"], currency=path["currency"], before=before, limit=PAGE + 1
            )
            sums = await books.trial_balance(tx)
        total = [one.minor for one in sums if (one.currency, one.account) == (path["currency"], path["account"])]
        older = f"?before={found[PAGE - 1].journal_id}" if len(found) > PAGE else None
        return self.shell.page(
            visitor, "entries.html", title=f"{account_words(path['account'])} in {path['currency']}", section="Books",
            total=Money(sum(total), Currency(path["currency"])), entries=found[:PAGE], older=older,
            currency=path["currency"], business=None,
        )  # fmt: skip

    async def show_wallet(self, visitor: ConsoleVisitor) -> Html:
        """What makes the balance of a merchant's wallet."""
        path = visitor.request.path
        business = await merchants.get(self.shell.db, path["business"])
        before = number_in(visitor.request.query.get("before", ""))
        async with self.shell.db.connection() as tx:
            wallets = await merchant_store.list_wallets(tx, business.id)
            balance = next((one for one in wallets if one.currency.value == path["currency"]), None)
            if balance is None:
                raise NotFound("there is nothing at this address")
            found = await ledger_store.list_entries(
                tx, account=LedgerAccount.WALLET, currency=path["currency"], before=before, limit=PAGE + 1,
                business_id=business.id,
            )  # fmt: skip
        older = f"?before={found[PAGE - 1].journal_id}" if len(found) > PAGE else None
        return self.shell.page(
            visitor, "entries.html", title=f"Wallet in {path['currency']}", section="Merchants", business=business,
            total=balance, entries=found[:PAGE], older=older, currency=path["currency"],
        )  # fmt: skip

    async def export(self, visitor: ConsoleVisitor) -> Html | File:
        async with self.shell.db.connection() as tx:
            sums = await books.trial_balance(tx)
            await audit.insert(
                tx, PLATFORM_BUSINESS_ID, visitor.by, action="books.exported", subject="books", details={},
                now=visitor.now,
            )  # fmt: skip
        text = io.StringIO()
        lines = csv.writer(text)
        lines.writerow(["currency", "account", "amountMinor"])
        lines.writerows([one.currency, one.account, one.minor] for one in sums)
        return download(text, "trial-balance.csv")

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/books", "showBooks", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", "/books/prove", "proveBooks", StaffPermission.CHECK, self.prove),
            ConsoleRoute("POST", "/books/examine", "examineDeployment", StaffPermission.CHECK, self.examine),
            ConsoleRoute(
                "POST",
                "/books/export",
                "exportBooks",
                StaffPermission.EXPORT,
                self.export,
                confirms="Export the trial balance",
            ),
            ConsoleRoute(
                "GET",
                "/merchants/{business}/wallets/{currency}",
                "showMerchantWallet",
                StaffPermission.SEE,
                self.show_wallet,
            ),
            ConsoleRoute("GET", "/books/{currency}/{account}", "showEntries", StaffPermission.SEE, self.show_entries),
        ]


def account_words(account: str) -> str:
    return "VAT" if account == LedgerAccount.VAT else account.capitalize()


def download(text: io.StringIO, name: str) -> File:
    headers = [
        (b"content-disposition", f'attachment; filename="{name}"'.encode()),
        (b"cache-control", b"no-store"),
    ]
    return File(text.getvalue().encode(), "text/csv; charset=utf-8", headers=headers)
