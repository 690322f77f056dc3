"""SQL of imported files, their statements and entries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime

import msgspec

from tidegate.bank_file import reversal_store
from tidegate.bank_file.alike import KnownEntry
from tidegate.bank_file.duplicate import KeptEntry
from tidegate.bank_file.model import ImportedFile
from tidegate.bank_file.reversal import CreditFound
from tidegate.infra.db import Row, Tx
from tidegate.infra.leased_work import DueRow
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.rail.bankfiles.model import BankEntry, BankStatement
from tidegate.rail.bankfiles.store import entry_of

# The kind of leased work. The statement below repeats the name.
RECORD = "record_bank_entries"
# Rows that are read at a time, of which there may be a hundred thousand.
PREFETCH = 500


async def find_file(tx: Tx, file_id: str) -> ImportedFile | None:
    row = await tx.fetchrow("SELECT * FROM bank_file WHERE id = $1", file_id)
    return _file(row) if row else None


async def put_file(tx: Tx, file: ImportedFile) -> None:
    """One that was refused before may be read now, and the other way round; one that was read stays as it is."""
    await tx.execute(
        """
        INSERT INTO bank_file (id, name, kind, state, reason, byte_count, received_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT ON CONSTRAINT bank_file_pk
        DO UPDATE SET state = excluded.state, reason = excluded.reason, kind = excluded.kind
         WHERE bank_file.state <> 'read'
        """,
        file.id, file.name, file.kind, file.state, file.reason, file.byte_count, file.received_at,
    )  # fmt: skip


async def insert_part(tx: Tx, file_id: str, number: int, content: bytes) -> None:
    await tx.execute(
        """
        INSERT INTO bank_file_part (file_id, number, content) VALUES ($1, $2, $3)
        ON CONFLICT ON CONSTRAINT bank_file_part_pk DO NOTHING
        """,
        file_id, number, content,
    )  # fmt: skip


async def mark_read(tx: Tx, file_id: str, *, entry_count: int) -> None:
    await tx.execute("UPDATE bank_file SET state = 'read', entry_count = $2 WHERE id = $1", file_id, entry_count)


async def insert_statement(
    tx: Tx, file_id: str, one: BankStatement, *, is_binding: bool, day: date, now: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO bank_statement (file_id, number, statement_id, message_id, account, currency, is_binding, sequence,
                                    page, is_last_page, opening, closing, total, entry_count, day, received_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        ON CONFLICT ON CONSTRAINT bank_statement_pk DO NOTHING
        """,
        file_id, one.number, one.id, one.message_id, one.account, one.currency, is_binding, one.sequence, one.page,
        one.is_last_page, one.opening, one.closing, one.total, one.entries, day, now,
    )  # fmt: skip


async def lock_entries(tx: Tx) -> None:
    """Until the transaction ends: two files with the same entry are compared one after the other."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('tidegate/bank_entry', 0))")


async def next_page(tx: Tx) -> int:
    """The number of a page of entries, over all files; consecutive while no other file is written."""
    number: int = await tx.fetchval("SELECT nextval('bank_entry_page')")
    return number


# Of the file itself, those that follow are read again, and those of the same statement are no repetitions.
KNOWN = """
    SELECT file_id, state, details FROM bank_entry
     WHERE keys && $1::text[] AND state IN ('new', 'done', 'problem', 'repeat', 'settled')
       AND NOT (file_id = $2 AND (number >= $3 OR coalesce((details ->> 'statement')::integer = $4, false)))
"""
KEPT = """
    SELECT file_id, state, details FROM bank_entry
     WHERE file_id = $1 AND number BETWEEN $2 AND $3 AND state IN ('new', 'done', 'problem', 'repeat', 'settled')
