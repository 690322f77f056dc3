"""SQL of inflows: the input of a decision, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from tidegate.account.name_rule import NameCheck
from tidegate.account.store import account_of
from tidegate.collection.model import (
    AccountSnapshot,
    Collection,
    CollectionChange,
    CollectionStatus,
    Credited,
    Exchanged,
    InflowReturn,
)
from tidegate.collection.rate import Rate
from tidegate.collection.reason import InflowReason
from tidegate.core.fee import Fee
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, StaleChange, Tx, naming
from tidegate.ledger.model import Journal
from tidegate.ledger.store import names_refusals
from tidegate.merchant.store import business_of
from tidegate.rail.interface import Party
from tidegate.rail.notification import AlreadyReceived
from tidegate.webhook.model import Event

_name_checks = msgspec.json.Decoder(NameCheck)
_parties = msgspec.json.Decoder(Party)


async def find_account_snapshot(
    tx: Tx, rail: str, account_number: str, transaction_id: str | None = None
) -> AccountSnapshot | None:
    """The bank names only the account number. Everything that a decision needs, in one query."""
    row = await tx.fetchrow(_PLACE, rail, account_number, transaction_id)
    return _place(row) if row else None


_PLACE = """
    SELECT account, business, rate,
           ARRAY(SELECT fee_rule FROM fee_rule
                  WHERE fee_rule.business_id = account.business_id AND ended_at IS NULL) AS rules,
           EXISTS (SELECT FROM credit_reversal
                    WHERE rail = $1 AND credit_reversal.account_number = $2 AND transaction_id = $3
                      AND applied_at IS NULL) AS is_taken_back
      FROM virtual_account AS account
      JOIN business ON business.id = account.business_id
      LEFT JOIN LATERAL (
          SELECT exchange_rate AS rate FROM exchange_rate
           WHERE base = account.currency AND quote = account.settlement_currency
             -- The business's own rate, or the operator's.
             AND exchange_rate.business_id IN (account.business_id, '000000000000000000000000')
           ORDER BY quoted_at DESC, id DESC LIMIT 1) AS newest ON true
     WHERE account.rail = $1 AND account.account_number = $2
     -- A rail may reuse a number. A known transaction stays with its account; a new one belongs to the open account,
     -- or to the newest if none is open.
     ORDER BY EXISTS (SELECT FROM collection
                       WHERE collection.business_id = account.business_id AND collection.rail = $1
                         AND collection.transaction_id = $3 AND collection.account_id = account.id) DESC,
              account.status = 'approved' DESC, account.created_at DESC LIMIT 1
"""


async def record(tx: Tx, change: CollectionChange, *, account_version: int) -> bool:
    """One round trip, one commit. False when the notification was processed before.

    Raises StaleChange when the account has changed since it was read; AlreadyReceived when the transaction is known,
    as an inflow or in suspense.
    """
    with naming({"TG001": StaleChange, "collection_one_per_transaction": AlreadyReceived}):
        is_new = await tx.fetchval(
            _RECORD,
            *_recording(change),
            account_version,
            change.collection.merchant_reference,
            change.collection.note,
            change.collection.held_until,
        )
    if is_new is None:
        raise AlreadyReceived
    return bool(is_new)


_RECORD = """
    -- The bank has notified it before: in another currency, or under another identifier.
    WITH known AS (
        SELECT id FROM receipt WHERE business_id = $2 AND rail = $10 AND transaction_id = $11
         UNION ALL
        SELECT id FROM collection
         WHERE business_id = $2 AND rail = $10 AND transaction_id = $11
           AND NOT EXISTS (SELECT FROM notification AS before WHERE before.rail = $18 AND before.id = $19)),
    notified AS (
        INSERT INTO notification (rail, id, state, body, received_at)
        SELECT $18, $19, 'done', $20, $1 WHERE $19::text IS NOT NULL AND NOT EXISTS (SELECT FROM known)
        ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
        RETURNING true),
    fresh AS (
        SELECT true WHERE EXISTS (SELECT FROM notified) OR ($19::text IS NULL AND NOT EXISTS (SELECT FROM known))),
    recorded AS (
        INSERT INTO collection (business_id, id, reference, account_id, status, reason, source_currency, source_minor,
                                destination_currency, rail, transaction_id, payer, payee_name, scheme, remittance,
                                valued_at, name_check, destination_minor, fee_minor, vat_minor, credited_minor,
                                fee_rule_id, rate, rate_source, rate_quoted_at, spread_minor, return_reference,
                                return_asked_at, created_at, updated_at, merchant_reference, note, held_until)
        SELECT $2, new_collection_id($1), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
               $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $1, $1, $45, $46, $47
          FROM fresh
         WHERE EXISTS (SELECT FROM virtual_account WHERE business_id = $2 AND id = $4 AND version = $44)
        RETURNING id),
    going_back AS (
        INSERT INTO money_return (business_id, reference, collection_id, rail, transaction_id, currency, amount_minor,
                                  reason, next_try_at, asked_at)
        SELECT $2, $30, recorded.id, $10, $11, $7, $8, $32, $1, $1 FROM recorded WHERE $30::text IS NOT NULL),
    -- After the collection: a known transaction must not post a journal.
    posted AS (
        SELECT post_journal($2, $33, $34, $35, $36, $37, $38, $1) AS id FROM recorded),
    noted AS (
        INSERT INTO event (business_id, id, type, cause, payload, reference, created_at)
        SELECT $2, $39, $40, $41, $42, $43, $1 FROM posted WHERE $39::text IS NOT NULL)
    SELECT CASE WHEN EXISTS (SELECT FROM known) THEN NULL
                WHEN NOT EXISTS (SELECT FROM fresh) THEN false
                WHEN NOT EXISTS (SELECT FROM recorded) OR (SELECT id FROM posted) IS NULL THEN refuse_stale_change()
                ELSE true END
