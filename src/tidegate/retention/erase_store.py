"""SQL of erasure: pages of rows that may be a payer's, by primary key, and the functions that erase them.

Nothing but a request to erase asks by e-mail, phone or bank account, so no index serves these questions: tables are
read page by page, without locks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.infra.db import Tx

# Business ids are 24 hexadecimal digits; these are before and after all of them.
FIRST_BUSINESS, LAST_BUSINESS = "", "g"


class PageStart(msgspec.Struct, frozen=True):
    """Where a page begins, within one business or all; and how long it is."""

    business_id: str | None
    after: tuple[str, str]
    limit: int

    def bounds(self) -> tuple[str, str, str]:
        low, high = self.business_id or FIRST_BUSINESS, self.business_id or LAST_BUSINESS
        return low, high, max(self.after[0], low)


class PayerPayment(msgspec.Struct, frozen=True, kw_only=True):
    """A payment of the payer, and by what other rows know it."""

    business_id: str
    id: int
    block_reason: str | None
    # In answers to the merchant.
    known_as: tuple[str, ...]
    # In notifications of rails.
    transactions: tuple[str, ...]
    bank_accounts: tuple[str, ...]
    customer_name: str
    customer_email: str
    customer_phone: str | None


class PayerInflow(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    id: int
    block_reason: str | None
    reference: str
    transaction_id: str


class PayerView(msgspec.Struct, frozen=True, kw_only=True):
    """A saved view of the list of payments. Its texts are its name, and what it filters by."""

    business_id: str
    id: int
    texts: tuple[str, ...]


class HeldAccount(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    id: str
    kyc: str
    account_number: str | None
    block_reason: str | None


async def list_payments(
    tx: Tx, page: PageStart, *, emails: Sequence[str], phones: Sequence[str]
) -> list[tuple[str, str, bool]]:
    """Every payment of the page, and whether it is the payer's. Phones are compared by their digits."""
    low, high, business_id = page.bounds()
    rows = await tx.fetch(
        """
        SELECT business_id, id::text AS id,
               lower(customer_email) = ANY ($6::text[])
               OR regexp_replace(customer_phone, '[^0-9]', '', 'g') = ANY ($7::text[]) AS is_found
          FROM payment
         WHERE business_id >= $1 AND business_id <= $2 AND (business_id, id) > ($3, $4)
         ORDER BY business_id, payment.id LIMIT $5
        """,
        low, high, business_id, int(page.after[1] or 0), page.limit, emails, phones,
    )  # fmt: skip
    return [(row["business_id"], row["id"], row["is_found"] is True) for row in rows]


async def get_payments(tx: Tx, business_id: str, ids: Sequence[int]) -> list[PayerPayment]:
    rows = await tx.fetch(
        """
        SELECT payment.business_id, payment.id, payment_erasure_block(business_id, id) AS block_reason,
               customer_name, customer_email, customer_phone,
               array_remove(ARRAY[pay_code, customer_email, customer_phone], NULL)
               || ARRAY(SELECT reference FROM refund WHERE refund.business_id = $1 AND payment_id = payment.id)
                   AS known_as,
               ARRAY(SELECT reference FROM attempt WHERE attempt.business_id = $1 AND payment_id = payment.id)
               || ARRAY(SELECT transaction_id FROM receipt
                         WHERE receipt.business_id = $1 AND receipt.payment_id = payment.id) AS transactions,
               ARRAY(SELECT payer ->> 'account_number' FROM receipt
                      WHERE receipt.business_id = $1 AND receipt.payment_id = payment.id
                        AND payer ->> 'account_number' <> '') AS bank_accounts
          FROM payment WHERE business_id = $1 AND id = ANY ($2::bigint[])
         ORDER BY payment.id
        """,
        business_id, ids,
    )  # fmt: skip
    return [msgspec.convert(dict(row), PayerPayment) for row in rows]


async def list_accounts(tx: Tx, page: PageStart) -> list[HeldAccount]:
    low, high, business_id = page.bounds()
    rows = await tx.fetch(
        """
        SELECT business_id, id, kyc, account_number, account_erasure_block(business_id, id) AS block_reason
          FROM virtual_account
         WHERE business_id >= $1 AND business_id <= $2 AND (business_id, id) > ($3, $4)
         ORDER BY business_id, id LIMIT $5
        """,
        low, high, business_id, page.after[1], page.limit,
    )  # fmt: skip
    return [msgspec.convert(dict(row), HeldAccount) for row in rows]