"""


async def list_known(
    tx: Tx, file_id: str, entries: Sequence[BankEntry], keys: Sequence[str]
) -> AsyncIterator[KnownEntry]:
    """Those with these keys, and those of the entries that were kept before the reading was interrupted.

    Until the transaction ends, no table is read from end to end: to the planner a comparison with thousands of keys
    costs as much as one with a single key, and a page of an import would take longer with each page before it.
    """
    await tx.execute("SET LOCAL enable_seqscan = off")
    first, last = entries[0], entries[-1]
    for row in await tx.fetch(KEPT, file_id, first.number, last.number):
        yield _known(row)
    beside = first.statement if first.statement == last.statement else None
    if keys:
        async for row in tx.cursor(KNOWN, keys, file_id, first.number, beside, prefetch=PREFETCH):
            yield _known(row)


def _known(row: Row) -> KnownEntry:
    return KnownEntry(file_id=row["file_id"], state=row["state"], entry=entry_of(row["details"]))


async def insert_entries(tx: Tx, file_id: str, kept: Sequence[KeptEntry]) -> None:
    """Those of an interrupted reading stay as they are."""
    await tx.execute(
        """
        INSERT INTO bank_entry (file_id, number, account, booked_on, is_credit, amount, currency, keys, state, note,
                                details)
        SELECT $1, given.number, given.account, given.booked_on, given.is_credit, given.amount, given.currency,
               given.keys, given.state, given.note, given.details
          FROM json_to_recordset($2) AS given (number integer, account text, booked_on date, is_credit boolean,
                                               amount numeric, currency text, keys text[], state text, note text,
                                               details jsonb)
        ON CONFLICT ON CONSTRAINT bank_entry_pk DO NOTHING
        """,
        file_id, msgspec.json.encode([_columns(one) for one in kept]).decode(),
    )  # fmt: skip


def _columns(kept: KeptEntry) -> dict[str, object]:
    entry = kept.entry
    return {
        "number": entry.number,
        "account": entry.account,
        "booked_on": entry.booked_on,
        "is_credit": entry.is_credit,
        "amount": entry.amount,
        "currency": entry.currency,
        "keys": entry.keys,
        "state": kept.state,
        "note": kept.note,
        "details": entry,
    }


async def list_to_record(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Credits first, so that a reversal finds its own. Entries belong to no business before they are recorded."""
    rows = await tx.fetch(
        """
        SELECT file_id || '/' || number AS id FROM bank_entry
         WHERE state = 'new' AND NOT is_held_back($1, 'record_bank_entries', file_id || '/' || number, $2)
         ORDER BY is_credit DESC, file_id, number LIMIT $3
        """,
        PLATFORM_BUSINESS_ID, now, limit,
    )  # fmt: skip
    return [DueRow(PLATFORM_BUSINESS_ID, row["id"]) for row in rows]


async def find_to_record(tx: Tx, file_id: str, number: int) -> BankEntry | None:
    details: str | None = await tx.fetchval(
        "SELECT details FROM bank_entry WHERE file_id = $1 AND number = $2 AND state = 'new'", file_id, number
    )
    return entry_of(details) if details else None


async def is_decided(tx: Tx, file_id: str, number: int) -> bool:
    """Whether an operator let it be recorded."""
    found = await tx.fetchval(
        "SELECT is_decided FROM bank_entry WHERE file_id = $1 AND number = $2", file_id, number
    )  # fmt: skip
    return found is True


async def end_entry(
    tx: Tx, file_id: str, number: int, *, state: str, note: str | None, destination: str | None = None,
    awaits_credit: bool = False,
) -> None:  # fmt: skip
    """The notes of earlier judgements and decisions stay."""
    await tx.execute(
        """
        UPDATE bank_entry
           SET state = $3, destination = $5, awaits_credit = $6,
               note = CASE WHEN strpos(note, $4) > 0 THEN note ELSE nullif(concat_ws('; ', note, $4), '') END
         WHERE file_id = $1 AND number = $2 AND state = 'new'
        """,
        file_id, number, state, note, destination, awaits_credit,
    )  # fmt: skip


async def get_file(tx: Tx, file_id: str) -> ImportedFile:
    """With its entries by state."""
    row = await tx.fetchrow(
        """
        SELECT file.*, (SELECT coalesce(json_object_agg(state, count), '{}')
                          FROM (SELECT state, count(*) FROM bank_entry WHERE file_id = $1 GROUP BY state) AS states
                       ) AS counts
          FROM bank_file AS file WHERE id = $1
        """,
        file_id,
    )
    assert row is not None
    return _file(row, msgspec.json.decode(row["counts"]))


