"""SQL of what makes the figures beside a wallet's balance: what is locked, and what is owed."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx

# Shown; more than so many are counted with the rest.
PARTS_MAX = 200


class FigurePart(NamedTuple):
    # `refund`, `dispute`, `payment`, `inflow`.
    kind: str
    # Of the refund, the payment or the inflow: where it is found.
    reference: str
    at: datetime
    amount: Money


async def list_locked(tx: Tx, business_id: str, currency: Currency) -> list[FigurePart]:
    """Refunds on their way out, and what is held for disputes. Their sum is what the wallet shows as locked."""
    rows = await tx.fetch(
        """
        SELECT 'refund' AS kind, refund.reference, refund.initiated_at AS at, sum(leg.amount_minor)::bigint AS minor
          FROM refund JOIN refund_leg AS leg ON leg.business_id = $1 AND leg.refund_id = refund.id
         WHERE refund.business_id = $1 AND refund.status = 'processing' AND leg.status = 'processing'
           AND leg.currency = $2
         GROUP BY refund.reference, refund.initiated_at
         UNION ALL
        SELECT 'dispute', coalesce(payment.pay_code, dispute.id), dispute.opened_at, dispute.held_minor
          FROM dispute LEFT JOIN payment ON payment.business_id = $1 AND payment.id = dispute.payment_id
         WHERE dispute.business_id = $1 AND dispute.status = 'open' AND dispute.currency = $2
           AND dispute.held_minor > 0
         ORDER BY at DESC LIMIT $3
        """,
        business_id, currency, PARTS_MAX,
    )  # fmt: skip
    return [_part(row, currency) for row in rows]


async def list_owed(tx: Tx, business_id: str, currency: Currency) -> list[FigurePart]:
    """Taken back by banks beyond the balance."""
    rows = await tx.fetch(
        """
        SELECT 'payment' AS kind, pay_code AS reference, updated_at AS at, owed_minor AS minor FROM payment
         WHERE business_id = $1 AND currency = $2 AND owed_minor > 0
         UNION ALL
        SELECT 'inflow', reference, updated_at, owed_minor FROM collection
         WHERE business_id = $1 AND destination_currency = $2 AND owed_minor > 0
         ORDER BY at DESC LIMIT $3
        """,
        business_id, currency, PARTS_MAX,
    )  # fmt: skip
    return [_part(row, currency) for row in rows]


def _part(row: Row, currency: Currency) -> FigurePart:
    return FigurePart(row["kind"], row["reference"], row["at"], Money(row["minor"], currency))
