"""SQL of what rails did not do, and of what payers dispute."""

from __future__ import annotations

from tidegate.core.money import Currency, Money
from tidegate.doctor.store import FINDINGS_MAX
from tidegate.infra.db import Row, Tx
from tidegate.infra.timestamp import to_iso


async def list_failed_returns(tx: Tx) -> list[str]:
    rows = await tx.fetch(
        """
        SELECT reference, rail, currency, amount_minor, failure FROM money_return
         WHERE status = 'failed' ORDER BY asked_at LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [" ".join((row["reference"], "of", _amount(row), "by", row["rail"] + ":", row["failure"])) for row in rows]


async def list_open_disputes(tx: Tx) -> list[str]:
    rows = await tx.fetch(
        """
        SELECT rail, id, currency, amount_minor, due_at FROM dispute
         WHERE status = 'open' ORDER BY due_at LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [
        " ".join((row["rail"] + "/" + row["id"], "of", _amount(row)))
        + (", to be answered by " + to_iso(row["due_at"]) if row["due_at"] else "")
        for row in rows
    ]


def _amount(row: Row) -> str:
    return str(Money(row["amount_minor"], Currency(row["currency"])))
