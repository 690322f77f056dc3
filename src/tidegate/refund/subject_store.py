"""SQL of the subject of a refund: a checkout payment or an inflow."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from tidegate.collection.rate import Rate
from tidegate.collection.store import rate_of
from tidegate.core.fee import DEFAULT_FEE_RULE_BY_ID, Fee, FeeOnRefund
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.refund.model import RefundableTransfer, RefundDispute, Subject, SubjectConversion

_NOT_PAID = "a payment can be refunded only in status success; this one is {}"
_NOT_CREDITED = "a collection can be refunded only in status successful; this one is {}"
_TAKEN_BACK = "nothing can be refunded: the customer's bank has reversed this money"


class SubjectKey(NamedTuple):
    """Either a payment or a collection, so one of the ids is None."""

    business_id: str
    payment_id: int | None
    collection_id: int | None


async def find_key(tx: Tx, business_id: str, reference: str) -> SubjectKey | None:
    """By the merchant's reference, a pay code, or a collection's reference, in this order."""
    row = await tx.fetchrow(
        """
        SELECT id AS payment_id, NULL::bigint AS collection_id FROM payment WHERE business_id = $1 AND reference = $2
         UNION ALL
        SELECT id, NULL::bigint FROM payment WHERE business_id = $1 AND pay_code = $2
         UNION ALL
        SELECT NULL::bigint, id FROM collection WHERE business_id = $1 AND reference = $2
         LIMIT 1
        """,
        business_id, reference,
    )  # fmt: skip
    return SubjectKey(business_id, row["payment_id"], row["collection_id"]) if row else None


async def find_key_of(tx: Tx, business_id: str, refund_id: int) -> SubjectKey:
    row = await tx.fetchrow(
        "SELECT payment_id, collection_id FROM refund WHERE business_id = $1 AND id = $2", business_id, refund_id
    )
    assert row is not None
    return SubjectKey(business_id, row["payment_id"], row["collection_id"])


async def lock(tx: Tx, key: SubjectKey) -> None:
    """Serialises refunds of the same subject. Read the subject after locking, not before."""
    if key.payment_id is not None:
        await tx.execute(
            "SELECT FROM payment WHERE business_id = $1 AND id = $2 FOR NO KEY UPDATE", key.business_id, key.payment_id
        )
    else:
        await tx.execute(
            "SELECT FROM collection WHERE business_id = $1 AND id = $2 FOR NO KEY UPDATE",
            key.business_id, key.collection_id,
        )  # fmt: skip


async def get(tx: Tx, key: SubjectKey) -> Subject:
    if key.payment_id is not None:
        text = await tx.fetchval("SELECT payment_to_refund($1, $2)", key.business_id, key.payment_id)
        return payment_to_refund(msgspec.json.decode(text))
    row = await tx.fetchrow(_COLLECTION, key.business_id, key.collection_id)
    assert row is not None
    return collection_to_refund(row)


def collection_to_refund(found: Row) -> Subject:
    """From a row with a collection, the fee that its refunds gave back, and what its own price says of that."""
    row = found["collection"]
    given = _fee(found["fee_given_minor"], found["vat_given_minor"], Currency(row["source_currency"]))
    return collection_subject(row, found["on_refund"], given)


def payment_to_refund(found: Row) -> Subject:
    """From what the SQL function of this name gives."""
    currency = Currency(found["currency"])
    transfers = tuple(
        RefundableTransfer(rail=rail, transaction_id=transaction_id, left=Money(left, currency))
        for rail, transaction_id, left in found["transfers"]
    )
    disputes = tuple(
        RefundDispute(rail=rail, dispute_id=dispute_id, is_open=status == "open", amount=Money(minor, currency))
        for rail, dispute_id, status, minor in found["disputes"]
    )
    fee_minor, vat_minor = found["fee_given"]
    subject = payment_subject(found, found["on_refund"], _fee(fee_minor, vat_minor, currency), transfers)
    return _reduced(msgspec.structs.replace(subject, disputes=disputes), is_taken_back=found["is_taken_back"])


def _reduced(subject: Subject, *, is_taken_back: bool | None) -> Subject:
    """By what the bank took back or may take. `is_taken_back` is None without a reversal, False until it is booked.

    Of a payment by several transfers the bank may reverse only some.
    """
    if is_taken_back is None and not subject.disputes:
        return subject
    left = sum((transfer.left for transfer in subject.transfers), start=Money.zero(subject.received.currency))
    is_gone = is_taken_back is False or (is_taken_back and not left.minor)
    block_reason = subject.block_reason or (_TAKEN_BACK if is_gone else None)
    return msgspec.structs.replace(subject, block_reason=block_reason, gone=subject.left - left)


_COLLECTION = """
    SELECT collection, given.fee_minor AS fee_given_minor, given.vat_minor AS vat_given_minor,
           (SELECT on_refund FROM fee_rule
             WHERE fee_rule.business_id = $1 AND 'own-' || fee_rule.id = collection.fee_rule_id)
      FROM collection CROSS JOIN inflow_fee_returned($1, $2) AS given
     WHERE business_id = $1 AND id = $2
