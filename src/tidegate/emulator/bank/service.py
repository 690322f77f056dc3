"""The emulated bank: accounts, their entries, and the files that tell of them, in every form that banks have for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from lxml import etree

from tidegate.core.clock import SystemClock
from tidegate.emulator.bank.camt_writer import camt
from tidegate.emulator.bank.model import EmulatedEntry, EmulatedStatement
from tidegate.emulator.bank.mt_writer import mt940, mt942
from tidegate.emulator.bank.pain import OrderedPayment, OrderNotValid, answer_to, payments_in

# What tells of an entry at once; "none": it is in the statement only.
NOTICES = ("camt.054", "camt.052", "mt942", "none")


class BankService:
    """Notices are written at once; the statement (camt.053 or MT940) when it is asked for."""

    def __init__(self, folder: Path, accounts: Mapping[str, str], *, version: int = 8) -> None:
        self.folder = folder
        # The currency of each account.
        self.accounts = dict(accounts)
        self.version = version
        self.balances: dict[str, Decimal] = dict.fromkeys(accounts, Decimal(0))
        self.entries: dict[str, list[EmulatedEntry]] = {number: [] for number in accounts}
        self.closed: set[str] = set()
        # Identifiers of files of payments, and of payments that were made: neither may come twice.
        self.taken: set[str] = set()
        self.paid: set[str] = set()
        # Statuses reported in turn; the debit follows when the last one is no rejection.
        self.answers: tuple[str, ...] = ("ACTC", "ACSP", "ACSC")
        self.sequences: dict[str, int] = dict.fromkeys(accounts, 0)
        # The last one of each account, which may come again.
        self.statements: dict[str, EmulatedStatement] = {}
        # Every file that it has written.
        self.written: list[bytes] = []
        self._numbers = count(1)
        self._is_away = False
        for name in ("in", "out", "taken", "held"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def now(self) -> datetime:
        return SystemClock().now()

    def transfer(
        self, account: str, amount: Decimal, *, payee_name: str | None, destination: str | None, remittance: str | None,
        notice: str = NOTICES[0], changes: Mapping[str, Any] | None = None,
    ) -> EmulatedEntry:  # fmt: skip
        """A credit, and its notice. `changes` are of the entry: a pending one, one without a reference, a batch."""
        made = EmulatedEntry(
            amount=amount,
            currency=self.accounts[account],
            day=self.now().date(),
            reference=self._reference(),
            end_to_end_id="NOTPROVIDED",
            uetr=str(uuid4()),
            name="Demo Payer",
            account="NL91ABNA0417164300",
            bic="ABNANL2A",
            payee_name=payee_name,
            destination=destination,
            remittance=remittance,
        )
        return self._book(account, replace(made, **(changes or {})), notice)

    def take_back(
        self, account: str, reference: str, *, amount: Decimal | None = None, is_named: bool = True
    ) -> EmulatedEntry:
        """The bank reverses a credit, or a part of it; without its identifiers when it is not named."""
        found = {one.reference: one for one in self.entries[account]}[reference]
        back = replace(found, is_credit=False, is_reversal=True, reference=self._reference())
        if not is_named:
            back = replace(back, end_to_end_id=None, uetr=None)
        return self._book(account, replace(back, amount=amount or back.amount))

    def bounce(self, account: str, end_to_end_id: str, *, reason: str = "AC04") -> EmulatedEntry:
        """What we have paid comes back after its debit."""
        paid = {one.end_to_end_id: one for one in self.entries[account] if not one.is_credit}[end_to_end_id]
        return self._book(account, replace(paid, is_credit=True, return_reason=reason, reference=self._reference()))

    def statement(
        self, account: str, *, kind: str = "camt", pages: int = 1, without_page: int = 0, closing: Decimal | None = None
    ) -> list[Path]:
        """Of all that was booked since the last one. The balances are true, unless they are set to be wrong."""
        entries, self.entries[account] = self.entries[account], []
        self.sequences[account] += 1
        size = -(-len(entries) // pages) or 1
        written = []
        for page in range(1, pages + 1):
            part = entries[(page - 1) * size : page * size]
            made = self._statement(account, part, opening=self.balances[account])
            if pages > 1:
                made = replace(made, page=page, is_last_page=page == pages)
            self.balances[account] = made.closes_with
            self.statements[account] = replace(made, closing=closing)
            if page != without_page:
                written.append(self._write_statement(self.statements[account], kind))
        return written

    def repeat(self, account: str, how: str) -> Path:
        """The last statement again: the same bytes, marked as a copy, or corrected under the same identifiers."""
        last = self.statements[account]
        if how == "copy":
            last = replace(last, is_copy=True)
        if how == "corrected":
            last = replace(last, entries=[replace(one, remittance="corrected") for one in last.entries])
        return self._write_statement(last, "camt", name=f"{last.id}-{how}-{next(self._numbers)}")

    def sample(self, account: str) -> bytes:
        """A good statement that says nothing."""
        return camt(self._statement(account, [], opening=self.balances[account]), kind="053", version=self.version)

    def skip(self, account: str) -> int:
        """A statement that never comes: its number is left out."""
        self.sequences[account] += 1
        return self.sequences[account]

    def _write_statement(self, made: EmulatedStatement, kind: str, name: str | None = None) -> Path:
        content = mt940(made) if kind == "mt940" else camt(made, kind="053", version=self.version)
        return self.write(f"{name or made.id}.{'sta' if kind == 'mt940' else 'xml'}", content)

    def go_away(self) -> None:
        """No file comes and none is taken. Those that were not fetched yet are held, too."""
        self._is_away = True
        self._move("in", "held")

    def come_back(self) -> None:
        self._is_away = False
        self._move("held", "in")

    def _move(self, source: str, target: str) -> None:
        for path in (self.folder / source).iterdir():
            path.rename(self.folder / target / path.name)

    def take_orders(self) -> int:
        """Reads pain.001 in out/, answers with pain.002, and books the debits. How many files."""
        if self._is_away:
            return 0
        orders = sorted(path for path in (self.folder / "out").iterdir() if path.suffix == ".xml")
        for path in orders:
            self._take(path.read_bytes(), path.stem)
            path.rename(self.folder / "taken" / path.name)
        return len(orders)

    def _take(self, order: bytes, name: str) -> None:
        try:
            message_id, account, payments = payments_in(order)
        except (OrderNotValid, etree.XMLSyntaxError):
            self.write(f"{name}-refused.txt", b"this is no pain.001\n")
            return
        reason = "AM05" if message_id in self.taken else self._refusal(account, payments)
        self.taken.add(message_id)
        if reason is not None:
            self.write(f"{name}-RJCT.xml", answer_to(order, status="RJCT", reason=reason, now=self.now()))
            return
        for status in self.answers:
            self.write(f"{name}-{status}.xml", answer_to(order, status=status, now=self.now()))
        if self.answers and self.answers[-1] == "RJCT":
            return
        for payment in payments:
            self.paid.add(payment.end_to_end_id)
            self._book(account, self._debit(payment), NOTICES[0] if self.answers else "none")

    def _refusal(self, account: str, payments: list[OrderedPayment]) -> str | None:
        if account not in self.accounts:
            return "AC01"
        if any(one.end_to_end_id in self.paid for one in payments):
            return "AM05"
        return "AC04" if any(one.account in self.closed for one in payments) else None

    def _debit(self, payment: OrderedPayment) -> EmulatedEntry:
        return EmulatedEntry(
            amount=payment.amount,
            currency=payment.currency,
            is_credit=False,
            day=self.now().date(),
            reference=self._reference(),
            end_to_end_id=payment.end_to_end_id,
            name=payment.name,
            account=payment.account,
        )

    def _book(self, account: str, entry: EmulatedEntry, notice: str = NOTICES[0]) -> EmulatedEntry:
        self.entries[account].append(entry)
        made = self._statement(account, [entry], opening=Decimal(0))
        if notice == "mt942":
            self.write(f"notice-{made.id}.sta", mt942(made))
        elif notice != "none":
            kind = notice.removeprefix("camt.")
            self.write(f"notice-{made.id}.xml", camt(made, kind=kind, version=self.version))
        return entry

    def _statement(self, account: str, entries: list[EmulatedEntry], *, opening: Decimal) -> EmulatedStatement:
        number = f"{next(self._numbers):06d}"
        return EmulatedStatement(
            id=f"S{number}",
            message_id=f"M{number}",
            account=account,
            currency=self.accounts[account],
            created_at=self.now(),
            entries=entries,
            opening=opening,
            sequence=self.sequences[account] or None,
        )

    def _reference(self) -> str:
        return f"EB{self.now():%y%m%d}{next(self._numbers):06d}"

    def write(self, name: str, content: bytes) -> Path:
        """Appears as a whole."""
        self.written.append(content)
        path = self.folder / ("held" if self._is_away else "in") / name
        unfinished = path.with_name(f".{name}.tmp")
        unfinished.write_bytes(content)
        unfinished.rename(path)
        return path
