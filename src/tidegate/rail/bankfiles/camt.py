"""camt.052, camt.053 and camt.054 in the versions 02, 03, 04 and 08: validated, then read entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import IO, Any

from tidegate.bank_settings import StatementAccount
from tidegate.core.bank_number import normal_account_number
from tidegate.rail.bankfiles import xml_file
from tidegate.rail.bankfiles.camt_element import (
    BlockHeader,
    Node,
    all_at,
    amount_of,
    date_in,
    element_at,
    header_of,
    text_at,
    texts_at,
)
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
from tidegate.rail.bankfiles.xml_file import Message
from tidegate.rail.state import Party

BLOCKS = {FileKind.CAMT_052: "Rpt", FileKind.CAMT_053: "Stmt", FileKind.CAMT_054: "Ntfctn"}
REMITTANCE_CHARS_MAX = 1_000
# Bank transaction codes of a received transfer, as our schemes name them.
_SCHEMES = {
    "PMNT/RCDT/ESCT": "sepa",
    "PMNT/RRCT/ESCT": "sepa_instant",
    "PMNT/RCDT/XBCT": "swift",
    "PMNT/RCDT/DMCT": "domestic",
}


def kind_of(message: Message) -> FileKind:
    return FileKind(message.name[:8])


def read(
    source: IO[bytes], message: Message, named: Callable[[str], StatementAccount]
) -> Generator[BankEntry | BankStatement, None, None]:
    """Raises FileRefused; nothing has been yielded when the file does not fit its schema."""
    xml_file.validate(source, message, "Ntry", "TxDtls")
    return _Reader(message, named).read(source)


class _Reader:
    def __init__(self, message: Message, named: Callable[[str], StatementAccount]) -> None:
        self._message = message
        self._named = named
        self._block = BLOCKS[kind_of(message)]
        self._message_id = ""
        self._message_page: tuple[int, bool] | None = None
        self._number = 0
        self._statement = 0
        self._open: _OpenStatement | None = None

    def read(self, source: IO[bytes]) -> Generator[BankEntry | BankStatement, None, None]:
        tag = self._message.tag
        for element in xml_file.read(source, (tag("GrpHdr"), tag("Ntry"), tag(self._block))):
            try:
                yield from self._parts(element)
            except (ValueError, ArithmeticError) as error:
                # The schema allows dates and numbers that no bank writes, such as the year 12026.
                raise FileRefused(f"line {element.sourceline}: {error}") from None

    def _parts(self, element: Any) -> Iterator[BankEntry | BankStatement]:
        tag = self._message.tag
        if element.tag == tag("GrpHdr"):
            header = Node(element)
            self._message_id = text_at(header, "MsgId") or ""
            self._message_page = _page(header, "MsgPgntn")
        elif element.tag == tag("Ntry"):
            yield from self._entries(Node(element), self._opened(element.getparent()))
            xml_file.forget(element)
        else:
            yield self._opened(element).closed()
            self._open = None
            xml_file.forget(element)

    def _opened(self, block: Any) -> _OpenStatement:
        if self._open is None:
            self._statement += 1
            node = Node(block)
            header = header_of(node, self._block)
            page = _page(node, f"{self._block}Pgntn") or self._message_page
            account = self._named(header.account)
            is_binding = kind_of(self._message).is_statement
            self._open = _OpenStatement(self._statement, self._message_id, header, account, page, is_binding=is_binding)
        return self._open

    def _entries(self, entry: Node, statement: _OpenStatement) -> Iterator[BankEntry]:
        details = [one for group in all_at(entry, "NtryDtls") for one in all_at(group, "TxDtls")]
        amounts, problem = _amounts(entry, details)
        if _status(entry) == "BOOK":
            statement.total += amount_of(entry, "Amt")[0] * (1 if text_at(entry, "CdtDbtInd") == "CRDT" else -1)
        for index, (amount, currency) in enumerate(amounts):
            self._number += 1
            if self._number > TRANSACTIONS_MAX:
                raise FileRefused(f"line {entry.line}: it has more than {TRANSACTIONS_MAX} transactions")
            statement.entries += 1
            transaction = details[index] if details else None
            part = index + 1 if len(amounts) > 1 else None
            yield _entry(
                entry, transaction, statement, number=self._number, amount=amount, currency=currency, part=part,
                problem=problem,
            )  # fmt: skip


class _OpenStatement:
    def __init__(
        self, number: int, message_id: str, header: BlockHeader, account: StatementAccount,
        page: tuple[int, bool] | None, *, is_binding: bool,
    ) -> None:  # fmt: skip
        self.number = number
        self.message_id = message_id
        self.header = header
        self.page = page
        self.account = account
        self.is_binding = is_binding
        self.sheet = Sheet(
            account=account.number, id=header.id, sequence=header.sequence, page=page[0] if page else None,
            opening=header.opening, closing=header.closing, is_copy=header.is_copy,
        )  # fmt: skip
        self.total = Decimal(0)
        self.entries = 0

    def closed(self) -> BankStatement:
        header = self.header
        return BankStatement(
            number=self.number,
            id=header.id,
            message_id=self.message_id,
            account=self.account.number,
            currency=header.currency,
            sequence=header.sequence,
            page=self.sheet.page,
            is_last_page=self.page[1] if self.page else None,
            created_at=header.created_at,
            opening=header.opening,
            closing=header.closing,
            total=self.total,
            entries=self.entries,
            is_copy=header.is_copy,
        )


def _page(element: Node, name: str) -> tuple[int, bool] | None:
    number = text_at(element, name, "PgNb")
    return (int(number), text_at(element, name, "LastPgInd") in ("true", "1")) if number else None


def _amounts(entry: Node, details: list[Node]) -> tuple[list[tuple[Decimal, str]], str | None]:
    """Of each transaction, and why they cannot be distinguished."""
    whole = amount_of(entry, "Amt")
    if not details:
        return [whole], None
    count = sum(_count_in(group) for group in all_at(entry, "NtryDtls"))
    if count > len(details):
        return [whole], f"the entry has {count} transactions and tells of {len(details)}: it cannot be divided"
    parts = [_amount_in(one) for one in details]
    if len(parts) == 1:
        return [whole], _excess(entry, whole, parts[0])
    if any(part is None for part in parts):
        return [whole], f"the entry has {len(details)} transactions without amounts: it cannot be divided"
    known = [part for part in parts if part is not None]
    if any(currency != whole[1] for _, currency in known) or sum(part[0] for part in known) != whole[0]:
        return [whole], f"the amounts of its {len(details)} transactions do not make {whole[0]} {whole[1]}"
    return known, None


def _excess(entry: Node, whole: tuple[Decimal, str], part: tuple[Decimal, str] | None) -> str | None:
    """Charges make a credit smaller than its transaction, never larger."""
    if text_at(entry, "CdtDbtInd") != "CRDT" or part is None or part[1] != whole[1] or part[0] >= whole[0]:
        return None
    return f"the amount of its one transaction, {part[0]}, does not make {whole[0]} {whole[1]}"


def _count_in(group: Node) -> int:
    """Of the transactions that it stands for; it may tell of fewer."""
    return max(int(text_at(group, "Btch", "NbOfTxs") or 0), len(all_at(group, "TxDtls")))


def _amount_in(transaction: Node) -> tuple[Decimal, str] | None:
    for path in (("Amt",), ("AmtDtls", "TxAmt", "Amt")):
        if element_at(transaction, *path) is not None:
            return amount_of(transaction, *path)
    return None


def _status(entry: Node) -> str:
    return text_at(entry, "Sts", "Cd") or text_at(entry, "Sts") or ""


def _entry(
    entry: Node, transaction: Node | None, statement: _OpenStatement, *, number: int, amount: Decimal, currency: str,
    part: int | None, problem: str | None,
) -> BankEntry:  # fmt: skip
    is_credit = text_at(entry, "CdtDbtInd") == "CRDT"
    account = statement.account
    dated_on = date_in(entry, "BookgDt")
    booked_on = dated_on or date_in(entry, "ValDt") or _day_of(statement.header.created_at)
    if booked_on is None:
        raise FileRefused(f"line {entry.line}: the entry has neither a booking date nor a value date")
    own = transaction if transaction is not None and problem is None else None
    ids = {name: text_at(own, "Refs", name) for name in ("AcctSvcrRef", "EndToEndId", "UETR", "TxId")}
    code = _code(entry, own)
    return keyed(
        BankEntry(
            family="camt",
            number=number,
            line=entry.line,
            statement=statement.number,
            is_credit=is_credit,
            is_booked=_status(entry) == "BOOK",
            is_reversal=text_at(entry, "RvslInd") in ("true", "1"),
            is_return=element_at(own, "RtrInf") is not None or code.endswith("/RRTN"),
            return_reason=text_at(own, "RtrInf", "Rsn", "Cd") or text_at(own, "RtrInf", "Rsn", "Prtry"),
            amount=amount,
            currency=currency,
            booked_on=booked_on,
            is_dated=dated_on is not None,
            valued_on=date_in(entry, "ValDt") or booked_on,
            account=account.physical,
            destination=(account.virtual or _account(own, "CdtrAcct")) if is_credit else None,
            sheet=statement.sheet,
            is_stated=statement.is_binding,
            own_reference=given(ids["AcctSvcrRef"]),
            entry_reference=given(text_at(entry, "AcctSvcrRef")),
            part=part,
            end_to_end_id=ids["EndToEndId"],
            uetr=ids["UETR"],
            transaction_id=given(ids["TxId"]),
            counterparty=_party(own, "Dbtr" if is_credit else "Cdtr"),
            payee_name=_name(own, "Cdtr") if is_credit else None,
            remittance=_remittance(own),
            scheme=_SCHEMES.get(code, "transfer"),
            problem=problem,
        )
    )


def _day_of(moment: datetime | None) -> date | None:
    return moment.astimezone(UTC).date() if moment else None


def _code(entry: Node, transaction: Node | None) -> str:
    for place in (transaction, entry):
        family = ("BkTxCd", "Domn", "Fmly")
        if text_at(place, "BkTxCd", "Domn", "Cd"):
            parts = (
                text_at(place, "BkTxCd", "Domn", "Cd"),
                text_at(place, *family, "Cd"),
                text_at(place, *family, "SubFmlyCd"),
            )
            return "/".join(part or "" for part in parts)
    return ""


def _party(transaction: Node | None, side: str) -> Party:
    agent = element_at(transaction, "RltdAgts", f"{side}Agt", "FinInstnId")
    return Party(
        name=_name(transaction, side),
        account_number=_account(transaction, f"{side}Acct"),
        bank_name=text_at(agent, "Nm"),
        bank_code=text_at(agent, "BICFI") or text_at(agent, "BIC") or text_at(agent, "ClrSysMmbId", "MmbId"),
    )


def _name(transaction: Node | None, side: str) -> str | None:
    """Of a person or company, or, from version 08 on, of a bank."""
    party = element_at(transaction, "RltdPties", side)
    return text_at(party, "Nm") or text_at(party, "Pty", "Nm") or text_at(party, "Agt", "FinInstnId", "Nm")


def _account(transaction: Node | None, side: str) -> str | None:
    account = element_at(transaction, "RltdPties", side, "Id")
    number = text_at(account, "IBAN") or text_at(account, "Othr", "Id")
    return normal_account_number(number) if number else None


def _remittance(transaction: Node | None) -> str | None:
    information = element_at(transaction, "RmtInf")
    lines = [*texts_at(information, "Ustrd")]
    for structured in all_at(information, "Strd"):
        lines += [*texts_at(structured, "CdtrRefInf", "Ref"), *texts_at(structured, "AddtlRmtInf")]
    lines = lines or texts_at(transaction, "AddtlTxInf")
    return " ".join(lines)[:REMITTANCE_CHARS_MAX] or None
