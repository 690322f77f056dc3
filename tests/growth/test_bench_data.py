"""What `make bench-data` loads past the product's own code is what that code would have written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from bench import inflow_data
from bench.growth import refuse_other_length
from bench.report import BenchFailed

from tidegate.core.clock import SystemClock
from tidegate.infra import db as database

ROWS = 3_000
# A tenth of all.
OF_ONE_ACCOUNT = ROWS // 10


@pytest.fixture(scope="module")
async def loaded(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Any]:
    """A connection to it."""
    url, now = await make_database("growth"), SystemClock().now()
    await inflow_data.write_patterns(url, now=now)
    connection = await database.connect(url)
    async with connection.transaction():
        assert [step async for step in inflow_data.load(connection, ROWS, now=now)][-1] == "tally"
    yield connection
    await connection.close()


async def test_the_tally_is_what_counting_one_by_one_gives(loaded: Any) -> None:
    at_once = await loaded.fetch("SELECT * FROM collection_tally ORDER BY collection_tally")
    undone = loaded.transaction()
    await undone.start()
    await loaded.execute("TRUNCATE collection_tally; SELECT count_inflow(collection, NULL, status) FROM collection")
    one_by_one = await loaded.fetch("SELECT * FROM collection_tally ORDER BY collection_tally")
    await undone.rollback()
    assert at_once == one_by_one
    assert len(at_once) > ROWS / 10


async def test_a_tenth_belongs_to_one_account_and_few_did_not_succeed(loaded: Any) -> None:
    largest = await loaded.fetchval("SELECT count(*) FROM collection GROUP BY account_id ORDER BY 1 DESC LIMIT 1")
    others = await loaded.fetchval("SELECT count(*) FROM collection WHERE status <> 'successful'")
    assert largest == OF_ONE_ACCOUNT
    assert 0.01 < others / ROWS < 0.02


def test_a_list_that_is_shorter_than_its_page_is_not_compared() -> None:
    with pytest.raises(BenchFailed, match="1 rows came instead of 10"):
        refuse_other_length("first page", b'{"data": {"results": [{}]}}')
