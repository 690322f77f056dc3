"""SQL of what a payer looks at: many looks in one statement."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.infra.db import Tx
from tidegate.payment.attempt import Attempt
from tidegate.payment.attempt_store import attempt_of
from tidegate.payment.model import Payment
from tidegate.payment.row import payment_of


class Wanted(msgspec.Struct, frozen=True):
    business_id: str
    pay_code: str


class Seen(msgspec.Struct, frozen=True):
    """`attempt` is the newest one. What is remembered of a business is as it was then if its epoch is the same."""

    payment: Payment
    attempt: Attempt | None
    epoch: int


async def see_all(tx: Tx, wanted: Sequence[Wanted]) -> list[Seen | None]:
    """Neither an id nor a pay code has a comma. Of an array, asyncpg would examine every item by itself."""
    rows = await tx.fetch(
        """
        SELECT place, payment_row(payment) AS payment, attempt, (SELECT epoch FROM credential_epoch) AS epoch
          FROM unnest(string_to_array($1, ','), string_to_array($2, ','))
               WITH ORDINALITY AS wanted (business_id, pay_code, place)
          JOIN payment USING (business_id, pay_code)
          LEFT JOIN attempt ON attempt.business_id = payment.business_id AND attempt.payment_id = payment.id
               AND attempt.number = payment.attempts
        """,
        ",".join([one.business_id for one in wanted]),
        ",".join([one.pay_code for one in wanted]),
    )
    seen: list[Seen | None] = [None] * len(wanted)
    for row in rows:
        payment, attempt = payment_of(row["payment"]), row["attempt"]
        newest = attempt_of(attempt, payment.expected.currency) if attempt else None
        seen[row["place"] - 1] = Seen(payment, newest, row["epoch"])
    return seen
