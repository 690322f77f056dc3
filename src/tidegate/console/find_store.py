"""SQL of the search: things of any merchant, by the words that a call or a letter has. Each statement looks for one
thing in all businesses, by an index, and stops at a limit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Money
from tidegate.infra.db import Row, Tx

FOUND_MAX = 50
# Of so many that fit, the newest are listed. Money that waits for a decision has no index by amount or sender: it
# is looked through, the newest first.
LOOKED_THROUGH_MAX = 2_000


class Sought(NamedTuple):
    """What a text can mean."""

    text: str
    # In small letters, where the text is an e-mail address.
    email: str | None
    # In each currency.
    amounts: Sequence[Money]
    # As a merchant may have written a reference; none where the text is no reference.
    references: Sequence[str]
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


async def read_by_indexes(tx: Tx) -> None:
    """Until the transaction ends. Without it a limit leads the planner to read tables whole, payments among them. What
    has no index is taken for so dear then that it would be compiled."""
    await tx.execute(
        "SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off"
    )


async def find_merchants(tx: Tx, text: str) -> list[SearchResult]:
    """By id, code, e-mail address, or the beginning of the name."""
    rows = await tx.fetch(
        """
        SELECT 'merchant' AS kind, id AS business_id, name AS business, id AS key, name, status AS state FROM business
         WHERE id <> '000000000000000000000000'
           AND (id = $1 OR code = $1 OR starts_with(lower(name), lower($1)) OR lower(email) = lower($1))
         ORDER BY name, id LIMIT $2
        """,
        text, FOUND_MAX,
    )  # fmt: skip
    return _results(rows)


async def find_by_pay_code(tx: Tx, business_code: str, pay_code: str) -> list[SearchResult]:
    """A pay code names its business."""
    rows = await tx.fetch(
        """
        SELECT * FROM found_payment
         WHERE business_id = (SELECT id FROM business WHERE code = $1) AND key = $2
        """,
        business_code, pay_code,
    )  # fmt: skip
    return _results(rows)


async def find_by_email(tx: Tx, email: str) -> list[SearchResult]:
    """The newest first."""
    rows = await tx.fetch(
        """
        SELECT *, 'the payer''s e-mail address' AS found_by
          FROM (SELECT * FROM found_payment WHERE lower(email) = $1 LIMIT $3) AS found
         ORDER BY created_at DESC LIMIT $2
        """,
        email, FOUND_MAX, LOOKED_THROUGH_MAX,
    )  # fmt: skip
    return _results(rows)


async def find_by_reference(tx: Tx, references: Sequence[str]) -> list[SearchResult]:
    """Payments by the merchant's reference."""
    rows = await tx.fetch("SELECT * FROM found_payment WHERE name = ANY ($1) LIMIT $2", list(references), FOUND_MAX)
    return _results(rows)


async def find_by_beginning(tx: Tx, beginning: str) -> list[SearchResult]:
    """Payments by how the merchant's reference begins, the newest first."""
    rows = await tx.fetch(
        """
        SELECT * FROM (SELECT * FROM found_payment WHERE name >= $1 AND name < $1 || chr(127) LIMIT $3) AS found
         ORDER BY created_at DESC LIMIT $2
        """,
        beginning, FOUND_MAX, LOOKED_THROUGH_MAX,
    )  # fmt: skip
    return _results(rows)


async def find_by_payer(tx: Tx, name: str) -> list[SearchResult]:
    """Payments by how the payer's name begins, the newest first."""
    rows = await tx.fetch(
        """
        SELECT *, 'the payer''s name' AS found_by
          FROM (SELECT * FROM found_payment
                 WHERE lower(payer) COLLATE "C" >= lower($1) AND lower(payer) COLLATE "C" < lower($1) || chr(1114111)
                 LIMIT $3) AS found
         ORDER BY created_at DESC LIMIT $2
        """,
        name, FOUND_MAX, LOOKED_THROUGH_MAX,
    )  # fmt: skip
    return _results(rows)


