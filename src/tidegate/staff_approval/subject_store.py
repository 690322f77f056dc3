"""SQL of what approvers read about the subjects of proposals, where no other package reads it by one business."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.rail.bankfiles.model import BankEntry
from tidegate.rail.bankfiles.store import entry_of

BUSINESSES_MAX = 5


class MovingMoney(msgspec.Struct, frozen=True):
    """A return, a part of a refund, or what a dispute is about."""

    amount: Money
    rail: str
    # The merchant's reference of the payment, or the reference of the inflow.
    of: str | None
    payer: str | None


class KnownPerson(msgspec.Struct, frozen=True):
    name: str
    # At most so many as an approver reads.
    businesses: list[str]


async def names_of(tx: Tx, business_ids: Collection[str]) -> Mapping[str, str]:
    rows = await tx.fetch("SELECT id, name FROM business WHERE id = ANY($1)", list(business_ids))
    return {row["id"]: row["name"] for row in rows}


async def find_return(tx: Tx, business_id: str, reference: str) -> MovingMoney | None:
    row = await tx.fetchrow(
        """
        SELECT back.currency, back.amount_minor, back.rail,
               coalesce(payment.reference, collection.reference) AS of,
               coalesce(payment.customer_name, collection.payer ->> 'name') AS payer
          FROM money_return AS back
          LEFT JOIN payment ON payment.business_id = $1 AND payment.id = back.payment_id
          LEFT JOIN collection ON collection.business_id = $1 AND collection.id = back.collection_id
         WHERE back.business_id = $1 AND back.reference = $2
        """,
        business_id, reference,
    )  # fmt: skip
    return _moving(row) if row else None


async def find_refund_leg(tx: Tx, business_id: str, reference: str) -> MovingMoney | None:
    row = await tx.fetchrow(
        """
        SELECT leg.currency, leg.amount_minor, leg.rail,
               coalesce(payment.reference, collection.reference) AS of,
               coalesce(payment.customer_name, collection.payer ->> 'name') AS payer
          FROM refund_leg AS leg JOIN refund ON refund.business_id = $1 AND refund.id = leg.refund_id
          LEFT JOIN payment ON payment.business_id = $1 AND payment.id = refund.payment_id
          LEFT JOIN collection ON collection.business_id = $1 AND collection.id = refund.collection_id
         WHERE leg.business_id = $1 AND leg.reference = $2
        """,
        business_id, reference,
    )  # fmt: skip
    return _moving(row) if row else None


async def find_dispute(tx: Tx, business_id: str, rail: str, dispute_id: str) -> MovingMoney | None:
    row = await tx.fetchrow(
        """
        SELECT dispute.currency, dispute.amount_minor, dispute.rail,
               payment.reference AS of, payment.customer_name AS payer
          FROM dispute LEFT JOIN payment ON payment.business_id = $1 AND payment.id = dispute.payment_id
         WHERE dispute.business_id = $1 AND dispute.rail = $2 AND dispute.id = $3
        """,
        business_id, rail, dispute_id,
    )  # fmt: skip
    return _moving(row) if row else None


async def find_payment(tx: Tx, business_id: str, reference: str) -> tuple[str, str, Money] | None:
    """Its merchant reference, status, and what it expects. By its pay code or merchant reference."""
    row = await tx.fetchrow(
        """
        SELECT reference, status, currency, expected_minor FROM payment
         WHERE business_id = $1 AND (pay_code = $2 OR reference = $2) ORDER BY pay_code = $2 DESC LIMIT 1
        """,
        business_id, reference,
    )  # fmt: skip
    return (row["reference"], row["status"], Money(row["expected_minor"], Currency(row["currency"]))) if row else None


async def find_bank_entry(tx: Tx, file_id: str, number: str) -> tuple[BankEntry, str | None] | None:
    """And why it was not recorded by itself."""
    row = await tx.fetchrow(
        "SELECT details, note FROM bank_entry WHERE file_id = $1 AND number::text = $2", file_id, number
    )
    return (entry_of(row["details"]), row["note"]) if row else None


async def find_quarantine_note(tx: Tx, rail: str, notification_id: str) -> str | None:
    """What contradicts."""
    found: str | None = await tx.fetchval(
        "SELECT note FROM notification WHERE rail = $1 AND id = $2", rail, notification_id
    )
    return found


async def find_payer(tx: Tx, business_id: str, reference: str) -> str | None:
    """Of a payment or an inflow, by any of its references."""
    found: str | None = await tx.fetchval(
        """
        SELECT customer_name FROM payment WHERE business_id = $1 AND (reference = $2 OR pay_code = $2)
         UNION ALL
        SELECT payer ->> 'name' FROM collection WHERE business_id = $1 AND reference = $2
         LIMIT 1
        """,
        business_id, reference,
    )  # fmt: skip
    return found


async def find_person(tx: Tx, email: str) -> KnownPerson | None:
    row = await tx.fetchrow(
        """
        SELECT name, ARRAY(SELECT business.name FROM membership JOIN business ON business.id = membership.business_id
                            WHERE membership.person_id = person.id ORDER BY business.name LIMIT $2) AS businesses
          FROM person WHERE email = $1
        """,
        email, BUSINESSES_MAX,
    )  # fmt: skip
    return KnownPerson(row["name"], row["businesses"]) if row else None


def _moving(row: Row) -> MovingMoney:
    amount = Money(row["amount_minor"], Currency(row["currency"]))
    return MovingMoney(amount, row["rail"], row["of"], row["payer"])
