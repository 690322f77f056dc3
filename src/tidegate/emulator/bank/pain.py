"""Reads pain.001 and answers with pain.002."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from lxml import etree

from tidegate.rail.bankfiles import xml_file


@dataclass(frozen=True)
class OrderedPayment:
    end_to_end_id: str
    amount: Decimal
    currency: str
    account: str
    name: str


class OrderNotValid(Exception):
    """The file is no pain.001 of a version that the bank takes."""


def payments_in(order: bytes) -> tuple[str, str, list[OrderedPayment]]:
    """The message's identifier, the account that pays, and the payments. Checked against the schema."""
    root = etree.fromstring(order, etree.XMLParser(resolve_entities=False, no_network=True))
    name = etree.QName(root).namespace.rpartition(":")[2]
    if not name.startswith("pain.001.001.") or not xml_file.schema_of(name).validate(root):
        raise OrderNotValid(name)
    payments = [
        OrderedPayment(
            _text(one, "EndToEndId"),
            Decimal(_text(one, "InstdAmt")),
            next(one.iter("{*}InstdAmt")).get("Ccy"),
            _number(next(one.iter("{*}CdtrAcct"))),
            _text(next(one.iter("{*}Cdtr")), "Nm"),
        )
        for one in root.iter("{*}CdtTrfTxInf")
    ]
    return _text(root, "MsgId"), _number(next(root.iter("{*}DbtrAcct"))), payments


def answer_to(
    order: bytes, *, status: str, now: datetime, reason: str | None = None, is_of_group: bool = False
) -> bytes:
    """The same status for all of it."""
    message_id, _, payments = payments_in(order)
    document = etree.Element("Document", nsmap={None: "urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"})
    report = etree.SubElement(document, "CstmrPmtStsRpt")
    header = etree.SubElement(report, "GrpHdr")
    _add(header, "MsgId", f"R{now:%Y%m%d%H%M%S}{status}")
    _add(header, "CreDtTm", f"{now:%Y-%m-%dT%H:%M:%S}Z")
    group = etree.SubElement(report, "OrgnlGrpInfAndSts")
    _add(group, "OrgnlMsgId", message_id)
    _add(group, "OrgnlMsgNmId", "pain.001")
    if is_of_group:
        _add(group, "GrpSts", status)
        _reason(group, reason)
    else:
        block = etree.SubElement(report, "OrgnlPmtInfAndSts")
        _add(block, "OrgnlPmtInfId", message_id)
        for payment in payments:
            status_element = etree.SubElement(block, "TxInfAndSts")
            _add(status_element, "OrgnlEndToEndId", payment.end_to_end_id)
            _add(status_element, "TxSts", status)
            _reason(status_element, reason)
    content: bytes = etree.tostring(document, xml_declaration=True, encoding="UTF-8")
    return content


def _reason(element: Any, code: str | None) -> None:
    if code is not None:
        _add(etree.SubElement(etree.SubElement(element, "StsRsnInf"), "Rsn"), "Cd", code)


def _add(element: Any, name: str, text: str) -> None:
    etree.SubElement(element, name).text = text


def _text(element: Any, name: str) -> str:
    return str(next(element.iter(f"{{*}}{name}")).text)


def _number(account: Any) -> str:
    """The IBAN, or the identifier of another kind."""
    leaves = (one for one in account.iter() if etree.QName(one).localname in ("IBAN", "Id") and len(one) == 0)
    return str(next(leaves).text)
