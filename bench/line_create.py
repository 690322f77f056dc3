"""Creates per second through the whole stack, over pgbench inserting the same row."""

from __future__ import annotations

import json
from collections.abc import Callable

from bench import traffic
from bench.line import BenchFailed, Line, Sample
from bench.load import UNIQUE
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


def line(stage: Stage) -> Line:
    requests = [traffic.request("POST", PATH, shop.create_headers, json.dumps(ORDER)) for shop in stage.shops]
    scripts, variables = _same_row(stage)

    def ours(seconds: float) -> Sample:
        return stage.send(stage.api, requests, expected_status=201, seconds=seconds)

    def yardstick(seconds: float) -> Sample:
        return stage.pgbench(scripts, variables=variables, seconds=seconds)

    return Line(
        name="create",
        description="payments created",
        yardstick="pgbench, the same row",
        run_ours=lambda seconds: _checked(stage, ours, seconds),
        run_yardstick=lambda seconds: _checked(stage, yardstick, seconds),
        target=0.55,
    )


def _checked(stage: Stage, run: Callable[[float], Sample], seconds: float) -> Sample:
    """Every success that was counted must be a row that was committed."""
    before = _rows(stage)
    sample = run(seconds)
    made = _rows(stage) - before
    if made != sample.details["answers"]:
        raise BenchFailed(f"{sample.details['answers']} successes, but {made} new rows")
    return sample


def _rows(stage: Stage) -> int:
    return int(stage.fetchrow("SELECT count(*) AS rows FROM payment")["rows"])


def _same_row(stage: Stage) -> tuple[list[str], dict[str, str]]:
    """A script per business, and the values: those of a row that the API itself made, column by column.

    Only what must differ is made anew: the two unique texts, and the times.
    """
    columns = _row_of_ours(stage)
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


def _row_of_ours(stage: Stage) -> dict[str, str]:
    """As text, without the columns that are null and the number that PostgreSQL gives."""
    body = json.dumps({**ORDER, "reference": "first"}).encode()
    headers = {**stage.shops[0].create_headers, "content-type": "application/json"}
    status, answer = stage.api.ask("POST", PATH, headers=headers, body=body)
    if status != 201:
        raise BenchFailed(f"the API refused the order: {status} {answer.decode()}")
    names = stage.fetchrow(
        "SELECT array_agg(attname::text ORDER BY attnum) AS names FROM pg_attribute"
        " WHERE attrelid = 'payment'::regclass AND attnum > 0 AND NOT attisdropped"
        " AND attidentity = '' AND attgenerated = ''"
    )["names"]
    as_text = ", ".join(f"{name}::text" for name in names)
    row = stage.fetchrow(f"SELECT {as_text} FROM payment WHERE reference = 'first'")
    return {name: value for name, value in row.items() if value is not None}
