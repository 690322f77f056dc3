"""Checks of inflows and their money. Each returns an empty list when all is well."""

from __future__ import annotations

from tidegate.core.money import Currency, Money
from tidegate.doctor.store import FINDINGS_MAX
from tidegate.infra.db import Row, Tx


async def list_wrongly_credited(tx: Tx) -> list[str]:
    """Each inflow that was credited has one crediting journal with its amounts, and no other inflow has one."""
    return await _names(
        tx,
        """
        SELECT collection.business_id || '/' || collection.reference AS name
          FROM collection
          LEFT JOIN (
               SELECT journal.business_id, journal.cause, count(DISTINCT journal.id) AS journals,
                      coalesce(sum(amount_minor) FILTER (WHERE account = 'wallet'), 0) AS credited_minor,
                      coalesce(sum(amount_minor) FILTER (WHERE account = 'fee'), 0) AS fee_minor,
                      coalesce(sum(amount_minor) FILTER (WHERE account = 'vat'), 0) AS vat_minor,
                      coalesce(sum(amount_minor) FILTER (WHERE account = 'spread'), 0) AS spread_minor,
                      coalesce(sum(amount_minor) FILTER (WHERE account IN ('rail', 'suspense')), 0) AS source_minor
                 FROM journal JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
                WHERE journal.kind IN ('inflow_credited', 'inflow_converted', 'held_settled', 'held_converted')
                GROUP BY journal.business_id, journal.cause) AS booked
               ON booked.business_id = collection.business_id
               AND booked.cause = collection.rail || '/' || collection.transaction_id
         WHERE CASE WHEN collection.destination_minor IS NULL
                    THEN collection.status = 'successful' OR booked.journals IS NOT NULL
                    ELSE (booked.journals, booked.credited_minor, booked.fee_minor, booked.vat_minor,
                          booked.spread_minor, booked.source_minor)
                         IS DISTINCT FROM (1, collection.credited_minor, collection.fee_minor, collection.vat_minor,
                                           coalesce(collection.spread_minor, 0), -collection.source_minor) END
         LIMIT $1
        """,
    )


async def list_wrong_events(tx: Tx) -> list[str]:
    """Each credit has one event, and nothing else has one. A return has its event once the bank confirmed it, or
    reversed a credit. Events may have left after their time."""
    return await _names(
        tx,
        """
        SELECT collection.business_id || '/' || collection.reference AS name
          FROM collection
          LEFT JOIN event AS credited ON credited.business_id = collection.business_id
               AND credited.type = 'collection.successful'
               AND credited.cause = collection.rail || '/' || collection.transaction_id
          LEFT JOIN event AS returned ON returned.business_id = collection.business_id
               AND returned.type = 'collection.returned'
               AND returned.cause = collection.rail || '/' || collection.transaction_id
         WHERE ((collection.destination_minor IS NOT NULL) <> (credited.id IS NOT NULL)
                AND (credited.id IS NOT NULL
                     OR collection.created_at >= removed_before('events', collection.business_id)))
            OR ((collection.return_confirmed_at IS NOT NULL
                 OR (collection.reason = 'taken_back' AND collection.destination_minor IS NOT NULL))
                <> (returned.id IS NOT NULL)
                AND (returned.id IS NOT NULL
                     OR collection.created_at >= removed_before('events', collection.business_id)))
         LIMIT $1
        """,
    )


async def list_wrongly_held(tx: Tx) -> list[str]:
    """The state of an inflow gives its amounts in suspense and in returns: all of it while it is held, or returned.

    Suspense is negative by a reversal that the wallet did not cover, or that was also returned, unless the bank did not
    return it after all.
    """
    return await _names(
        tx,
        """
        WITH moved AS (
            SELECT journal.business_id,
                   -- The cause of a collected debt is a reference and a number.
                   CASE journal.kind WHEN 'debt_collected' THEN split_part(journal.cause, '/', 1)
                                     ELSE journal.cause END AS cause,
                   coalesce(sum(amount_minor) FILTER (WHERE account = 'suspense'), 0) AS suspense_minor,
                   coalesce(sum(amount_minor) FILTER (WHERE account = 'returns'), 0) AS returns_minor
              FROM journal JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
             WHERE account IN ('suspense', 'returns')
             GROUP BY 1, 2)
        SELECT collection.business_id || '/' || collection.reference AS name
          FROM collection
          LEFT JOIN moved AS held ON held.business_id = collection.business_id
               AND held.cause = collection.rail || '/' || collection.transaction_id
          LEFT JOIN moved AS back ON back.business_id = collection.business_id
               AND back.cause = collection.return_reference
          LEFT JOIN moved AS debt ON debt.business_id = collection.business_id
               AND debt.cause = collection.reference
          LEFT JOIN journal AS twice ON twice.business_id = collection.business_id AND twice.kind = 'held_reversed'
               AND twice.cause = collection.rail || '/' || collection.transaction_id
               AND collection.return_reference IS NOT NULL
          LEFT JOIN journal AS set_off ON set_off.business_id = collection.business_id
               AND set_off.kind = 'return_offset' AND set_off.cause = collection.return_reference
         WHERE coalesce(held.suspense_minor, 0) + coalesce(back.suspense_minor, 0) + coalesce(debt.suspense_minor, 0)
               <> CASE WHEN collection.status = 'pending' THEN collection.source_minor
                       WHEN twice.id IS NOT NULL AND set_off.id IS NULL THEN -collection.source_minor
                       ELSE -collection.owed_minor END
            OR coalesce(held.returns_minor, 0) + coalesce(back.returns_minor, 0) + coalesce(debt.returns_minor, 0)
               <> CASE WHEN collection.return_reference IS NOT NULL AND collection.return_confirmed_at IS NULL
                       THEN collection.source_minor ELSE 0 END
         LIMIT $1
        """,
    )


