"""Small files of a bank, as its emulator writes them."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tidegate.emulator.bank.camt_writer import camt
from tidegate.emulator.bank.model import EmulatedEntry, EmulatedStatement
from tidegate.emulator.bank.mt_writer import mt940, mt942
from tidegate.rail.bankfiles import reader
from tidegate.rail.bankfiles.model import BankEntry, BankStatement

ACCOUNT = "DE89370400440532013000"
VIRTUAL = "DE02120300000000202051"
PAYER = "NL91ABNA0417164300"
DAY = date(2026, 11, 15)
CREATED = datetime(2026, 11, 15, 10, 2, tzinfo=UTC)


def entry(amount: str = "250.00", **changed: Any) -> EmulatedEntry:
    made = EmulatedEntry(
        amount=Decimal(amount),
        currency="EUR",
        day=DAY,
        reference="2026111500017",
        end_to_end_id="INV-77",
        name="Zeta Ltd",
        account=PAYER,
        bic="ABNANL2A",
        payee_name="Ada Obi",
        destination=VIRTUAL,
        remittance="Invoice 77",
    )
    return replace(made, **changed)


def statement(*entries: EmulatedEntry, **changed: Any) -> EmulatedStatement:
    made = EmulatedStatement(
        id="S-1", message_id="M-1", account=ACCOUNT, currency="EUR", created_at=CREATED, entries=list(entries)
    )
    return replace(made, **changed)


def camt_file(*entries: EmulatedEntry, kind: str = "053", version: int = 8, **changed: Any) -> bytes:
    return camt(statement(*entries, **changed), kind=kind, version=version)


def mt940_file(*entries: EmulatedEntry, **changed: Any) -> bytes:
    return mt940(statement(*entries, **changed))


def mt942_file(*entries: EmulatedEntry, **changed: Any) -> bytes:
    return mt942(statement(*entries, **changed))


def entries_in(file: bytes) -> list[BankEntry]:
    return [part for part in reader.opened(io.BytesIO(file)).parts if isinstance(part, BankEntry)]


def statements_in(file: bytes) -> list[BankStatement]:
    return [part for part in reader.opened(io.BytesIO(file)).parts if isinstance(part, BankStatement)]
