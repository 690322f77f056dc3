"""SQL of inflows: the input of a decision, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from tidegate.account.name_rule import NameCheck
from tidegate.account.store import account_of
from tidegate.collection.model import (
    AccountSnapshot,
    AppliedRate,
    Collection,
    CollectionChange,
    CollectionStatus,
    Credited,
    InflowReturn,
)
from tidegate.collection.rate import Rate
from tidegate.collection.reason import InflowReason
from tidegate.core.fee import Fee
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Contended, Row, StaleChange, Tx, naming
from tidegate.ledger.model import Journal
from tidegate.ledger.store import names_refusals
from tidegate.merchant.store import business_of
from tidegate.rail.notification import AlreadyReceived, Destination, DuplicateNotification
from tidegate.rail.state import Party
from tidegate.webhook.model import Event

_name_checks = msgspec.json.Decoder(NameCheck)
_parties = msgspec.json.Decoder(Party)


async def find_account_snapshots(tx: Tx, destinations: Sequence[Destination]) -> list[AccountSnapshot | None]:
    rows = await tx.fetch(
        """
        SELECT asked.position, found.*
          FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY
               AS asked (rail, number, transaction_id, position),
               LATERAL find_inflow_account(asked.rail, asked.number, asked.transaction_id) AS found
        """,
        *map(list, zip(*destinations, strict=True)),
    )  # fmt: skip
    found = {row["position"]: _snapshot(row) for row in rows}
    return [found.get(position) for position in range(1, len(destinations) + 1)]


async def find_account_snapshot(
    tx: Tx, rail: str, account_number: str, transaction_id: str | None = None
) -> AccountSnapshot | None:
    """The bank names only the account number. Everything that a decision needs, in one query."""
    row = await tx.fetchrow("SELECT * FROM find_inflow_account($1, $2, $3)", rail, account_number, transaction_id)
    return _snapshot(row) if row else None


class NewInflow(NamedTuple):
    """Decided on this version of its account."""

    change: CollectionChange
    account_version: int


async def record(tx: Tx, change: CollectionChange, *, account_version: int) -> bool:
    """One round trip, one commit. False when the notification was processed before.

    Raises StaleChange when the account has changed since it was read; AlreadyReceived when the transaction is known,
    as an inflow or in suspense; DuplicateNotification when the notification was processed for another transaction.
    """
    return await _record(tx, "SELECT record_inflow($1, $2, $3)", NewInflow(change, account_version))


async def credit_from_suspense(tx: Tx, change: CollectionChange, *, account_version: int) -> None:
    """In the transaction of the decision on the money. Raises as record."""
    await _record(tx, "SELECT credit_from_suspense($1, $2, $3)", NewInflow(change, account_version))


async def _record(tx: Tx, statement: str, inflow: NewInflow) -> bool:
    with naming(_REFUSALS):
        outcome = await tx.fetchval(statement, *_recorded(inflow))
    return is_new(outcome)


async def record_all(tx: Tx, inflows: Sequence[NewInflow]) -> list[str]:
    """Of several businesses on one PostgreSQL, in one round trip and one commit. What `is_new` reads, for each.

    Raises for all of them, as record does; Contended when one of the businesses is locked.
    """
    order = sorted(range(len(inflows)), key=lambda at: _wallet_of(inflows[at]))
    given = zip(*(_recorded(inflows[at]) for at in order), strict=True)
    with naming({**_REFUSALS, "55P03": Contended}):
        done = await tx.fetchval("SELECT record_inflows_of_several($1, $2, $3)", *map(list, given))
    outcomes = dict(zip(order, done, strict=True))
    return [outcomes[at] for at in range(len(inflows))]


def _wallet_of(inflow: NewInflow) -> tuple[str, str]:
    """Locked in this order."""
    return inflow.change.collection.business_id, inflow.change.collection.destination_currency


def is_new(outcome: str) -> bool:
    """False when the notification was processed before. Raises AlreadyReceived."""
    if outcome == "already_received":
        raise AlreadyReceived
    return outcome == "written"


_REFUSALS: dict[str, type[Exception]] = {"TG001": StaleChange, "notification_pk": DuplicateNotification}


def _recorded(inflow: NewInflow) -> tuple[str, str, datetime]:
    """As `record_inflow` takes it."""
    change = inflow.change
    given = {**_given(change), "notification": change.ref, "account_version": inflow.account_version}
    return change.collection.business_id, _json(given), change.now


async def change(tx: Tx, change_: CollectionChange) -> None:
    """Updates a recorded inflow, over the version that was read. Raises StaleChange, InsufficientBalance."""
    with names_refusals(), naming({"TG001": StaleChange}):
        await tx.fetchval(
            "SELECT change_inflow($1, $2, $3)", change_.collection.business_id, _json(_given(change_)), change_.now
        )


async def confirm_return(
    tx: Tx, collection: Collection, journal: Journal, event: Event, *, sent_as: str, now: datetime
) -> bool:
    """Records the confirmation with its journal. False when it was confirmed before."""
    assert collection.sent_back is not None
    given = {"sent_as": sent_as, "event": event, "journal": journal.columns()._asdict()}
    done = await tx.fetchval(
        "SELECT confirm_return($1, $2, $3, $4)",
        collection.business_id, collection.sent_back.reference, _json(given), now,
    )  # fmt: skip
    return bool(done)


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


def _given(change: CollectionChange) -> dict[str, Any]:
    """As `record_inflow` and `change_inflow` take it; bytes are base64."""
    back = change.going_back
    return {
        "inflow": _columns(change.collection),
        "return_reason": back.reason if back else None,
        "journal": change.journal.columns()._asdict(),
        "event": change.event,
    }


def _columns(collection: Collection) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": collection.id,
        "version": collection.version,
        "reference": collection.reference,
        "account_id": collection.account_id,
        "merchant_reference": collection.merchant_reference,
        "status": collection.status,
        "reason": collection.reason,
        "note": collection.note,
        "source_currency": collection.amount.currency,
        "source_minor": collection.amount.minor,
        "destination_currency": collection.destination_currency,
        "owed_minor": collection.owed.minor if collection.owed else 0,
        "rail": collection.rail,
        "transaction_id": collection.transaction_id,
        "payer": collection.payer,
        "payee_name": collection.payee_name,
        "scheme": collection.scheme,
        "remittance": collection.remittance,
        "name_check": collection.name_check,
        "valued_at": collection.valued_at,
        "held_for": collection.held_for,
        "held_until": collection.held_until,
    }
    if credited := collection.credited:
        row |= _credited(credited)
    if back := collection.sent_back:
        row |= {"return_reference": back.reference, "return_asked_at": back.asked_at}
    return row


def _credited(credited: Credited) -> dict[str, Any]:
    row: dict[str, Any] = {
        "destination_minor": credited.gross.minor,
        "fee_minor": credited.fee.fee.minor,
        "vat_minor": credited.fee.vat.minor,
        "credited_minor": credited.net.minor,
        "fee_rule_id": credited.fee_rule_id,
    }
    if at := credited.applied_rate:
        row |= {"rate": at.rate, "rate_source": at.source, "rate_quoted_at": at.quoted_at}
        row |= {"spread_minor": at.spread.minor}
    return row


def _json(given: dict[str, Any]) -> str:
    return msgspec.json.encode(given).decode()


def _snapshot(row: Row) -> AccountSnapshot:
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
        held_for=tuple(InflowReason(reason) for reason in row["held_for"]),
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
    applied_rate = None
    if row["rate"] is not None:
        applied_rate = AppliedRate(
            rate=row["rate"],
            source=row["rate_source"],
            quoted_at=row["rate_quoted_at"],
            spread=Money(row["spread_minor"], currency),
        )
    return Credited(
        gross=Money(row["destination_minor"], currency),
        fee=Fee(Money(row["fee_minor"], currency), Money(row["vat_minor"], currency)),
        fee_rule_id=row["fee_rule_id"],
        applied_rate=applied_rate,
    )


def _sent_back_of(row: Row) -> InflowReturn:
    return InflowReturn(
        reference=row["return_reference"],
        asked_at=row["return_asked_at"],
        confirmed_at=row["return_confirmed_at"],
    )
