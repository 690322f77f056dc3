"""What the API writes for one change, as one SQL function for pgbench: learned from the rows of the API's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.environment import Environment
from bench.report import BenchFailed
from tidegate.collection.model import CollectionStatus

Rows = Mapping[str, Any]
TIMES = ("updated_at", "created_at", "received_at", "paid_at", "valued_at")
# Each has a column in the totals of inflows.
STATUSES = [status.value for status in CollectionStatus]
# What differs between two changes that are alike.
OWN = frozenset(
    {"id", "business_id", "payment_id", "attempt_id", "journal_id", "transaction_id", "cause", "balance_after_minor"}
    | {"pay_code", "reference", "account_id", "account_number", "action", "body", "payload"}
)


def rows_of(environment: Environment, tables: Mapping[str, str], key: Any) -> dict[str, Any]:
    """Every row about one change, by table; `tables` are conditions on the key, and must have a journal. With an inflow
    come all totals of its business."""
    parts = [f"'{name}', (SELECT to_jsonb({name}) FROM {name} WHERE {one})" for name, one in tables.items()]
    journal = f"(SELECT id FROM journal WHERE {tables['journal']})"
    lists = {"entries": f"to_jsonb(entry) ORDER BY line) FROM entry WHERE journal_id = {journal}"}
    if "collection" in tables:
        business = f"(SELECT business_id FROM collection WHERE {tables['collection']})"
        totals = "to_jsonb(tally) ORDER BY account_id, span) FROM collection_tally AS tally"
        lists["totals"] = f"{totals} WHERE business_id = {business}"
    parts += [f"'{name}', (SELECT jsonb_agg({one})" for name, one in lists.items()]
    row = environment.fetchrow(f"SELECT jsonb_build_object({', '.join(parts)})::text AS rows", key)
    found = json.loads(row["rows"])
    # The order of the tables is the order of the writes.
    return {name: found[name] for name in (*tables, *lists)}


def create_function(
    environment: Environment, signature: str, *, before: Rows, after: Rows, own: Mapping[str, dict[str, str]]
) -> None:
    """`own` has the expressions of the columns that differ, by table; those of "" are of all tables."""
    writes = [_write(table, before.get(table), after, own[""] | own.get(table, {})) for table in after]
    environment.execute(
        f"CREATE FUNCTION {signature} RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$"
        f" DECLARE v_balance bigint; v_journal bigint; BEGIN {' '.join(writes)} END $$"
    )


def _write(table: str, before: Rows | None, after: Rows, own: Mapping[str, str]) -> str:
    if table in ("entries", "totals"):
        return ""
    if table == "journal":
        return _book(after["journal"]["kind"], after["entries"], own)
    # An empty list is the default of its column; it is written otherwise in an array than in JSON.
    row = {name: value for name, value in after[table].items() if value is not None and value != []}
    if before is None:
        values = [own.get(name) or ("now()" if name in TIMES else literal(value)) for name, value in row.items()]
        insert = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(values)});"
        return insert + _count(row, own) if table == "collection" else insert
    changed = {name: value for name, value in row.items() if value != before[name]}
    sets = (f"{name} = {'now()' if name in TIMES else literal(value)}" for name, value in changed.items())
    return (
        f"UPDATE {table} SET {', '.join(sets)} WHERE business_id = {own['business_id']} AND id = {own['id']}"
        f" AND status = {literal(before['status'])}; IF NOT FOUND THEN RAISE EXCEPTION '{table} does not wait'; END IF;"
    )


def _book(kind: str, entries: list[dict[str, Any]], own: Mapping[str, str]) -> str:
    """Journal, wallet and entries, each by a plain statement."""
    business_id = own["business_id"]
    credit = next(entry for entry in entries if entry["account"] == "wallet")
    lines = " ".join(
        "INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor, balance_after_minor)"
        f" VALUES ({business_id}, v_journal, {entry['line']}, '{entry['account']}', '{entry['currency']}',"
        f" {entry['amount_minor']}, {'v_balance' if entry is credit else 'NULL'});"
        for entry in entries
    )
    return f"""
        INSERT INTO wallet AS w (business_id, currency, balance_minor, booked_until, created_at, updated_at)
        VALUES ({business_id}, '{credit["currency"]}', {credit["amount_minor"]}, now(), now(), now())
            ON CONFLICT ON CONSTRAINT wallet_pk DO UPDATE
           SET balance_minor = w.balance_minor + excluded.balance_minor, booked_until = now(), updated_at = now()
        RETURNING balance_minor INTO v_balance;
        INSERT INTO journal (business_id, kind, cause, event_at, created_at)
        VALUES ({business_id}, '{kind}', {own["cause"]}, now(), now()) RETURNING id INTO v_journal;
        INSERT INTO journal_to_link (business_id, journal_id) VALUES ({business_id}, v_journal);
        {lines}"""


def _count(row: Rows, own: Mapping[str, str]) -> str:
    """An inflow of now, in the four totals that it belongs to."""
    currency, status = literal(row["destination_currency"]), row["status"]
    counts = ", ".join("1" if name == status else "0" for name in STATUSES)
    places = (
        f"({own['business_id']}, {account}, '{span}', date_bin('{span}', now(), '2020-01-01 00:00+00'), {currency},"
        f" {counts})"
        for account in ("''", own["account_id"])
        for span in ("2 weeks", "6 hours")
    )
    return (
        "INSERT INTO collection_tally AS t (business_id, account_id, span, starts_at, destination_currency,"
        f" {', '.join(STATUSES)}) VALUES {', '.join(places)}"
        f" ON CONFLICT ON CONSTRAINT collection_tally_pk DO UPDATE SET {status} = t.{status} + 1;"
    )


def refuse_difference(ours: Rows, yardstick: Rows) -> None:
    one, other = _alike(ours), _alike(yardstick)
    if one != other:
        tables = {name: (one[name], other[name]) for name in one if one[name] != other[name]}
        raise BenchFailed(f"the yardstick writes something else than the API: {json.dumps(tables, indent=1)}")


def _alike(value: Any) -> Any:
    if isinstance(value, list):
        return [_alike(item) for item in value]
    if isinstance(value, dict):
        return {name: _alike(item) for name, item in value.items() if name not in OWN and not name.endswith("_at")}
    return value


def literal(value: Any) -> str:
    text = json.dumps(value) if isinstance(value, dict | list) else str(value)
    return str(value) if isinstance(value, int) else "'" + text.replace("'", "''") + "'"
