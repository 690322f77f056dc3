"""Creates per second through the whole stack, over pgbench inserting the same row, and over the customary stack."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from bench import traffic
from bench.line import BenchFailed, Line, Sample
from bench.load import UNIQUE
from bench.process import Server
from bench.stage import Stage

PATH = "/checkout/payments"
ORDER = {
    "amount": 2500,
    "currency": "NGN",
    "reference": UNIQUE,
    "customer": {"name": "Ada Obi", "email": "ada@example.com"},
    "redirectUrl": "https://shop.example.com/thanks",
}
# As long as the API's own; digits, since pgbench has no other random values.
NINETEEN_DIGITS = "random(1000000000000000000, 9223372036854775807)"
# In which two payments of the same order differ.
OWN_COLUMNS = {"pay_code", "reference", "request_hash", "expires_at", "created_at", "updated_at"}


def line(stage: Stage) -> Line:
    return Line(
        name="create",
        description="payments created",
        yardstick="pgbench, the same row",
        run_ours=lambda seconds: create(stage, stage.api, seconds),
        run_yardstick=lambda seconds: insert(stage, seconds),
        target=0.55,
    )


def over_customary(stage: Stage) -> Line:
    """The same requests to both. The stand-in lives in bench/customary, and its packages come with `make bench`."""
    if find_spec("fastapi") is None or find_spec("sqlalchemy") is None:
        raise BenchFailed("FastAPI and SQLAlchemy, to compare with, are missing; `make bench` installs them")
    customary = stage.start_server(["bench.customary"], ready_path="/readyz", env={"DATABASE_URL": stage.url})
    _refuse_other_row(stage, customary)
    return Line(
        name="create-customary",
        description="payments created",
        yardstick="FastAPI + SQLAlchemy",
        run_ours=lambda seconds: create(stage, stage.api, seconds),
        run_yardstick=lambda seconds: create(stage, customary, seconds),
        target=3.0,
    )


def requests(stage: Stage) -> list[str]:
    return [traffic.request("POST", PATH, shop.create_headers, json.dumps(ORDER)) for shop in stage.shops]


def create(stage: Stage, server: Server, seconds: float) -> Sample:
    def run(seconds: float) -> Sample:
        return stage.send(server, requests(stage), expected_status=201, seconds=seconds)

    return _checked(stage, run, seconds)


def insert(stage: Stage, seconds: float, *, clients: int | None = None, per_second: float | None = None) -> Sample:
    """The same row by pgbench."""
    # Before the rows are counted: it makes one itself.
    scripts, variables = _same_row(stage)

    def run(seconds: float) -> Sample:
        return stage.pgbench(scripts, variables=variables, seconds=seconds, clients=clients, per_second=per_second)

    return _checked(stage, run, seconds)


def _checked(stage: Stage, run: Callable[[float], Sample], seconds: float) -> Sample:
    """Every success that was counted must be a row that was committed."""
    before = count_rows(stage)
    sample = run(seconds)
    made = count_rows(stage) - before
    if made != sample.details["answers"]:
        raise BenchFailed(f"{sample.details['answers']} successes, but {made} new rows")
    return sample


def count_rows(stage: Stage) -> int:
    return int(stage.fetchrow("SELECT count(*) AS rows FROM payment")["rows"])


@cache
def _same_row(stage: Stage) -> tuple[list[str], dict[str, str]]:
    """A script per business, and the values: those of a row that the API itself made, column by column.

    Only what must differ is made anew: the two unique texts, and the times.
    """
    columns = _row_made_by(stage.api, stage, "first")
    business_code = columns["pay_code"][:9]
    changing = {
        "reference": ":reference",
        "created_at": "now()",
        "updated_at": "now()",
        "expires_at": "now() + interval '2 hours'",
    }
    variables = {f"v_{name}": value for name, value in columns.items() if name not in changing}
    scripts = []
    for number, shop in enumerate(stage.shops):
        variables[f"v_business_id_{number}"] = shop.business_id
        variables[f"v_code_{number}"] = columns["pay_code"].replace(business_code, f"tg_{shop.code}_")[:12]
        own = {"business_id": f":v_business_id_{number}", "pay_code": f":v_code_{number}::text || :pay_code"}
        values = [(own | changing).get(name, f":v_{name}") for name in columns]
        scripts.append(
            f"\\set reference {NINETEEN_DIGITS}\n\\set pay_code {NINETEEN_DIGITS}\n"
            f"INSERT INTO payment ({', '.join(columns)}) VALUES ({', '.join(values)});\n"
        )
    return scripts, variables


def _refuse_other_row(stage: Stage, customary: Server) -> None:
    """Who writes less would be measured for less."""
    ours, theirs = (_row_made_by(server, stage, f"row-of-{server.port}") for server in (stage.api, customary))
    different = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    if unexpected := different - OWN_COLUMNS:
        raise BenchFailed(f"the customary stack writes another row; its {', '.join(sorted(unexpected))} differ")


def _row_made_by(server: Server, stage: Stage, reference: str) -> dict[str, str]:
    """As text, without the columns that are null and the number that PostgreSQL gives."""
    body = json.dumps({**ORDER, "reference": reference}).encode()
    headers = {**stage.shops[0].create_headers, "content-type": "application/json"}
    status, answer = server.ask("POST", PATH, headers=headers, body=body)
    if status != 201:
        raise BenchFailed(f"the order was refused: {status} {answer.decode()}")
    names = stage.fetchrow(
        "SELECT array_agg(attname::text ORDER BY attnum) AS names FROM pg_attribute"
        " WHERE attrelid = 'payment'::regclass AND attnum > 0 AND NOT attisdropped"
        " AND attidentity = '' AND attgenerated = ''"
    )["names"]
    as_text = ", ".join(f"{name}::text" for name in names)
    row = stage.fetchrow(f"SELECT {as_text} FROM payment WHERE reference = $1", reference)
    return {name: value for name, value in row.items() if value is not None}
