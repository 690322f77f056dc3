"""Elements of a validated camt message, found by their local names, whatever the version."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from tidegate.core.bank_number import normal_account_number

# Balances at the beginning and at the end: booked ones, and those of a report during the day.
_OPENING = ("OPBD", "PRCD")
_CLOSING = ("CLBD",)


class BlockHeader(NamedTuple):
    id: str
    account: str
    currency: str | None
    sequence: int | None
    created_at: datetime | None
    opening: Decimal | None
    closing: Decimal | None
    is_copy: bool


class Node:
    """An element as plain Python: finding children in the parser's own tree takes ten times as long."""

    __slots__ = ("children", "currency", "line", "text")

    def __init__(self, element: Any) -> None:
        self.text: str = (element.text or "").strip()
        self.currency: str | None = element.get("Ccy")
        self.line: int = element.sourceline or 0
        self.children: dict[str, list[Node]] = {}
        for child in element:
            self.children.setdefault(child.tag.rpartition("}")[2], []).append(Node(child))


def element_at(node: Node | None, *path: str) -> Node | None:
    """The first at the path, by local names."""
    for name in path:
        found = node.children.get(name) if node is not None else None
        node = found[0] if found else None
    return node


def all_at(node: Node | None, name: str) -> list[Node]:
    return node.children.get(name, []) if node is not None else []


def text_at(node: Node | None, *path: str) -> str | None:
    found = element_at(node, *path)
    return found.text or None if found is not None else None


def texts_at(node: Node | None, *path: str) -> list[str]:
    return [one.text for one in all_at(element_at(node, *path[:-1]), path[-1]) if one.text]


def amount_of(node: Node, *path: str) -> tuple[Decimal, str]:
    """Of an element that is there; its currency is mandatory in every schema."""
    found = element_at(node, *path)
    assert found is not None
    assert found.currency is not None
    return Decimal(found.text), found.currency


def date_in(node: Node, name: str) -> date | None:
    day = text_at(node, name, "Dt") or (text_at(node, name, "DtTm") or "")[:10]
    return date.fromisoformat(day[:10]) if day else None


def header_of(block: Node, name: str) -> BlockHeader:
    account = element_at(block, "Acct")
    number = text_at(account, "Id", "IBAN") or text_at(account, "Id", "Othr", "Id") or ""
    sequence = text_at(block, "LglSeqNb") or text_at(block, "ElctrncSeqNb")
    balances = [_balance(one) for one in all_at(block, "Bal")]
    return BlockHeader(
        id=text_at(block, "Id") or name,
        account=normal_account_number(number),
        currency=text_at(account, "Ccy"),
        sequence=int(Decimal(sequence)) if sequence else None,
        created_at=_moment(text_at(block, "CreDtTm")),
        opening=next((amount for kind, amount in balances if kind in _OPENING), None),
        closing=next((amount for kind, amount in reversed(balances) if kind in _CLOSING), None),
        is_copy=element_at(block, "CpyDplctInd") is not None,
    )


def _balance(balance: Node) -> tuple[str, Decimal]:
    amount, _ = amount_of(balance, "Amt")
    kind = text_at(balance, "Tp", "CdOrPrtry", "Cd") or ""
    return kind, amount if text_at(balance, "CdtDbtInd") == "CRDT" else -amount


def _moment(text: str | None) -> datetime | None:
    """Without a zone, which the schema allows, it is taken as UTC."""
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
