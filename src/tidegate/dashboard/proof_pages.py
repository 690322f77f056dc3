"""A business proves its own books: its wallets, their newest lines, and the chain that every line is part of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.dashboard import proof_store
from tidegate.dashboard.format import amount
from tidegate.dashboard.proof_store import WalletProof
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.ledger import chain
from tidegate.member.permission import Permission

# Of each wallet and of the chain: the page takes no longer where there is more.
LINES_MAX = 5_000
LINKS_MAX = 1_000


@dataclass(frozen=True)
class ProofPages:
    shell: DashboardShell

    async def show(self, visitor: DashboardVisitor) -> Html:
        business_id = visitor.business.id
        async with self.shell.db.connection() as tx:
            books = await proof_store.get_books(tx, business_id, lines_max=LINES_MAX)
            links, broken = await chain.verify_newest(tx, business_id, head=books.position, links_max=LINKS_MAX)
        wallets = [(one, list(wrong_in(one))) for one in books.wallets]
        # The chain names things with their business, whose pages these are.
        broken = broken.replace(f"{business_id}/", "") if broken else None
        return self.shell.page(
            visitor, "proof.html", title="Prove my books", section="Wallets", wallets=wallets, books=books,
            checked=links, broken=broken, hash=books.hash.hex() if books.hash else "", now=visitor.now,
            is_well=broken is None and not any(wrong for _, wrong in wallets),
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        return [DashboardRoute("GET", "/wallets/proof", "proveOwnBooks", Permission.SEE, self.show)]


def wrong_in(wallet: WalletProof) -> Iterator[tuple[str, int | None]]:
    """What is wrong, each with the journal that shows it where there is one."""
    if wallet.booked != wallet.balance:
        yield f"The wallet keeps {amount(wallet.balance)}; its lines say {amount(wallet.booked)}.", None
    if wallet.running != wallet.locked:
        words = f"{amount(wallet.locked)} is locked; refunds on their way and disputes are {amount(wallet.running)}."
        yield words, None
    if wallet.balance.minor < 0:
        yield "The wallet is below zero.", None
    for journal_id in wallet.wrong_balances:
        yield "A balance does not follow from the line before it, in journal", journal_id
    for journal_id in wallet.unbalanced:
        yield "The entries do not sum to zero, in journal", journal_id
