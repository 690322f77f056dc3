"""SQL of the payer's pages."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.checkout.model import (
    NO_MOVEMENTS,
    Movements,
    PayerReturn,
    Received,
    ReceivedAs,
    Refunded,
    ReturnStatus,
    TakenBack,
)
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.money_return.reason import reason_in
from tidegate.refund.model import RefundStatus

# Far above any legitimate use; the oldest are left out.
MOVEMENTS_MAX = 100


async def list_versions(tx: Tx, watched: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The versions of all watched payments, in one query."""
    rows = await tx.fetch(
        """
        SELECT business_id, pay_code, version
          FROM unnest($1::text[], $2::text[]) AS watched (business_id, pay_code)
          JOIN payment USING (business_id, pay_code)
        """,
        [business_id for business_id, _ in watched],
        [pay_code for _, pay_code in watched],
    )
    return {(row["business_id"], row["pay_code"]): row["version"] for row in rows}


async def list_movements(tx: Tx, business_id: str, payment_id: int) -> Movements:
    """Receipts, returns, refunds and reversals of a payment, in one query."""
    rows = [*reversed(await tx.fetch(_MOVEMENTS, business_id, payment_id, MOVEMENTS_MAX))]
    if not rows:
        return NO_MOVEMENTS
    return Movements(
        receipts=tuple(_received(row) for row in rows if row["kind"] == "receipt"),
        returns=tuple(_sent_back(row) for row in rows if row["kind"] == "return"),
        refunds=tuple(_refunded(row) for row in rows if row["kind"] == "refund"),
        reversals=tuple(TakenBack(amount=_amount(row), at=row["at"]) for row in rows if row["kind"] == "reversal"),
    )


_MOVEMENTS = """
    SELECT 'receipt' AS kind, id, currency, amount_minor, created_at AS at, outcome AS status, reason,
           NULL::timestamptz AS confirmed_at, payer ->> 'name' AS payer_name, payer ->> 'bank_name' AS payer_bank,
           right(payer ->> 'account_number', 4) AS payer_account_end
      FROM receipt WHERE business_id = $1 AND payment_id = $2
     UNION ALL
    SELECT 'return', id, currency, amount_minor, asked_at, status, reason, confirmed_at, NULL, NULL, NULL
      FROM money_return WHERE business_id = $1 AND payment_id = $2
     UNION ALL
    SELECT 'refund', id, currency, CASE status WHEN 'successful' THEN refunded_minor ELSE amount_minor END,
           initiated_at, status, reason, completed_at, NULL, NULL, NULL
      FROM refund WHERE business_id = $1 AND payment_id = $2
     UNION ALL
    SELECT 'reversal', receipt.id, reversal.currency, reversal.amount_minor, reversal.applied_at, NULL, NULL, NULL,
           NULL, NULL, NULL
      FROM receipt JOIN credit_reversal AS reversal USING (rail, transaction_id, amount_minor)
     WHERE receipt.business_id = $1 AND receipt.payment_id = $2 AND reversal.applied_at IS NOT NULL
       AND reversal.account_number = coalesce(receipt.account_number, '')
     ORDER BY at DESC, id DESC LIMIT $3
"""


def _received(row: Row) -> Received:
    return Received(
        amount=_amount(row),
        at=row["at"],
        outcome=ReceivedAs(row["status"]),
        reason=reason_in(row["reason"]),
        payer_name=row["payer_name"],
        payer_bank=row["payer_bank"],
        payer_account_end=row["payer_account_end"],
    )


def _sent_back(row: Row) -> PayerReturn:
    return PayerReturn(
        amount=_amount(row),
        reason=reason_in(row["reason"]),
        status=ReturnStatus(row["status"]),
        asked_at=row["at"],
        confirmed_at=row["confirmed_at"],
    )


def _refunded(row: Row) -> Refunded:
    return Refunded(
        amount=_amount(row),
        status=RefundStatus(row["status"]),
        reason=row["reason"],
        completed_at=row["confirmed_at"],
    )


def _amount(row: Row) -> Money:
    return Money(row["amount_minor"], Currency(row["currency"]))