async def list_views(tx: Tx, page: PageStart) -> list[PayerView]:
    low, high, business_id = page.bounds()
    rows = await tx.fetch(
        """
        SELECT business_id, id, array_prepend(name, ARRAY(SELECT value FROM jsonb_each_text(filters))) AS texts
          FROM saved_view
         WHERE business_id >= $1 AND business_id <= $2 AND (business_id, id) > ($3, $4)
         ORDER BY business_id, id LIMIT $5
        """,
        low, high, business_id, int(page.after[1] or 0), page.limit,
    )  # fmt: skip
    return [msgspec.convert(dict(row), PayerView) for row in rows]


async def list_inflows(
    tx: Tx, page: PageStart, *, bank_accounts: Sequence[str], texts: Sequence[str]
) -> list[tuple[str, str, bool]]:
    """Every inflow of the page, and whether it is the payer's: by its bank account, or by what it wrote."""
    low, high, business_id = page.bounds()
    rows = await tx.fetch(
        """
        SELECT business_id, id::text AS id,
               payer ->> 'account_number' = ANY ($6::text[])
               OR EXISTS (SELECT FROM unnest($7::text[]) AS text WHERE position(text IN lower(remittance)) > 0)
                   AS is_found
          FROM collection
         WHERE business_id >= $1 AND business_id <= $2 AND (business_id, id) > ($3, $4)
         ORDER BY business_id, collection.id LIMIT $5
        """,
        low, high, business_id, int(page.after[1] or 0), page.limit, bank_accounts, texts,
    )  # fmt: skip
    return [(row["business_id"], row["id"], row["is_found"] is True) for row in rows]


async def get_inflows(tx: Tx, business_id: str, ids: Sequence[int]) -> list[PayerInflow]:
    rows = await tx.fetch(
        """
        SELECT business_id, id, reference, transaction_id, inflow_erasure_block(business_id, id) AS block_reason
          FROM collection WHERE business_id = $1 AND id = ANY ($2::bigint[])
         ORDER BY id
        """,
        business_id, ids,
    )  # fmt: skip
    return [msgspec.convert(dict(row), PayerInflow) for row in rows]


async def list_inflows_of_account(
    tx: Tx, business_id: str, account_id: str, *, after: int, limit: int
) -> list[int]:  # fmt: skip
    rows = await tx.fetch(
        """
        SELECT id FROM collection WHERE business_id = $1 AND account_id = $2 AND id > $3 ORDER BY id LIMIT $4
        """,
        business_id, account_id, after, limit,
    )  # fmt: skip
    return [row["id"] for row in rows]


async def list_notifications(
    tx: Tx, after: tuple[str, str], words: Sequence[bytes], *, limit: int
) -> list[tuple[str, str, bool, bytes | None]]:
    """Every notification of the page, and whether it was acted on; the body only where it holds one of the words."""
    rows = await tx.fetch(
        """
        SELECT rail, id, state = 'done' AS is_done, CASE WHEN EXISTS (
                   SELECT FROM unnest($3::bytea[]) AS word WHERE position(word IN body) > 0) THEN body END AS body
          FROM notification WHERE (rail, id) > ($1, $2) ORDER BY rail, id LIMIT $4
        """,
        *after, words, limit,
    )  # fmt: skip
    return [(row["rail"], row["id"], row["is_done"], row["body"]) for row in rows]


async def list_answers(
    tx: Tx, business_id: str, after: str, words: Sequence[bytes], *, limit: int
) -> list[tuple[str, bytes | None]]:
    """Every answer of the page; the body only where it holds one of the words."""
    rows = await tx.fetch(
        """
        SELECT key, CASE WHEN EXISTS (
                   SELECT FROM unnest($3::bytea[]) AS word WHERE position(word IN body) > 0) THEN body END AS body
          FROM idempotency_key WHERE business_id = $1 AND key > $2 ORDER BY key LIMIT $4
        """,
        business_id, after, words, limit,
    )  # fmt: skip
    return [(row["key"], row["body"]) for row in rows]


# Of one business, or of one rail; each returns how many were erased. What needs its payer again meanwhile stays.
# A function that erases takes one row, or the rows of one business; what is of no business is erased beside it.


