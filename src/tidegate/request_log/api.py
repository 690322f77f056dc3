"""The request log, for the merchant's developers."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.public_id import PublicIds
from tidegate.infra.db import Database
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Answer, Call, Operation
from tidegate.infra.http.query import period_problems
from tidegate.infra.http.read import read
from tidegate.merchant.authentication import SECRET_KEY
from tidegate.request_log import commands, examples, wire


@dataclass(frozen=True)
class RequestLogApi:
    db: Database
    public_ids: PublicIds

    async def list_requests(self, call: Call) -> Answer:
        request = read(call.query, wire.ListLoggedRequests, period_problems)
        business_id, wanted = call.caller.business.id, wire.filter_from(request)
        scope, numbers = f"{business_id} {wanted}", self.public_ids.request
        before = request.cursor.position(scope=scope, numbers=numbers) if isinstance(request.cursor, Cursor) else None
        page = await commands.list_page(self.db, business_id, wanted, before=before, limit=request.per_page)
        cursor = str(Cursor.of(page.requests[-1].number, scope=scope, numbers=numbers)) if page.has_more else None
        records = [wire.record_of(one.request) for one in page.requests]
        return call.answer(wire.RequestRecordPage(results=records, next_cursor=cursor))

    def operations(self) -> list[Operation]:
        return [
            Operation(
                method="GET",
                path="/requests",
                name="listLoggedRequests",
                summary="List your requests",
                description=examples.LIST_DESCRIPTION,
                group="Developers",
                group_words=examples.GROUP,
                handler=self.list_requests,
                credentials=SECRET_KEY,
                query=wire.ListLoggedRequests,
                query_example={"perPage": "10"},
                response=wire.RequestRecordPage,
                response_example=examples.PAGE,
                success_message="Requests found",
            )
        ]
