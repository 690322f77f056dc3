"""SQL that finds the payment for money that arrived on an account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidegate.infra.db import Tx
from tidegate.payment.attempt_store import snapshot_of
from tidegate.payment.change import PaymentSnapshot


class Destination(NamedTuple):
    """The account and transaction that a rail reports for incoming money."""

    rail: str
    account_number: str
    transaction_id: str


async def find_by_destinations(tx: Tx, destinations: Sequence[Destination]) -> list[PaymentSnapshot | None]:
    """A bank's notification names only the account; this finds the payment."""
    rows = await tx.fetch(_BY_DESTINATION, *map(list, zip(*destinations, strict=True)))
    found = {row["position"]: snapshot_of(row) for row in rows}
    return [found.get(position) for position in range(1, len(destinations) + 1)]


# A rail may reuse an account number. Money recorded before stays with its payment; other money belongs to the open
# account with the number or, without one, to the newest, which returns it.
_BY_DESTINATION = """
    SELECT given.position, payment_row(payment) AS payment, attempt, business,
           ARRAY(SELECT fee_rule FROM fee_rule
                  WHERE fee_rule.business_id = attempt.business_id AND ended_at IS NULL) AS rules
      FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY
        AS given (rail, account_number, transaction_id, position)
     CROSS JOIN LATERAL (
            (SELECT known.business_id, known.id FROM receipt
               JOIN attempt AS known ON known.business_id = receipt.business_id
                    AND known.payment_id = receipt.payment_id AND known.account_number = receipt.account_number
              WHERE receipt.rail = given.rail AND receipt.transaction_id = given.transaction_id
                AND receipt.account_number = given.account_number LIMIT 1)
             UNION ALL
            (SELECT business_id, id FROM attempt AS open
              WHERE open.rail = given.rail AND open.account_number = given.account_number
                AND open.status IN ('starting', 'waiting', 'running') LIMIT 1)
             UNION ALL
            (SELECT business_id, id FROM attempt AS newest
              WHERE newest.rail = given.rail AND newest.account_number = given.account_number
              ORDER BY newest.id DESC LIMIT 1)
             LIMIT 1) AS found
      JOIN attempt ON attempt.business_id = found.business_id AND attempt.id = found.id
      JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
      JOIN business ON business.id = attempt.business_id
"""
