"""Writes camt.052, camt.053 and camt.054 in the versions 02, 03, 04 and 08."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from html import escape

from tidegate.emulator.bank.model import EmulatedEntry, EmulatedStatement

_ROOTS = {
    "052": ("BkToCstmrAcctRpt", "Rpt"),
    "053": ("BkToCstmrStmt", "Stmt"),
    "054": ("BkToCstmrDbtCdtNtfctn", "Ntfctn"),
}


def camt(statement: EmulatedStatement, *, kind: str = "053", version: int = 8) -> bytes:
    return b"".join(line.encode() for line in camt_lines(statement, kind=kind, version=version))


def camt_lines(statement: EmulatedStatement, *, kind: str, version: int) -> Iterator[str]:
    root, block = _ROOTS[kind]
    namespace = f"urn:iso:std:iso:20022:tech:xsd:camt.{kind}.001.{version:02d}"
    now = f"{statement.created_at:%Y-%m-%dT%H:%M:%SZ}"
    page = _page(statement)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<Document xmlns="{namespace}"><{root}>\n'
    yield f"<GrpHdr>{_tag('MsgId', statement.message_id)}{_tag('CreDtTm', now)}"
    yield f"{f'<MsgPgntn>{page}</MsgPgntn>' if page else ''}</GrpHdr>\n<{block}>{_tag('Id', statement.id)}"
    if statement.sequence is not None:
        yield _tag("ElctrncSeqNb", str(statement.sequence))
    yield _tag("CreDtTm", now)
    if statement.is_copy:
        yield _tag("CpyDplctInd", "DUPL")
    yield f"<Acct>{_account_id(statement.account)}{_tag('Ccy', statement.currency)}</Acct>\n"
    if kind != "054":
        yield _balance("OPBD", statement.opening, statement)
        yield _balance("CLBD", statement.closes_with, statement)
    for entry in statement.entries:
        yield _entry(entry, version)
    yield f"</{block}></{root}></Document>\n"


def _page(statement: EmulatedStatement) -> str:
    if statement.page is None:
        return ""
    return _tag("PgNb", str(statement.page)) + _tag("LastPgInd", "true" if statement.is_last_page else "false")


def _balance(kind: str, amount: Decimal, statement: EmulatedStatement) -> str:
    side = "CRDT" if amount >= 0 else "DBIT"
    return (
        f"<Bal><Tp><CdOrPrtry><Cd>{kind}</Cd></CdOrPrtry></Tp>{_amount(abs(amount), statement.currency)}"
        f"<CdtDbtInd>{side}</CdtDbtInd><Dt><Dt>{statement.created_at:%Y-%m-%d}</Dt></Dt></Bal>\n"
    )


def _entry(entry: EmulatedEntry, version: int) -> str:
    side = "CRDT" if entry.is_credit else "DBIT"
    status = f"<Cd>{entry.status}</Cd>" if version >= 8 else entry.status
    family = "RRTN" if entry.return_reason else "ESCT"
    parts = entry.parts or (str(entry.amount),)
    details = "".join(_details(entry, part, side, version, is_batch=len(parts) > 1) for part in parts)
    return (
        f"<Ntry>{_amount(entry.amount, entry.currency)}<CdtDbtInd>{side}</CdtDbtInd>"
        f"{'<RvslInd>true</RvslInd>' if entry.is_reversal else ''}<Sts>{status}</Sts>"
        f"<BookgDt><Dt>{entry.day}</Dt></BookgDt><ValDt><Dt>{entry.day}</Dt></ValDt>"
        f"{_tag('AcctSvcrRef', entry.reference)}"
        f"<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>{family}</SubFmlyCd></Fmly></Domn></BkTxCd>"
        f"<NtryDtls>{details}</NtryDtls></Ntry>\n"
    )


def _details(entry: EmulatedEntry, part: str, side: str, version: int, *, is_batch: bool) -> str:
    own = None if is_batch else entry.reference
    references = _tag("AcctSvcrRef", own) + _tag("EndToEndId", entry.end_to_end_id)
    if version >= 8:
        references += _tag("UETR", entry.uetr)
    amount = ""
    if part and version >= 3:
        amount = f"{_amount(Decimal(part), entry.currency)}<CdtDbtInd>{side}</CdtDbtInd>"
    elif part:
        amount = f"<AmtDtls><TxAmt>{_amount(Decimal(part), entry.currency)}</TxAmt></AmtDtls>"
    remittance = _around(_tag("Ustrd", entry.remittance), "RmtInf")
    returned = _around(_tag("Cd", entry.return_reason), "RtrInf", "Rsn")
    parts = (_around(references, "Refs"), amount, _parties(entry, version), remittance, returned)
    return f"<TxDtls>{''.join(parts)}</TxDtls>"


def _parties(entry: EmulatedEntry, version: int) -> str:
    if entry.is_credit:
        sides = (("Dbtr", entry.name, entry.account), ("Cdtr", entry.payee_name, entry.destination))
    else:
        sides = (("Dbtr", None, None), ("Cdtr", entry.name, entry.account))
    parties = ""
    for side, name, account in sides:
        if name:
            said = _tag("Nm", name)
            parties += f"<{side}>{f'<Pty>{said}</Pty>' if version >= 8 else said}</{side}>"
        if account:
            parties += f"<{side}Acct>{_account_id(account)}</{side}Acct>"
    agent = f"{'Dbtr' if entry.is_credit else 'Cdtr'}Agt"
    bic = _tag("BICFI" if version >= 3 else "BIC", entry.bic)
    return _around(parties, "RltdPties") + _around(bic, "RltdAgts", agent, "FinInstnId")


def _account_id(number: str) -> str:
    return _around(_tag("IBAN", number) if number[:2].isalpha() else _around(_tag("Id", number), "Othr"), "Id")


def _amount(amount: Decimal, currency: str) -> str:
    return f'<Amt Ccy="{currency}">{amount:f}</Amt>'


def _tag(name: str, text: str | None) -> str:
    return "" if text is None else f"<{name}>{escape(text, quote=False)}</{name}>"


def _around(content: str, *names: str) -> str:
    """Inside these elements; nothing around nothing."""
    for name in reversed(names):
        content = f"<{name}>{content}</{name}>" if content else ""
    return content
