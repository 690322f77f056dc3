"""A payment's row as one text: each column is read as what it is, and none for another."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from tidegate.core.fee import Fee, FeeBearer
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.payment.model import Customer, Ending, Payment, PaymentOrder, PaymentStatus
from tidegate.payment.row import PaymentRow, payment_of
from tidegate.payment.variance import Variance

METADATA = '{"b": 1.50,  "a": "\\u00e9 \\"x\\"", "b": 2}'
# No two columns of one type are alike.
EVERYTHING: dict[str, Any] = {
    "id": 1, "business_id": "of whom", "pay_code": "tg_code", "reference": "INV-1", "status": "success",
    "variance": "overpayment", "ending": "cancelled", "is_disabled": True, "version": 2, "attempts": 3,
    "currency": "NGN", "asked_minor": 10, "expected_minor": 11, "received_minor": 12, "held_minor": 13,
    "returned_minor": 14, "refunded_minor": 15, "fee_minor": 16, "vat_minor": 17, "settled_minor": 2**62,
    "fee_bearer": "customer", "fee_rule_id": "rule", "methods": ["ussd", "card"], "default_method": "ussd",
    "method": "card", "customer_name": "Adà \"Obi\"\n\\", "customer_email": "ada@example.com",
    "customer_phone": "+234", "redirect_url": "https://a.example/", "success_message": "Thanks",
    "paid_at": "2026-01-01T00:00:01Z", "expires_at": "2026-01-01T00:00:02.123456Z",
    "created_at": "2026-01-01T00:00:03Z", "updated_at": "2026-01-01T00:00:04Z",
    "attempts_by_method": {"card": 2, "ussd": 1}, "reversed_minor": 5, "payment_link_id": "pl_1",
    "dispute_status": "won",
}  # fmt: skip
NOTHING = dict.fromkeys(
    ("variance", "ending", "fee_minor", "vat_minor", "settled_minor", "method", "customer_phone", "redirect_url",
     "success_message", "paid_at", "payment_link_id")
)  # fmt: skip


async def read(db: Database, columns: dict[str, Any], metadata: str | None) -> Payment:
    async with db.connection() as tx:
        text = await tx.fetchval(
            """
            SELECT payment_row(payment)
              FROM json_populate_record(NULL::payment, $1::json) AS given,
                   json_populate_record(given, json_build_object('metadata', $2::json)) AS payment
            """,
            json.dumps(columns), metadata,
        )  # fmt: skip
    return payment_of(text)


def naira(minor: int) -> Money:
    return Money(minor, Currency.NGN)


def second(number: int, microsecond: int = 0) -> datetime:
    return datetime(2026, 1, 1, 0, 0, number, microsecond, tzinfo=UTC)


async def test_every_column_is_read_as_itself(db: Database) -> None:
    assert await read(db, EVERYTHING, METADATA) == Payment(
        id=1,
        business_id="of whom",
        pay_code="tg_code",
        status=PaymentStatus.SUCCESS,
        variance=Variance.OVERPAYMENT,
        order=PaymentOrder(
            reference="INV-1",
            asked=naira(10),
            fee_bearer=FeeBearer.CUSTOMER,
            methods=(Method.USSD, Method.CARD),
            default_method=Method.USSD,
            customer=Customer('Adà "Obi"\n\\', "ada@example.com", "+234"),
            redirect_url="https://a.example/",
            success_message="Thanks",
            metadata=METADATA,
        ),
        reference="INV-1",
        expected=naira(11),
        fee_rule_id="rule",
        received=naira(12),
        held=naira(13),
        returned=naira(14),
        refunded=naira(15),
        reversed=naira(5),
        fee=Fee(naira(16), naira(17)),
        settled=naira(2**62),
        method_chosen=Method.CARD,
        attempts=3,
        attempts_by_method={Method.CARD: 2, Method.USSD: 1},
        ending=Ending.CANCELLED,
        is_disabled=True,
        version=2,
        paid_at=second(1),
        expires_at=second(2, 123456),
        created_at=second(3),
        updated_at=second(4),
    )


async def test_what_is_not_there_is_none(db: Database) -> None:
    payment = await read(db, {**EVERYTHING, **NOTHING}, None)
    assert (payment.variance, payment.ending, payment.fee, payment.settled, payment.method_chosen) == (None,) * 5
    assert (payment.paid_at, payment.order.redirect_url, payment.order.success_message) == (None,) * 3
    assert (payment.order.metadata, payment.order.customer.phone) == (None, None)


async def test_times_are_in_utc(db: Database) -> None:
    """What writes them asks for just that zone, and would else convert each."""
    payment = await read(db, EVERYTHING, None)
    assert payment.created_at.tzinfo is UTC
    assert payment.paid_at is not None
    assert payment.paid_at.tzinfo is UTC


async def test_columns_are_read_in_the_order_that_they_are_given_in(db: Database) -> None:
    async with db.connection() as tx:
        source = await tx.fetchval("SELECT pg_get_functiondef('payment_row'::regproc)")
    assert tuple(re.findall(r"\$1\.(\w+)", source)) == PaymentRow.__struct_fields__
