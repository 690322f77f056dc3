"""Reading wallets: balances, a page of a statement, or all of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime

from tidegate.core.errors import Invalid, NotFound, Problem
from tidegate.core.ids import Mode
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.ledger import store as ledger
from tidegate.ledger.model import JournalKind, Wallet
from tidegate.merchant import store as merchants
from tidegate.merchant.model import Business
from tidegate.wallet import store
from tidegate.wallet.model import Holding, Period, SortOrder, WalletLine
from tidegate.wallet.statement import statement_of
from tidegate.wallet.statement_pdf import statement_pdf

# Lines per query while a file is written.
BATCH = 1_000
# About 80 pages: 2 seconds of CPU time and 240 MB in a child process.
PRINTED_LINES_MAX = 2_000
NO_WALLET = "this business has no wallet in this currency; the first money received in it creates one"


async def list_holdings(db: Database, business_id: str) -> list[Holding]:
    async with db.connection() as tx:
        wallets = await ledger.list_wallets(tx, business_id)
        still_open = await store.list_open(tx, business_id)
    return [_holding(wallet, *still_open.get(wallet.balance.currency, ())) for wallet in wallets]


def _holding(wallet: Wallet, pending: Money | None = None, owed: Money | None = None) -> Holding:
    nothing = Money.zero(wallet.balance.currency)
    return Holding(wallet, pending or nothing, owed or nothing)


async def get_period(
    db: Database, business_id: str, currency: str, *, start: datetime | None, end: datetime | None, now: datetime
) -> Period:
    """Later bookings fall after the period, or into one that is not over yet: two consecutive periods hold every entry
    exactly once."""
    if currency not in Currency.__members__:
        raise NotFound(NO_WALLET)
    async with db.connection() as tx:
        past = [bound for bound in (start, end) if bound is not None and bound <= now]
        if past:
            await store.book_after(tx, business_id, Currency(currency), max(past))
        found = await store.find_period(tx, business_id, Currency(currency), start=start, end=end)
    if found is None:
        raise NotFound(NO_WALLET)
    return found


async def list_page(
    db: Database, period: Period, *, order: SortOrder, past_id: int | None, limit: int,
    kinds: Sequence[JournalKind] | None = None,
) -> tuple[list[WalletLine], bool]:  # fmt: skip
    """Also returns whether there are more. Some kinds are listed the newest first."""
    async with db.connection() as tx:
        found = await store.list_lines(tx, period, order=order, past_id=past_id, limit=limit + 1, kinds=kinds)
    return found[:limit], len(found) > limit


async def batches(db: Database, period: Period) -> AsyncGenerator[list[WalletLine], None]:
    """All lines, the oldest first. No connection is held between batches, however slow the reader."""
    past_id: int | None = None
    is_more = True
    while is_more:
        lines, is_more = await list_page(db, period, order="asc", past_id=past_id, limit=BATCH)
        if lines:
            yield lines
            past_id = lines[-1].id


async def list_all(db: Database, period: Period, *, lines_max: int) -> list[WalletLine]:
    """The oldest first. Raises Invalid when there are more."""
    lines: list[WalletLine] = []
    async for batch in batches(db, period):
        lines += batch
        if len(lines) > lines_max:
            message = f"begins a period of more than {lines_max:,} lines, the limit of a PDF; shorten it or request CSV"
            raise Invalid(Problem("dateFrom", message))
    return lines


async def print_statement(db: Database, business: Business, period: Period, *, mode: Mode, now: datetime) -> bytes:
    """As a PDF."""
    lines = await list_all(db, period, lines_max=PRINTED_LINES_MAX)
    logo = None
    if business.brand.logo_hash is not None:
        async with db.connection() as tx:
            logo = await merchants.find_logo(tx, business.id, business.brand.logo_hash)
    statement = statement_of(business, period, lines, logo=logo.body if logo else None, mode=mode, now=now)
    return await statement_pdf(statement)
