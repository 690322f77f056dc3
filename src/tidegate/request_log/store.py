"""SQL of the request log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.infra.db import Row, Tx
from tidegate.request_log.model import ErrorGroup, LoggedRequest, NumberedRequest

# Of errors, the newest.
GROUPED_MAX = 10_000


class RequestFilter(msgspec.Struct, frozen=True, kw_only=True):
    """None does not filter. `start` is included, `end` is not."""

    is_error: bool | None = None
    status: int | None = None
    method: str | None = None
    operation: str | None = None
    key_id: int | None = None
    request_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None


async def insert_all(tx: Tx, requests: Sequence[LoggedRequest]) -> None:
    await tx.execute(
        """
        INSERT INTO request_log (business_id, request_id, key_id, method, path, operation, status, duration_ms,
                                 address, error_type, message, body, created_at)
        SELECT business_id, request_id, key_id, method, path, operation, status, duration_ms, address, error_type,
               message, body, created_at
          FROM json_to_recordset($1::json) AS given (
               business_id text, request_id text, key_id bigint, method text, path text, operation text,
               status smallint, duration_ms integer, address text, error_type text, message text, body text,
               created_at timestamptz)
        """,
        msgspec.json.encode(requests).decode(),
    )


async def list_page(
    tx: Tx, business_id: str, wanted: RequestFilter, *, before: int | None, limit: int
) -> list[NumberedRequest]:
    """The newest first."""
    statement = _PAGE_OF_ERRORS if wanted.is_error or (wanted.status or 0) >= 400 else _PAGE
    rows = await tx.fetch(
        statement, business_id, before, limit, wanted.is_error, wanted.status, wanted.method, wanted.operation,
        wanted.key_id, wanted.request_id, wanted.start, wanted.end,
    )  # fmt: skip
    return [NumberedRequest(row["number"], _request(row), row["last_four"]) for row in rows]


_PAGE = """
    SELECT *, (SELECT last_four FROM credential WHERE business_id = $1 AND id = key_id) FROM request_log
     WHERE business_id = $1 AND ($2::bigint IS NULL OR number < $2)
       AND ($4::boolean IS NULL OR (status >= 400) = $4) AND ($5::integer IS NULL OR status = $5)
       AND ($6::text IS NULL OR method = $6) AND ($7::text IS NULL OR operation = $7)
       AND ($8::bigint IS NULL OR key_id = $8) AND ($9::text IS NULL OR request_id = $9)
       AND ($10::timestamptz IS NULL OR created_at >= $10) AND ($11::timestamptz IS NULL OR created_at < $11)
     ORDER BY number DESC LIMIT $3
"""
# By the index that has nothing else.
_PAGE_OF_ERRORS = """
    SELECT *, (SELECT last_four FROM credential WHERE business_id = $1 AND id = key_id) FROM request_log
     WHERE business_id = $1 AND status >= 400 AND ($2::bigint IS NULL OR number < $2)
       AND ($4::boolean IS NULL OR $4) AND ($5::integer IS NULL OR status = $5)
       AND ($6::text IS NULL OR method = $6) AND ($7::text IS NULL OR operation = $7)
       AND ($8::bigint IS NULL OR key_id = $8) AND ($9::text IS NULL OR request_id = $9)
       AND ($10::timestamptz IS NULL OR created_at >= $10) AND ($11::timestamptz IS NULL OR created_at < $11)
     ORDER BY number DESC LIMIT $3
"""


async def list_groups(tx: Tx, business_id: str, *, since: datetime, limit: int) -> list[ErrorGroup]:
    """The most frequent first."""
    rows = await tx.fetch(
        """
        SELECT operation, status, error_type, min(message) AS message, count(*) AS count, max(created_at) AS last_at
          FROM (SELECT operation, status, error_type, message, created_at FROM request_log
                 WHERE business_id = $1 AND status >= 400 AND created_at >= $2
                 ORDER BY number DESC LIMIT $3) AS newest
         GROUP BY operation, status, error_type ORDER BY count DESC, last_at DESC LIMIT $4
        """,
        business_id, since, GROUPED_MAX, limit,
    )  # fmt: skip
    return [ErrorGroup(**row) for row in rows]


def _request(row: Row) -> LoggedRequest:
    return LoggedRequest(**{name: row[name] for name in LoggedRequest.__struct_fields__})
