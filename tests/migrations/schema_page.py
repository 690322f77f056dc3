"""Writes docs/schema.md from the catalogue of a database that was just migrated: `make schema`."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg

from tidegate.infra import migrate
from tidegate.infra.db import APP_ROLE
from tidegate.infra.embedded import EmbeddedPostgres

PAGE = Path(__file__).parents[2] / "docs" / "schema.md"

# A new table has its place here.
CONCEPTS = {
    "Deployment": ("migration", "deployment"),
    "Merchant": ("business", "business_logo", "business_clock", "credential", "fee_rule", "credential_epoch"),
    "Request log": ("request_log",),
    "Audit": ("audit", "audit_to_link", "audit_link"),
    "Pauses": ("card_pause", "rail_pause"),
    "Reconcile": ("break_note", "comparison"),
    "Proof": ("proof",),
    "Alarm": ("alarm",),
    "Idempotency": ("idempotency_key",),
    "Mail": ("mail", "mail_attachment"),
    "Member": (
        "person", "passkey", "used_challenge", "recovery_code", "known_device", "sign_in_try", "member_session",
        "one_time_link", "membership", "invitation",
    ),
    "Staff": ("staff",),
    "Figures": ("takings", "takings_watermark"),
    "Views": ("saved_view",),
    "Approval": ("approval", "refund_limit"),
    "Ledger": ("wallet", "journal", "entry", "journal_to_link", "journal_link"),
    "Payment": ("payment_link", "payment", "case_link", "attempt", "receipt_mail"),
    "Intake": ("notification", "receipt", "suspense_decision", "dispute"),
    "Account": ("virtual_account", "account_document", "account_question", "account_number"),
    "Collection": ("exchange_rate", "collection", "collection_tally", "credit_reversal"),
    "Return": ("money_return",),
    "Refund": ("refund", "refund_leg"),
    "Webhook": (
        "event", "webhook_endpoint", "webhook_secret", "endpoint_state", "webhook_delivery", "webhook_attempt",
    ),
    "Work": ("leased_work", "job_round"),
    "Paystack": ("paystack_attempt", "paystack_payout"),
    "pawaPay": ("pawapay_deposit", "pawapay_payout"),
    "Bank files": (
        "bank_file", "bank_file_part", "bank_statement", "bank_entry", "bank_attempt", "bank_number", "bank_export",
        "bank_payout",
    ),
    "Retention": ("retention", "erasure"),
    "Sandbox": ("sandbox_attempt", "sandbox_account", "sandbox_payout", "sandbox_notification", "sandbox_trade"),
}  # fmt: skip

_HEAD = """# The schema

As the migrations make it; written by `make schema`, held by a test. The reasons are in `src/tidegate/migrations/`.
Columns may not be NULL unless they say so. *Service*: what the role `{role}` may do.
"""

_TABLES = """
    SELECT relname AS name, oid, obj_description(oid, 'pg_class') AS comment,
           ARRAY(SELECT lower(acl.privilege_type) FROM aclexplode(relacl) AS acl
                  WHERE acl.grantee = $1::regrole ORDER BY acl.privilege_type) AS allowed,
           ARRAY(SELECT attname FROM pg_attribute, aclexplode(attacl) AS acl
                  WHERE attrelid = pg_class.oid AND acl.grantee = $1::regrole ORDER BY attnum) AS allowed_columns
      FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
_COLUMNS = """
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS is_required,
           attidentity <> '' AS is_identity, pg_get_expr(adbin, adrelid) AS "default",
           col_description(attrelid, attnum) AS comment
      FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_CONSTRAINTS = """
    SELECT conname AS name, pg_get_constraintdef(oid, true) AS rule FROM pg_constraint
     WHERE conrelid = $1 AND contype IN ('p', 'u', 'f', 'c') ORDER BY position(contype IN 'pufc'), conname
"""
_INDEXES = """
    SELECT relname AS name, indisunique AS is_unique,
           regexp_replace(pg_get_indexdef(indexrelid, 0, true), '^CREATE .* USING btree', 'INDEX') AS rule
      FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
     WHERE indrelid = $1 AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = $1)
     ORDER BY relname
"""
_DOMAINS = """
    SELECT typname AS name, format_type(typbasetype, NULL) AS type, conname AS rule_name,
           pg_get_constraintdef(pg_constraint.oid, true) AS rule
      FROM pg_type JOIN pg_constraint ON contypid = pg_type.oid
     WHERE typtype = 'd' AND typnamespace = 'public'::regnamespace ORDER BY typname
