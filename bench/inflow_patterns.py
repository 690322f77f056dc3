"""Inflows as the product itself writes them, one of each kind for each account: what is loaded in bulk are copies.

They are decided and written by our own code, read back, and undone, so that no journal of theirs stays behind.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench.line import BenchFailed
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OURSELVES
from tidegate.collection import decide, store
from tidegate.core import ids
from tidegate.core.ids import Mode
from tidegate.core.money import Currency, Money
from tidegate.infra import db as database
from tidegate.infra.db import Tx
from tidegate.ledger.model import HOUSE_BUSINESS_ID
from tidegate.merchant import commands as merchants
from tidegate.rail.interface import MoneyArrived, Party
from tidegate.rail.notification import NotificationRef
from tidegate.runtime import Runtime
from tidegate.settings import Settings

BUSINESSES = 5
ACCOUNTS_PER_BUSINESS = 20
ACCOUNTS = BUSINESSES * ACCOUNTS_PER_BUSINESS
# Every so many accounts, one whose money is converted into another currency's wallet.
CONVERTING_EVERY = 5
RATE = "0.92"
RATE_PER_SECOND = 100_000
HOLDER = "Adaeze Okonkwo"
# Who pays, and which name was typed for the recipient. The name rule makes of it what it makes of it in real life.
PAYERS = ("Harbour Trading Ltd", "Chidi Eze", "Marta Nowak", "Jean-Luc Petit")
CREDITED = tuple((payer, HOLDER) for payer in PAYERS)
HELD = ("Ife Bello", "Adaeze Okonkwu")
RETURNED = ("Tom Short", "Kwame Mensah")
KINDS = (*CREDITED, HELD, RETURNED)
STATUSES = ("successful",) * len(CREDITED) + ("pending", "reversed")
# Amounts, in minor units: the smallest, and by how much they differ.
MINOR_FIRST = 1_250
MINOR_STEP = 37
AMOUNTS = 1_000


@dataclass(frozen=True)
class Owner:
    """The business that has the large account, and its key."""

    business_id: str
    account_id: str
    secret_key: str


@dataclass(frozen=True)
class Patterns:
    owner: Owner
    # Rows of `collection` as JSON; those of an account stand together, in the order of KINDS.
    rows: list[dict[str, Any]]


async def make(url: str, *, now: datetime) -> Patterns:
    runtime = Runtime.of(Settings(database_url=url))
    async with runtime.open():
        await _set_rate(url, now=now)
        owner, opened = await _open_accounts(runtime, now=now)
    return Patterns(owner, await _written_and_undone(runtime, opened, now=now))


async def _written_and_undone(runtime: Runtime, opened: list[Account], *, now: datetime) -> list[dict[str, Any]]:
    connection = await database.connect(runtime.db.url)
    try:
        undone = connection.transaction()
        await undone.start()
        for account in opened:
            await _record_kinds(connection, runtime, account, now=now)
        rows = await connection.fetchval("SELECT jsonb_agg(to_jsonb(collection))::text FROM collection")
        await undone.rollback()
    finally:
        await connection.close()
    accounts_in_order = {account.id: number for number, account in enumerate(opened)}
    payers_in_order = {payer: number for number, (payer, _) in enumerate(KINDS)}
    # Not by id: within a millisecond, ids begin anywhere and wrap around.
    found: list[dict[str, Any]] = sorted(
        json.loads(rows),
        key=lambda row: (accounts_in_order[row["account_id"]], payers_in_order[row["payer"]["name"]]),
    )
    statuses = [row["status"] for row in found]
    if statuses != list(STATUSES) * len(opened):
        raise BenchFailed(f"the name rule does not take the names of the patterns as foreseen: {Counter(statuses)}")
    return found


async def _record_kinds(tx: Tx, runtime: Runtime, account: Account, *, now: datetime) -> None:
    assert account.details is not None
    place = await store.find_account_snapshot(tx, account.rail or "", account.details.account_number)
    assert place is not None
    for number, (payer, payee) in enumerate(KINDS):
        transaction_id = f"sbx_{secrets.token_hex(12)}"
        news = MoneyArrived(
            account_number=account.details.account_number,
            transaction_id=transaction_id,
            amount=Money(MINOR_FIRST + secrets.randbelow(AMOUNTS) * MINOR_STEP, account.currency),
            payer=Party(name=payer, account_number=f"01234567{number:02}", bank_name="Harbour Bank", bank_code="044"),
            payee_name=payee,
            scheme="sandbox",
            remittance=None,
            valued_at=now,
        )
        ref = NotificationRef(rail="sandbox", id=f"credit-{transaction_id}", body=b"")
        change = decide.on_arrival(place, news, rail="sandbox", terms=runtime.deps.inflow_terms, ref=ref, now=now)
        await store.record(tx, change, account_version=account.version)


async def _open_accounts(runtime: Runtime, *, now: datetime) -> tuple[Owner, list[Account]]:
    opened: list[Account] = []
    keys: list[str] = []
    for number in range(BUSINESSES):
        new = await merchants.create(
            runtime.db, name=f"Shop {number + 1}", email="shop@example.com", mode=Mode.SANDBOX, now=now
        )
        rates = {"rate_per_second": RATE_PER_SECOND, "rate_burst": RATE_PER_SECOND}
        await merchants.change(runtime.db, new.business.id, rates, now=now)
        keys.append(new.secret_key)
        for wanted in _accounts_of(new.business.id, now=now):
            asked = await accounts.request(runtime.db, wanted, by=OURSELVES, now=now)
            opened.append(await accounts.approve(runtime.deps, asked.id, by=OURSELVES, now=now))
    return Owner(opened[0].business_id, opened[0].id, keys[0]), opened


def _accounts_of(business_id: str, *, now: datetime) -> Iterator[Account]:
    for number in range(ACCOUNTS_PER_BUSINESS):
        is_converting = number % CONVERTING_EVERY == CONVERTING_EVERY - 1
        currency = Currency.USD if number % 2 or is_converting else Currency.EUR
        yield Account(
            business_id=business_id,
            id=ids.new_account_id(),
            currency=currency,
            settlement_currency=Currency.EUR if is_converting else currency,
            account_type=AccountType.INDIVIDUAL,
            holder=HOLDER,
            merchant_reference=f"account-{number}",
            created_at=now,
            updated_at=now,
        )


async def _set_rate(url: str, *, now: datetime) -> None:
    connection = await database.connect(url)
    try:
        await connection.execute(
            "INSERT INTO exchange_rate (business_id, base, quote, rate, spread_basis_points, source, quoted_at,"
            f" created_at) VALUES ($2, 'USD', 'EUR', {RATE}, 50, 'bench', $1, $1)",
            now,
            HOUSE_BUSINESS_ID,
        )
    finally:
        await connection.close()
