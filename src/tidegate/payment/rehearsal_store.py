"""SQL of the transfers that a rehearsal of the variance policy is tried on."""

from __future__ import annotations

from datetime import datetime

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.money_return.reason import ReturnReason
from tidegate.payment.rehearsal import PastTransfer

# Read by number, so that a business of any size costs the same.
RECEIPTS_MAX = 20_000


async def list_transfers(tx: Tx, business_id: str, *, since: datetime) -> list[PastTransfer]:
    """Transfers to accounts of payments, of the newest receipts; grouped by payment. None that came too late."""
    rows = await tx.fetch(
        """
        WITH newest AS (
            SELECT * FROM receipt WHERE business_id = $1 ORDER BY id DESC LIMIT $3)
        SELECT payment.pay_code, payment.reference, attempt.expected_minor, newest.currency, newest.amount_minor
          FROM newest
          JOIN payment ON payment.business_id = $1 AND payment.id = newest.payment_id
          JOIN attempt ON attempt.business_id = $1 AND attempt.id = newest.attempt_id
         WHERE newest.created_at >= $2 AND attempt.account_number IS NOT NULL
           AND coalesce(newest.reason, '') <> ALL ($4::text[])
         ORDER BY payment.id DESC, newest.id
        """,
        business_id, since, RECEIPTS_MAX, [ReturnReason.PAYMENT_ENDED, ReturnReason.ACCOUNT_CLOSED],
    )  # fmt: skip
    return [
        PastTransfer(
            row["pay_code"],
            row["reference"],
            Money(row["expected_minor"], Currency(row["currency"])),
            Money(row["amount_minor"], Currency(row["currency"])),
        )
        for row in rows
    ]
