"""MT940 and MT942, message by message."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from datetime import date
from decimal import Decimal
from typing import IO, NamedTuple

import msgspec

from tidegate.bank_settings import StatementAccount
from tidegate.core.bank_number import normal_account_number
from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.bankfiles.key import keyed
from tidegate.rail.bankfiles.model import (
    TRANSACTIONS_MAX,
    BankEntry,
    BankStatement,
    FileKind,
    FileRefused,
    Sheet,
)
from tidegate.rail.bankfiles.mt_details import details_in

LINE_BYTES_MAX = 10_000
# Of one field: `:86:` is six lines of 65 characters by the standard, and longer at some banks.
FIELD_CHARS_MAX = 20_000
_FIELD = re.compile(r":(\d{2}[A-Z]?):(.*)", re.DOTALL)
_LINE = re.compile(
    r"(?P<valued>\d{6})(?P<booked>\d{4})?(?P<mark>RC|RD|EC|ED|C|D)[A-Z]?(?P<amount>\d[\d,]{0,14})"
    r"(?P<type>[A-Z][A-Z0-9]{3})(?P<own>[^/\n]*(?:/[^/\n]+)*)(?://(?P<bank>[^\n]*))?(?:\n(?P<more>.*))?",
    re.DOTALL,
)
_BALANCE = re.compile(r"(?P<mark>[CD])(?P<day>\d{6})(?P<currency>[A-Z]{3})(?P<amount>\d[\d,]{0,14})\s*")
_FLOOR = re.compile(r"(?P<currency>[A-Z]{3})[CD]?[\d,]*\s*")
_SUM = re.compile(r"(?P<count>\d{1,5})(?P<currency>[A-Z]{3})(?P<amount>\d[\d,]{0,14})\s*")
_SEQUENCE = re.compile(r"(?P<number>\d{1,8})(?:/(?P<page>\d{1,8}))?.*", re.DOTALL)
# Fields that a message has once at most.
_ONCE = ("20", "25", "28", "28C", "60F", "60M", "62F", "62M", "90C", "90D")


class MtField(NamedTuple):
    line: int
    tag: str
    text: str


def read(
    source: IO[bytes], named: Callable[[str], StatementAccount]
) -> Generator[BankEntry | BankStatement, None, None]:
    """Raises FileRefused. The whole file is checked before anything is yielded.

    A narration that a bank breaks before `:61:` looks like an entry, or like a message. When a message of the file
    contradicts itself, none of its entries is certain.
    """
    problem = None
    for message in _read(source, named):
        for _ in message.parts():
            pass
        problem = problem or message.problem()
    return (_doubted(part, problem) for message in _read(source, named) for part in message.parts())


def kind_of(source: IO[bytes]) -> FileKind:
    """By the first message."""
    for message in _messages(source):
        return FileKind.MT940 if _is_statement(message) else FileKind.MT942
    raise FileRefused("it holds no message: no line begins with :20:")


def _read(source: IO[bytes], named: Callable[[str], StatementAccount]) -> Iterator[_Message]:
    number = 0
    is_statement = kind_of(source) is FileKind.MT940
    for count, fields in enumerate(_messages(source), 1):
        if _is_statement(fields) is not is_statement:
            raise FileRefused(f"line {fields[0].line}: statements (MT940) and reports (MT942) are mixed")
        yield _Message(fields, count, number, named)
        number += sum(field.tag == "61" for field in fields)


def _doubted(part: BankEntry | BankStatement, problem: str | None) -> BankEntry | BankStatement:
    if problem is None or isinstance(part, BankStatement):
        return part
    return msgspec.structs.replace(part, problem=problem)


def _messages(source: IO[bytes]) -> Iterator[list[MtField]]:
    """A message begins with `:20:`. One that has no end, as in half a file, is refused."""
    message: list[MtField] = []
    for field in _fields(source):
        if field.tag == "20" and message:
            yield _ended(message)
            message = []
        if field.tag == "20" or message:
            message.append(field)
        if len(message) > 2 * TRANSACTIONS_MAX + 20:
            raise FileRefused(f"line {field.line}: a message has more than {TRANSACTIONS_MAX} entries")
    if message:
        yield _ended(message)


def _ended(message: list[MtField]) -> list[MtField]:
    tags = {field.tag for field in message}
    if not tags & {"62F", "62M", "90C", "90D", "-"}:
        raise FileRefused(
            f"line {message[-1].line}: the message ends here without a closing balance; the rest is missing"
        )
    return [field for field in message if field.tag != "-"]


def _fields(source: IO[bytes]) -> Iterator[MtField]:
    """A field goes on until the next one begins; the sign of a message's end is the field `-`."""
    start, tag, lines = 0, "", [""]
    for number, line in _lines(source):
        begun = _begun(line)
        if begun is None:
            lines.append(line)
            _check_continuation(tag, number, line, sum(map(len, lines)))
            continue
        if tag:
            yield MtField(start, tag, "\n".join(lines))
        start, (tag, text) = number, begun
        lines = [text]
    if tag:
        yield MtField(start, tag, "\n".join(lines))


