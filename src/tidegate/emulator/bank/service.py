"""The emulated bank: accounts, their entries, and the files that tell of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from uuid import uuid4

from lxml import etree

from tidegate.core.clock import SystemClock
from tidegate.emulator.bank.camt_writer import camt
from tidegate.emulator.bank.model import EmulatedEntry, EmulatedStatement
from tidegate.emulator.bank.mt_writer import mt940
from tidegate.emulator.bank.pain import OrderedPayment, OrderNotValid, answer_to, payments_in


class BankService:
    """Notices (camt.054) are written at once; the statement (camt.053) when it is asked for."""

    def __init__(self, folder: Path, accounts: Mapping[str, str], *, version: int = 8) -> None:
        self.folder = folder
        # The currency of each account.
        self.accounts = dict(accounts)
        self.version = version
        self.balances: dict[str, Decimal] = dict.fromkeys(accounts, Decimal(0))
        self.entries: dict[str, list[EmulatedEntry]] = {number: [] for number in accounts}
        self.closed: set[str] = set()
        self.paid: set[str] = set()
        # Statuses reported in turn; the debit follows when the last one is no rejection.
        self.answers: tuple[str, ...] = ("ACTC", "ACSP", "ACSC")
        self.sequences: dict[str, int] = dict.fromkeys(accounts, 0)
        self._numbers = count(1)
        for name in ("in", "out", "taken"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def now(self) -> datetime:
        return SystemClock().now()

    def transfer(
        self, account: str, amount: Decimal, *, payee_name: str | None, destination: str | None, remittance: str | None,
        name: str = "Demo Payer", payer_account: str = "NL91ABNA0417164300",
    ) -> EmulatedEntry:  # fmt: skip
        """A credit, and its notice."""
        return self._book(
            account,
            EmulatedEntry(
                amount=amount,
                currency=self.accounts[account],
                day=self.now().date(),
                reference=self._reference(),
                end_to_end_id="NOTPROVIDED",
                uetr=str(uuid4()),
                name=name,
                account=payer_account,
                bic="ABNANL2A",
                payee_name=payee_name,
                destination=destination,
                remittance=remittance,
            ),
        )

    def take_back(self, account: str, reference: str) -> EmulatedEntry:
        """The bank reverses a credit."""
        found = next(one for one in self.entries[account] if one.reference == reference)
        return self._book(account, replace(found, is_credit=False, is_reversal=True, reference=self._reference()))

    def statement(self, account: str, *, kind: str = "camt") -> Path:
        """Of all that was booked since the last one; the balances are true."""
        entries, self.entries[account] = self.entries[account], []
        self.sequences[account] += 1
        made = self._statement(account, entries, opening=self.balances[account])
        self.balances[account] = made.closes_with
        content = mt940(made) if kind == "mt940" else camt(made, kind="053", version=self.version)
        return self.write(f"{made.id}.{'sta' if kind == 'mt940' else 'xml'}", content)

    def take_orders(self) -> int:
        """Reads pain.001 in out/, answers with pain.002, and books the debits. How many files."""
        orders = sorted(path for path in (self.folder / "out").iterdir() if path.suffix == ".xml")
        for path in orders:
            self._take(path.read_bytes(), path.stem)
            path.rename(self.folder / "taken" / path.name)
        return len(orders)

    def _take(self, order: bytes, name: str) -> None:
        try:
            _, account, payments = payments_in(order)
        except (OrderNotValid, etree.XMLSyntaxError):
            self.write(f"{name}-refused.txt", b"this is no pain.001\n")
            return
        reason = self._refusal(account, payments)
        if reason is not None:
            self.write(f"{name}-RJCT.xml", answer_to(order, status="RJCT", reason=reason, now=self.now()))
            return
        for status in self.answers:
            self.write(f"{name}-{status}.xml", answer_to(order, status=status, now=self.now()))
        if self.answers and self.answers[-1] == "RJCT":
            return
        for payment in payments:
            self.paid.add(payment.end_to_end_id)
            self._book(account, self._debit(payment))

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

    def _book(self, account: str, entry: EmulatedEntry) -> EmulatedEntry:
        self.entries[account].append(entry)
        notice = self._statement(account, [entry], opening=Decimal(0))
        self.write(f"notice-{notice.id}.xml", camt(notice, kind="054", version=self.version))
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
        path = self.folder / "in" / name
        unfinished = path.with_name(f".{name}.tmp")
        unfinished.write_bytes(content)
        unfinished.rename(path)
        return path
