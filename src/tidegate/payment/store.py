"""SQL of checkout payments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from tidegate.infra.db import Tx
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
    """One round trip and one commit. None when the payment that had the reference is gone: insert again.

    A draft that was inserted before is reported as new again: its pay code is its own.
    """
    text = await tx.fetchval(
        "SELECT create_payments($1, $2)",
        drafts[0].business_id, msgspec.json.encode([_given(draft) for draft in drafts]).decode(),
    )  # fmt: skip
    known = {PaymentKey(row[0], row[1]): (row[2], row[3]) for row in _decode_known(text)}
    return [_inserted(draft, known) for draft in drafts]


_decode_known = msgspec.json.Decoder(list[tuple[str, str, str | None, bytes | None]]).decode


def _inserted(draft: Draft, known: dict[PaymentKey, tuple[str | None, bytes | None]]) -> Inserted | None:
    pay_code, fingerprint = known.get(
        PaymentKey(draft.business_id, draft.reference), (draft.pay_code, draft.fingerprint)
    )
    if pay_code is None or fingerprint is None:
        return None
    return Inserted(pay_code == draft.pay_code, pay_code, fingerprint)


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


async def find(tx: Tx, key: PaymentKey) -> Payment | None:
    """By the merchant's reference or the pay code; no reference is shaped like a pay code."""
    text = await tx.fetchval(
        "SELECT payment_row(payment) FROM payment WHERE business_id = $1 AND (reference = $2 OR pay_code = $2)", *key
    )
    return payment_of(text) if text else None


async def set_disabled(tx: Tx, payment: Payment, *, now: datetime) -> Payment | None:
    """None when the payment has changed since it was read."""
    done = await tx.fetchval(
        """
        UPDATE payment SET is_disabled = $4, version = version + 1, updated_at = $5
         WHERE business_id = $1 AND id = $2 AND version = $3
        RETURNING true
        """,
        payment.business_id, payment.id, payment.version, payment.is_disabled, now,
    )  # fmt: skip
    return await find(tx, PaymentKey(payment.business_id, payment.pay_code)) if done else None
