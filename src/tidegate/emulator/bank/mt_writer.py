"""Writes MT940 and MT942."""

from __future__ import annotations

from decimal import Decimal

from tidegate.emulator.bank.model import EmulatedEntry, EmulatedStatement


def mt940(statement: EmulatedStatement) -> bytes:
    lines = [
        f":20:{statement.message_id[:16]}",
        f":25:{statement.account}",
        f":28C:{statement.sequence or 1}/{statement.page or 1}",
        _balance("60F", statement.opening, statement),
        *(line for entry in statement.entries for line in _lines(entry)),
        _balance("62F" if statement.is_last_page else "62M", statement.closes_with, statement),
        "-",
    ]
    return _file(lines)


def mt942(statement: EmulatedStatement) -> bytes:
    lines = [
        f":20:{statement.message_id[:16]}",
        f":25:{statement.account}",
        f":28C:{statement.sequence or 1}/{statement.page or 1}",
        f":34F:{statement.currency}0,",
        f":13D:{statement.created_at:%y%m%d%H%M}+0000",
        *(line for entry in statement.entries for line in _lines(entry)),
        _sum("90D", [one for one in statement.entries if not one.is_credit], statement),
        _sum("90C", [one for one in statement.entries if one.is_credit], statement),
        "-",
    ]
    return _file(lines)


def _file(lines: list[str]) -> bytes:
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1", "replace")


def _balance(tag: str, amount: Decimal, statement: EmulatedStatement) -> str:
    day = f"{statement.created_at:%y%m%d}"
    return f":{tag}:{'C' if amount >= 0 else 'D'}{day}{statement.currency}{_decimal(abs(amount))}"


def _sum(tag: str, entries: list[EmulatedEntry], statement: EmulatedStatement) -> str:
    total = sum((one.amount for one in entries), Decimal(0))
    return f":{tag}:{len(entries)}{statement.currency}{_decimal(total)}"


def _lines(entry: EmulatedEntry) -> list[str]:
    mark = "C" if entry.is_credit else "D"
    if entry.is_reversal:
        mark = "RD" if entry.is_credit else "RC"
    bank = f"//{entry.reference[:16]}" if entry.reference else ""
    own = (entry.end_to_end_id or "NONREF")[:16]
    texts = [f"EREF+{entry.end_to_end_id}" if entry.end_to_end_id else "", f"SVWZ+{entry.remittance or ''}"]
    subfields = [f"?{20 + number}{text}" for number, text in enumerate(filter(None, texts))]
    return [
        f":61:{entry.day:%y%m%d%m%d}{mark}{_decimal(entry.amount)}NTRF{own}{bank}",
        f":86:166?00TRANSFER{''.join(subfields)}?30{entry.bic or ''}?31{entry.account or ''}?32{entry.name or ''}",
    ]


def _decimal(amount: Decimal) -> str:
    return f"{amount:f}".replace(".", ",") if "." in f"{amount:f}" else f"{amount:f},"
