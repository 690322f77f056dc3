"""SQL of reversals: which credit a bank takes back, and which reversals wait for theirs."""

from __future__ import annotations

from tidegate.bank_file.reversal import CreditFound
from tidegate.infra.db import Tx
from tidegate.rail.bankfiles.identifier import given
from tidegate.rail.bankfiles.model import BankEntry


# Until the transaction ends, no credit is recorded while a reversal finds none, and no other reversal finds the same
# one: one of them sees the other.
async def lock_for_credit(tx: Tx) -> None:
    await tx.execute("SELECT pg_advisory_xact_lock_shared(hashtextextended('tidegate/bank_reversal', 0))")


async def lock_for_reversal(tx: Tx) -> None:
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('tidegate/bank_reversal', 0))")


JUDGE_AGAIN = """
    UPDATE bank_entry SET state = 'new', awaits_credit = false
     WHERE (file_id, number) IN (
           SELECT file_id, number FROM bank_entry
            WHERE awaits_credit AND account = $1
              AND ARRAY[details ->> 'uetr', details ->> 'transaction_id', details ->> 'end_to_end_id'] && $2::text[]
            LIMIT 100)
"""


async def judge_again(tx: Tx, credit: BankEntry) -> None:
    """Reversals that no credit fitted, and that have an identifier in common with this one."""
    identifiers = [text for text in map(given, (credit.uetr, credit.transaction_id, credit.end_to_end_id)) if text]
    if identifiers:
        await tx.execute(JUDGE_AGAIN, credit.account, identifiers)


# Those with an identifier are found by the index; the account may have millions of others.
CREDITS_LIKE = """
    SELECT key, destination, booked_on, amount, currency, payer, rank, end_to_end_id, payer_account
      FROM (SELECT keys[1] AS key, destination, booked_on, amount, currency,
                   details -> 'counterparty' ->> 'name' AS payer, details ->> 'end_to_end_id' AS end_to_end_id,
                   details -> 'counterparty' ->> 'account_number' AS payer_account,
                   CASE WHEN details ->> 'uetr' = $3 THEN 1 WHEN details ->> 'transaction_id' = $4 THEN 2 ELSE 3 END
                   AS identified_by
              FROM bank_entry
             WHERE is_credit AND state = 'done'
               AND ARRAY[details ->> 'uetr', details ->> 'transaction_id', details ->> 'end_to_end_id']
                   && ARRAY[$3, $4, $5]::text[]
               AND account = $1 AND currency = $2 AND destination IS NOT NULL
               AND booked_on <= $6 AND booked_on >= $6 - 400
               AND coalesce(details ->> 'uetr' = $3, true)
               AND (details ->> 'uetr' = $3 OR details ->> 'transaction_id' = $4
                    OR details ->> 'end_to_end_id' = $5 AND amount = $7
                       AND details -> 'counterparty' ->> 'account_number' = $8)) AS credit
      LEFT JOIN LATERAL (
          SELECT file_id = $9 AND number = $10 AS is_own FROM bank_entry WHERE takes_back = credit.key) AS taker ON true
     CROSS JOIN LATERAL (SELECT CASE WHEN is_own THEN 0 ELSE identified_by END AS rank) AS ranked
     WHERE coalesce(is_own, true)
     ORDER BY rank, coalesce(end_to_end_id = $5, false) DESC, coalesce(payer_account = $8, false) DESC, booked_on DESC,
              key
     LIMIT 50
"""


async def list_credits_like(tx: Tx, file_id: str, taken_back: BankEntry) -> list[CreditFound]:
    """Recorded credits of the same account that a reversal may mean: the one that it took in an attempt that was
    interrupted, else by the UETR, else by the identifier of the payer's bank, else by the payer's own one with the
    same amount from the same account. Payers use theirs again, and alike. Without those that another debit took back.
    """
    rows = await tx.fetch(
        CREDITS_LIKE,
        taken_back.account, taken_back.currency, given(taken_back.uetr), given(taken_back.transaction_id),
        given(taken_back.end_to_end_id), taken_back.booked_on, taken_back.amount,
        taken_back.counterparty.account_number, file_id, taken_back.number,
    )  # fmt: skip
    return [CreditFound(**dict(row)) for row in rows]


async def list_choices(tx: Tx, file_id: str, entry: BankEntry) -> list[CreditFound]:
    """Credits of which an operator may choose one, when it is not known which a bank takes back. Only a whole one is
    debited.
    """
    if not entry.is_reversal and not entry.is_return:
        return []
    return [one for one in await list_credits_like(tx, file_id, entry) if one.amount == entry.amount]


# By the indexes of either state: of those that are recorded there may be millions.
UNRECORDED_LIKE = """
    SELECT true FROM (
        SELECT account, currency, amount, details FROM bank_entry WHERE is_credit AND state = 'new'
         UNION ALL
        SELECT account, currency, amount, details FROM bank_entry WHERE is_credit AND state = 'problem') AS credit
     WHERE account = $1 AND currency = $2 AND amount = $3 AND details ->> 'end_to_end_id' = $4 LIMIT 1
"""


async def has_unrecorded_like(tx: Tx, taken_back: BankEntry) -> bool:
    """Whether a credit with the payer's identifier and the same amount is not recorded yet, or waits for a decision."""
    found = await tx.fetchval(
        UNRECORDED_LIKE,
        taken_back.account, taken_back.currency, taken_back.amount, given(taken_back.end_to_end_id),
    )  # fmt: skip
    return found is True


async def has_statement(tx: Tx, file_id: str, number: int) -> bool:
    """Whether the statement was read to its end."""
    found = await tx.fetchval(
        "SELECT true FROM bank_statement WHERE file_id = $1 AND number = $2", file_id, number
    )  # fmt: skip
    return found is True


JUDGE_WAITING = """
    UPDATE bank_entry SET state = 'new', awaits_credit = false
     WHERE state = 'problem' AND awaits_credit
       AND details -> 'sheet' ->> 'account' IN (SELECT account FROM bank_statement WHERE file_id = $1 AND is_binding)
"""


async def judge_waiting(tx: Tx, file_id: str) -> None:
    """Reversals that await their credit, of accounts of which this file has a statement."""
    await tx.execute(JUDGE_WAITING, file_id)


async def take_back(tx: Tx, file_id: str, number: int, *, key: str) -> None:
    """The credit is this debit's from now on."""
    await tx.execute("UPDATE bank_entry SET takes_back = $3 WHERE file_id = $1 AND number = $2", file_id, number, key)
