"""The writes of an inflow as one SQL function, made from what the API itself wrote for one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.line_settle import BUSINESSES
from bench.settle_yardstick import NINETEEN_DIGITS, insert, literal
from bench.stage import Stage

# Numbers of businesses that no other line makes.
_BUSINESS_FIRST = 90_000

_WRITTEN = """
SELECT jsonb_build_object(
    'notification', (SELECT to_jsonb(notification) FROM notification WHERE id = 'credit-' || $1),
    'collection', (SELECT to_jsonb(collection) FROM collection WHERE transaction_id = $1),
    'event', (SELECT to_jsonb(event) FROM event WHERE cause = 'sandbox/' || $1),
    'journal', (SELECT to_jsonb(journal) FROM journal WHERE cause = 'sandbox/' || $1),
    'entries', (SELECT jsonb_agg(to_jsonb(entry) ORDER BY line) FROM entry
                 WHERE journal_id = (SELECT id FROM journal WHERE cause = 'sandbox/' || $1)))::text AS rows
"""


def open_accounts(stage: Stage, numbers: list[str], *, holder: str) -> None:
    """A business for each, with one approved account. In the API's own way, they would take a minute."""
    listed = ", ".join(map(literal, numbers))
    businesses = f"generate_series(0, {len(numbers) - 1}) AS number"
    stage.execute(f"""
        INSERT INTO business (id, code, name, email, created_at, updated_at)
        SELECT lpad(({_BUSINESS_FIRST} + number)::text, 24, '0'), lpad(({_BUSINESS_FIRST} + number)::text, 5, '0'),
               'Shop ' || number, 'shop@example.com', now(), now() FROM {businesses};
        INSERT INTO virtual_account (business_id, id, status, currency, settlement_currency, account_type, holder,
                                     merchant_reference, kyc, rail, account_number, details, created_at, updated_at)
        SELECT lpad(({_BUSINESS_FIRST} + number)::text, 24, '0'), lpad(number::text, 24, '0'), 'approved', 'EUR', 'EUR',
               'individual', {literal(holder)}, 'bench', '{{}}', 'sandbox', numbers.given,
               jsonb_build_object('account_number', numbers.given, 'local_number', numbers.given, 'bank_code', '1',
                                  'bank_name', 'Bank', 'country_code', 'DE', 'reference', ''), now(), now()
          FROM {businesses}
          JOIN unnest(ARRAY[{listed}]) WITH ORDINALITY AS numbers (given, place) ON place = number + 1
    """)


def written(stage: Stage, transaction: str) -> dict[str, Any]:
    """Every row about one inflow, by table."""
    return dict(json.loads(stage.fetchrow(_WRITTEN, transaction)["rows"]))


def create(stage: Stage, ours: Mapping[str, Any]) -> dict[str, str]:
    """Creates `bench_inflow`; gives the values that scripts must define."""
    accounts, currencies, amounts = (
        "ARRAY[" + ", ".join(literal(entry[name]) for entry in ours["entries"]) + "]"
        for name in ("account", "currency", "amount_minor")
    )
    own = {
        "business_id": f"lpad(({_BUSINESS_FIRST} + p_shop)::text, 24, '0')",
        "account_id": "lpad(p_shop::text, 24, '0')",
        "transaction_id": "p_transaction_id",
        "cause": "'sandbox/' || p_transaction_id",
        "reference": "p_reference",
        "valued_at": "now()",
    }
    stage.execute(f"""
        CREATE OR REPLACE FUNCTION bench_inflow(
            p_shop integer, p_transaction_id text, p_reference text, p_event_id text, p_body bytea, p_payload bytea)
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            {insert("notification", ours, own | {"id": "'credit-' || p_transaction_id", "body": "p_body"})};
            {insert("collection", ours, own | {"id": "new_collection_id(now())"})};
            PERFORM post_journal({own["business_id"]}, {literal(ours["journal"]["kind"])}, {own["cause"]},
                                 {accounts}, {currencies}, {amounts}::bigint[], now(), now());
            {insert("event", ours, own | {"id": "p_event_id", "payload": "p_payload"})};
        END
        $$""")
    return {"body": ours["notification"]["body"], "payload": ours["event"]["payload"]}


def transaction_id(number: int) -> str:
    return f"sbx_00000{number:019}"


def record(stage: Stage, numbers: range, values: Mapping[str, str]) -> None:
    """For the businesses in turn."""
    literals = {name: literal(value) for name, value in values.items()}
    call = _call(f"(serial % {BUSINESSES})::integer", "lpad(serial::text, 19, '0')", **literals)
    stage.execute(f"{call} FROM generate_series({numbers.start}, {numbers.stop - 1}) AS serial")


def _call(shop: str, random: str, *, body: str, payload: str) -> str:
    return (
        f"SELECT bench_inflow({shop}, 'sbx_00000' || {random}, 'col_000' || {random}, 'evt_000' || {random},"
        f" {body}, {payload})"
    )


SCRIPT = (
    f"\\set random {NINETEEN_DIGITS}\n\\set shop random(0, {BUSINESSES - 1})\n"
    + _call(":shop::integer", ":random::text", body=":body", payload=":payload")
    + ";\n"
)