"""


async def change(tx: Tx, change_: CollectionChange) -> None:
    """Updates a recorded inflow, over the version that was read. Raises StaleChange, InsufficientBalance."""
    collection = change_.collection
    back = change_.going_back
    with names_refusals(), naming({"TG001": StaleChange}):
        await tx.fetchval(
            _CHANGE, change_.now, collection.business_id, collection.id, collection.version, collection.status,
            collection.reason, collection.note, *_credited(collection), *_sent_back(collection),
            back.reason if back else None, *change_.journal.columns(), *_event(change_.event),
            collection.owed.minor if collection.owed else 0,
        )  # fmt: skip


_CHANGE = """
    WITH moved AS (
        UPDATE collection
           SET status = $5, reason = $6, note = $7, destination_minor = $8, fee_minor = $9, vat_minor = $10,
               credited_minor = $11, fee_rule_id = $12, rate = $13, rate_source = $14, rate_quoted_at = $15,
               spread_minor = $16, return_reference = $17, return_asked_at = $18, version = version + 1,
               updated_at = $1, owed_minor = $31
         WHERE business_id = $2 AND id = $3 AND version = $4
        RETURNING *),
    going_back AS (
        INSERT INTO money_return (business_id, reference, collection_id, rail, transaction_id, currency, amount_minor,
                                  reason, next_try_at, asked_at)
        SELECT $2, $17, id, rail, transaction_id, source_currency, source_minor, $19, $1, $1
          FROM moved WHERE $19::text IS NOT NULL),
    posted AS (
        SELECT post_journal($2, $20, $21, $22, $23, $24, $25, $1) AS id FROM moved),
    noted AS (
        INSERT INTO event (business_id, id, type, cause, payload, reference, created_at)
        SELECT $2, $26, $27, $28, $29, $30, $1 FROM posted WHERE $26::text IS NOT NULL)
    SELECT CASE WHEN NOT EXISTS (SELECT FROM moved) OR (SELECT id FROM posted) IS NULL THEN refuse_stale_change() END
"""


async def confirm_return(
    tx: Tx, collection: Collection, journal: Journal, event: Event, *, sent_as: str, now: datetime
) -> bool:
    """Records the confirmation with its journal. False when it was confirmed before."""
    assert collection.sent_back is not None
    done = await tx.fetchval(
        """
        WITH confirmed AS (
            UPDATE money_return
               SET status = 'confirmed', confirmed_at = $1, next_try_at = NULL, sent_as = $16
             WHERE business_id = $2 AND reference = $4 AND status <> 'confirmed'
            RETURNING id),
        moved AS (
            UPDATE collection SET return_confirmed_at = $1, version = version + 1, updated_at = $1
              FROM confirmed
             WHERE collection.business_id = $2 AND collection.id = $3),
        posted AS (
            SELECT post_journal($2, $5, $6, $7, $8, $9, $10, $1) AS id FROM confirmed),
        noted AS (
            INSERT INTO event (business_id, id, type, cause, payload, reference, created_at)
            SELECT $2, $11, $12, $13, $14, $15, $1 FROM posted)
        SELECT id FROM posted
        """,
        now, collection.business_id, collection.id, collection.sent_back.reference, *journal.columns(), *_event(event),
        sent_as,
    )  # fmt: skip
    return done is not None


async def find(tx: Tx, business_id: str, reference: str) -> Collection | None:
    row = await tx.fetchrow(
        "SELECT * FROM collection WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return collection_of(row) if row else None


async def find_by_id(tx: Tx, business_id: str, collection_id: int) -> Collection | None:
    row = await tx.fetchrow("SELECT * FROM collection WHERE business_id = $1 AND id = $2", business_id, collection_id)
    return collection_of(row) if row else None


async def find_by_transaction(tx: Tx, business_id: str, rail: str, transaction_id: str) -> Collection | None:
    row = await tx.fetchrow(
        "SELECT * FROM collection WHERE business_id = $1 AND rail = $2 AND transaction_id = $3",
        business_id,
        rail,
        transaction_id,
    )
    return collection_of(row) if row else None


def _recording(change: CollectionChange) -> list[Any]:
    """In the order of the statement's parameters."""
    collection, ref = change.collection, change.ref
    back = change.going_back
    return [
        change.now, collection.business_id, collection.reference, collection.account_id, collection.status,
        collection.reason, collection.amount.currency, collection.amount.minor, collection.destination_currency,
        collection.rail, collection.transaction_id, msgspec.json.encode(collection.payer).decode(),
        collection.payee_name, collection.scheme, collection.remittance, collection.valued_at,
        msgspec.json.encode(collection.name_check).decode(),
        *((ref.rail, ref.id, ref.body) if ref else (None, None, None)),
        *_credited(collection),
        *_sent_back(collection), back.reason if back else None,
        *change.journal.columns(),
        *_event(change.event),
    ]  # fmt: skip


