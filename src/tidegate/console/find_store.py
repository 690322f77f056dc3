"""SQL of the search: things of any merchant, by the words that a call or a letter has. Each part is read by an index
and stops at a limit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tidegate.core.ids import business_code_of
from tidegate.core.money import Money
from tidegate.infra.db import Row, Tx

FOUND_MAX = 50
# Money that waits for a decision has no index by amount or sender: it is looked through, the newest first.
LOOKED_THROUGH_MAX = 2_000


class Sought(NamedTuple):
    text: str
    # In small letters, where the text is an e-mail address.
    email: str | None
    # That the text can mean, in each currency.
    amounts: Sequence[Money]
    # Of a receipt in suspense.
    number: int | None
    # As banks write an account number: without gaps, in capitals.
    account_number: str


class SearchResult(NamedTuple):
    # merchant, payment, inflow, refund, account or suspense.
    kind: str
    business_id: str
    business: str
    # What its page is called by, and what people call it.
    key: str
    name: str
    state: str
    currency: str | None = None
    minor: int | None = None
    payer: str | None = None
    created_at: datetime | None = None
    # Empty where it is its own name.
    found_by: str = ""


async def find_merchants(tx: Tx, sought: Sought) -> list[SearchResult]:
    """By id, code, e-mail address, or the beginning of the name."""
    rows = await tx.fetch(
        """
        SELECT 'merchant' AS kind, id AS business_id, name AS business, id AS key, name, status AS state FROM business
         WHERE id <> '000000000000000000000000'
           AND (id = $1 OR code = $1 OR starts_with(lower(name), lower($1)) OR lower(email) = lower($1))
         ORDER BY name, id LIMIT $2
        """,
        sought.text, FOUND_MAX,
    )  # fmt: skip
    return [_result(row) for row in rows]


async def find_of_merchants(tx: Tx, sought: Sought, *, rails: Sequence[str]) -> list[SearchResult]:
    """Payments and inflows, business by business, until there are enough; a pay code names its business."""
    amounts = [{"currency": one.currency, "minor": one.minor} for one in sought.amounts]
    rows = await tx.fetch(
        """
        SELECT found.kind, business.id AS business_id, business.name AS business, found.key, found.name, found.state,
               found.currency, found.minor, found.payer, found.created_at, found.found_by
          FROM business CROSS JOIN LATERAL search_business(business.id, $1, $2, $3, $4, $5) AS found
         WHERE $6::text IS NULL OR business.code = $6
         LIMIT $5
        """,
        sought.text, sought.email, msgspec.json.encode(amounts).decode(), list(rails), FOUND_MAX,
        business_code_of(sought.text),
    )  # fmt: skip
    return [_result(row) for row in rows]


async def find_by_account(tx: Tx, sought: Sought, *, rails: Sequence[str]) -> list[SearchResult]:
    """Accounts by id or number, and payments that a number was given for, the newest first."""
    rows = await tx.fetch(
        """
        SELECT 'account' AS kind, account.business_id, business.name AS business, account.id AS key,
               account.holder AS name, account.status AS state, account.currency, account.created_at,
               CASE WHEN account.id = $1 THEN '' ELSE 'its number' END AS found_by
          FROM virtual_account AS account JOIN business ON business.id = account.business_id
         WHERE account.id = $1 OR (account.rail = ANY ($3) AND account.account_number = $2) LIMIT $4
        """,
        sought.text, sought.account_number, list(rails), FOUND_MAX,
    )  # fmt: skip
    given = await tx.fetch(
        """
        SELECT 'payment' AS kind, payment.business_id, business.name AS business, payment.pay_code AS key,
               payment.reference AS name, payment.status AS state, payment.currency, payment.expected_minor AS minor,
               payment.customer_name AS payer, payment.created_at, 'the account number it was given' AS found_by
          FROM attempt
          JOIN payment ON payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
          JOIN business ON business.id = attempt.business_id
         WHERE attempt.rail = ANY ($2) AND attempt.account_number = $1 ORDER BY attempt.id DESC LIMIT $3
        """,
        sought.account_number, list(rails), FOUND_MAX,
    )  # fmt: skip
    return [_result(row) for row in (*rows, *given)]


async def find_by_transaction(tx: Tx, sought: Sought, *, rails: Sequence[str]) -> list[SearchResult]:
    """Payments by the rail's identifier of money that came in."""
    rows = await tx.fetch(
        """
        SELECT 'payment' AS kind, payment.business_id, business.name AS business, payment.pay_code AS key,
               payment.reference AS name, payment.status AS state, payment.currency, receipt.amount_minor AS minor,
               payment.customer_name AS payer, receipt.created_at, 'the rail''s transaction' AS found_by
          FROM receipt
          JOIN payment ON payment.business_id = receipt.business_id AND payment.id = receipt.payment_id
          JOIN business ON business.id = receipt.business_id
         WHERE receipt.rail = ANY ($2) AND receipt.transaction_id = $1 LIMIT $3
        """,
        sought.text, list(rails), FOUND_MAX,
    )  # fmt: skip
    return [_result(row) for row in rows]