async def find_by_amount(tx: Tx, minor: int, currencies: Sequence[str]) -> list[SearchResult]:
    """Payments and inflows, whatever became of them, the newest first."""
    payments = await tx.fetch(
        """
        SELECT *, 'its amount' AS found_by
          FROM (SELECT * FROM found_payment WHERE currency = ANY ($1) AND minor = $2 LIMIT $4) AS found
         ORDER BY created_at DESC LIMIT $3
        """,
        list(currencies), minor, FOUND_MAX, LOOKED_THROUGH_MAX,
    )  # fmt: skip
    inflows = await tx.fetch(
        """
        SELECT *, 'its amount' AS found_by
          FROM (SELECT * FROM found_inflow WHERE currency = ANY ($1) AND minor = $2 LIMIT $4) AS found
         ORDER BY created_at DESC LIMIT $3
        """,
        list(currencies), minor, FOUND_MAX, LOOKED_THROUGH_MAX,
    )  # fmt: skip
    return _results((*payments, *inflows))


async def find_by_attempt(tx: Tx, reference: str) -> list[SearchResult]:
    """Payments by what an attempt is called at its rail."""
    rows = await tx.fetch(
        """
        SELECT found.*, 'its reference at the rail' AS found_by
          FROM attempt
          JOIN found_payment AS found ON found.business_id = attempt.business_id AND found.id = attempt.payment_id
         WHERE attempt.reference = $1 LIMIT $2
        """,
        reference, FOUND_MAX,
    )  # fmt: skip
    return _results(rows)


async def find_refunds(tx: Tx, reference: str) -> list[SearchResult]:
    """By its reference or that of a part."""
    whole = await tx.fetch("SELECT * FROM found_refund WHERE key = $1 LIMIT $2", reference, FOUND_MAX)
    part = await tx.fetch(
        """
        SELECT found.*
          FROM refund_leg AS leg
          JOIN found_refund AS found ON found.business_id = leg.business_id AND found.id = leg.refund_id
         WHERE leg.reference = $1 LIMIT $2
        """,
        reference, FOUND_MAX,
    )  # fmt: skip
    return _results((*whole, *part))


async def find_by_sent_as(tx: Tx, identifier: str) -> list[SearchResult]:
    """Refunds by the rail's identifier of money that went out."""
    rows = await tx.fetch(
        """
        SELECT found.*, 'the identifier it was sent as' AS found_by
          FROM refund_leg AS leg
          JOIN found_refund AS found ON found.business_id = leg.business_id AND found.id = leg.refund_id
         WHERE leg.sent_as = $1 LIMIT $2
        """,
        identifier, FOUND_MAX,
    )  # fmt: skip
    return _results(rows)


async def find_inflows(tx: Tx, reference: str) -> list[SearchResult]:
    return _results(await tx.fetch("SELECT * FROM found_inflow WHERE key = $1 LIMIT $2", reference, FOUND_MAX))


async def find_by_return(tx: Tx, reference: str) -> list[SearchResult]:
    """Payments and inflows, by the reference of what was sent back."""
    payments = await tx.fetch(
        """
        SELECT found.*, 'its return' AS found_by
          FROM money_return AS back
          JOIN found_payment AS found ON found.business_id = back.business_id AND found.id = back.payment_id
         WHERE back.reference = $1 LIMIT $2
        """,
        reference, FOUND_MAX,
    )  # fmt: skip
    inflows = await tx.fetch(
        """
        SELECT found.*, 'its return' AS found_by
          FROM money_return AS back
          JOIN found_inflow AS found ON found.business_id = back.business_id AND found.id = back.collection_id
         WHERE back.reference = $1 LIMIT $2
        """,
        reference, FOUND_MAX,
    )  # fmt: skip
    return _results((*payments, *inflows))


async def find_by_account(tx: Tx, text: str, number: str, *, rails: Sequence[str]) -> list[SearchResult]:
    """Accounts by id or number, and payments that a number was given for, the newest first."""
    accounts = await tx.fetch(
        """
        SELECT 'account' AS kind, account.business_id, business.name AS business, account.id AS key,
               account.holder AS name, account.status AS state, account.currency, account.created_at,
               CASE WHEN account.id = $1 THEN '' ELSE 'its number' END AS found_by
          FROM virtual_account AS account JOIN business ON business.id = account.business_id
         WHERE account.id = $1 OR (account.rail = ANY ($3) AND account.account_number = $2) LIMIT $4
        """,
        text, number, list(rails), FOUND_MAX,
    )  # fmt: skip
    given = await tx.fetch(
        """
        SELECT found.*, 'the account number it was given' AS found_by
          FROM attempt
          JOIN found_payment AS found ON found.business_id = attempt.business_id AND found.id = attempt.payment_id
         WHERE attempt.rail = ANY ($2) AND attempt.account_number = $1 ORDER BY attempt.id DESC LIMIT $3
        """,
        number, list(rails), FOUND_MAX,
    )  # fmt: skip
    return _results((*accounts, *given))


