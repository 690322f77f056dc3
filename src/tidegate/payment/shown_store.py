"""SQL of what a merchant is shown of a payment: just that, in one question for all who ask at the same moment."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.infra.db import Tx
from tidegate.payment.shown import Shown
from tidegate.payment.store import Key

_decode = msgspec.json.Decoder(list[Shown]).decode
# All of them as one text: asyncpg reads column by column, which costs 2 µs more for each of them.
_FIND = """
    SELECT json_agg(json_build_array(
               number, id, found.business_id, pay_code, found.reference, status, variance, currency, asked_minor,
               expected_minor, received_minor, held_minor, refunded_minor, reversed_minor, fee_bearer, methods,
               default_method, customer_name, customer_email, customer_phone, redirect_url, success_message, metadata,
               is_disabled, paid_at, created_at, updated_at))
      FROM unnest(string_to_array($1, ','), string_to_array($2, ','))
           WITH ORDINALITY AS asked (business_id, reference, number)
      JOIN LATERAL (
          SELECT * FROM payment WHERE payment.business_id = asked.business_id AND payment.reference = asked.reference
          UNION ALL
          -- The pay code finds it too: a webhook's receiver may know nothing else.
          SELECT * FROM payment
           WHERE payment.business_id = asked.business_id AND payment.pay_code = asked.reference
             AND payment.reference <> payment.pay_code) AS found ON true
"""


async def find_all(tx: Tx, keys: Sequence[Key]) -> list[Shown | None]:
    """Neither an id nor a reference has a comma. Of an array, asyncpg would examine every item by itself."""
    rows = await tx.fetchval(
        _FIND,
        ",".join([business_id for business_id, _ in keys]),
        ",".join([reference for _, reference in keys]),
    )
    found: list[Shown | None] = [None] * len(keys)
    for shown in _decode(rows) if rows else ():
        found[shown.number - 1] = shown
    return found
