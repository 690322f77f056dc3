"""SQL of virtual accounts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.account.model import Account, AccountStatus, AccountType, KycDocument
from tidegate.core.errors import DuplicateReference
from tidegate.core.money import Currency
from tidegate.infra.db import Row, Tx, naming
from tidegate.infra.leased_work import DueRow
from tidegate.rail.interface import AccountDetails

_documents = msgspec.json.Decoder(tuple[KycDocument, ...])
_details = msgspec.json.Decoder(AccountDetails)


class NumberTaken(Exception):
    """Another open account of this rail has this number; nothing was written."""


async def insert(tx: Tx, account: Account) -> None:
    done = await tx.fetchval(
        """
        INSERT INTO virtual_account (
            business_id, id, currency, settlement_currency, account_type, holder, merchant_reference, kyc,
            metadata, documents, monthly_volume, entity_name, payment_flow_description, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)
        ON CONFLICT ON CONSTRAINT virtual_account_one_merchant_reference DO NOTHING
        RETURNING true
        """,
        account.business_id, account.id, account.currency, account.settlement_currency, account.account_type,
        account.holder, account.merchant_reference, account.kyc, account.metadata,
        msgspec.json.encode(account.documents).decode(), account.monthly_volume, account.entity_name,
        account.payment_flow_description, account.created_at,
    )  # fmt: skip
    if done is None:
        raise DuplicateReference("this merchantReference belongs to another virtual account; use a new one")


async def update(tx: Tx, account: Account, *, now: datetime) -> bool:
    """In a transaction, over the version that was read. False when the account has changed. Raises NumberTaken."""
    number = account.details.account_number if account.details else None
    done = await tx.fetchval(
        """
        UPDATE virtual_account
           SET status = $4, is_suspended = $5, reason = $6, rail = $7, account_number = $8, details = $9,
               expires_at = $10, version = version + 1, updated_at = $11
         WHERE business_id = $1 AND id = $2 AND version = $3
        RETURNING true
        """,
        account.business_id, account.id, account.version, account.status, account.is_suspended, account.reason,
        account.rail, number, msgspec.json.encode(account.details).decode() if account.details else None,
        account.expires_at, now,
    )  # fmt: skip
    if done and account.status is AccountStatus.APPROVED:
        with naming({"account_number_one_open": NumberTaken}):
            await tx.execute(
                "SELECT take_account_number($1, 'virtual_account', $2, $3, $4)",
                account.business_id, account.rail, number, account.id,
            )  # fmt: skip
    return done is True


async def find(tx: Tx, business_id: str, account_id: str) -> Account | None:
    row = await tx.fetchrow("SELECT * FROM virtual_account WHERE business_id = $1 AND id = $2", business_id, account_id)
    return account_of(row) if row else None


async def hold_status(tx: Tx, business_id: str, account_id: str) -> AccountStatus:
    """It stays so until the transaction ends."""
    found = await tx.fetchval(
        "SELECT status FROM virtual_account WHERE business_id = $1 AND id = $2 FOR SHARE", business_id, account_id
    )
    return AccountStatus(found)


async def find_unscoped(tx: Tx, account_id: str) -> Account | None:
    """For operators: by id alone, of any business. An id is 96 random bits."""
    row = await tx.fetchrow("SELECT * FROM virtual_account WHERE id = $1", account_id)
    return account_of(row) if row else None


async def list_page(
    tx: Tx,
    business_id: str,
    *,
    currency: Currency | None = None,
    statuses: Sequence[str] = tuple(AccountStatus),
    offset: int,
    limit: int,
) -> tuple[list[Account], int]:
    """The newest first, and the total. A business has few accounts."""
    rows = await tx.fetch(
        """
        SELECT * FROM virtual_account
         WHERE business_id = $1 AND ($2::text IS NULL OR currency = $2) AND status = ANY($3::text[])
         ORDER BY created_at DESC, id DESC OFFSET $4 LIMIT $5
        """,
        business_id, currency, statuses, offset, limit,
    )  # fmt: skip
    total: int = await tx.fetchval(
        """
        SELECT count(*) FROM virtual_account
         WHERE business_id = $1 AND ($2::text IS NULL OR currency = $2) AND status = ANY($3::text[])
        """,
        business_id, currency, statuses,
    )  # fmt: skip
    return [account_of(row) for row in rows], total


async def list_all(tx: Tx, *, business_id: str | None, status: AccountStatus | None, limit: int) -> list[Account]:
    """For operators, the oldest first."""
    rows = await tx.fetch(
        """
        SELECT * FROM virtual_account
         WHERE ($1::text IS NULL OR business_id = $1) AND ($2::text IS NULL OR status = $2)
         ORDER BY created_at LIMIT $3
        """,
        business_id, status, limit,
    )  # fmt: skip
    return [account_of(row) for row in rows]


# The kind of leased work. The statement below repeats the name.
EXPIRE = "expire_accounts"


async def list_to_expire(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    rows = await tx.fetch(
        """
        SELECT business_id, id FROM virtual_account
         WHERE status = 'approved'
           AND is_due(business_id, expires_at, $1)
           AND NOT is_held_back(business_id, 'expire_accounts', id, $1)
         ORDER BY expires_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["id"]) for row in rows]


def account_of(row: Row) -> Account:
    return Account(
        business_id=row["business_id"],
        id=row["id"],
        version=row["version"],
        status=AccountStatus(row["status"]),
        is_suspended=row["is_suspended"],
        currency=Currency(row["currency"]),
        settlement_currency=Currency(row["settlement_currency"]),
        account_type=AccountType(row["account_type"]),
        holder=row["holder"],
        merchant_reference=row["merchant_reference"],
        kyc=row["kyc"],
        metadata=row["metadata"],
        documents=_documents.decode(row["documents"]),
        monthly_volume=row["monthly_volume"],
        entity_name=row["entity_name"],
        payment_flow_description=row["payment_flow_description"],
        note=row["note"],
        reason=row["reason"],
        rail=row["rail"],
        details=_details.decode(row["details"]) if row["details"] else None,
        expires_at=row["expires_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