async def find_by_transaction(tx: Tx, identifier: str, *, rails: Sequence[str]) -> list[SearchResult]:
    """Payments and inflows by the rail's identifier of money that came in."""
    payments = await tx.fetch(
        """
        SELECT found.*, 'the rail''s transaction' AS found_by
          FROM receipt
          JOIN found_payment AS found ON found.business_id = receipt.business_id AND found.id = receipt.payment_id
         WHERE receipt.rail = ANY ($2) AND receipt.transaction_id = $1 LIMIT $3
        """,
        identifier, list(rails), FOUND_MAX,
    )  # fmt: skip
    inflows = await tx.fetch(
        """
        SELECT *, 'the rail''s transaction' AS found_by FROM found_inflow
         WHERE rail = ANY ($2) AND transaction_id = $1 LIMIT $3
        """,
        identifier, list(rails), FOUND_MAX,
    )  # fmt: skip
    return _results((*payments, *inflows))


async def find_by_dispute(tx: Tx, identifier: str) -> list[SearchResult]:
    """Payments by the rail's identifier of a dispute."""
    rows = await tx.fetch(
        """
        SELECT found.*, 'its dispute' AS found_by
          FROM dispute
          JOIN found_payment AS found ON found.business_id = dispute.business_id AND found.id = dispute.payment_id
         WHERE dispute.id = $1 LIMIT $2
        """,
        identifier, FOUND_MAX,
    )  # fmt: skip
    return _results(rows)


async def find_by_sender_account(tx: Tx, number: str) -> list[SearchResult]:
    """Inflows, the newest first."""
    rows = await tx.fetch(
        """
        SELECT *, 'its sender' AS found_by
          FROM (SELECT * FROM found_inflow WHERE payer_account = $1 LIMIT $3) AS found
         ORDER BY created_at DESC LIMIT $2
        """,
        number, FOUND_MAX, LOOKED_THROUGH_MAX,
    )  # fmt: skip
    return _results(rows)


async def find_by_sender(tx: Tx, name: str) -> list[SearchResult]:
    """Inflows, and payments by transfer, by the beginning of the sender's name."""
    inflows = await tx.fetch(
        """
        SELECT *, 'its sender' AS found_by
          FROM (SELECT * FROM found_inflow
                 WHERE lower(payer) COLLATE "C" >= lower($1) AND lower(payer) COLLATE "C" < lower($1) || chr(1114111)
                 LIMIT $3) AS found
         ORDER BY created_at DESC LIMIT $2
        """,
        name, FOUND_MAX, LOOKED_THROUGH_MAX,
    )  # fmt: skip
    payments = await tx.fetch(
        """
        SELECT found.*, 'the sender of the money, ' || (sent.payer ->> 'name') AS found_by
          FROM receipt AS sent
          JOIN found_payment AS found ON found.business_id = sent.business_id AND found.id = sent.payment_id
         WHERE lower(sent.payer ->> 'name') COLLATE "C" >= lower($1)
           AND lower(sent.payer ->> 'name') COLLATE "C" < lower($1) || chr(1114111)
           AND sent.payment_id IS NOT NULL AND sent.payer ->> 'name' IS NOT NULL
         LIMIT $2
        """,
        name, FOUND_MAX,
    )  # fmt: skip
    return _results((*inflows, *payments))


async def find_waiting(tx: Tx, sought: Sought) -> list[SearchResult]:
    """Money in suspense by number, amount, sender or transaction."""
    amounts = [" ".join((one.currency, str(one.minor))) for one in sought.amounts]
    suspense = await tx.fetch(
        """
        SELECT 'suspense' AS kind, business_id, '' AS business, id::text AS key, id::text AS name, outcome AS state,
               currency, amount_minor AS minor, payer ->> 'name' AS payer, created_at
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
        SELECT 'suspense' AS kind, business_id, '' AS business, receipt_id::text AS key, receipt_id::text AS name,
               decision AS state, currency, amount_minor AS minor, decided_at AS created_at
          FROM suspense_decision WHERE receipt_id = $1
        """,
        sought.number,
    )
    return _results((*suspense, *decided))


def _results(rows: Sequence[Row]) -> list[SearchResult]:
    known = SearchResult._fields
    return [SearchResult(**{name: value for name, value in row.items() if name in known}) for row in rows]
