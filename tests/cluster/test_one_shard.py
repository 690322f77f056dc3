"""Citus itself says how many shards each statement asks that is about one business."""

from __future__ import annotations

import re
from typing import Any

from local_cluster.nodes import Nodes

from migrations.product import SCHEMA, statements
from migrations.routing import is_of_one_business

# By type; NULL of any other. Where a text may be the business, it is one.
VALUES = {
    "text": "'000000000000000000000000'", "text[]": "'{1}'", "bool": "true", "bytea": "''",
    "int2": "1", "int4": "1", "int4[]": "'{1}'", "int8": "1", "int8[]": "'{1}'", "numeric": "1",
    "timestamptz": "'2030-01-01'", "date": "'2030-01-01'", "interval": "'1 second'", "json": "'{}'", "jsonb": "'{}'",
}  # fmt: skip


async def explain(admin: Any, statement: str) -> str:
    """With values in the text: where they come beside it, Citus plans some statements only when they run."""
    types = [one.name for one in (await admin.prepare(statement)).get_parameters()]
    values = [f"({VALUES.get(name, 'NULL')}::{name})" for name in types]
    written = re.sub(r"\$(\d+)", lambda at: values[int(at[1]) - 1], statement)
    return "\n".join(row[0] for row in await admin.fetch(f"EXPLAIN (COSTS OFF) {written}"))


async def test_a_statement_of_one_business_asks_one_shard(cluster: Nodes, admin: Any) -> None:
    explained: dict[str, list[str]] = {}
    for where, text, statement in statements():
        if SCHEMA.names_in(statement) and is_of_one_business(SCHEMA, statement):
            tasks = re.findall(r"Task Count: (\d+)", await explain(admin, text))
            explained[where] = [*explained.get(where, []), *tasks]
    # Rows that are given are written without a task.
    assert {where: tasks for where, tasks in explained.items() if set(tasks) - {"1"}} == {}
    assert len(explained) > 100


async def test_a_statement_of_all_businesses_asks_several(cluster: Nodes, admin: Any) -> None:
    assert "Task Count: 1\n" not in await explain(admin, "SELECT * FROM payment WHERE reference = $1")
    assert "Task Count: 1\n" in await explain(admin, "SELECT * FROM payment WHERE business_id = $1 AND reference = $2")
