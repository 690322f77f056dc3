"""SQL of the rail of a bank's files: attempts, virtual numbers and payouts; and what its statements hold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx, naming
from tidegate.rail.bankfiles.continuity import KnownStatement
from tidegate.rail.bankfiles.model import BankEntry
from tidegate.rail.interface import RefundMoney, ReturnMoney, StartAttempt

# Of statements whose order is checked.
STATEMENTS_MAX = 2_000


class CodeTaken(Exception):
    """Another attempt has this reference; chance made it twice."""


class VirtualNumberTaken(Exception):
    """Another account was given this number a moment ago."""


class StartedTransfer(NamedTuple):
    account_number: str
    code: str


class BankPayout(NamedTuple):
    """The state of a return or refund. `reason` is the bank's."""

    status: str
    reason: str | None
    sent_as: str | None


class CreditOrigin(NamedTuple):
    """Where a credit came to, and from whom."""

    account: str
    name: str | None
    account_number: str | None
    bank_code: str | None


async def insert_attempt(tx: Tx, attempt: StartAttempt, *, account_number: str, code: str, now: datetime) -> None:
    """Nothing when the attempt is known. Raises CodeTaken."""
    with naming({"bank_attempt_one_code": CodeTaken}):
        await tx.execute(
            """
            INSERT INTO bank_attempt (business_id, reference, account_number, code, currency, amount_minor, started_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            ON CONFLICT ON CONSTRAINT bank_attempt_pk DO NOTHING
            """,
            attempt.business_id, attempt.reference, account_number, code, attempt.amount.currency,
            attempt.amount.minor, now,
        )  # fmt: skip


async def find_attempt(tx: Tx, business_id: str, reference: str) -> StartedTransfer | None:
    row = await tx.fetchrow(
        "SELECT account_number, code FROM bank_attempt WHERE business_id = $1 AND reference = $2",
        business_id, reference,
    )  # fmt: skip
    return StartedTransfer(row["account_number"], row["code"]) if row else None


