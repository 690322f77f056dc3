"""pain.002: what the bank says about the payments of a file that we sent."""

from __future__ import annotations

from collections.abc import Generator
from typing import IO

from tidegate.rail.bankfiles import xml_file
from tidegate.rail.bankfiles.camt_element import Node, element_at, text_at, texts_at
from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.bankfiles.model import TransferStatus
from tidegate.rail.bankfiles.xml_file import Message


def read(source: IO[bytes], message: Message) -> Generator[TransferStatus, None, None]:
    """The status of a transaction stands above that of its block and of its file: a bank may reject the file and say
    of one transaction that it was settled. Raises FileRefused.
    """
    xml_file.validate(source, message, "OrgnlPmtInfAndSts", "TxInfAndSts")
    tag = message.tag
    number = 0
    group: tuple[str, str, str | None] = ("", "", None)
    has_transactions = False
    for element in xml_file.read(source, (tag("OrgnlGrpInfAndSts"), tag("TxInfAndSts"), tag("OrgnlPmtInfAndSts"))):
        if element.tag == tag("OrgnlGrpInfAndSts"):
            report = Node(element)
            group = (text_at(report, "OrgnlMsgId") or "", text_at(report, "GrpSts") or "", _reason(report))
        elif element.tag == tag("TxInfAndSts"):
            report, block = Node(element), Node(element.getparent())
            status = text_at(report, "TxSts") or text_at(block, "PmtInfSts") or group[1]
            reason = _reason(report) or _reason(block) or group[2]
            has_transactions = True
            number += 1
            yield TransferStatus(
                number=number, message_id=group[0], end_to_end_id=_end_to_end_id(report), status=status, reason=reason
            )
        elif not has_transactions:
            report = Node(element)
            group = (group[0], text_at(report, "PmtInfSts") or group[1], _reason(report) or group[2])
        xml_file.forget(element)
    if not has_transactions:
        yield TransferStatus(number=1, message_id=group[0], is_of_file=True, status=group[1], reason=group[2])


def _end_to_end_id(report: Node) -> str | None:
    """A bank may name a transaction by our InstrId alone, which is the same."""
    return given(text_at(report, "OrgnlEndToEndId")) or given(text_at(report, "OrgnlInstrId"))


def _reason(element: Node) -> str | None:
    """The code and the words, such as `AC04 account closed`."""
    report = element_at(element, "StsRsnInf")
    code = text_at(report, "Rsn", "Cd") or text_at(report, "Rsn", "Prtry")
    return " ".join(part for part in (code, *texts_at(report, "AddtlInf")) if part) or None