async def list_files(tx: Tx, *, limit: int) -> list[ImportedFile]:
    """The newest first, with their entries by state."""
    rows = await tx.fetch(
        """
        SELECT file.*, (SELECT coalesce(json_object_agg(state, count), '{}')
                          FROM (SELECT state, count(*) FROM bank_entry WHERE file_id = file.id GROUP BY state) AS states
                       ) AS counts
          FROM bank_file AS file ORDER BY received_at DESC, id LIMIT $1
        """,
        limit,
    )
    return [_file(row, msgspec.json.decode(row["counts"])) for row in rows]


class EntryProblem(msgspec.Struct, frozen=True):
    file_id: str
    file_name: str
    entry: BankEntry
    what: str
    reason: str
    # Those of which one may be chosen, when it is a reversal.
    choices: list[CreditFound]


async def list_problems(tx: Tx, *, limit: int) -> list[EntryProblem]:
    rows = await tx.fetch(
        """
        SELECT file_id, file.name, details, amount || ' ' || currency AS what, coalesce(note, '') AS reason
          FROM bank_entry JOIN bank_file AS file ON file.id = file_id
         WHERE bank_entry.state = 'problem' ORDER BY booked_on, file_id, number LIMIT $1
        """,
        limit,
    )
    problems = []
    for row in rows:
        entry = entry_of(row["details"])
        choices = await reversal_store.list_choices(tx, row["file_id"], entry)
        problems.append(EntryProblem(row["file_id"], row["name"], entry, row["what"], row["reason"], choices))
    return problems


async def find_problem_entry(tx: Tx, file_id: str, number: str) -> BankEntry | None:
    details: str | None = await tx.fetchval(
        "SELECT details FROM bank_entry WHERE file_id = $1 AND number::text = $2 AND state = 'problem'", file_id, number
    )
    return entry_of(details) if details else None


async def find_problem(tx: Tx, file_prefix: str, number: int) -> str | None:
    """The file, by its first characters; None unless they are of one file whose entry needs a decision."""
    found: str | None = await tx.fetchval(
        """
        SELECT file_id FROM bank_entry
         WHERE file_id = (SELECT min(id) FROM bank_file WHERE starts_with(id, $1) HAVING count(*) = 1)
           AND number::text = $2 AND state = 'problem'
        """,
        file_prefix, str(number),
    )  # fmt: skip
    return found


async def settle_problem(tx: Tx, file_id: str, number: str, *, note: str) -> bool:
    """An operator has seen to it. False when no such entry waits for a decision."""
    settled = await tx.fetchval(
        """
        UPDATE bank_entry SET state = 'settled', awaits_credit = false, note = note || '; ' || $3
         WHERE file_id = $1 AND number::text = $2 AND state = 'problem'
        RETURNING true
        """,
        file_id, number, note,
    )  # fmt: skip
    return settled is True


async def release_problem(tx: Tx, file_id: str, number: str, *, key: str, note: str) -> bool:
    """A credit is to be recorded after all, under the key; a debit is judged again. False when no such entry waits for
    a decision.
    """
    released = await tx.fetchval(
        """
        UPDATE bank_entry
           SET state = 'new', awaits_credit = false, is_decided = true, note = note || '; ' || $3, keys = named.keys,
               details = jsonb_set(details, '{keys}', to_jsonb(named.keys))
          FROM (SELECT CASE WHEN is_credit AND NOT keys @> ARRAY[$4::text] THEN $4::text || keys ELSE keys END AS keys
                  FROM bank_entry WHERE file_id = $1 AND number::text = $2) AS named
         WHERE file_id = $1 AND number::text = $2 AND state = 'problem'
        RETURNING true
        """,
        file_id, number, note, key,
    )  # fmt: skip
    return released is True


def _file(row: Row, counts: dict[str, int] | None = None) -> ImportedFile:
    return ImportedFile(
        id=row["id"],
        name=row["name"],
        kind=row["kind"],
        state=row["state"],
        reason=row["reason"],
        byte_count=row["byte_count"],
        entry_count=row["entry_count"],
        received_at=row["received_at"],
        counts=counts or {},
    )
