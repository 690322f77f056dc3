"""SQL of the search: things of any merchant, by the words that a call or a letter has."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.infra.db import Tx

FOUND_MAX = 20


class SearchResult(NamedTuple):
    # merchant, payment, inflow, account or refund.
    kind: str
    business_id: str
    business: str
    reference: str
    state: str


async def find(tx: Tx, text: str) -> list[SearchResult]:
    """Merchants by id, code or the beginning of the name; the others by a whole reference, each by its own index."""
    rows = await tx.fetch(
        """
        (SELECT 'merchant' AS kind, id AS business_id, name AS business, id AS reference, status AS state
           FROM business
          WHERE id <> '000000000000000000000000'
            AND (id = $1 OR code = $1 OR starts_with(lower(name), lower($1)) OR lower(email) = lower($1))
          ORDER BY name, id LIMIT $2)
         UNION ALL
        (SELECT found.kind, business.id, business.name, found.reference, found.state
           FROM business
          CROSS JOIN LATERAL (
                SELECT 'payment' AS kind, pay_code AS reference, status AS state FROM payment
                 WHERE business_id = business.id AND reference = $1
                 UNION ALL
                SELECT 'payment', pay_code, status FROM payment WHERE business_id = business.id AND pay_code = $1
                 UNION ALL
                SELECT 'inflow', reference, status FROM collection WHERE business_id = business.id AND reference = $1
                 UNION ALL
                SELECT 'account', id, status FROM virtual_account WHERE business_id = business.id AND id = $1
                 UNION ALL
                SELECT 'inflow', collection.reference, 'return of ' || collection.status
                  FROM money_return JOIN collection ON collection.business_id = business.id
                       AND collection.id = money_return.collection_id
                 WHERE money_return.business_id = business.id AND money_return.reference = $1
                 UNION ALL
                SELECT CASE WHEN payment.id IS NULL THEN 'inflow' ELSE 'payment' END,
                       coalesce(payment.pay_code, collection.reference), 'refund ' || refund.status
                  FROM refund
                  LEFT JOIN payment ON payment.business_id = business.id AND payment.id = refund.payment_id
                  LEFT JOIN collection ON collection.business_id = business.id AND collection.id = refund.collection_id
                 WHERE refund.business_id = business.id AND refund.reference = $1) AS found
          LIMIT $2)
        """,
        text, FOUND_MAX,
    )  # fmt: skip
    return [SearchResult(**row) for row in rows]
