"""What listing inflows costs among many, over what it costs among few: asked over HTTP, in turn, in the same minutes.

Growth is not speed: the ratio of two medians of the same question, each with its own database and its own API process,
everything else alike. One question is under way at a time.
"""

from __future__ import annotations

import asyncio
import http.client
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from statistics import median

from bench import process
from bench.growth_questions import CSV_ROWS, PER_PAGE, QUESTIONS, Question, Shelf
from bench.line import BenchFailed
from bench.process import Server
from bench.warehouse import SMALL_ROWS, Warehouse, is_there, open_warehouse
from tidegate.infra import db as database
from tidegate.infra.http.paging import ROWS_BY_NUMBER_MAX

AIM = 1.3
DEEP_AIM_S = 0.2
HOW_TO_LOAD = "no inflows to compare are loaded; `make bench-data` loads 10,000,000 in minutes, ROWS=200000 fewer"
WARM_UP_CALLS = 20
ROUNDS = 10
CALLS_PER_ROUND = 30
DEEP_CALLS = 50


@dataclass(frozen=True)
class Grown:
    question: Question
    # By round.
    small_s: list[list[float]] = field(default_factory=list)
    large_s: list[list[float]] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return self.large_p50_s / self.small_p50_s

    @property
    def ratios(self) -> list[float]:
        return [median(large) / median(small) for large, small in zip(self.large_s, self.small_s, strict=True)]

    @property
    def small_p50_s(self) -> float:
        return median(time_s for one in self.small_s for time_s in one)

    @property
    def large_p50_s(self) -> float:
        return median(time_s for one in self.large_s for time_s in one)


@dataclass(frozen=True)
class Growth:
    small: Shelf
    large: Shelf
    grown: list[Grown]
    # The last page that may be asked for by its number, among the many; the one after it was refused.
    deep_s: list[float]

    @property
    def deep_p50_s(self) -> float:
        return median(self.deep_s)


Note = Callable[[str], None]


class Asked:
    """An API process with its database, and a client that keeps its connection."""

    def __init__(self, shelf: Shelf, server: Server) -> None:
        self.shelf = shelf
        self._connection = http.client.HTTPConnection(process.HOST, server.port, timeout=process.START_TIMEOUT_S)

    def ask(self, path: str, headers: Mapping[str, str]) -> tuple[int, bytes, float]:
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"api-key": self.shelf.secret_key, **headers})
        answer = self._connection.getresponse()
        body = answer.read()
        return answer.status, body, time.perf_counter() - began

    def answer(self, question: Question, number: int) -> float:
        status, body, seconds = self.ask(question.path(self.shelf, number), question.headers)
        if status != 200:
            raise BenchFailed(f"{question.name}: the API answered {status} {body.decode(errors='replace')}")
        question.refuse_other_answer(body)
        return seconds


def measure(note: Note) -> Growth | None:
    """None when nothing is loaded that could be compared."""
    if not is_there():
        return None
    with ExitStack() as ending:
        warehouse = ending.enter_context(open_warehouse())
        sizes = warehouse.sizes()
        if SMALL_ROWS not in sizes or sizes[-1] <= SMALL_ROWS:
            return None
        logs = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-bench-growth-")))
        small, large = (_serve(warehouse, rows, logs, ending) for rows in (SMALL_ROWS, sizes[-1]))
        grown = [_compare(question, small, large, note) for question in QUESTIONS]
        note("deep page by its number")
        return Growth(small.shelf, large.shelf, grown, _deep(large))


def _serve(warehouse: Warehouse, rows: int, logs: Path, ending: ExitStack) -> Asked:
    warehouse.refuse_old_schema(rows)
    shelf = asyncio.run(_look(warehouse.url_of(rows)))
    if shelf.rows != rows:
        raise BenchFailed(f"{rows:,} inflows were loaded, and {shelf.rows:,} are there; `make bench-data-clean`")
    env = {"DATABASE_URL": shelf.url, "HOST": process.HOST, "TIDEGATE_HOME": str(logs / str(rows))}
    server = process.start_server(
        ["tidegate", "serve"],
        ready_path="/readyz",
        log=logs / f"{rows}.log",
        env={**env, "TIDEGATE_LOG_LEVEL": "warning"},
    )
    ending.callback(server.stop)
    return Asked(shelf, server)


async def _look(url: str) -> Shelf:
    connection = await database.connect(url)
    try:
        row = await connection.fetchrow(_SHELF, CSV_ROWS - 1)
    finally:
        await connection.close()
    return Shelf(url=url, **row)


_SHELF = """
SELECT owner.business_id, owner.account_id, owner.secret_key, oldest.created_at AS oldest_at,
       newest.created_at AS newest_at, last.created_at AS csv_from,
       (SELECT sum(count)::bigint FROM collection_tally WHERE account_id = '' AND day = '-infinity') AS rows,
       (SELECT sum(count)::bigint FROM collection_tally AS tally
         WHERE tally.account_id = owner.account_id AND day = '-infinity') AS account_rows
  FROM bench_owner AS owner
 CROSS JOIN LATERAL (SELECT created_at FROM collection WHERE business_id = owner.business_id
                      AND account_id = owner.account_id ORDER BY id LIMIT 1) AS oldest
 CROSS JOIN LATERAL (SELECT created_at FROM collection WHERE business_id = owner.business_id
                      AND account_id = owner.account_id ORDER BY id DESC LIMIT 1) AS newest
 CROSS JOIN LATERAL (SELECT created_at FROM collection WHERE business_id = owner.business_id
                      AND account_id = owner.account_id ORDER BY id DESC OFFSET $1 LIMIT 1) AS last
"""


def _compare(question: Question, small: Asked, large: Asked, note: Note) -> Grown:
    note(question.description)
    for number in range(WARM_UP_CALLS):
        small.answer(question, number)
        large.answer(question, number)
    grown = Grown(question)
    numbers = count(WARM_UP_CALLS)
    for _ in range(ROUNDS):
        # In turn, and who goes first changes, so that whatever disturbs the machine disturbs both.
        calls = [_both(question, small, large, number) for number in islice(numbers, CALLS_PER_ROUND)]
        grown.small_s.append([one for one, _ in calls])
        grown.large_s.append([other for _, other in calls])
    return grown


def _both(question: Question, small: Asked, large: Asked, number: int) -> tuple[float, float]:
    if number % 2:
        large_s = large.answer(question, number)
        return small.answer(question, number), large_s
    small_s = small.answer(question, number)
    return small_s, large.answer(question, number)


def _deep(large: Asked) -> list[float]:
    """The last page that may be asked for by its number; the one after it must be refused."""
    last = ROWS_BY_NUMBER_MAX // PER_PAGE
    question = Question(
        "deep", f"page {last}", lambda shelf, _: shelf.path(virtualAccount=shelf.account_id, page=str(last))
    )
    times_s = [large.answer(question, number) for number in range(DEEP_CALLS)]
    status, body, _ = large.ask(large.shelf.path(virtualAccount=large.shelf.account_id, page=str(last + 1)), {})
    if status != 422 or b"cursor" not in body:
        raise BenchFailed(f"page {last + 1} was not refused with advice: {status} {body.decode(errors='replace')}")
    return times_s