def _check_continuation(tag: str, number: int, line: str, length: int) -> None:
    is_outside = tag in ("", "-")
    if is_outside and line.strip() and not line.startswith("{"):
        raise FileRefused(f"line {number}: it belongs to no field: {line[:40]!r}")
    if length > FIELD_CHARS_MAX:
        raise FileRefused(f"line {number}: the field :{tag}: is longer than {FIELD_CHARS_MAX} characters")


def _begun(line: str) -> tuple[str, str] | None:
    """The tag and the text of a field that begins here."""
    if line.strip() in ("-", "-}"):
        return "-", ""
    found = _FIELD.match(line.rpartition("{4:")[2])
    return (found[1], found[2]) if found else None


def _lines(source: IO[bytes]) -> Iterator[tuple[int, str]]:
    source.seek(0)
    number = 0
    while raw := source.readline(LINE_BYTES_MAX + 1):
        number += 1
        if len(raw) > LINE_BYTES_MAX:
            raise FileRefused(f"line {number}: longer than {LINE_BYTES_MAX} bytes")
        if b"\0" in raw:
            raise FileRefused(f"line {number}: a NUL byte, as in UTF-16; MT files are text in one byte per character")
        line = _text(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
        yield number, line.rstrip("\r\n")


def _text(raw: bytes) -> str:
    """The standard allows ASCII only; banks write names in either of these."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _is_statement(message: list[MtField]) -> bool:
    return any(field.tag in ("60F", "60M") for field in message)


class _Message:
    def __init__(
        self, fields: list[MtField], statement: int, number: int, named: Callable[[str], StatementAccount]
    ) -> None:
        self._fields = fields
        self._statement = statement
        self._number = number
        self._account = named(normal_account_number(self._text("25")))
        self._opening = self._balance("60F") or self._balance("60M")
        self._closing = self._balance("62F") or self._balance("62M")
        self._sheet = self._sheet_of()
        self._currency = self._opening[1] if self._opening else self._floor_currency()
        self._total = Decimal(0)
        self._entries = 0
        # Debits and credits: how many, and their sum.
        self._booked = {False: (0, Decimal(0)), True: (0, Decimal(0))}

    def parts(self) -> Iterator[BankEntry | BankStatement]:
        for index, field in enumerate(self._fields):
            if field.tag != "61":
                continue
            after = self._fields[index + 1] if index + 1 < len(self._fields) else None
            yield self._entry(field, after.text if after and after.tag == "86" else "")
        yield self._closed()

    def problem(self) -> str | None:
        """Why its entries are not certain, when all its parts are read."""
        tags = Counter(field.tag for field in self._fields)
        begin = f"the message on line {self._fields[0].line}"
        twice = next((tag for tag in tags if tag in _ONCE and tags[tag] > 1), None)
        if twice:
            return f"{begin} has :{twice}: more than once"
        if self._opening and self._closing is None:
            return f"{begin} has no closing balance"
        if self._closed().is_complete is False:
            return f"{begin} has balances that differ from its entries"
        if any(self._exceeds(tag, is_credit=is_credit) for tag, is_credit in (("90C", True), ("90D", False))):
            return f"{begin} has more entries than its sums say"
        return None

    def _exceeds(self, tag: str, *, is_credit: bool) -> bool:
        """Sums may count small entries that a report leaves out, and those that are not booked: never fewer."""
        field = self._find(tag)
        if field is None:
            return False
        found = _SUM.fullmatch(field.text)
        if found is None:
            raise FileRefused(f"line {field.line}: :{tag}: is no number and sum of entries: {field.text[:40]!r}")
        count, total = self._booked[is_credit]
        return count > int(found["count"]) or total > _amount(found["amount"], field.line)

    def _find(self, tag: str) -> MtField | None:
        return next((field for field in self._fields if field.tag == tag), None)

    def _text(self, tag: str) -> str:
        found = self._find(tag)
        if found is None:
            raise FileRefused(f"line {self._fields[0].line}: the message has no field :{tag}:")
        return found.text.strip()

    def _balance(self, tag: str) -> tuple[Decimal, str] | None:
        field = self._find(tag)
        if field is None:
            return None
        found = _BALANCE.fullmatch(field.text)
        if found is None:
            raise FileRefused(f"line {field.line}: :{tag}: is no balance: {field.text[:40]!r}")
        amount = _amount(found["amount"], field.line)
        return (amount if found["mark"] == "C" else -amount), found["currency"]

    def _floor_currency(self) -> str:
        found = _FLOOR.fullmatch(self._text("34F"))
        if found is None:
            raise FileRefused(f"line {self._fields[0].line}: :34F: names no currency")
        return found["currency"]

    def _entry(self, field: MtField, text: str) -> BankEntry:
        found = _LINE.fullmatch(field.text.rstrip())
        if found is None:
            raise FileRefused(f"line {field.line}: :61: is no statement line: {field.text[:60]!r}")
        amount = _amount(found["amount"], field.line)
        valued_on = _day(found["valued"], field.line)
        booked_on = _near(valued_on, found["booked"], field.line) if found["booked"] else valued_on
        is_credit = found["mark"] in ("C", "RD", "EC")
        is_booked = not found["mark"].startswith("E")
        if is_booked:
            self._total += amount if is_credit else -amount
            count, total = self._booked[is_credit]
            self._booked[is_credit] = (count + 1, total + amount)
        details = details_in(text)
        self._number += 1
        self._entries += 1
        return keyed(
            BankEntry(
                family="mt",
                number=self._number,
                line=field.line,
                statement=self._statement,
                is_credit=is_credit,
                is_booked=is_booked,
                is_reversal=found["mark"].startswith("R"),
                amount=amount,
                currency=self._currency,
                booked_on=booked_on,
                is_dated=bool(found["booked"]),
                valued_on=valued_on,
                account=self._account.physical,
                destination=self._account.virtual if is_credit else None,
                sheet=self._sheet,
                is_stated=self._opening is not None,
                entry_reference=given(found["bank"]),
                end_to_end_id=details.end_to_end_id or given(found["own"]),
                counterparty=details.party,
                remittance=details.remittance,
            )
        )

    def _sheet_of(self) -> Sheet:
        number = self._find("28C") or self._find("28")
        found = _SEQUENCE.fullmatch(number.text) if number else None
        return Sheet(
            account=self._account.number,
            id=f"{self._text('20')}/{number.text.strip() if number else ''}",
            sequence=int(found["number"]) if found else None,
            page=int(found["page"]) if found and found["page"] else None,
            opening=self._opening[0] if self._opening else None,
            closing=self._closing[0] if self._closing else None,
        )

    def _closed(self) -> BankStatement:
        sheet = self._sheet
        return BankStatement(
            number=self._statement,
            id=sheet.id,
            message_id=self._text("20"),
            account=self._account.number,
            currency=self._currency,
            sequence=sheet.sequence,
            page=sheet.page,
            # An interim closing balance says that pages follow.
            is_last_page=None if sheet.page is None else self._find("62M") is None,
            opening=sheet.opening,
            closing=sheet.closing,
            total=self._total,
            entries=self._entries,
        )


def _amount(text: str, line: int) -> Decimal:
    whole, comma, part = text.partition(",")
    if not comma or "," in part:
        raise FileRefused(f"line {line}: {text!r} is no amount: one comma separates the decimals")
    return Decimal(f"{whole}.{part or 0}")


def _day(text: str, line: int) -> date:
    try:
        return date(2000 + int(text[:2]), int(text[2:4]), int(text[4:6]))
    except ValueError:
        raise FileRefused(f"line {line}: {text!r} is no date") from None


def _near(day: date, text: str, line: int) -> date:
    """A month and a day without a year: the one nearest to the value date."""
    nearest: list[date] = []
    for year in (day.year - 1, day.year, day.year + 1):
        try:
            nearest.append(date(year, int(text[:2]), int(text[2:])))
        except ValueError:
            continue  # 29 February.
    if not nearest:
        raise FileRefused(f"line {line}: {text!r} is no month and day")
    return min(nearest, key=lambda one: abs(one - day))
