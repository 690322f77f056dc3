"""SQL of payments that a transfer without an owner may be for."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.core.money import Money
from tidegate.infra.db import Tx

CANDIDATES_MAX = 5


class TransferCandidate(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    merchant_reference: str
    code: str
    status: str


async def list_candidates(tx: Tx, amount: Money, *, since: datetime, until: datetime) -> list[TransferCandidate]:
    rows = await tx.fetch(
        """
        SELECT begun.business_id, payment.reference AS merchant_reference, begun.code, payment.status
          FROM bank_attempt AS begun
          JOIN attempt ON attempt.business_id = begun.business_id AND attempt.reference = begun.reference
          JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
         WHERE begun.currency = $1 AND begun.amount_minor = $2 AND begun.started_at BETWEEN $3 AND $4
           AND payment.status <> 'success'
         ORDER BY begun.started_at DESC LIMIT $5
        """,
        amount.currency, amount.minor, since, until, CANDIDATES_MAX,
    )  # fmt: skip
    return [
        TransferCandidate(
            business_id=row["business_id"],
            merchant_reference=row["merchant_reference"],
            code=row["code"],
            status=row["status"],
        )
        for row in rows
    ]
