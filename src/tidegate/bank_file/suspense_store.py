"""SQL of money from bank files that found no owner."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx

CANDIDATES_MAX = 5


class UnclaimedTransfer(msgspec.Struct, frozen=True, kw_only=True):
    transaction_id: str
    amount: Money
    account_number: str | None
    reason: str
    payer: str | None
    remittance: str | None
    received_at: datetime


class TransferCandidate(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    merchant_reference: str
    code: str
    status: str


async def list_unclaimed(tx: Tx, *, limit: int) -> list[UnclaimedTransfer]:
    rows = await tx.fetch(
        """
        SELECT receipt.transaction_id, receipt.amount_minor, receipt.currency, receipt.account_number, receipt.reason,
               receipt.payer ->> 'name' AS payer, entry.details ->> 'remittance' AS remittance, receipt.created_at
          FROM receipt
          LEFT JOIN LATERAL (SELECT details FROM bank_entry
                              WHERE keys @> ARRAY[receipt.transaction_id] AND state = 'done' LIMIT 1) AS entry ON true
         WHERE receipt.outcome = 'suspense' AND receipt.rail = 'bankfiles'
         ORDER BY receipt.created_at, receipt.id LIMIT $1
        """,
        limit,
    )
    return [
        UnclaimedTransfer(
            transaction_id=row["transaction_id"],
            amount=Money(row["amount_minor"], Currency(row["currency"])),
            account_number=row["account_number"],
            reason=row["reason"] or "",
            payer=row["payer"],
            remittance=row["remittance"],
            received_at=row["created_at"],
        )
        for row in rows
    ]


async def list_candidates(tx: Tx, transfer: UnclaimedTransfer, *, since: datetime) -> list[TransferCandidate]:
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
        transfer.amount.currency, transfer.amount.minor, since, transfer.received_at, CANDIDATES_MAX,
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
