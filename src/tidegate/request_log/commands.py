"""Reading the request log."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from tidegate.infra.db import Database
from tidegate.request_log import store
from tidegate.request_log.model import ErrorGroup, NumberedRequest
from tidegate.request_log.store import RequestFilter

GROUPS_MAX = 50
GROUPED_FOR = timedelta(days=7)


class RequestPage(NamedTuple):
    requests: list[NumberedRequest]
    has_more: bool


async def list_page(
    db: Database, business_id: str, wanted: RequestFilter, *, before: int | None, limit: int
) -> RequestPage:
    """The newest first."""
    async with db.connection() as tx:
        # One more than the page, to detect a next page.
        found = await store.list_page(tx, business_id, wanted, before=before, limit=limit + 1)
    return RequestPage(found[:limit], len(found) > limit)


async def list_groups(db: Database, business_id: str, *, now: datetime) -> list[ErrorGroup]:
    """Errors of the last week that are alike, the most frequent first. `now` is real time."""
    async with db.connection() as tx:
        return await store.list_groups(tx, business_id, since=now - GROUPED_FOR, limit=GROUPS_MAX)
