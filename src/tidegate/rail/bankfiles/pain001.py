"""pain.001 in the versions 03 and 09: payments that a customer asks its bank to make."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from tidegate.bank_settings import BankAccount
from tidegate.core.bank_number import is_bic, is_iban
from tidegate.core.money import Currency, Money
from tidegate.infra.lazy_module import LazyModule
from tidegate.rail.bankfiles import xml_file

if TYPE_CHECKING:
    from lxml import etree
else:
    etree = LazyModule("lxml.etree")  # 4 MB, for banks' files only

# Beyond these, banks refuse or replace characters.
_ALLOWED = re.compile(r"[^A-Za-z0-9/\-?:().,'+ ]")
_NAME_CHARS_MAX = 70
_TEXT_CHARS_MAX = 140


class OutgoingPayment(msgspec.Struct, frozen=True, kw_only=True):
    end_to_end_id: str
    amount: Money
    payee_name: str
    payee_account: str
    # A BIC, or the national code of the bank.
    payee_bank: str | None
    remittance: str


class PaymentsNotValid(Exception):
    """The file would not fit its schema; the message says why."""


def payments_file(
    account: BankAccount, payments: Sequence[OutgoingPayment], *, message_id: str, now: datetime
) -> bytes:
    """Checked against its schema. Raises PaymentsNotValid."""
    message = f"pain.001.001.{account.pain_version:02d}"
    document = etree.Element("Document", nsmap={None: f"urn:iso:std:iso:20022:tech:xsd:{message}"})
    root = etree.SubElement(document, "CstmrCdtTrfInitn")
    header = etree.SubElement(root, "GrpHdr")
    _text(header, "MsgId", message_id)
    _text(header, "CreDtTm", f"{now:%Y-%m-%dT%H:%M:%S}Z")
    _sums(header, payments)
    _text(etree.SubElement(header, "InitgPty"), "Nm", plain(account.holder, _NAME_CHARS_MAX))
    _payment_block(root, account, payments, message_id=message_id, now=now)
    content: bytes = etree.tostring(document, xml_declaration=True, encoding="UTF-8")
    schema = xml_file.schema_of(message)
    if not schema.validate(etree.fromstring(content)):
        raise PaymentsNotValid(str(schema.error_log.last_error.message))
    return content


def _payment_block(
    root: Any, account: BankAccount, payments: Sequence[OutgoingPayment], *, message_id: str, now: datetime
) -> None:
    block = etree.SubElement(root, "PmtInf")
    _text(block, "PmtInfId", message_id)
    _text(block, "PmtMtd", "TRF")
    # Each payment is booked by itself, so that its debit carries its own EndToEndId.
    _text(block, "BtchBookg", "false")
    _sums(block, payments)
    is_sepa = account.currency is Currency.EUR
    _text(_path(block, "PmtTpInf", "SvcLvl"), "Cd", "SEPA" if is_sepa else "URGP")
    date = block if account.pain_version < 9 else etree.SubElement(block, "ReqdExctnDt")
    _text(date, "ReqdExctnDt" if account.pain_version < 9 else "Dt", f"{now:%Y-%m-%d}")
    _text(etree.SubElement(block, "Dbtr"), "Nm", plain(account.holder, _NAME_CHARS_MAX))
    _account(etree.SubElement(block, "DbtrAcct"), account.number)
    _bank(etree.SubElement(block, "DbtrAgt"), account.bic or account.bank_code, account, is_own=True)
    _text(block, "ChrgBr", "SLEV" if is_sepa else "SHAR")
    for payment in payments:
        _payment(etree.SubElement(block, "CdtTrfTxInf"), account, payment)


def _payment(element: Any, account: BankAccount, payment: OutgoingPayment) -> None:
    ids = etree.SubElement(element, "PmtId")
    _text(ids, "InstrId", payment.end_to_end_id)
    _text(ids, "EndToEndId", payment.end_to_end_id)
    _text(_path(element, "Amt"), "InstdAmt", str(_decimal(payment.amount))).set("Ccy", payment.amount.currency)
    if payment.payee_bank:
        _bank(etree.SubElement(element, "CdtrAgt"), payment.payee_bank, account, is_own=False)
    _text(etree.SubElement(element, "Cdtr"), "Nm", plain(payment.payee_name, _NAME_CHARS_MAX))
    _account(etree.SubElement(element, "CdtrAcct"), payment.payee_account)
    _text(_path(element, "RmtInf"), "Ustrd", plain(payment.remittance, _TEXT_CHARS_MAX))


def _sums(element: Any, payments: Sequence[OutgoingPayment]) -> None:
    _text(element, "NbOfTxs", str(len(payments)))
    _text(element, "CtrlSum", str(sum((_decimal(one.amount) for one in payments), Decimal(0))))


def _decimal(amount: Money) -> Decimal:
    return Decimal(amount.minor).scaleb(-amount.currency.exponent)


def _account(element: Any, number: str) -> None:
    if is_iban(number):
        _text(_path(element, "Id"), "IBAN", number)
    else:
        _text(_path(element, "Id", "Othr"), "Id", number)


def _bank(element: Any, code: str, account: BankAccount, *, is_own: bool) -> None:
    """By its BIC, by its routing number in the United States, or by its national code."""
    institution = etree.SubElement(element, "FinInstnId")
    if is_bic(code):
        _text(institution, "BIC" if account.pain_version < 9 else "BICFI", code)
        return
    if not code:
        _text(_path(institution, "Othr"), "Id", "NOTPROVIDED")
        return
    member = etree.SubElement(institution, "ClrSysMmbId")
    if account.currency is Currency.USD:
        _text(_path(member, "ClrSysId"), "Cd", "USABA")
    _text(member, "MmbId", code)
    if is_own:
        _text(institution, "Nm", plain(account.bank_name, _NAME_CHARS_MAX))


def plain(text: str, length: int) -> str:
    """In the letters that every bank takes: accents go, other characters become full stops."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return _ALLOWED.sub(".", bare)[:length].strip() or "."


def _path(element: Any, *names: str) -> Any:
    for name in names:
        element = etree.SubElement(element, name)
    return element


def _text(element: Any, name: str, text: str) -> Any:
    made = etree.SubElement(element, name)
    made.text = text
    return made
