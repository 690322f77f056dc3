"""The merchant's list of payments."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial

from tidegate.core import errors
from tidegate.core.method import MethodNames
from tidegate.core.public_id import PublicIds
from tidegate.infra.db import Database
from tidegate.infra.http import csv_text
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Answer, Call, Csv, Operation, Stream
from tidegate.infra.http.read import read
from tidegate.merchant.authentication import SECRET_KEY
from tidegate.payment import examples, list_wire, search, wire
from tidegate.payment.list_store import PaymentFilter


@dataclass(frozen=True)
class PaymentListApi:
    db: Database
    names: MethodNames
    public_ids: PublicIds

    async def list_payments(self, call: Call) -> Answer:
        request, wanted = self._request_of(call)
        business_id = call.caller.business.id
        scope, numbers = f"{business_id} {wanted}", self.public_ids.payment
        before_id = (
            request.cursor.position(scope=scope, numbers=numbers) if isinstance(request.cursor, Cursor) else None
        )
        page = await search.list_page(self.db, business_id, wanted, before_id=before_id, limit=request.per_page)
        cursor = str(Cursor.of(page.rows[-1].id, scope=scope, numbers=numbers)) if page.has_more else None
        records = [wire.record_of(row, self.names, self.public_ids) for row in page.rows]
        return call.answer(list_wire.PaymentRecordPage(results=records, next_cursor=cursor))

    async def download(self, call: Call) -> Stream:
        """All rows that match the filters. A file has no pages, so paging parameters are refused."""
        _, wanted = self._request_of(call)
        given = [name for name in ("perPage", "cursor") if name in call.query]
        if given:
            message = "cannot be used with Accept: text/csv; the file has all rows, so leave it out"
            raise errors.Invalid(*(errors.Problem(name, message) for name in given))
        return Stream(self._rows(call.caller.business.id, wanted), "payments.csv")

    async def _rows(self, business_id: str, wanted: PaymentFilter) -> AsyncGenerator[bytes, None]:
        async for rows in search.batches(self.db, business_id, wanted):
            yield b"".join(csv_text.row(list_wire.csv_row(row, self.names, self.public_ids)) for row in rows)

    def _request_of(self, call: Call) -> tuple[list_wire.ListPayments, PaymentFilter]:
        check = partial(list_wire.problems_between, names=self.names)
        request = read(call.query, list_wire.ListPayments, check)
        return request, list_wire.filter_from(request, self.names)

    def operations(self) -> list[Operation]:
        return [
            Operation(
                group="Payments",
                success_key="status",
                method="GET",
                path="/checkout/payments",
                name="listPayments",
                summary="List payments",
                description=examples.LIST_DESCRIPTION,
                handler=self.list_payments,
                credentials=SECRET_KEY,
                query=list_wire.ListPayments,
                query_example={"status": "initiated", "perPage": "10"},
                response=list_wire.PaymentRecordPage,
                response_example=examples.PAGE,
                csv=Csv(list_wire.CSV_COLUMNS, self.download),
                success_message="Payments found",
            )
        ]
