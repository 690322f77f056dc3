"""SQL of merchants as the operator sees them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx

PAID_MAX, OWED_MAX = 10_000, 1_000
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
        SELECT id, code, name, email, status, created_at FROM business
         WHERE id <> '000000000000000000000000'
           AND ($2 = '' OR (name, id) > (SELECT name, id FROM business WHERE id = $2))
           AND ($1 = '' OR starts_with(lower(name), lower($1)) OR id = $1 OR code = $1 OR email = lower($1))
         ORDER BY name, id LIMIT $3
        """,
        part, after, limit,
    )  # fmt: skip
    return [MerchantFigures(**row, **await _figures(tx, row["id"], since)) for row in rows]


async def _figures(tx: Tx, business_id: str, since: datetime) -> dict[str, Any]:
    """One by one: on a cluster no statement counts up to a limit for each of several merchants."""
    row = await tx.fetchrow(
        """
        SELECT (SELECT count(*) FROM (SELECT FROM collection WHERE business_id = $1 AND status = 'pending'
                                       LIMIT $3) AS counted) AS held,
               (SELECT count(*) FROM (SELECT FROM payment WHERE business_id = $1 AND owed_minor > 0
                                       LIMIT $3) AS counted) AS owing,
               ended.ended, ended.paid,
               ARRAY(SELECT currency || ' ' || sum(received_minor) FROM takings
                      WHERE business_id = $1 AND hour >= time_of($1, $2)
                      GROUP BY currency ORDER BY currency) AS taken
          FROM (SELECT count(*) AS ended, count(*) FILTER (WHERE newest.status = 'success') AS paid
                  FROM (SELECT status FROM payment
                         WHERE business_id = $1 AND created_at >= $2 AND status IN ('success', 'failed', 'expired')
                         ORDER BY created_at DESC, id DESC LIMIT $4) AS newest) AS ended
        """,
        business_id, since, OWED_MAX, SUCCESS_OF,
    )  # fmt: skip
    assert row is not None
    return {**row, "taken": [_money(text) for text in row["taken"]]}


def _money(text: str) -> Money:
    currency, _, minor = text.partition(" ")
    return Money(int(minor), Currency(currency))


async def list_wallets(tx: Tx, business_id: str) -> list[Money]:
    rows = await tx.fetch(
        "SELECT currency, balance_minor FROM wallet WHERE business_id = $1 ORDER BY currency", business_id
    )
    return [Money(row["balance_minor"], Currency(row["currency"])) for row in rows]