"""
_TRIGGERS = """
    SELECT tgname AS name,
           regexp_replace(pg_get_triggerdef(oid, true), '^CREATE (CONSTRAINT )?TRIGGER \\S+ ', '') AS rule
      FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal ORDER BY tgname
"""
_VIEWS = """
    SELECT relname AS name, obj_description(oid, 'pg_class') AS comment,
           ARRAY(SELECT attname FROM pg_attribute
                  WHERE attrelid = pg_class.oid AND attnum > 0 ORDER BY attnum) AS columns
      FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace ORDER BY relname
"""
_FUNCTIONS = """
    SELECT proname AS name, pg_get_function_identity_arguments(oid) AS arguments,
           pg_get_function_result(oid) AS result, obj_description(oid, 'pg_proc') AS comment
      FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname
"""


async def page(connection: Any) -> str:
    found = {table["name"]: table for table in await connection.fetch(_TABLES, APP_ROLE)}
    homeless = set(found).difference(*CONCEPTS.values())
    assert not homeless, f"give {homeless} a concept in {Path(__file__).name}"
    lines = [_HEAD.format(role=APP_ROLE)]
    for concept, tables in CONCEPTS.items():
        lines += [f"## {concept}", ""]
        for name in tables:
            lines += [line async for line in _table(connection, found[name])]
    lines += ["## Lists of words", ""]
    for domain in await connection.fetch(_DOMAINS):
        lines.append(f"- `{domain['name']}`: {domain['type']}, `{domain['rule_name']}`: {_plain(domain['rule'])}")
    lines += ["", "## Views of tables", ""]
    for view in await connection.fetch(_VIEWS):
        lines.append(f"- `{view['name']}` ({', '.join(view['columns'])}). {view['comment']}")
    lines += ["", "## Functions", ""]
    for each in await connection.fetch(_FUNCTIONS):
        lines.append(f"- `{each['name']}({_plain(each['arguments'])})` → {_plain(each['result'])}. {each['comment']}")
    return "\n".join(lines) + "\n"


async def _table(connection: Any, table: Any) -> Any:
    yield f"### {table['name']}\n"
    yield f"{table['comment']}\n"
    yield "| column | type | default | |\n|---|---|---|---|"
    for column in await connection.fetch(_COLUMNS, table["oid"]):
        yield _column(column)
    yield ""
    for rule in await connection.fetch(_CONSTRAINTS, table["oid"]):
        yield f"- `{rule['name']}`: {_plain(rule['rule'])}"
    for index in await connection.fetch(_INDEXES, table["oid"]):
        yield f"- `{index['name']}`: {'UNIQUE ' if index['is_unique'] else ''}{_plain(index['rule'])}"
    for trigger in await connection.fetch(_TRIGGERS, table["oid"]):
        yield f"- `{trigger['name']}`: {_plain(trigger['rule'])}"
    yield f"- Service: {', '.join(_allowed(table)) or 'nothing'}\n"


def _column(column: Any) -> str:
    kind = _plain(column["type"]) + ("" if column["is_required"] else ", may be NULL")
    default = "counts up" if column["is_identity"] else _plain(column["default"] or "")
    return f"| `{column['name']}` | {kind} | {default} | {column['comment'] or ''} |"


def _allowed(table: Any) -> Iterator[str]:
    yield from table["allowed"]
    if table["allowed_columns"]:
        yield f"update ({', '.join(table['allowed_columns'])})"


def _plain(rule: str) -> str:
    """Without what only PostgreSQL's parser needs."""
    rule = re.sub(r"::(text|bigint|jsonb|interval|numeric|timestamp with time zone)(\[\])?", "", rule)
    rule = re.sub(r"= ANY \(ARRAY\[(.*?)\]\)", r"IN (\1)", rule)
    rule = re.sub(r"^CHECK \((.*)\)$", r"\1", rule)
    return rule.replace("timestamp with time zone", "timestamptz").replace("|", "\\|")


async def _page_of(url: str) -> str:
    await migrate.migrate(url)
    connection = await asyncpg.connect(url)
    try:
        return await page(connection)
    finally:
        await connection.close()


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="tidegate-schema-"))
    postgres = EmbeddedPostgres(home, durable=False)
    try:
        postgres.start()
        PAGE.write_text(asyncio.run(_page_of(postgres.url())))
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
