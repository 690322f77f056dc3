"""SQL of reversals of checkout payments. Lock order: the payment, then the wallet."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.collection.reversal_store import ReceiptReversal
from tidegate.core.fee import Fee
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.infra.leased_work import DueRow

# A kind of leased work, as the statement below names it.
COLLECT = "collect_checkout_debts"


class Reversible(msgspec.Struct, frozen=True, kw_only=True):
    """A payment under its lock, and the state of one of its transfers."""

    pay_code: str
    is_paid: bool
    received: Money
    reversed: Money
    fee: Fee
    # Not yet returned by refunds or earlier reversals.
    fee_left: Fee
    # The part of the transfer that was returned as excess.
    sent_back: Money


class Debt(msgspec.Struct, frozen=True, kw_only=True):
    """What a merchant owes for a reversed payment."""

    business_id: str
    payment_id: int
    pay_code: str
    version: int
    owed: Money


async def get(tx: Tx, one: ReceiptReversal) -> Reversible:
    row = await tx.fetchrow(_GET, one.business_id, one.payment_id, one.rail, one.transaction_id)
    assert row is not None
    currency = Currency(row["currency"])
    fee = Fee(Money(row["fee_minor"], currency), Money(row["vat_minor"], currency))
    given = Fee(Money(row["fee_given_minor"], currency), Money(row["vat_given_minor"], currency))
    return Reversible(
        pay_code=row["pay_code"],
        is_paid=row["status"] == "success",
        received=Money(row["received_minor"], currency),
        reversed=Money(row["reversed_minor"], currency),
        fee=fee,
        fee_left=Fee(fee.fee - given.fee, fee.vat - given.vat),
        sent_back=Money(row["sent_back_minor"], currency),
    )


_GET = """
    SELECT payment.pay_code, payment.status, payment.currency, payment.received_minor, payment.reversed_minor,
           coalesce(payment.fee_minor, 0) AS fee_minor, coalesce(payment.vat_minor, 0) AS vat_minor,
           given.fee_minor AS fee_given_minor, given.vat_minor AS vat_given_minor,
           (SELECT coalesce(sum(amount_minor), 0)::bigint FROM money_return
             WHERE business_id = $1 AND payment_id = $2 AND rail = $3 AND transaction_id = $4) AS sent_back_minor
      FROM payment
     CROSS JOIN fee_returned($1, $2) AS given
     WHERE payment.business_id = $1 AND payment.id = $2
"""


async def count(tx: Tx, one: ReceiptReversal, kept: Money, *, owed: Money, now: datetime) -> None:
    await tx.execute(
        """
        UPDATE payment
           SET reversed_minor = reversed_minor + $3, owed_minor = owed_minor + $4, version = version + 1,
               updated_at = $5
         WHERE business_id = $1 AND id = $2
        """,
        one.business_id, one.payment_id, kept.minor, owed.minor, now,
    )  # fmt: skip


async def release(tx: Tx, one: ReceiptReversal, held: Money, *, now: datetime) -> None:
    """The held part payment was reversed."""
    await tx.execute(
        """
        UPDATE payment SET held_minor = held_minor - $3, version = version + 1, updated_at = $4
         WHERE business_id = $1 AND id = $2
        """,
        one.business_id, one.payment_id, held.minor, now,
    )  # fmt: skip


async def list_owing(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Payments whose wallet has a balance, by id; the oldest first."""
    rows = await tx.fetch(
        """
        SELECT payment.business_id, payment.id::text AS id FROM payment JOIN wallet USING (business_id, currency)
         WHERE payment.owed_minor > 0 AND wallet.balance_minor > 0
           AND NOT is_held_back(payment.business_id, 'collect_checkout_debts', payment.id::text, $1)
         ORDER BY payment.id LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["id"]) for row in rows]


async def find_owing(tx: Tx, business_id: str, payment_id: int) -> Debt | None:
    row = await tx.fetchrow(
        """
        SELECT pay_code, version, owed_minor, currency FROM payment
         WHERE business_id = $1 AND id = $2 AND owed_minor > 0
        """,
        business_id, payment_id,
    )  # fmt: skip
    if row is None:
        return None
    return Debt(
        business_id=business_id,
        payment_id=payment_id,
        pay_code=row["pay_code"],
        version=row["version"],
        owed=Money(row["owed_minor"], Currency(row["currency"])),
    )


async def pay_debt(tx: Tx, debt: Debt, part: Money, *, now: datetime) -> bool:
    """False when the payment has changed since it was read."""
    done = await tx.fetchval(
        """
        UPDATE payment SET owed_minor = owed_minor - $4, version = version + 1, updated_at = $5
         WHERE business_id = $1 AND id = $2 AND version = $3
        RETURNING true
        """,
        debt.business_id, debt.payment_id, debt.version, part.minor, now,
    )  # fmt: skip
    return done is True