def _credited(collection: Collection) -> Sequence[Any]:
    credited = collection.credited
    if credited is None:
        return (None,) * 9
    fee, at = credited.fee, credited.exchanged
    rate = (at.rate, at.source, at.quoted_at, at.spread.minor) if at else (None,) * 4
    return credited.gross.minor, fee.fee.minor, fee.vat.minor, credited.net.minor, credited.fee_rule_id, *rate


def _sent_back(collection: Collection) -> Sequence[Any]:
    return (collection.sent_back.reference, collection.sent_back.asked_at) if collection.sent_back else (None, None)


def _event(event: Event | None) -> Sequence[Any]:
    return (event.id, event.type, event.cause, event.payload, event.reference) if event else (None,) * 5


def _place(row: Row) -> AccountSnapshot:
    rate = row["rate"]
    return AccountSnapshot(
        account=account_of(row["account"]),
        business=business_of(row["business"], row["rules"]),
        rate=rate_of(rate) if rate else None,
        is_taken_back=row["is_taken_back"],
    )


def rate_of(row: Row) -> Rate:
    return Rate(
        base=Currency(row["base"]),
        quote=Currency(row["quote"]),
        rate=row["rate"],
        spread_basis_points=row["spread_basis_points"],
        source=row["source"],
        quoted_at=row["quoted_at"],
    )


def collection_of(row: Row) -> Collection:
    source, destination = Currency(row["source_currency"]), Currency(row["destination_currency"])
    return Collection(
        id=row["id"],
        business_id=row["business_id"],
        reference=row["reference"],
        version=row["version"],
        account_id=row["account_id"],
        merchant_reference=row["merchant_reference"],
        status=CollectionStatus(row["status"]),
        reason=InflowReason(row["reason"]) if row["reason"] else None,
        held_until=row["held_until"],
        note=row["note"],
        amount=Money(row["source_minor"], source),
        destination_currency=destination,
        credited=_credited_of(row, destination) if row["destination_minor"] is not None else None,
        refunded=Money(row["refunded_minor"], source) if row["refunded_minor"] else None,
        owed=Money(row["owed_minor"], destination) if row["owed_minor"] else None,
        rail=row["rail"],
        transaction_id=row["transaction_id"],
        payer=_parties.decode(row["payer"]),
        payee_name=row["payee_name"],
        scheme=row["scheme"],
        remittance=row["remittance"],
        valued_at=row["valued_at"],
        name_check=_name_checks.decode(row["name_check"]),
        sent_back=_sent_back_of(row) if row["return_reference"] else None,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _credited_of(row: Row, currency: Currency) -> Credited:
    exchanged = None
    if row["rate"] is not None:
        exchanged = Exchanged(
            rate=row["rate"],
            source=row["rate_source"],
            quoted_at=row["rate_quoted_at"],
            spread=Money(row["spread_minor"], currency),
        )
    return Credited(
        gross=Money(row["destination_minor"], currency),
        fee=Fee(Money(row["fee_minor"], currency), Money(row["vat_minor"], currency)),
        fee_rule_id=row["fee_rule_id"],
        exchanged=exchanged,
    )


def _sent_back_of(row: Row) -> InflowReturn:
    return InflowReturn(
        reference=row["return_reference"],
        asked_at=row["return_asked_at"],
        confirmed_at=row["return_confirmed_at"],
    )
