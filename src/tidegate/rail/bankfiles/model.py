"""What a bank's files say, whatever their format."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

import msgspec

from tidegate.rail.state import Party

# Larger files are refused. 100,000 entries of camt take about 130 MB.
FILE_BYTES_MAX = 256 * 1024 * 1024
TRANSACTIONS_MAX = 200_000
# Of one batch entry, which is read as a whole.
TRANSACTIONS_PER_ENTRY_MAX = 5_000


class FileKind(StrEnum):
    CAMT_052 = "camt.052"
    CAMT_053 = "camt.053"
    CAMT_054 = "camt.054"
    MT940 = "MT940"
    MT942 = "MT942"
    PAIN_002 = "pain.002"

    @property
    def is_statement(self) -> bool:
        """Of a closed day, complete and binding; the others come earlier and may be repeated by it."""
        return self in (FileKind.CAMT_053, FileKind.MT940)


class FileRefused(Exception):
    """The file is not read at all; the message says what is wrong, and where."""


class Sheet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The page of a statement that an entry stands on."""

    account: str
    id: str
    sequence: int | None = None
    page: int | None = None
    opening: Decimal | None = None
    closing: Decimal | None = None
    is_copy: bool = False

    def is_another_than(self, other: Sheet) -> bool | None:
        """Whether they hold other entries; None where it cannot be known. A repetition does not."""
        if self.account != other.account:
            return False
        # Some banks write 0 into all of them.
        numbers = (self.sequence or None, other.sequence or None)
        if None not in numbers and numbers[0] != numbers[1]:
            return None if self.is_copy or other.is_copy else True
        is_numbered_alike = self.id == other.id or None not in numbers
        if is_numbered_alike and None not in (self.page, other.page) and self.page != other.page:
            return True
        if None not in (self.opening, other.opening) and self.opening != other.opening:
            return True
        return None if self.id != other.id and not (self.is_copy or other.is_copy) else False

    def is_surely_another_than(self, other: Sheet) -> bool:
        """A statement may come again with its pages divided otherwise, or under another number."""
        if not self.is_another_than(other):
            return False
        if self._goes_on_from(other) or other._goes_on_from(self):
            return True
        is_numbered_otherwise = bool(self.sequence and other.sequence and self.sequence != other.sequence)
        is_opened_alike = self.opening is not None and self.opening == other.opening
        return is_numbered_otherwise and self.id != other.id and not is_opened_alike

    def _goes_on_from(self, other: Sheet) -> bool:
        """It begins with the balance with which that one ends. One that changes no balance proves nothing."""
        return (
            self.opening is not None
            and self.opening == other.closing
            and self.opening != self.closing
            and other.opening != other.closing
        )


class BankEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One transaction of a statement. A batch entry is as many as it lists."""

    # Of the file's format, camt or mt: each writes names, and divides pages, in its own way.
    family: str
    # In the file, from 1, and the line on which the bank's entry begins.
    number: int
    line: int
    # The statement's number in the file, from 1.
    statement: int
    is_credit: bool
    is_booked: bool = True
    # It takes an earlier entry back.
    is_reversal: bool = False
    # Money that comes back because it could not be delivered, with the reason.
    is_return: bool = False
    return_reason: str | None = None
    amount: Decimal
    currency: str
    # The value date, where the bank gives no booking date.
    booked_on: date
    is_dated: bool = True
    valued_on: date
    # At the bank, also when the statement is of a virtual number.
    account: str
    # The account that a credit was sent to, where the bank names it: a virtual number or a strange one.
    destination: str | None = None
    sheet: Sheet
    # Of a closed day, which is binding.
    is_stated: bool
    # The bank's reference of the transaction, and of the entry that holds it; which part of a batch it is, from 1.
    own_reference: str | None = None
    entry_reference: str | None = None
    part: int | None = None
    # By which the same transaction is found in other files; the first names it.
    keys: tuple[str, ...] = ()
    # Without a reference of the bank the keys are made of the entry's content.
    has_reference: bool = True
    # The place of the entry that it repeats: its file and its number there.
    repeats: str | None = None
    # Those of the other parts of a batch, when it is their sum.
    repeats_also: tuple[str, ...] = ()
    end_to_end_id: str | None = None
    uetr: str | None = None
    transaction_id: str | None = None
    # The payer of a credit, the recipient of a debit.
    counterparty: Party = Party()
    # The recipient of a credit, as the bank reports it.
    payee_name: str | None = None
    remittance: str | None = None
    scheme: str = "transfer"
    # Why it cannot be credited as it stands.
    problem: str | None = None

    @property
    def all_repeated(self) -> tuple[str, ...]:
        return (self.repeats, *self.repeats_also) if self.repeats else ()


class BankStatement(msgspec.Struct, frozen=True, kw_only=True):
    """The block around entries. It follows them, since its total is known at its end."""

    number: int
    id: str
    message_id: str
    account: str
    currency: str | None
    sequence: int | None = None
    page: int | None = None
    is_last_page: bool | None = None
    created_at: datetime | None = None
    opening: Decimal | None = None
    closing: Decimal | None = None
    # Of booked entries, by the bank's own amounts.
    total: Decimal = Decimal(0)
    entries: int = 0
    is_copy: bool = False

    @property
    def is_complete(self) -> bool | None:
        """Opening balance and entries make the closing balance. None where the file has no balances."""
        if self.opening is None or self.closing is None:
            return None
        return self.opening + self.total == self.closing


class TransferStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What pain.002 says about one of our payments, or about all of a file. Without an `end_to_end_id` it is about
    one that the bank does not name.
    """

    number: int
    message_id: str
    end_to_end_id: str | None = None
    is_of_file: bool = False
    status: str
    reason: str | None = None


FilePart = BankEntry | BankStatement | TransferStatus
