"""Creates per second through the whole stack, over pgbench inserting the same row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from bench import pgbench, traffic
from bench.environment import Environment
from bench.load import UNIQUE
from bench.pgbench import NINETEEN_DIGITS
from bench.report import Line, Sample

PATH = "/checkout/payments"
ORDER = {
    "amount": 2500,
    "currency": "NGN",
    "reference": UNIQUE,
    "customer": {"name": "Ada Obi", "email": "ada@example.com"},
    "redirectUrl": "https://shop.example.com/thanks",
}
COLUMNS = """
SELECT array_agg(attname::text ORDER BY attnum) AS names FROM pg_attribute
 WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""


def card(number: str) -> dict[str, Any]:
    return {"type": "card", "card": {"number": number, "expiryMonth": 12, "expiryYear": 2040, "cvv": "123"}}


PAID_CARD = card("5319317801366660")


def line(environment: Environment) -> Line:
    ours, yardstick = partial(create, environment), partial(insert, environment)
    return Line("create", "pgbench, the same row", ours, yardstick, target=0.55)


def requests(environment: Environment) -> list[str]:
    return [traffic.request("POST", PATH, shop.create_headers, json.dumps(ORDER)) for shop in environment.shops]


def create(environment: Environment, seconds: float) -> Sample:
    ask = requests(environment)
    return environment.counted("payment", lambda: traffic.send(environment, environment.api, ask, 201, seconds))


def insert(environment: Environment, seconds: float, **options: Any) -> Sample:
    """The same row by pgbench."""
    scripts, variables = _same_row(environment)
    run = partial(pgbench.run, environment, scripts, variables=variables, seconds=seconds, **options)
    return environment.counted("payment", run)


@cache
def _same_row(environment: Environment) -> tuple[list[str], dict[str, str]]:
    """A script per business, and the values: those of a row that the API itself made, column by column.

    Only what must differ is made anew: the two unique texts, and the times.
    """
    columns = _row_made_by_the_api(environment)
    changing = {
        "reference": ":reference::text",
        "created_at": "now()",
        "updated_at": "now()",
        "expires_at": "now() + interval '2 hours'",
    }
    variables = {f"v_{name}": value for name, value in columns.items() if name not in changing}
    scripts = []
    for number, shop in enumerate(environment.shops):
        variables[f"v_business_id_{number}"] = shop.business_id
        # As long as a pay code without its random part of 19 characters.
        variables[f"v_code_{number}"] = f"tg_{shop.code}_{columns['pay_code'][9:]}"[:12]
        own = {"business_id": f":v_business_id_{number}", "pay_code": f":v_code_{number}::text || :pay_code"}
        values = [(own | changing).get(name, f":v_{name}") for name in columns]
        scripts.append(
            f"\\set reference {NINETEEN_DIGITS}\n\\set pay_code {NINETEEN_DIGITS}\n"
            f"INSERT INTO payment ({', '.join(columns)}) VALUES ({', '.join(values)});\n"
        )
    return scripts, variables


def copy_rows(environment: Environment, table: str, which: str, own: Mapping[str, str], serials: range) -> None:
    """Copies of one row, which differ in the expressions of `own`: some with `serial`."""
    columns = _columns_of(environment, table)
    environment.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE"
        f" SELECT {', '.join(own.get(name, name) for name in columns)} FROM (SELECT * FROM {table} WHERE {which}),"
        f" generate_series({serials[0]}::bigint, {serials[-1]}) AS serial"
    )


def _columns_of(environment: Environment, table: str) -> list[str]:
    return list(environment.fetchrow(COLUMNS, table)["names"])


def _row_made_by_the_api(environment: Environment) -> dict[str, str]:
    """As text, without the columns that are null and the number that PostgreSQL gives."""
    reference = "row-of-the-api"
    environment.api.post(PATH, {**ORDER, "reference": reference}, environment.shops[0].create_headers)
    as_text = ", ".join(f"{name}::text" for name in _columns_of(environment, "payment") if name != "id")
    row = environment.fetchrow(f"SELECT {as_text} FROM payment WHERE reference = $1", reference)
    return {name: value for name, value in row.items() if value is not None}
