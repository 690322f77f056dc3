"""The rail of a bank's files with an emulated bank: its notifications are files, and its line is the way they take."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from bank.world import SHILLINGS, let_out, settings_in
from rail.bench_model import Bench, LineFault
from rail.world import transfer_means
from settable_clock import SettableClock
from tidegate.bank_file import imports, record
from tidegate.bank_file.folder import FolderWatch
from tidegate.core.clock import Clock
from tidegate.core.errors import Conflict, Unauthenticated
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.emulator.bank.service import BankService
from tidegate.emulator.bank.spoil import BadFile, spoilt
from tidegate.infra.db import Database
from tidegate.rail.bankfiles import store
from tidegate.rail.bankfiles.rail import BankFilesRail
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import RawNotification
from tidegate.rail.instrument import PaymentInstrument

PAYER_ACCOUNT = "NL91ABNA0417164300"


@dataclass
class BankBench(Bench):
    rail: BankFilesRail
    bank: BankService = field(kw_only=True)
    db: Database = field(kw_only=True)
    watch: FolderWatch = field(default_factory=FolderWatch, kw_only=True)
    numbers: Iterator[int] = field(default_factory=lambda: count(1), kw_only=True)
    delivered: int = 0

    async def pay(self, business_id: str, reference: str, amount: Money | None = None) -> None:
        async with self.db.connection() as tx:
            started = await store.find_attempt(tx, business_id, reference)
        assert started is not None
        paid = amount.major if amount else Decimal(100)
        self.bank.transfer(SHILLINGS, paid, payee_name=None, destination=None, remittance=started.code)

    async def decline(self, business_id: str, reference: str) -> None:
        raise NotImplementedError("a payer who does not pay tells nobody")

    def reject(self) -> PaymentInstrument:
        raise NotImplementedError("a bank hears of a transfer when it is made")

    def break_line(self, fault: LineFault) -> None:
        out = self.rail.settings.folder / "out"
        match fault:
            case LineFault.BEFORE:
                # No file can be written there, once.
                out.rmdir()
                out.write_text("")
            case LineFault.AFTER:
                # It pays, and says nothing before the day ends.
                self.bank.answers = ()
            case LineFault.DOWN:
                self.bank.go_away()
            case LineFault.BUSY:
                raise NotImplementedError("a bank's files have no limit of requests")

    def mend_line(self) -> None:
        self.bank.come_back()

    async def sent(self, now: datetime) -> list[RawNotification]:
        """Its files, in the order in which they were written; also those that are imported already."""
        fresh = self.bank.written[self.delivered :]
        self.delivered += len(fresh)
        return [RawNotification(content, {}) for content in fresh]

    async def deliver(self, deps: PaymentDeps, raw: RawNotification, clock: Clock) -> None:
        path = self.rail.settings.folder / f"brought-{next(self.numbers)}.xml"
        path.write_bytes(raw.body)
        file = await imports.import_file(deps, self.rail.settings, path, now=clock.now())
        if file.reason is not None:
            raise Unauthenticated(file.reason)
        await self._record(deps, clock)

    async def _record(self, deps: PaymentDeps, clock: Clock) -> None:
        while any(await record.record_entries(deps, clock)):
            pass

    async def work(self, deps: PaymentDeps, clock: Clock) -> None:
        try:
            await let_out(deps, self.rail.settings, now=clock.now())
        except Conflict:
            out = self.rail.settings.folder / "out"
            out.unlink()
            out.mkdir()
        self.bank.take_orders()
        await self.watch(deps, clock)
        await self._record(deps, clock)

    async def foreign(self, now: datetime) -> RawNotification:
        """Of an account that is not ours."""
        return RawNotification(spoilt(BadFile.STRANGE_ACCOUNT, self.bank.sample(SHILLINGS), SHILLINGS), {})

    async def unknown(self, now: datetime) -> RawNotification:
        """A debit that is none of our payments."""
        changes = {"is_credit": False, "end_to_end_id": "FEE"}
        self.bank.transfer(SHILLINGS, Decimal(5), payee_name=None, destination=None, remittance=None, changes=changes)
        [fee] = await self.sent(now)
        return fee

    async def end_refunds(self) -> None:
        """The day ends: the statement has all that was booked."""
        if not self.bank.answers:
            self.bank.statement(SHILLINGS)

    async def fail_refunds(self, business_id: str, reference: str) -> Decimal:
        self.bank.closed.add(PAYER_ACCOUNT)
        return Decimal(40)

    def refunds(self) -> int | None:
        return len(self.bank.paid)


@asynccontextmanager
async def bankfiles(db: Database, clock: SettableClock) -> AsyncIterator[Bench]:
    with TemporaryDirectory() as folder:
        yield BankBench(
            BankFilesRail(settings_in(Path(folder)), db),
            Currency.UGX,
            transfer_means(),
            method=Method.BANK_TRANSFER,
            signs=False,
            calls=False,
            bank=BankService(Path(folder), {SHILLINGS: "UGX"}),
            db=db,
        )