async def find_by_dispute(tx: Tx, sought: Sought) -> list[SearchResult]:
    """Payments by the rail's identifier of a dispute."""
    rows = await tx.fetch(
        """
        SELECT 'payment' AS kind, payment.business_id, business.name AS business, payment.pay_code AS key,
               payment.reference AS name, payment.status AS state, payment.currency, dispute.amount_minor AS minor,
               payment.customer_name AS payer, dispute.opened_at AS created_at, 'its dispute' AS found_by
          FROM dispute
          JOIN payment ON payment.business_id = dispute.business_id AND payment.id = dispute.payment_id
          JOIN business ON business.id = dispute.business_id
         WHERE dispute.id = $1 LIMIT $2
        """,
        # Lists show it behind the name of its rail.
        sought.text.rpartition("/")[2], FOUND_MAX,
    )  # fmt: skip
    return [_result(row) for row in rows]


async def find_by_sender(tx: Tx, sought: Sought) -> list[SearchResult]:
    """Inflows by their sender's account, or by the beginning of the sender's name."""
    rows = await tx.fetch(
        """
        SELECT 'inflow' AS kind, inflow.business_id, business.name AS business, inflow.reference AS key,
               inflow.reference AS name, inflow.status AS state, inflow.source_currency AS currency,
               inflow.source_minor AS minor, inflow.payer ->> 'name' AS payer, inflow.created_at,
               'its sender' AS found_by
          FROM ((SELECT * FROM collection WHERE payer ->> 'account_number' = $1 LIMIT $3)
                 UNION ALL
                (SELECT * FROM collection
                  WHERE lower(payer ->> 'name') COLLATE "C" >= lower($2)
                    AND lower(payer ->> 'name') COLLATE "C" < lower($2) || chr(1114111)
                  LIMIT $3)) AS inflow
          JOIN business ON business.id = inflow.business_id
         ORDER BY inflow.id DESC LIMIT $3
        """,
        sought.account_number, sought.text, FOUND_MAX,
    )  # fmt: skip
    return [_result(row) for row in rows]


async def find_by_amount(tx: Tx, sought: Sought) -> list[SearchResult]:
    """Inflows, whatever became of them."""
    rows = await tx.fetch(
        """
        SELECT 'inflow' AS kind, inflow.business_id, business.name AS business, inflow.reference AS key,
               inflow.reference AS name, inflow.status AS state, inflow.source_currency AS currency,
               inflow.source_minor AS minor, inflow.payer ->> 'name' AS payer, inflow.created_at,
               'its amount' AS found_by
          FROM unnest($1::text[], $2::bigint[]) AS wanted (currency, minor)
         CROSS JOIN LATERAL (SELECT * FROM collection
                              WHERE source_currency = wanted.currency AND source_minor = wanted.minor
                              ORDER BY id DESC LIMIT $3) AS inflow
          JOIN business ON business.id = inflow.business_id
         ORDER BY inflow.id DESC LIMIT $3
        """,
        [one.currency.value for one in sought.amounts], [one.minor for one in sought.amounts], FOUND_MAX,
    )  # fmt: skip
    return [_result(row) for row in rows]


async def find_by_transfer(tx: Tx, sought: Sought) -> list[SearchResult]:
    """Payments by the beginning of the name of whoever sent the money."""
    rows = await tx.fetch(
        """
        SELECT 'payment' AS kind, payment.business_id, business.name AS business, payment.pay_code AS key,
               payment.reference AS name, payment.status AS state, payment.currency, sent.amount_minor AS minor,
               sent.payer ->> 'name' AS payer, sent.created_at, 'the sender of the money' AS found_by
          FROM (SELECT * FROM receipt
                 WHERE lower(payer ->> 'name') COLLATE "C" >= lower($1)
                   AND lower(payer ->> 'name') COLLATE "C" < lower($1) || chr(1114111)
                   AND payment_id IS NOT NULL AND payer ->> 'name' IS NOT NULL
                 LIMIT $2) AS sent
          JOIN payment ON payment.business_id = sent.business_id AND payment.id = sent.payment_id
          JOIN business ON business.id = sent.business_id
         ORDER BY sent.created_at DESC
        """,
        sought.text, FOUND_MAX,
    )  # fmt: skip
    return [_result(row) for row in rows]


async def find_waiting(tx: Tx, sought: Sought) -> list[SearchResult]:
    """Money in suspense by number, amount, sender or transaction."""
    amounts = [" ".join((one.currency, str(one.minor))) for one in sought.amounts]
    suspense = await tx.fetch(
        """
        SELECT 'suspense' AS kind, business_id, id::text AS key, id::text AS name, outcome AS state, currency,
               amount_minor AS minor, payer ->> 'name' AS payer, created_at
          FROM (SELECT * FROM receipt WHERE outcome = 'suspense' ORDER BY created_at DESC LIMIT $6) AS waiting
         WHERE id = $1 OR currency || ' ' || amount_minor = ANY ($2) OR transaction_id = $3
            OR starts_with(lower(payer ->> 'name'), lower($3)) OR payer ->> 'account_number' = $4
            OR account_number = $4
         LIMIT $5
        """,
        sought.number, amounts, sought.text, sought.account_number, FOUND_MAX, LOOKED_THROUGH_MAX,
    )  # fmt: skip
    decided = await tx.fetch(
        """
        SELECT 'suspense' AS kind, business_id, receipt_id::text AS key, receipt_id::text AS name, decision AS state,
               currency, amount_minor AS minor, NULL AS payer, decided_at AS created_at
          FROM suspense_decision WHERE receipt_id = $1
        """,
        sought.number,
    )
    return [SearchResult(**{"business": "", **row}) for row in (*suspense, *decided)]


def _result(row: Row) -> SearchResult:
    return SearchResult(**row)
