"""SQL of everything that happened to one payment, in one round trip."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from tidegate.core.money import Currency
from tidegate.infra.db import Tx


class AttemptFact(msgspec.Struct, frozen=True, array_like=True):
    number: int
    method: str
    status: str
    failure: str | None
    details: dict[str, Any]
    account_number: str | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime


class ReceiptFact(msgspec.Struct, frozen=True, array_like=True):
    amount_minor: int
    outcome: str
    payer: dict[str, Any]
    created_at: datetime


class EntryFact(msgspec.Struct, frozen=True, array_like=True):
    account: str
    amount_minor: int
    balance_after_minor: int | None
    currency: Currency


class JournalFact(msgspec.Struct, frozen=True, array_like=True):
    id: int
    kind: str
    created_at: datetime
    position: int | None
    entries: list[EntryFact]


class DeliveryFact(msgspec.Struct, frozen=True, array_like=True):
    id: str
    event_type: str
    status: str
    attempts: int
    url: str
    created_at: datetime
    delivered_at: datetime | None


class RefundFact(msgspec.Struct, frozen=True, array_like=True):
    reference: str
    amount_minor: int
    status: str
    failure: str | None
    reason: str | None
    note: str | None
    initiated_at: datetime
    completed_at: datetime | None


class ActFact(msgspec.Struct, frozen=True, array_like=True):
    """Of a person, a key or the operator."""

    action: str
    who: str
    created_at: datetime
    # As the audit log has it.
    details: dict[str, Any]


class PaymentHistory(msgspec.Struct, frozen=True):
    attempts: list[AttemptFact]
    receipts: list[ReceiptFact]
    journals: list[JournalFact]
    deliveries: list[DeliveryFact]
    refunds: list[RefundFact]
    acts: list[ActFact]
    wallet_minor: int | None


_decode = msgspec.json.Decoder(PaymentHistory).decode


async def get_history(tx: Tx, business_id: str, payment_id: int) -> PaymentHistory:
    """Of each kind the newest fifty."""
    return _decode(await tx.fetchval(_HISTORY, business_id, payment_id))


_HISTORY = """
    WITH causes AS (SELECT causes_of_payment($1, $2) AS list),
    refs AS (SELECT array_agg(reference) || ARRAY(SELECT pay_code FROM payment WHERE business_id = $1 AND id = $2)
                        AS list FROM refund WHERE business_id = $1 AND payment_id = $2)
    SELECT json_build_object(
        'attempts', (SELECT coalesce(json_agg(json_build_array(number, method, status, failure, details,
                            account_number, expires_at, created_at, updated_at) ORDER BY number), '[]')
                       FROM (SELECT * FROM attempt WHERE business_id = $1 AND payment_id = $2
                              ORDER BY number DESC LIMIT 50) AS attempt),
        'receipts', (SELECT coalesce(json_agg(json_build_array(amount_minor, outcome, payer, created_at)
                            ORDER BY id), '[]')
                       FROM (SELECT * FROM receipt WHERE business_id = $1 AND payment_id = $2
                              ORDER BY id DESC LIMIT 50) AS receipt),
        'journals', (SELECT coalesce(json_agg(json_build_array(journal.id, kind, created_at, link.position,
                            (SELECT json_agg(json_build_array(account, amount_minor, balance_after_minor, currency)
                                    ORDER BY line)
                               FROM entry WHERE business_id = $1 AND journal_id = journal.id))
                            ORDER BY journal.id), '[]')
                       FROM (SELECT journal.* FROM causes, journal
                              WHERE journal.business_id = $1 AND journal.kind = ANY (ARRAY[
                                    'checkout_settled', 'receipt_held', 'held_settled', 'held_returning',
                                    'receipt_returning', 'refund_started', 'credit_reversed'])
                                AND journal.cause = ANY (causes.list) ORDER BY journal.id DESC LIMIT 50) AS journal
                       LEFT JOIN journal_link AS link ON link.business_id = $1 AND link.journal_id = journal.id),
        'deliveries', (SELECT coalesce(json_agg(json_build_array(delivery.id::text, delivery.event_type,
                              delivery.status, delivery.attempts, endpoint.url, delivery.created_at,
                              delivery.delivered_at) ORDER BY delivery.id), '[]')
                         FROM (SELECT delivery.* FROM causes CROSS JOIN LATERAL events_about($1, causes.list) AS event
                                 JOIN webhook_delivery AS delivery ON delivery.business_id = $1
                                      AND delivery.event_id = event.id
                                ORDER BY delivery.id DESC LIMIT 50) AS delivery
                         JOIN webhook_endpoint AS endpoint ON endpoint.business_id = $1
                              AND endpoint.id = delivery.endpoint_id),
        'refunds', (SELECT coalesce(json_agg(json_build_array(reference, amount_minor, status, failure, reason, note,
                           initiated_at, completed_at) ORDER BY id), '[]')
                      FROM (SELECT * FROM refund WHERE business_id = $1 AND payment_id = $2
                             ORDER BY id DESC LIMIT 50) AS refund),
        'acts', (SELECT coalesce(json_agg(json_build_array(action,
                        coalesce((SELECT name FROM person WHERE 'person/' || person.id = actor), actor), created_at,
                        details) ORDER BY audit.id), '[]')
                   FROM (SELECT audit.* FROM refs, audit
                          WHERE audit.business_id = $1 AND audit.subject = ANY (refs.list)
                          ORDER BY audit.id DESC LIMIT 50) AS audit),
        'wallet_minor', (SELECT balance_minor FROM wallet JOIN payment USING (business_id, currency)
                          WHERE wallet.business_id = $1 AND payment.id = $2))
"""