"""


def payment_subject(
    row: Row, on_refund: str | None, fee_given: Fee | None = None, transfers: tuple[RefundableTransfer, ...] = ()
) -> Subject:
    currency = Currency(row["currency"])
    return Subject(
        business_id=row["business_id"],
        payment_id=row["id"],
        version=row["version"],
        reference=row["pay_code"],
        merchant_reference=row["reference"],
        expected=Money(row["expected_minor"], currency),
        received=Money(row["received_minor"], currency),
        settled=Money(row["settled_minor"] or 0, currency),
        fee=_fee(row["fee_minor"] or 0, row["vat_minor"] or 0, currency),
        fee_on_refund=_fee_on_refund(row["fee_rule_id"], on_refund),
        variance=row["variance"],
        refunded=Money(row["refunded_minor"], currency),
        fee_given=fee_given or _no_fee(currency),
        transfers=transfers,
        block_reason=None if row["status"] == "success" else _NOT_PAID.format(row["status"]),
    )


def collection_subject(row: Row, on_refund: str | None, fee_given: Fee | None = None) -> Subject:
    currency = Currency(row["source_currency"])
    received = Money(row["source_minor"], currency)
    refunded = Money(row["refunded_minor"], currency)
    is_converted = row["destination_currency"] != currency
    block_reason = None if row["status"] == "successful" else _NOT_CREDITED.format(row["status"])
    return Subject(
        business_id=row["business_id"],
        collection_id=row["id"],
        version=row["version"],
        reference=row["reference"],
        merchant_reference=row["merchant_reference"],
        expected=received,
        received=received,
        settled=Money(0 if block_reason or is_converted else row["credited_minor"], currency),
        fee=_no_fee(currency)
        if block_reason or is_converted
        else Fee(Money(row["fee_minor"], currency), Money(row["vat_minor"], currency)),
        fee_on_refund=_fee_on_refund(row["fee_rule_id"], on_refund),
        variance=None,
        refunded=refunded,
        fee_given=fee_given or _no_fee(currency),
        transfers=(
            RefundableTransfer(rail=row["rail"], transaction_id=row["transaction_id"], left=received - refunded),
        ),
        block_reason=block_reason,
        conversion=_conversion(row) if is_converted and not block_reason else None,
    )


def _conversion(row: Row) -> SubjectConversion:
    """At the market's rate, before our spread."""
    worth = row["destination_minor"] + row["spread_minor"]
    return SubjectConversion(worth=Money(worth, Currency(row["destination_currency"])), rate=row["rate"])


async def find_rate(
    tx: Tx, business_id: str, base: Currency, quote: Currency, *, quoted_after: datetime
) -> Rate | None:
    """The newest one, of the business or of all, quoted by the time of the business."""
    row = await tx.fetchrow(
        """
        SELECT * FROM rate_for($1, $2, $3) WHERE id IS NOT NULL AND quoted_at >= $4
        """,
        business_id, base, quote, quoted_after,
    )  # fmt: skip
    return rate_of(row) if row else None


def _no_fee(currency: Currency) -> Fee:
    return _fee(0, 0, currency)


def _fee(fee_minor: int, vat_minor: int, currency: Currency) -> Fee:
    return Fee(Money(fee_minor, currency), Money(vat_minor, currency))


def _fee_on_refund(rule_id: str | None, own: str | None) -> FeeOnRefund:
    """From the rule that priced it: the business's own, or the general one."""
    if own is not None:
        return FeeOnRefund(own)
    usual = DEFAULT_FEE_RULE_BY_ID.get(rule_id or "")
    return usual.on_refund if usual else FeeOnRefund.KEPT