async def delete_views(tx: Tx, business_id: str, ids: Sequence[int], _: datetime) -> int:
    rows = await tx.fetch(
        "DELETE FROM saved_view WHERE business_id = $1 AND id = ANY ($2::bigint[]) RETURNING id", business_id, ids
    )
    return len(rows)


async def erase_payments(tx: Tx, business_id: str, ids: Sequence[int], now: datetime) -> int:
    erased = [
        id_ for id_ in ids if await tx.fetchval("SELECT erase_payment($1, $2, $3)", business_id, id_, now) == "erased"
    ]
    receipts = await tx.fetch(
        """
        SELECT rail, transaction_id, coalesce(account_number, '') AS account_number FROM receipt
         WHERE business_id = $1 AND payment_id = ANY ($2::bigint[])
        """,
        business_id, erased,
    )  # fmt: skip
    for receipt in receipts:
        await tx.execute(
            """
            UPDATE credit_reversal SET reason = '(erased)'
             WHERE rail = $1 AND transaction_id = $2 AND account_number = $3 AND applied_at IS NOT NULL
            """,
            *receipt,
        )
    transactions = [receipt["transaction_id"] for receipt in receipts]
    await _erase_suspense_remarks(tx, business_id, transactions)
    await tx.execute("SELECT erase_bank_payer($1)", transactions)
    return len(erased)


async def erase_inflows(tx: Tx, business_id: str, ids: Sequence[int], now: datetime) -> int:
    erased = [
        id_ for id_ in ids if await tx.fetchval("SELECT erase_inflow($1, $2, $3)", business_id, id_, now) == "erased"
    ]
    transactions = await _transactions_of(tx, business_id, erased)
    await _erase_suspense_remarks(tx, business_id, transactions)
    await tx.execute("SELECT erase_bank_payer($1)", transactions)
    return len(erased)


async def _erase_suspense_remarks(tx: Tx, business_id: str, transactions: Sequence[str]) -> None:
    """Under the business that the money was booked under, and under the one that has it now."""
    decisions = await tx.fetch(
        """
        SELECT business_id, receipt_id, rail || '/' || transaction_id AS cause,
               coalesce(subject, receipt_id::text) AS subject
          FROM suspense_decision
         WHERE (business_id = $1 OR given_to = $1) AND transaction_id = ANY ($2)
        """,
        business_id, transactions,
    )  # fmt: skip
    for one in decisions:
        for owner in sorted({one["business_id"], business_id}):
            await tx.execute(
                "SELECT erase_suspense_remarks($1, $2, $3, $4)",
                owner, one["receipt_id"], one["cause"], one["subject"],
            )  # fmt: skip
        await tx.execute(
            "UPDATE suspense_decision SET note = '(erased)' WHERE business_id = $1 AND receipt_id = $2",
            one["business_id"], one["receipt_id"],
        )  # fmt: skip


async def erase_accounts(tx: Tx, business_id: str, ids: Sequence[str], now: datetime) -> int:
    done = [await tx.fetchval("SELECT erase_account($1, $2, $3)", business_id, id_, now) for id_ in ids]
    return done.count("erased")


async def erase_payees(tx: Tx, business_id: str, ids: Sequence[int], _: datetime) -> int:
    count = int(await tx.fetchval("SELECT erase_payees($1, $2)", business_id, ids))
    await tx.execute("SELECT erase_bank_payee($1)", await _transactions_of(tx, business_id, ids))
    return count


async def _transactions_of(tx: Tx, business_id: str, inflow_ids: Sequence[int]) -> list[str]:
    """Of inflows that have ended."""
    rows = await tx.fetch(
        """
        SELECT transaction_id FROM collection
         WHERE business_id = $1 AND id = ANY ($2::bigint[]) AND status <> 'pending'
        """,
        business_id, inflow_ids,
    )  # fmt: skip
    return [row["transaction_id"] for row in rows]


async def erase_notifications(tx: Tx, rail: str, ids: Sequence[str], _: datetime) -> int:
    return int(await tx.fetchval("SELECT erase_notifications($1, $2)", rail, ids))


async def erase_answers(tx: Tx, business_id: str, keys: Sequence[str], _: datetime) -> int:
    return int(await tx.fetchval("SELECT erase_answers($1, $2)", business_id, keys))
