"""SQL of merchants as the operator sees them."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx

COUNTED_MAX = 1_000
# Of each merchant, the newest that ended.
SUCCESS_OF = 200


class MerchantFigures(NamedTuple):
    id: str
    code: str
    name: str
    email: str
    status: str
    created_at: datetime
    held: int
    # In minor units of each currency, since 30 days.
    taken: list[Money]
    # Payments whose money a bank took back and the wallet did not cover.
    owing: int
    # Of the newest payments of these days that ended.
    ended: int
    paid: int


async def list_merchants(tx: Tx, *, part: str, after: str, since: datetime, limit: int) -> list[MerchantFigures]:
    """By name, those that follow the merchant `after`. `part` is the beginning of a name, an id, a code or an e-mail
    address."""
    rows = await tx.fetch(
        """
        SELECT found.*, figures.held, figures.owing, figures.ended, figures.paid, figures.taken
          FROM (SELECT id, code, name, email, status, created_at FROM business
                 WHERE id <> '000000000000000000000000'
                   AND ($2 = '' OR (name, id) > (SELECT name, id FROM business WHERE id = $2))
                   AND ($1 = '' OR starts_with(lower(name), lower($1)) OR id = $1 OR code = $1 OR email = lower($1))
                 ORDER BY name, id LIMIT $3) AS found
         CROSS JOIN LATERAL figures_of(found.id, $4, $5, $6) AS figures
         ORDER BY found.name, found.id
        """,
        part, after, limit, since, COUNTED_MAX, SUCCESS_OF,
    )  # fmt: skip
    return [MerchantFigures(**{**row, "taken": [_money(text) for text in row["taken"] or ()]}) for row in rows]


def _money(text: str) -> Money:
    currency, _, minor = text.partition(" ")
    return Money(int(minor), Currency(currency))


async def list_wallets(tx: Tx, business_id: str) -> list[Money]:
    rows = await tx.fetch(
        "SELECT currency, balance_minor FROM wallet WHERE business_id = $1 ORDER BY currency", business_id
    )
    return [Money(row["balance_minor"], Currency(row["currency"])) for row in rows]
