"""SQL of checkout payments."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.fee import Fee, FeeBearer
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.payment.model import Customer, Draft, Ending, Order, Payment, Status
from tidegate.payment.variance import Variance


class Inserted(NamedTuple):
    """The payment that has the reference now: the new one, or the one that was there first."""

    is_new: bool
    pay_code: str
    fingerprint: bytes


async def insert(tx: Tx, draft: Draft) -> Inserted | None:
    """One round trip. None when another transaction took the reference in this very moment: look again."""
    order = draft.order
    row = await tx.fetchrow(
        """
        WITH new AS (
            INSERT INTO payment (
                business_id, pay_code, reference, currency, asked_minor, expected_minor, fee_bearer, fee_rule_id,
                methods, default_method, customer_name, customer_email, customer_phone, redirect_url,
                success_message, metadata, request_hash, expires_at, created_at, updated_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19)
            ON CONFLICT ON CONSTRAINT payment_one_reference_per_business DO NOTHING
            RETURNING pay_code, request_hash)
        SELECT true AS is_new, pay_code, request_hash FROM new
        UNION ALL
        SELECT false, pay_code, request_hash FROM payment
         WHERE business_id = $1 AND reference = $3 AND NOT EXISTS (SELECT FROM new)
        """,
        draft.business_id, draft.pay_code, draft.reference, order.asked.currency, order.asked.minor,
        draft.expected.minor, order.fee_bearer, draft.fee_rule_id, order.methods, order.default_method,
        order.customer.name, order.customer.email, order.customer.phone, order.redirect_url,
        order.success_message, order.metadata, draft.fingerprint, draft.expires_at, draft.created_at,
    )  # fmt: skip
    return Inserted(row["is_new"], row["pay_code"], row["request_hash"]) if row else None


async def find_by_reference(tx: Tx, business_id: str, reference: str) -> Payment | None:
    row = await tx.fetchrow("SELECT * FROM payment WHERE business_id = $1 AND reference = $2", business_id, reference)
    return payment_of(row) if row else None


async def set_disabled(tx: Tx, payment: Payment, *, now: datetime) -> Payment | None:
    """None when the payment has changed since it was read."""
    row = await tx.fetchrow(
        """
        UPDATE payment SET is_disabled = $4, version = version + 1, updated_at = $5
         WHERE business_id = $1 AND id = $2 AND version = $3
        RETURNING *
        """,
        payment.business_id, payment.id, payment.version, payment.is_disabled, now,
    )  # fmt: skip
    return payment_of(row) if row else None


def payment_of(row: Row) -> Payment:
    currency = Currency(row["currency"])
    return Payment(
        id=row["id"],
        business_id=row["business_id"],
        pay_code=row["pay_code"],
        status=Status(row["status"]),
        variance=Variance(row["variance"]) if row["variance"] else None,
        order=_order(row, currency),
        reference=row["reference"],
        expected=Money(row["expected_minor"], currency),
        fee_rule_id=row["fee_rule_id"],
        received=Money(row["received_minor"], currency),
        held=Money(row["held_minor"], currency),
        returned=Money(row["returned_minor"], currency),
        refunded=Money(row["refunded_minor"], currency),
        fee=_fee(row, currency),
        settled=None if row["settled_minor"] is None else Money(row["settled_minor"], currency),
        method_chosen=Method(row["method"]) if row["method"] else None,
        attempts=row["attempts"],
        ending=Ending(row["ending"]) if row["ending"] else None,
        is_disabled=row["is_disabled"],
        version=row["version"],
        paid_at=row["paid_at"],
        expires_at=row["expires_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _fee(row: Row, currency: Currency) -> Fee | None:
    if row["fee_minor"] is None:
        return None
    return Fee(Money(row["fee_minor"], currency), Money(row["vat_minor"], currency))


def _order(row: Row, currency: Currency) -> Order:
    return Order(
        reference=row["reference"],
        asked=Money(row["asked_minor"], currency),
        fee_bearer=FeeBearer(row["fee_bearer"]),
        methods=tuple(map(Method, row["methods"])),
        default_method=Method(row["default_method"]),
        customer=Customer(row["customer_name"], row["customer_email"], row["customer_phone"]),
        redirect_url=row["redirect_url"],
        success_message=row["success_message"],
        metadata=row["metadata"],
    )
