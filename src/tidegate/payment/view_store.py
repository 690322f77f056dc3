"""SQL that reads many payments in one statement: for merchants who verify, and for payers who look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tidegate.infra.db import Row, Tx
from tidegate.payment.attempt import Attempt
from tidegate.payment.attempt_store import attempt_of
from tidegate.payment.model import Payment
from tidegate.payment.row import PaymentRow, payment_of
from tidegate.payment.store import PaymentKey


class PaymentView(NamedTuple):
    """What a payer looks at. `attempt` is the newest one; `epoch` that of the business when it was read."""

    payment: Payment
    attempt: Attempt | None
    epoch: int


_decode = msgspec.json.Decoder(list[tuple[int, PaymentRow]]).decode


async def find_rows(tx: Tx, keys: Sequence[PaymentKey]) -> list[PaymentRow | None]:
    """By the merchant's reference or the pay code, in the order of the keys."""
    # All of them as one text: reading them row by row costs 2 µs more for each.
    text = await tx.fetchval(
        """
        SELECT json_agg(json_build_array(position, found.row))
          FROM unnest(string_to_array($1, ','), string_to_array($2, ','))
               WITH ORDINALITY AS given (business_id, reference, position)
         CROSS JOIN LATERAL (
              SELECT payment_row(payment) AS row FROM payment
               WHERE payment.business_id = given.business_id AND payment.reference = given.reference
              UNION ALL
              -- The pay code finds it too: a webhook's receiver may know nothing else.
              SELECT payment_row(payment) FROM payment
               WHERE payment.business_id = given.business_id AND payment.pay_code = given.reference
                 AND payment.reference <> payment.pay_code) AS found
        """,
        *_joined(keys),
    )
    return _placed(text, len(keys))


async def find_rows_of_business(tx: Tx, keys: Sequence[PaymentKey]) -> list[PaymentRow | None]:
    """As `find_rows`, of one business: on a cluster, one node has them."""
    text = await tx.fetchval(
        """
        SELECT json_agg(json_build_array(position, payment_row(payment)))
          FROM unnest(string_to_array($2, ',')) WITH ORDINALITY AS given (reference, position)
          JOIN payment ON payment.reference = given.reference OR payment.pay_code = given.reference
         WHERE payment.business_id = $1
        """,
        keys[0].business_id, _joined(keys)[1],
    )  # fmt: skip
    return _placed(text, len(keys))


def _placed(text: str | None, count: int) -> list[PaymentRow | None]:
    found: list[PaymentRow | None] = [None] * count
    for position, row in _decode(text) if text else ():
        found[position - 1] = row
    return found


async def find_views(tx: Tx, keys: Sequence[PaymentKey]) -> list[PaymentView | None]:
    """By the pay code, in the order of the keys."""
    rows = await tx.fetch(
        """
        SELECT position, payment_row(payment) AS payment, attempt, (SELECT epoch FROM credential_epoch) AS epoch
          FROM unnest(string_to_array($1, ','), string_to_array($2, ','))
               WITH ORDINALITY AS given (business_id, pay_code, position)
          JOIN payment USING (business_id, pay_code)
          LEFT JOIN attempt ON attempt.business_id = payment.business_id AND attempt.payment_id = payment.id
               AND attempt.number = payment.attempts
        """,
        *_joined(keys),
    )
    return _views(rows, len(keys))


async def find_views_of_business(tx: Tx, keys: Sequence[PaymentKey]) -> list[PaymentView | None]:
    """As `find_views`, of one business: on a cluster, one node has them."""
    rows = await tx.fetch(
        """
        SELECT position, payment_row(payment) AS payment, attempt, (SELECT epoch FROM credential_epoch) AS epoch
          FROM unnest(string_to_array($2, ',')) WITH ORDINALITY AS given (pay_code, position)
          JOIN payment ON payment.pay_code = given.pay_code
          LEFT JOIN attempt ON attempt.business_id = payment.business_id AND attempt.payment_id = payment.id
               AND attempt.number = payment.attempts
         WHERE payment.business_id = $1
        """,
        keys[0].business_id, _joined(keys)[1],
    )  # fmt: skip
    return _views(rows, len(keys))


def _views(rows: Sequence[Row], count: int) -> list[PaymentView | None]:
    views: list[PaymentView | None] = [None] * count
    for row in rows:
        payment, attempt = payment_of(row["payment"]), row["attempt"]
        newest = attempt_of(attempt, payment.expected.currency) if attempt else None
        views[row["position"] - 1] = PaymentView(payment, newest, row["epoch"])
    return views


def _joined(keys: Sequence[PaymentKey]) -> tuple[str, str]:
    """No part of a key has a comma. Of an array, asyncpg would examine every item by itself."""
    return ",".join([key.business_id for key in keys]), ",".join([key.reference for key in keys])