async def find_number(tx: Tx, business_id: str, reference: str) -> str | None:
    number: str | None = await tx.fetchval(
        "SELECT number FROM bank_number WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return number


async def find_free_number(tx: Tx, numbers: Sequence[str]) -> str | None:
    number: str | None = await tx.fetchval(
        """
        SELECT pool.number FROM unnest($1::text[]) WITH ORDINALITY AS pool (number, place)
         WHERE NOT EXISTS (SELECT FROM bank_number WHERE bank_number.number = pool.number)
         ORDER BY pool.place LIMIT 1
        """,
        numbers,
    )
    return number


async def count_free_numbers(tx: Tx, numbers: Sequence[str]) -> int:
    return len(numbers) - int(
        await tx.fetchval("SELECT count(*) FROM bank_number WHERE number = ANY ($1::text[])", numbers)
    )


async def insert_number(tx: Tx, business_id: str, reference: str, number: str, *, now: datetime) -> None:
    """Nothing when the account has one. Raises VirtualNumberTaken."""
    with naming({"bank_number_given_once": VirtualNumberTaken}):
        await tx.execute(
            """
            INSERT INTO bank_number (business_id, reference, number, given_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT ON CONSTRAINT bank_number_pk DO NOTHING
            """,
            business_id, reference, number, now,
        )  # fmt: skip


async def find_origin(tx: Tx, transaction_id: str) -> CreditOrigin | None:
    row = await tx.fetchrow(
        """
        SELECT account, details -> 'counterparty' ->> 'name' AS name,
               details -> 'counterparty' ->> 'account_number' AS account_number,
               details -> 'counterparty' ->> 'bank_code' AS bank_code
          FROM bank_entry WHERE keys @> ARRAY[$1::text] AND is_credit
         ORDER BY keys[1] = $1 DESC, state = 'done' DESC LIMIT 1
        """,
        transaction_id,
    )
    return CreditOrigin(row["account"], row["name"], row["account_number"], row["bank_code"]) if row else None


async def insert_payout(
    tx: Tx, kind: str, money: RefundMoney | ReturnMoney, origin: CreditOrigin, *, end_to_end_id: str, remittance: str,
    now: datetime,
) -> None:  # fmt: skip
    """Once for each reference."""
    await tx.execute(
        """
        INSERT INTO bank_payout (business_id, reference, kind, transaction_id, account_number, currency, amount_minor,
                                 end_to_end_id, payee_name, payee_account, payee_bank, remittance, proposed_by,
                                 proposed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'tidegate', $13)
        ON CONFLICT ON CONSTRAINT bank_payout_pk DO NOTHING
        """,
        money.business_id, money.reference, kind, money.transaction_id, origin.account, money.amount.currency,
        money.amount.minor, end_to_end_id, origin.name, origin.account_number, origin.bank_code, remittance, now,
    )  # fmt: skip


async def close_payout(tx: Tx, business_id: str, reference: str, *, why: str) -> None:
    """It is paid by another way; a debit that comes all the same needs a decision. Nothing where there is none."""
    await tx.execute(
        """
        UPDATE bank_payout SET status = 'rejected', reason = $3
         WHERE business_id = $1 AND reference = $2 AND status IN ('proposed', 'approved', 'exported')
        """,
        business_id, reference, why,
    )  # fmt: skip


async def withdraw_payout(tx: Tx, business_id: str, reference: str, *, why: str) -> bool:
    """It is not to be paid any more. False when it may have left."""
    status = await tx.fetchval(
        "SELECT status FROM bank_payout WHERE business_id = $1 AND reference = $2 FOR UPDATE", business_id, reference
    )
    if status in ("exported", "done"):
        return False
    await close_payout(tx, business_id, reference, why=why)
    return True


async def find_payout(tx: Tx, business_id: str, reference: str) -> BankPayout | None:
    row = await tx.fetchrow(
        "SELECT status, reason, sent_as FROM bank_payout WHERE business_id = $1 AND reference = $2",
        business_id, reference,
    )  # fmt: skip
    return BankPayout(row["status"], row["reason"], row["sent_as"]) if row else None


async def list_statements(tx: Tx, account: str | None = None) -> list[KnownStatement]:
    """Binding ones, of all accounts or of one, the newest, in the order in which they came."""
    rows = await tx.fetch(
        """
        SELECT * FROM (SELECT account, statement_id, day, sequence, page, is_last_page, opening, closing, total,
                              received_at
                         FROM bank_statement WHERE is_binding AND account = coalesce($2, account)
                        ORDER BY received_at DESC LIMIT $1) AS newest
         ORDER BY received_at
        """,
        STATEMENTS_MAX, account,
    )  # fmt: skip
    fields = KnownStatement.__struct_fields__
    return [KnownStatement(**{name: row[name] for name in fields}) for row in rows]


async def find_last_file_at(tx: Tx) -> datetime | None:
    last: datetime | None = await tx.fetchval("SELECT max(received_at) FROM bank_file")
    return last


async def count_problems(tx: Tx) -> int:
    return int(await tx.fetchval("SELECT count(*) FROM bank_entry WHERE state = 'problem'"))


async def list_late_payouts(tx: Tx, *, now: datetime, after: timedelta) -> list[str]:
    """Exported, and without their debit for so long."""
    rows = await tx.fetch(
        """
        SELECT payout.reference FROM bank_payout AS payout JOIN bank_export AS export ON export.id = payout.export_id
         WHERE payout.status = 'exported' AND export.made_at < $1 ORDER BY export.made_at LIMIT 10
        """,
        now - after,
    )
    return [row["reference"] for row in rows]


class RecordedEntry(NamedTuple):
    transaction_id: str
    is_incoming: bool
    amount: Money
    booked_on: date
    reference: str | None


async def list_recorded(tx: Tx, begin: date, end: date) -> AsyncIterator[RecordedEntry]:
    """Booked from `begin` until before `end`. A cursor needs a transaction."""
    async for row in tx.cursor(_RECORDED, begin, end):
        yield _recorded(row)


_RECORDED = """
    SELECT entry.keys[1] AS key, entry.is_credit, entry.amount, entry.currency, entry.booked_on, payout.reference
      FROM bank_entry AS entry
      LEFT JOIN bank_payout AS payout ON payout.sent_as = entry.keys[1]
     WHERE entry.state = 'done' AND entry.booked_on >= $1 AND entry.booked_on < $2
     ORDER BY entry.booked_on, entry.file_id, entry.number
"""


def _recorded(row: Row) -> RecordedEntry:
    currency = Currency(row["currency"])
    amount = Money(int(row["amount"] * currency.minor_per_major), currency)
    return RecordedEntry(row["key"], row["is_credit"], amount, row["booked_on"], row["reference"])


def entry_of(details: str) -> BankEntry:
    return msgspec.json.decode(details, type=BankEntry)
