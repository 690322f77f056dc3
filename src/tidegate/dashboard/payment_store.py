"""SQL of everything the page of a payment shows, in one round trip."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from tidegate.core.money import Currency
from tidegate.infra.db import Tx
from tidegate.payment.model import Payment
from tidegate.payment.row import payment_of
from tidegate.payment.store import PaymentKey
from tidegate.refund.model import Subject
from tidegate.refund.subject_store import payment_to_refund


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
    rail: str
    # Ours, as the rail knows it.
    reference: str


class ReceiptFact(msgspec.Struct, frozen=True, array_like=True):
    amount_minor: int
    outcome: str
    payer: dict[str, Any]
    created_at: datetime
    rail: str
    transaction_id: str


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


class ReturnFact(msgspec.Struct, frozen=True, array_like=True):
    """Money that goes back to the payer by itself, such as an excess."""

    reference: str
    amount_minor: int
    status: str
    failure: str | None
    asked_at: datetime
    confirmed_at: datetime | None


class ActFact(msgspec.Struct, frozen=True, array_like=True):
    """Of a person, a key or the operator."""

    action: str
    who: str
    created_at: datetime
    # As the audit log has it.
    details: dict[str, Any]


class CaseFact(msgspec.Struct, frozen=True, array_like=True):
    # In hex.
    token_hash: str
    created_by_name: str
    expires_at: datetime
    revoked_at: datetime | None
    openings: int
    last_opened_at: datetime | None


class PaymentHistory(msgspec.Struct, frozen=True):
    attempts: list[AttemptFact]
    receipts: list[ReceiptFact]
    journals: list[JournalFact]
    deliveries: list[DeliveryFact]
    refunds: list[RefundFact]
    returns: list[ReturnFact]
    acts: list[ActFact]
    cases: list[CaseFact]
    wallet_minor: int | None


class PaymentFacts(NamedTuple):
    payment: Payment
    # As a refund sees it.
    subject: Subject
    history: PaymentHistory


class _Found(PaymentHistory, frozen=True):
    payment: msgspec.Raw
    subject: dict[str, Any]


_decode = msgspec.json.Decoder(_Found).decode


async def find(tx: Tx, key: PaymentKey) -> PaymentFacts | None:
    """Of each kind of fact the newest fifty; of case links the newest ten."""
    text = await tx.fetchval(_FACTS, *key)
    if text is None:
        return None
    found = _decode(text)
    return PaymentFacts(payment_of(found.payment), payment_to_refund(found.subject), found)


_FACTS = """
    WITH found AS (SELECT payment_row(payment) AS row, id, pay_code, currency FROM payment
                    WHERE business_id = $1 AND (reference = $2 OR pay_code = $2)),
    causes AS (SELECT causes_of_payment($1, id) AS list FROM found),
    refs AS (SELECT ARRAY(SELECT reference FROM refund WHERE business_id = $1 AND payment_id = found.id) || pay_code
                        AS list FROM found)
    SELECT json_build_object(
        'payment', found.row,
        'subject', payment_to_refund($1, found.id),
        'attempts', (SELECT coalesce(json_agg(json_build_array(number, method, status, failure, details,
                            account_number, expires_at, created_at, updated_at, rail, reference) ORDER BY number),
                            '[]')
                       FROM (SELECT * FROM attempt WHERE business_id = $1 AND payment_id = found.id
                              ORDER BY number DESC LIMIT 50) AS attempt),
        'receipts', (SELECT coalesce(json_agg(json_build_array(amount_minor, outcome, payer, created_at, rail,
                            transaction_id) ORDER BY id), '[]')
                       FROM (SELECT * FROM receipt WHERE business_id = $1 AND payment_id = found.id
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
                      FROM (SELECT * FROM refund WHERE business_id = $1 AND payment_id = found.id
                             ORDER BY id DESC LIMIT 50) AS refund),
        'returns', (SELECT coalesce(json_agg(json_build_array(reference, amount_minor, status, failure, asked_at,
                           confirmed_at) ORDER BY id), '[]')
                      FROM (SELECT * FROM money_return WHERE business_id = $1 AND payment_id = found.id
                             ORDER BY id DESC LIMIT 50) AS going_back),
        'acts', (SELECT coalesce(json_agg(json_build_array(action,
                        coalesce((SELECT name FROM person WHERE 'person/' || person.id = actor), actor), created_at,
                        details) ORDER BY audit.id), '[]')
                   FROM (SELECT audit.* FROM refs, audit
                          WHERE audit.business_id = $1 AND audit.subject = ANY (refs.list)
                          ORDER BY audit.id DESC LIMIT 50) AS audit),
        'cases', (SELECT coalesce(json_agg(json_build_array(encode(token_hash, 'hex'), person.name, expires_at,
                         revoked_at, openings, last_opened_at) ORDER BY link.created_at DESC), '[]')
                    FROM (SELECT * FROM case_link WHERE business_id = $1 AND payment_id = found.id
                           ORDER BY created_at DESC LIMIT 10) AS link
                    JOIN person ON person.id = link.created_by),
        'wallet_minor', (SELECT balance_minor FROM wallet WHERE business_id = $1 AND currency = found.currency))
      FROM found
"""
