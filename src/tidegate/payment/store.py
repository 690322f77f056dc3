"""SQL of checkout payments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from tidegate.infra.db import Row, Tx
from tidegate.payment.model import Draft, Payment
from tidegate.payment.row import payment_of


class Inserted(NamedTuple):
    """The payment that has the reference: the new one, or the existing one."""

    is_new: bool
    pay_code: str
    fingerprint: bytes


class PaymentKey(NamedTuple):
    """What a merchant looks a payment up by."""

    business_id: str
    reference: str


async def insert(tx: Tx, draft: Draft) -> Inserted | None:
    return (await insert_all(tx, [draft]))[0]


async def insert_all(tx: Tx, drafts: Sequence[Draft]) -> list[Inserted | None]:
    """One round trip and one commit. None when a concurrent transaction took the reference: insert again.

    A draft that was inserted before is reported as new again: its pay code is its own.
    """
    # As one text: asyncpg encodes arrays item by item.
    rows = await tx.fetch(_INSERT, msgspec.json.encode([_given(draft) for draft in drafts]).decode())
    new = {row["pay_code"] for row in rows if row["reference"] is None}
    # Only existing payments are returned with their reference.
    old = {PaymentKey(row["business_id"], row["reference"]): row for row in rows if row["reference"] is not None}
    return [
        Inserted(True, draft.pay_code, draft.fingerprint) if draft.pay_code in new else _inserted_before(draft, old)
        for draft in drafts
    ]


_INSERT = """
    WITH given AS (
        SELECT * FROM json_to_recordset($1::json) AS given (
            business_id text, pay_code text, reference text, currency text, asked_minor bigint, expected_minor bigint,
            fee_bearer text, fee_rule_id text, methods text[], default_method text, customer_name text,
            customer_email text, customer_phone text, redirect_url text, success_message text, metadata text,
            request_hash text, expires_at timestamptz, created_at timestamptz, payment_link_id text)),
    new AS (
        INSERT INTO payment (
            business_id, pay_code, reference, currency, asked_minor, expected_minor, fee_bearer, fee_rule_id,
            methods, default_method, customer_name, customer_email, customer_phone, redirect_url,
            success_message, metadata, request_hash, expires_at, created_at, updated_at, payment_link_id)
        SELECT business_id, pay_code, reference, currency, asked_minor, expected_minor, fee_bearer, fee_rule_id,
               methods, default_method, customer_name, customer_email, customer_phone, redirect_url,
               success_message, metadata::json, decode(request_hash, 'base64'), expires_at, created_at, created_at,
               payment_link_id
          FROM given
        -- Always in the same order: otherwise two batches with the same references could deadlock.
         ORDER BY business_id, reference
        ON CONFLICT ON CONSTRAINT payment_one_reference_per_business DO NOTHING
        RETURNING business_id, reference, pay_code)
    SELECT pay_code, NULL AS business_id, NULL AS reference, NULL AS request_hash FROM new
    UNION ALL
    SELECT payment.pay_code, business_id, reference, payment.request_hash
      FROM given JOIN payment USING (business_id, reference)
     WHERE NOT EXISTS (SELECT FROM new WHERE new.pay_code = given.pay_code)
"""


def _given(draft: Draft) -> dict[str, Any]:
    order = draft.order
    return {
        "business_id": draft.business_id,
        "pay_code": draft.pay_code,
        "reference": draft.reference,
        "currency": order.asked.currency,
        "asked_minor": order.asked.minor,
        "expected_minor": draft.expected.minor,
        "fee_bearer": order.fee_bearer,
        "fee_rule_id": draft.fee_rule_id,
        "methods": order.methods,
        "default_method": order.default_method,
        "customer_name": order.customer.name,
        "customer_email": order.customer.email,
        "customer_phone": order.customer.phone,
        "redirect_url": order.redirect_url,
        "success_message": order.success_message,
        "metadata": order.metadata,
        "request_hash": draft.fingerprint,
        "expires_at": draft.expires_at,
        "created_at": draft.created_at,
        "payment_link_id": draft.payment_link_id,
    }


def _inserted_before(draft: Draft, old: Mapping[PaymentKey, Row]) -> Inserted | None:
    row = old.get(PaymentKey(draft.business_id, draft.reference))
    return Inserted(row["pay_code"] == draft.pay_code, row["pay_code"], row["request_hash"]) if row else None


async def find(tx: Tx, key: PaymentKey) -> Payment | None:
    """By the merchant's reference or the pay code; no reference is shaped like a pay code."""
    text = await tx.fetchval(
        "SELECT payment_row(payment) FROM payment WHERE business_id = $1 AND (reference = $2 OR pay_code = $2)", *key
    )
    return payment_of(text) if text else None


async def set_disabled(tx: Tx, payment: Payment, *, now: datetime) -> Payment | None:
    """None when the payment has changed since it was read."""
    text = await tx.fetchval(
        """
        UPDATE payment SET is_disabled = $4, version = version + 1, updated_at = $5
         WHERE business_id = $1 AND id = $2 AND version = $3
        RETURNING payment_row(payment)
        """,
        payment.business_id, payment.id, payment.version, payment.is_disabled, now,
    )  # fmt: skip
    return payment_of(text) if text else None
