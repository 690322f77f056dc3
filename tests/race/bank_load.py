"""Transfers that a bank reports by file, and the two people who let returns out, while processes are killed."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from bank.world import let_out
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OPERATOR, OURSELVES
from tidegate.bank_settings import BankFilesSettings
from tidegate.core import ids
from tidegate.core.money import Currency
from tidegate.emulator.bank.service import BankService
from tidegate.rail.bankfiles import store as rail_store
from tidegate.rail.bankfiles.continuity import gaps_in
from tidegate.runtime import Runtime

EUROS, DOLLARS, SHILLINGS = "DE89370400440532013000", "001234567", "9030001234567"
BANK_ACCOUNTS = {EUROS: "EUR", DOLLARS: "USD", SHILLINGS: "UGX"}
HOLDER, ANOTHER = "Ada Obi", "Chidi Eze"
EVERY_S = 2.0
TOML = f"""
[[account]]
number = "{EUROS}"
currency = "EUR"
holder = "Example GmbH"
bank_name = "Example Bank"
bic = "COBADEFFXXX"
country = "DE"
payee_name = "typed"
virtual_numbers = ["DE02120300000000202051"]

[[account]]
number = "{DOLLARS}"
currency = "USD"
holder = "Example Inc"
bank_name = "Example Bank NA"
bank_code = "021000021"
country = "US"
payee_name = "typed"
virtual_numbers = ["880000001"]
pain_version = 3

[[account]]
number = "{SHILLINGS}"
currency = "UGX"
holder = "Example Uganda Ltd"
bank_name = "Kampala Bank"
country = "UG"
checkout = true
"""
UNREAD = """
    SELECT (SELECT count(*) FROM bank_file WHERE state = 'reading')
         + (SELECT count(*) FROM bank_entry WHERE state = 'new')
         + (SELECT count(*) FROM bank_payout WHERE status IN ('proposed', 'approved', 'exported'))
"""


def environment_in(folder: Path) -> dict[str, str]:
    path = folder / "accounts.toml"
    path.write_text(TOML)
    return {"TIDEGATE_BANKFILES_DIR": str(folder), "TIDEGATE_BANKFILES_ACCOUNTS": str(path)}


@dataclass
class BankLoad:
    bank: BankService
    runtime: Runtime
    files: BankFilesSettings
    # The virtual number of each account.
    numbers: dict[str, str] = field(default_factory=dict)
    # How many inflows of a currency must have ended in a status.
    expected: Counter[tuple[str, str]] = field(default_factory=Counter)
    checkouts: int = 0

    async def open_accounts(self, business_id: str) -> None:
        now = self.runtime.clock.now()
        for account, currency in ((EUROS, Currency.EUR), (DOLLARS, Currency.USD)):
            draft = Account(
                business_id=business_id, id=ids.new_account_id(), currency=currency, settlement_currency=currency,
                account_type=AccountType.INDIVIDUAL, created_at=now, updated_at=now, holder=HOLDER,
            )  # fmt: skip
            await accounts.request(self.runtime.db, draft, by=OURSELVES, now=now)
            approved = await accounts.approve(self.runtime.deps, draft.id, by=OPERATOR, now=now)
            assert approved.details is not None
            self.numbers[account] = approved.details.account_number

    async def run(self) -> None:
        """Until cancelled. A transfer with another name on it goes back."""
        while True:
            for account, name, status in (
                (EUROS, HOLDER, "successful"),
                (DOLLARS, HOLDER, "successful"),
                (EUROS, ANOTHER, "reversed"),
            ):
                self._inflow(account, name)
                self.expected[BANK_ACCOUNTS[account], status] += 1
            await self.let_out()
            await asyncio.sleep(EVERY_S)

    def _inflow(self, account: str, name: str) -> None:
        number = self.numbers[account]
        self.bank.transfer(account, Decimal("250.00"), payee_name=name, destination=number, remittance="Invoice 77")

    def pay_checkout(self, code: str, amount: int) -> None:
        self.checkouts += 1
        self.bank.transfer(SHILLINGS, Decimal(amount), payee_name=None, destination=None, remittance=f"order {code}")

    async def let_out(self) -> None:
        await let_out(self.runtime.deps, self.files, now=self.runtime.clock.now())

    async def count_unread(self) -> int:
        """Files that wait in the folder, and what is not recorded or not paid yet."""
        waiting = len(list((self.files.folder / "in").iterdir())) + len(list((self.files.folder / "out").iterdir()))
        async with self.runtime.db.connection() as tx:
            return waiting + int(await tx.fetchval(UNREAD))

    async def count_files(self) -> int:
        async with self.runtime.db.connection() as tx:
            return int(await tx.fetchval("SELECT count(*) FROM bank_file"))

    def end_day(self) -> None:
        """Every entry comes once more, in the statement of its account."""
        for account in BANK_ACCOUNTS:
            self.bank.statement(account)

    async def is_whole(self) -> None:
        """Every transfer is there once, every return was paid once, and no file is missing or refused."""
        async with self.runtime.db.connection() as tx:
            rows = await tx.fetch(
                "SELECT source_currency, status, count(*) AS found FROM collection GROUP BY source_currency, status"
            )
            receipts = await tx.fetchval("SELECT count(*) FROM receipt WHERE rail = 'bankfiles'")
            returned = await tx.fetchval(
                "SELECT count(*) FROM money_return WHERE rail = 'bankfiles' AND status = 'confirmed'"
            )
            entries = await tx.fetch("SELECT state, count(*) AS found FROM bank_entry GROUP BY state")
            statements = await rail_store.list_statements(tx)
        assert {(row["source_currency"], row["status"]): row["found"] for row in rows} == dict(self.expected)
        assert receipts == self.checkouts
        assert returned == self.expected["EUR", "reversed"] == len(self.bank.paid)
        # Each came in a notice and in the statement.
        booked = self.expected.total() + self.checkouts + returned
        assert {row["state"]: row["found"] for row in entries} == {"done": booked, "repeat": booked}
        assert gaps_in(statements) == []
        assert list((self.files.folder / "bad").iterdir()) == []
