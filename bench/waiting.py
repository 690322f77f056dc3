"""Payments that wait for a bank transfer, made in bulk: copies of one that the API itself made, each used once.

A payment and its attempt have the same number here, far above those that PostgreSQL gives, so that everything about
one of them follows from its number: its business, its account, its identifiers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bench.line import BenchFailed
from bench.line_create import ORDER, PATH
from bench.stage import Stage

NUMBER_FIRST = 100_000_000
# The API's own scattering of account numbers, in SQL: other serials, other places in the index.
ACCOUNT = "'9' || lpad((serial * 618033989 % 1000000000)::text, 9, '0')"


@dataclass(frozen=True)
class Crowd:
    """Businesses with consecutive numbers. A business's identifier is its number, written out."""

    first: int
    count: int

    @property
    def business_id(self) -> str:
        """In SQL."""
        return f"lpad(({self.first} + serial % {self.count})::text, 24, '0')"


@dataclass(frozen=True)
class Batch:
    """Waiting payments that nobody has touched."""

    crowd: Crowd
    first: int
    count: int


class Waiting:
    """Makes them, and the businesses they belong to."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._next = NUMBER_FIRST
        self._businesses = 0
        self.minor = _keep_one(stage)
        self._columns = {name: _columns(stage, name) for name in ("payment", "attempt")}

    def open_crowd(self, count: int) -> Crowd:
        crowd = Crowd(self._businesses + 1, count)
        self._businesses += count
        # In the API's own way, they would take a minute; all but the rates are the table's defaults.
        self._stage.execute(
            "INSERT INTO business (id, code, name, email, created_at, updated_at)"
            " SELECT lpad(number::text, 24, '0'), lpad(number::text, 5, '0'), 'Shop ' || number, 'shop@example.com',"
            f" now(), now() FROM generate_series({crowd.first}, {self._businesses}) AS number"
        )
        return crowd

    def make(self, crowd: Crowd, count: int) -> Batch:
        batch = Batch(crowd, self._next, count)
        self._next += count
        own = {
            "id": "serial",
            "business_id": crowd.business_id,
            "created_at": "now()",
            "updated_at": "now()",
            "expires_at": "now() + interval '2 hours'",
        }
        payment = {"pay_code": "left(pay_code, -22) || left(md5(serial::text), 22)", "reference": "'settle-' || serial"}
        attempt = {
            "payment_id": "serial",
            "reference": "'at_' || left(md5(serial::text), 22)",
            "account_id": "left(md5(serial::text), 24)",
            "account_number": ACCOUNT,
            "action": f"jsonb_set(action, '{{account_number}}', to_jsonb({ACCOUNT}))",
        }
        self._copy("payment", own | payment, batch)
        self._copy("attempt", own | attempt, batch)
        return batch

    def _copy(self, table: str, own: dict[str, str], batch: Batch) -> None:
        columns = self._columns[table]
        values = ", ".join(own.get(name, name) for name in columns)
        self._stage.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE SELECT {values}"
            f" FROM bench_{table},"
            f" generate_series({batch.first}::bigint, {batch.first + batch.count - 1}) AS serial"
        )


def _keep_one(stage: Stage) -> int:
    """Keeps a payment that waits, and its attempt, as patterns; answers with the amount it waits for."""
    shop = stage.shops[0]
    pay_code = _ask(stage, PATH, {**ORDER, "reference": "settle-pattern"}, shop.create_headers)["data"]["payCode"]
    _ask(stage, f"{PATH}/{pay_code}/charge", {"type": "bank_transfer"}, {})
    stage.execute("CREATE TABLE bench_payment AS SELECT * FROM payment WHERE reference = 'settle-pattern'")
    stage.execute(
        "CREATE TABLE bench_attempt AS SELECT attempt.* FROM attempt"
        " JOIN bench_payment ON bench_payment.id = attempt.payment_id AND attempt.status = 'waiting'"
    )
    return int(stage.fetchrow("SELECT expected_minor FROM bench_attempt WHERE account_number <> ''")["expected_minor"])


def _ask(stage: Stage, path: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    sent = {**headers, "content-type": "application/json"}
    status, answer = stage.api.ask("POST", path, headers=sent, body=json.dumps(body).encode())
    if status not in (200, 201):
        raise BenchFailed(f"the API refused {path}: {status} {answer.decode()}")
    return dict(json.loads(answer))


def _columns(stage: Stage, table: str) -> list[str]:
    query = (
        "SELECT array_agg(attname::text ORDER BY attnum) AS names FROM pg_attribute"
        " WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
    )
    return list(stage.fetchrow(query, table)["names"])
