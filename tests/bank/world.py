"""A merchant, an operator with two accounts at a bank, and the bank's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

from bank_file_maker import ACCOUNT, VIRTUAL, camt_file, entry
from build import Shop
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OPERATOR, OURSELVES, Actor
from tidegate.bank_file import imports, payout_store, record
from tidegate.bank_file import payout as payouts
from tidegate.bank_file.model import ImportedFile
from tidegate.bank_settings import BankAccount, BankFilesSettings
from tidegate.core import ids
from tidegate.core.money import Currency
from tidegate.intake import returns
from tidegate.rail.bankfiles.rail import BankFilesRail
from tidegate.rail.deps import PaymentDeps
from tidegate.refund import send as refund
from tidegate.runtime import Runtime

DOLLARS = "001234567"
DOLLAR_VIRTUAL = "880000001"
SHILLINGS = "9030001234567"
ADA, BISI = Actor("staff/ada"), Actor("staff/bisi")


def settings_in(folder: Path, **changed: Any) -> BankFilesSettings:
    euro = BankAccount(
        number=ACCOUNT, currency=Currency.EUR, holder="Tidegate GmbH", bank_name="Example Bank", bic="COBADEFFXXX",
        country="DE", payee_name="typed", virtual_numbers=(VIRTUAL, "DE75512108001245126199"),
    )  # fmt: skip
    dollar = BankAccount(
        number=DOLLARS, currency=Currency.USD, holder="Tidegate Inc", bank_name="Example Bank NA",
        bank_code="021000021", country="US", payee_name="typed", virtual_numbers=(DOLLAR_VIRTUAL,), pain_version=3,
    )  # fmt: skip
    shilling = BankAccount(
        number=SHILLINGS, currency=Currency.UGX, holder="Tidegate Uganda", bank_name="Kampala Bank", country="UG",
        is_checkout=True,
    )  # fmt: skip
    return BankFilesSettings(folder=folder, accounts=(replace(euro, **changed), dollar, shilling))


@dataclass
class BankWorld:
    shop: Shop
    runtime: Runtime
    admin: Any
    settings: BankFilesSettings
    deps: PaymentDeps
    rail: BankFilesRail
    numbers: Iterator[int]

    @classmethod
    def of(cls, shop: Shop, runtime: Runtime, admin: Any, folder: Path, **changed: Any) -> BankWorld:
        settings = settings_in(folder, **changed)
        rail = BankFilesRail(settings, runtime.db)
        deps = replace(runtime.deps, rails={"bankfiles": rail})
        return cls(shop, runtime, admin, settings, deps, rail, count(1))

    @property
    def now(self) -> Any:
        return self.runtime.clock.now_of(self.shop.business_id)

    async def account(self, currency: Currency = Currency.EUR, holder: str = "Ada Obi") -> str:
        draft = Account(
            business_id=self.shop.business_id, id=ids.new_account_id(), currency=currency, settlement_currency=currency,
            account_type=AccountType.INDIVIDUAL, created_at=self.now, updated_at=self.now, holder=holder,
        )  # fmt: skip
        await accounts.request(self.runtime.db, draft, by=OURSELVES, now=self.now)
        approved = await accounts.approve(self.deps, draft.id, by=OPERATOR, now=self.now)
        assert approved.details is not None
        return approved.details.account_number

    async def bring(self, content: bytes, name: str | None = None) -> ImportedFile:
        """Imported, and its entries recorded."""
        path = self.settings.folder / (name or f"file-{next(self.numbers)}.xml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        made = await imports.import_file(self.deps, self.settings, path, now=self.now)
        await self.record()
        return made

    async def record(self) -> None:
        while any(await record.record_entries(self.deps, self.runtime.clock)):
            pass

    async def work(self) -> None:
        """What the worker does with returns and refunds."""
        await self.admin.execute("UPDATE money_return SET next_try_at = now() WHERE next_try_at IS NOT NULL")
        await returns.send(self.deps, self.runtime.clock)
        await refund.poll_rails(self.deps, self.runtime.clock)

    async def inflows(self) -> list[Any]:
        rows: list[Any] = await self.admin.fetch("SELECT * FROM collection ORDER BY id")
        return rows

    async def states(self) -> list[str]:
        rows = await self.admin.fetch("SELECT state FROM bank_entry ORDER BY file_id, number")
        return [row["state"] for row in rows]

    async def wallet(self, currency: str) -> int:
        balance = await self.admin.fetchval(
            "SELECT balance_minor FROM wallet WHERE business_id = $1 AND currency = $2", self.shop.business_id, currency
        )
        return int(balance or 0)


async def let_out(deps: PaymentDeps, settings: BankFilesSettings, *, now: datetime) -> None:
    """What is proposed by one person is approved by another, and exported."""
    async with deps.db.connection() as tx:
        proposed = await payout_store.list_payouts(tx, is_open=True, limit=1000)
    for payout in proposed:
        if payout.status == "proposed":
            await payouts.approve(deps.db, payout.reference, asked_by=ADA, by=BISI, now=now)
    await payouts.export(deps, settings, by=Actor("operator/bisi"), now=now, on_written=lambda *_: None)


def a_debit(end_to_end_id: str, amount: str = "250.00", **changed: Any) -> bytes:
    return camt_file(
        entry(amount, is_credit=False, end_to_end_id=end_to_end_id, reference="OUT-1", **changed),
        id="S-2", message_id="M-2", opening=Decimal("250.00"),
    )  # fmt: skip