async def list_wrongly_reversed(tx: Tx) -> list[str]:
    """What was not kept was returned or reversed: each with its journal, and a return with its money_return row."""
    return await _names(
        tx,
        """
        SELECT collection.business_id || '/' || collection.reference AS name
          FROM collection
          LEFT JOIN money_return AS back ON back.business_id = collection.business_id
               AND back.reference = collection.return_reference AND back.collection_id = collection.id
          LEFT JOIN (
               SELECT business_id, cause,
                      count(*) FILTER (WHERE kind IN ('receipt_returning', 'held_returning')) AS returns,
                      count(*) FILTER (WHERE kind IN ('credit_reversed', 'held_reversed')) AS reversals
                 FROM journal
                WHERE kind IN ('receipt_returning', 'held_returning', 'credit_reversed', 'held_reversed')
                GROUP BY business_id, cause) AS booked
               ON booked.business_id = collection.business_id
               AND booked.cause = collection.rail || '/' || collection.transaction_id
         WHERE (collection.return_reference IS NOT NULL AND collection.status <> 'reversed')
            OR (collection.return_reference IS NOT NULL) <> (back.id IS NOT NULL)
            OR coalesce(booked.returns, 0) <> CASE WHEN collection.return_reference IS NOT NULL THEN 1 ELSE 0 END
            -- An inflow that was returned and reversed has both.
            OR (collection.return_reference IS NULL
                AND coalesce(booked.reversals, 0)
                    <> CASE WHEN collection.status IN ('reversed', 'failed') THEN 1 ELSE 0 END)
            OR (back.status = 'confirmed') <> (collection.return_confirmed_at IS NOT NULL)
            OR back.amount_minor <> collection.source_minor
         LIMIT $1
        """,
    )


async def list_wrong_tallies(tx: Tx) -> list[str]:
    """Totals come from tallies, so each tally must equal a fresh count: per account or all, per span."""
    return await _names(
        tx,
        """
        SELECT business_id || '/' || account_id || '/' || span || '/' || starts_at || '/' || destination_currency
               || ' says ' || concat_ws('+', tally.pending, tally.successful, tally.failed, tally.reversed)
               || ', there are '
               || concat_ws('+', counted.pending, counted.successful, counted.failed, counted.reversed)
               || ' (pending+successful+failed+reversed)' AS name
          FROM collection_tally AS tally FULL JOIN (
               SELECT collection.business_id, place.account_id, place.span, place.starts_at, destination_currency,
                      count(*) FILTER (WHERE status = 'pending') AS pending,
                      count(*) FILTER (WHERE status = 'successful') AS successful,
                      count(*) FILTER (WHERE status = 'failed') AS failed,
                      count(*) FILTER (WHERE status = 'reversed') AS reversed
                 FROM collection CROSS JOIN LATERAL tally_places(collection.account_id, created_at) AS place
                GROUP BY 1, 2, 3, 4, 5) AS counted
               USING (business_id, account_id, span, starts_at, destination_currency)
         WHERE (tally.pending, tally.successful, tally.failed, tally.reversed)
               IS DISTINCT FROM (counted.pending, counted.successful, counted.failed, counted.reversed)
         LIMIT $1
        """,
    )


async def list_held(tx: Tx) -> list[str]:
    rows = await tx.fetch(
        """
        SELECT source_currency AS currency, source_minor AS minor, reference AS name, reason AS why
          FROM collection WHERE status = 'pending' ORDER BY id LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [_described(row) for row in rows]


async def list_reversals_to_settle(tx: Tx) -> list[str]:
    """Reversals that wait for their credit, and those that the merchant owes because its wallet did not cover them."""
    rows = await tx.fetch(
        """
        SELECT currency, amount_minor AS minor, rail || '/' || transaction_id AS name, 'waits for its credit' AS why
          FROM credit_reversal WHERE applied_at IS NULL
         UNION ALL
        SELECT destination_currency, owed_minor, reference, 'the merchant owes it' FROM collection WHERE owed_minor > 0
         UNION ALL
        SELECT currency, owed_minor, pay_code, 'the merchant owes it' FROM payment WHERE owed_minor > 0
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [_described(row) for row in rows]


def _described(row: Row) -> str:
    amount = str(Money(row["minor"], Currency(row["currency"])))
    return amount + " of " + str(row["name"]) + ": " + str(row["why"])


async def _names(tx: Tx, question: str) -> list[str]:
    return [row["name"] for row in await tx.fetch(question, FINDINGS_MAX)]
