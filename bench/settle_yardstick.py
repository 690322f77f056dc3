"""The writes of a settlement as one SQL function, made from what the API itself wrote for one payment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.line import BenchFailed
from bench.stage import Stage
from bench.waiting import ACCOUNT, Batch

# As long as the API's own; digits, since pgbench has no other random values.
NINETEEN_DIGITS = "random(1000000000000000000, 9223372036854775807)"
TIMES = ("updated_at", "created_at", "received_at", "paid_at")
# What differs between two settlements that are alike.
OWN = frozenset(
    {"id", "business_id", "payment_id", "attempt_id", "journal_id", "transaction_id", "cause", "balance_after_minor"}
    | {"pay_code", "reference", "account_id", "account_number", "action", "body", "payload"}
)

_WRITTEN = """
SELECT jsonb_build_object(
    'payment', (SELECT to_jsonb(payment) FROM payment WHERE id = $1),
    'attempt', (SELECT to_jsonb(attempt) FROM attempt WHERE id = $1),
    'receipt', (SELECT to_jsonb(receipt) FROM receipt WHERE payment_id = $1),
    'notification', (SELECT to_jsonb(notification) FROM notification, receipt
                      WHERE receipt.payment_id = $1 AND notification.id LIKE '%' || receipt.transaction_id),
    'event', (SELECT to_jsonb(event) FROM event WHERE cause = 'payment/' || $1),
    'journal', (SELECT to_jsonb(journal) FROM journal WHERE cause = 'payment/' || $1),
    'entries', (SELECT jsonb_agg(to_jsonb(entry) ORDER BY line) FROM entry
                 WHERE journal_id = (SELECT id FROM journal WHERE cause = 'payment/' || $1)))::text AS rows
"""


def written(stage: Stage, number: int) -> dict[str, Any]:
    """Every row about one payment, by table."""
    return dict(json.loads(stage.fetchrow(_WRITTEN, number)["rows"]))


def create(stage: Stage, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """Creates `bench_settle`; gives the values that scripts must define. `after` is what the API made of `before`."""
    accounts, currencies, amounts = (
        "ARRAY[" + ", ".join(literal(entry[name]) for entry in after["entries"]) + "]"
        for name in ("account", "currency", "amount_minor")
    )
    own = {"business_id": "p_business_id", "transaction_id": "p_transaction_id", "payment_id": "p_number"}
    own |= {"attempt_id": "p_number", "account_number": "p_account_number", "cause": "'payment/' || p_number"}
    told_id = "'credit-' || p_business_id || '-' || p_transaction_id"
    stage.execute(f"""
        CREATE OR REPLACE FUNCTION bench_settle(
            p_number bigint, p_business_id text, p_account_number text, p_transaction_id text, p_event_id text,
            p_body bytea, p_payload bytea) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            {insert("notification", after, own | {"id": told_id, "body": "p_body"})};
            {_update("payment", before, after)};
            IF NOT FOUND THEN RAISE EXCEPTION 'payment % does not wait', p_number; END IF;
            {_update("attempt", before, after)};
            {insert("receipt", after, own, without="id")};
            PERFORM post_journal(p_business_id, {literal(after["journal"]["kind"])}, 'payment/' || p_number,
                                 {accounts}, {currencies}, {amounts}::bigint[], now(), now());
            {insert("event", after, own | {"id": "p_event_id", "payload": "p_payload"})};
        END
        $$""")
    stage.execute("CREATE SEQUENCE IF NOT EXISTS bench_number; GRANT USAGE ON SEQUENCE bench_number TO tidegate_app")
    return {"body": after["notification"]["body"], "payload": after["event"]["payload"]}


def settle_all(stage: Stage, batch: Batch, values: Mapping[str, str]) -> None:
    literals = {name: literal(value) for name, value in values.items()}
    serials = f"generate_series({batch.first}::bigint, {batch.first + batch.count - 1})"
    stage.execute(_call(batch, serials, random="lpad(serial::text, 19, '0')", **literals))


def _call(batch: Batch, serials: str, *, random: str, body: str, payload: str) -> str:
    return (
        f"SELECT bench_settle(serial, {batch.crowd.business_id}, {ACCOUNT}, 'sbx_00000' || {random},"
        f" 'evt_000' || {random}, {body}, {payload}) FROM {serials} AS serial"
    )


def script(batch: Batch) -> str:
    own = _call(batch, "nextval('bench_number')", random=":random::text", body=":body", payload=":payload")
    return f"\\set random {NINETEEN_DIGITS}\n{own};\n"


def begin_at(stage: Stage, batch: Batch) -> None:
    """A batch that is too small ends the run with an error of the sequence's."""
    last = batch.first + batch.count - 1
    stage.execute(f"ALTER SEQUENCE bench_number MINVALUE 1 MAXVALUE {last} RESTART WITH {batch.first}")


def refuse_difference(ours: dict[str, Any], yardstick: dict[str, Any]) -> None:
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


def insert(table: str, after: Mapping[str, Any], own: Mapping[str, str], *, without: str = "") -> str:
    row = {name: value for name, value in after[table].items() if value is not None and name != without}
    values = ["now()" if name in TIMES else own.get(name) or literal(value) for name, value in row.items()]
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(values)})"


def _update(table: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    was = before[table]
    changed = {name: value for name, value in after[table].items() if value != was[name]}
    sets = [f"{name} = {'now()' if name in TIMES else literal(value)}" for name, value in changed.items()]
    return (
        f"UPDATE {table} SET {', '.join(sets)}"
        f" WHERE business_id = p_business_id AND id = p_number AND status = {literal(was['status'])}"
    )


def literal(value: Any) -> str:
    text = json.dumps(value) if isinstance(value, dict | list) else str(value)
    return str(value) if isinstance(value, int) else "'" + text.replace("'", "''") + "'"
