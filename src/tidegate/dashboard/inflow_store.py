"""SQL of everything the page of an inflow shows, in one round trip."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tidegate.account.model import Account
from tidegate.account.store import account_of
from tidegate.collection.model import Collection
from tidegate.collection.store import collection_of
from tidegate.dashboard.audit_store import AuditLogRow
from tidegate.dashboard.ledger_store import JournalLine
from tidegate.dashboard.payment_store import RefundFact
from tidegate.infra.db import Tx
from tidegate.ledger.model import JournalKind
from tidegate.refund.model import Subject
from tidegate.refund.subject_store import collection_to_refund

_refunds = msgspec.json.Decoder(list[RefundFact])
_names = msgspec.json.Decoder(dict[str, str])


class InflowFacts(NamedTuple):
    inflow: Collection
    account: Account | None
    # As a refund sees it.
    subject: Subject
    # The oldest first, each.
    refunds: list[RefundFact]
    journals: list[JournalLine]
    decisions: list[AuditLogRow]
    # Of its refunds: who began and who approved them.
    refund_rows: list[AuditLogRow]
    # Of those who decided, by `person/ID`.
    people: dict[str, str]
    wallet_minor: int | None


async def find(tx: Tx, business_id: str, reference: str) -> InflowFacts | None:
    row = await tx.fetchrow(_INFLOW, business_id, reference, list(JournalKind))
    if row is None:
        return None
    rows = [
        AuditLogRow(
            one["id"], one["created_at"], one["written_at"], one["actor"], None, one["origin"], one["action"],
            one["subject"], None, one["details"],
        )
        for one in row["decisions"]
    ]  # fmt: skip
    return InflowFacts(
        collection_of(row["collection"]),
        account_of(row["virtual_account"]) if row["virtual_account"] else None,
        collection_to_refund(row),
        _refunds.decode(row["refunds"]),
        [JournalLine(one["id"], one["kind"], one["created_at"]) for one in row["journals"]],
        [one for one in rows if one.subject == reference],
        [one for one in rows if one.subject != reference],
        _names.decode(row["people"]),
        row["wallet_minor"],
    )  # fmt: skip


# Journals by kind, as their key begins.
_INFLOW = """
    WITH refunds AS MATERIALIZED (
        SELECT refund.* FROM refund
         WHERE business_id = $1
           AND collection_id = (SELECT id FROM collection WHERE business_id = $1 AND reference = $2)
         ORDER BY id DESC LIMIT 50),
    decisions AS MATERIALIZED (
        SELECT audit FROM audit
         WHERE business_id = $1 AND subject = ANY (ARRAY(SELECT reference FROM refunds) || $2::text)
         ORDER BY id LIMIT 200)
    SELECT collection, virtual_account, given.fee_minor AS fee_given_minor, given.vat_minor AS vat_given_minor,
           (SELECT on_refund FROM fee_rule
             WHERE fee_rule.business_id = $1 AND 'own-' || fee_rule.id = collection.fee_rule_id) AS on_refund,
           (SELECT coalesce(json_agg(json_build_array(reference, amount_minor, status, failure, reason, note,
                   initiated_at, completed_at) ORDER BY id), '[]') FROM refunds) AS refunds,
           ARRAY(SELECT journal FROM journal
                  WHERE business_id = $1 AND kind = ANY ($3::text[])
                    AND cause = ANY (collection.rail || '/' || collection.transaction_id
                                     || ARRAY(SELECT reference FROM refunds))
                  ORDER BY id LIMIT 50) AS journals,
           ARRAY(SELECT audit FROM decisions) AS decisions,
           (SELECT coalesce(json_object_agg('person/' || id, name), '{}') FROM person
             WHERE id = ANY (ARRAY(SELECT substr((audit).actor, 8) FROM decisions
                                    WHERE starts_with((audit).actor, 'person/')))) AS people,
           (SELECT balance_minor FROM wallet
             WHERE business_id = $1 AND currency = collection.source_currency) AS wallet_minor
      FROM collection
     CROSS JOIN LATERAL inflow_fee_returned($1, collection.id) AS given
      LEFT JOIN virtual_account ON virtual_account.business_id = $1 AND virtual_account.id = collection.account_id
     WHERE collection.business_id = $1 AND collection.reference = $2
"""
