"""The merchant's operations on inflows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial

from msgspec import UNSET

from tidegate.collection import examples, list_store, store, wire
from tidegate.collection.list_store import CollectionFilter
from tidegate.collection.model import REFERENCE
from tidegate.collection.review import NO_COLLECTION
from tidegate.core import errors
from tidegate.infra.db import Database
from tidegate.infra.http import csv_text
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Answer, Call, Csv, Operation, SameAsHeader, Stream
from tidegate.infra.http.paging import PageNumber, refuse_deep
from tidegate.infra.http.read import read
from tidegate.merchant.authentication import SECRET_KEY, refuse_other_business

# Rows per query while a file is sent.
CSV_BATCH = 1_000


@dataclass(frozen=True)
class CollectionApi:
    db: Database

    async def list_collections(self, call: Call) -> Answer:
        request, wanted = _request_of(call)
        page = PageNumber(1) if request.page is UNSET else request.page
        refuse_deep(page, request.per_page)
        scope = f"{call.caller.business.id} {wanted}"
        before_id = request.cursor.position(scope=scope) if isinstance(request.cursor, Cursor) else None
        async with self.db.connection() as tx:
            # Before the page: what is recorded meanwhile may be listed and not counted, never the other way round.
            total = await list_store.total(tx, call.caller.business.id, wanted)
            # One more than the page size, to detect a next page.
            found = await list_store.list_page(
                tx,
                call.caller.business.id,
                wanted,
                before_id=before_id,
                offset=(page - 1) * request.per_page,
                limit=request.per_page + 1,
            )
        shown = found[: request.per_page]
        cursor = str(Cursor.of(shown[-1].id, scope=scope)) if len(found) > len(shown) else None
        records = [wire.record_of(collection) for collection in shown]
        return call.answer(wire.CollectionPage(results=records, total=total, next_cursor=cursor))

    async def download(self, call: Call) -> Stream:
        """All rows that match the filters. A file has no pages, so paging parameters are refused."""
        _, wanted = _request_of(call)
        given = [name for name in ("page", "perPage", "cursor") if name in call.query]
        if given:
            raise errors.Invalid(
                *(
                    errors.Problem(name, "cannot be used with Accept: text/csv; the file has all rows, so leave it out")
                    for name in given
                )
            )
        return Stream(self._rows(call.caller.business.id, wanted), "collections.csv")

    async def _rows(self, business_id: str, wanted: CollectionFilter) -> AsyncGenerator[bytes, None]:
        before_id: int | None = None
        while True:
            # No connection is held while the client reads.
            async with self.db.connection() as tx:
                found = await list_store.list_page(
                    tx, business_id, wanted, before_id=before_id, offset=0, limit=CSV_BATCH
                )
            if found:
                yield b"".join(csv_text.row(wire.csv_row(collection)) for collection in found)
            if len(found) < CSV_BATCH:
                return
            before_id = found[-1].id

    async def get(self, call: Call) -> Answer:
        reference = call.path["reference"]
        found = None
        if REFERENCE.fullmatch(reference):
            async with self.db.connection() as tx:
                found = await store.find(tx, call.caller.business.id, reference)
        if found is None:
            raise errors.NotFound(NO_COLLECTION)
        return call.answer(wire.record_of(found))

    def operations(self) -> list[Operation]:
        offer = partial(Operation, group="Collections", credentials=SECRET_KEY)
        return [
            offer(
                method="GET",
                path="/collections",
                name="listCollections",
                summary="List inflows",
                description=examples.LIST_DESCRIPTION,
                group_words=examples.GROUP,
                handler=self.list_collections,
                query=wire.ListCollections,
                takes_query_in_body=True,
                query_example={"business": SameAsHeader("x-business-id"), "perPage": "10"},
                response=wire.CollectionPage,
                response_example=examples.PAGE,
                csv=Csv(wire.CSV_COLUMNS, self.download),
                success_message="Collections found",
                errors=(errors.AccessDenied,),
            ),
            offer(
                method="GET",
                path="/collections/reference/{reference}",
                name="getCollection",
                summary="Get an inflow",
                description=examples.GET_DESCRIPTION,
                handler=self.get,
                response=wire.CollectionRecord,
                response_example=examples.RECORD,
                success_message="Collection found",
                errors=(errors.NotFound,),
                path_parameters=examples.REFERENCE_PARAMETER,
                prepared_by=examples.AN_INFLOW,
            ),
        ]


def _request_of(call: Call) -> tuple[wire.ListCollections, CollectionFilter]:
    request = read(call.query, wire.ListCollections, wire.problems_between)
    refuse_other_business(call.caller, request.business)
    return request, wire.filter_from(request)
