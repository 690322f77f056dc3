"""SQL of payment links."""

from __future__ import annotations

from datetime import datetime

from tidegate.core.fee import FeeBearer
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.payment_link.model import FieldRule, LinkKind, LinkTerms, LinkUse, LinkView, PaymentLink

# Of payments, for the figures of one link.
COUNTED_MAX = 10_000


async def insert(tx: Tx, business_id: str, link_id: str, terms: LinkTerms, *, now: datetime) -> PaymentLink:
    row = await tx.fetchrow(
        """
        INSERT INTO payment_link (
            business_id, id, name, kind, currency, asked_minor, least_minor, most_minor, fee_bearer, methods,
            success_message, redirect_url, payments_max, ends_at, created_at, phone_rule, note_rule, note_label)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
        RETURNING *
        """,
        business_id, link_id, terms.name, terms.kind, terms.currency, terms.asked.minor if terms.asked else None,
        terms.least.minor, terms.most.minor, terms.fee_bearer, list(terms.methods), terms.success_message,
        terms.redirect_url, terms.payments_max, terms.ends_at, now, terms.phone_rule, terms.note_rule,
        terms.note_label,
    )  # fmt: skip
    assert row is not None
    return _link(row)


async def lock(tx: Tx, business_id: str, link_id: str) -> None:
    """Until the transaction ends: a payment of a link with a limit is counted before another begins."""
    await tx.execute("SELECT FROM payment_link WHERE business_id = $1 AND id = $2 FOR UPDATE", business_id, link_id)


async def find(tx: Tx, business_id: str, link_id: str, *, now: datetime) -> LinkView | None:
    row = await tx.fetchrow(
        """
        SELECT link, used.*
          FROM payment_link AS link
         CROSS JOIN LATERAL use_of_link(link.business_id, link.id, $3, $4) AS used
         WHERE link.business_id = $1 AND link.id = $2
        """,
        business_id, link_id, now, COUNTED_MAX,
    )  # fmt: skip
    return _view(row) if row else None


async def list_page(
    tx: Tx, business_id: str, *, is_ended: bool | None, before_number: int | None, limit: int, now: datetime
) -> list[LinkView]:
    """The newest first; `is_ended` is by the merchant."""
    rows = await tx.fetch(
        """
        SELECT link, used.*
          FROM (SELECT payment_link AS link, business_id, id, number FROM payment_link
                 WHERE business_id = $1 AND ($2::boolean IS NULL OR (ended_at IS NOT NULL) = $2)
                   AND ($3::bigint IS NULL OR number < $3)
                 ORDER BY number DESC LIMIT $4) AS page
         CROSS JOIN LATERAL use_of_link(page.business_id, page.id, $5, $6) AS used
         ORDER BY page.number DESC
        """,
        business_id, is_ended, before_number, limit, now, COUNTED_MAX,
    )  # fmt: skip
    return [_view(row) for row in rows]


async def set_ended(tx: Tx, business_id: str, link_id: str, *, ended_at: datetime | None) -> None:
    await tx.execute(
        "UPDATE payment_link SET ended_at = $3 WHERE business_id = $1 AND id = $2", business_id, link_id, ended_at
    )


async def add_openings(tx: Tx, business_id: str, link_id: str, times: int) -> None:
    await tx.execute(
        "UPDATE payment_link SET opened = opened + $3 WHERE business_id = $1 AND id = $2", business_id, link_id, times
    )


async def find_under_way(tx: Tx, business_id: str, link_id: str, *, now: datetime) -> str | None:
    """The pay code of the newest payment of this link that can still be paid."""
    code: str | None = await tx.fetchval(
        """
        SELECT pay_code FROM payment
         WHERE business_id = $1 AND payment_link_id = $2 AND status IN ('initiated', 'pending', 'processing')
           AND expires_at > $3
         ORDER BY created_at DESC, id DESC LIMIT 1
        """,
        business_id, link_id, now,
    )  # fmt: skip
    return code


def _view(row: Row) -> LinkView:
    link = _link(row["link"])
    use = LinkUse(
        made=row["made"],
        under_way=row["under_way"],
        paid=row["paid"],
        received=Money(row["received_minor"], link.terms.currency),
        is_exact=row["made"] < COUNTED_MAX,
    )
    return LinkView(link, use)


def _link(row: Row) -> PaymentLink:
    currency = Currency(row["currency"])
    terms = LinkTerms(
        name=row["name"],
        kind=LinkKind(row["kind"]),
        currency=currency,
        asked=None if row["asked_minor"] is None else Money(row["asked_minor"], currency),
        least=Money(row["least_minor"], currency),
        most=Money(row["most_minor"], currency),
        fee_bearer=FeeBearer(row["fee_bearer"]),
        methods=tuple(Method(name) for name in row["methods"]),
        phone_rule=FieldRule(row["phone_rule"]) if row["phone_rule"] else None,
        note_rule=FieldRule(row["note_rule"]) if row["note_rule"] else None,
        note_label=row["note_label"],
        success_message=row["success_message"],
        redirect_url=row["redirect_url"],
        payments_max=row["payments_max"],
        ends_at=row["ends_at"],
    )
    return PaymentLink(
        business_id=row["business_id"],
        id=row["id"],
        number=row["number"],
        terms=terms,
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        opened=row["opened"],
    )
