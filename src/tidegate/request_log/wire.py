"""The request log as JSON: the only module with the wire's names."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.core import ids
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.infra.http.paging import PER_PAGE, PerPage
from tidegate.infra.http.query import Moment
from tidegate.infra.timestamp import to_iso
from tidegate.request_log.model import LoggedRequest
from tidegate.request_log.store import RequestFilter

_METHODS = {
    "GET": "Reads.", "HEAD": "Reads without a body.", "POST": "Creates or acts.", "PUT": "Replaces.",
    "PATCH": "Changes.", "DELETE": "Removes.",
}  # fmt: skip


class ListLoggedRequests(msgspec.Struct, kw_only=True, rename="camel"):
    """The query of the request log. Filters combine with AND."""

    outcome: (
        Annotated[
            Literal["success", "error"],
            meanings({"success": "Answered with a status below 400.", "error": "Answered with 400 or above."}),
            Meta(description="Only requests that succeeded, or only those that failed."),
        ]
        | UnsetType
    ) = UNSET
    status: Annotated[int, Meta(ge=100, le=599, description="Only requests answered with this status.")] | UnsetType = (
        UNSET
    )
    method: (
        Annotated[
            Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
            meanings(_METHODS),
            Meta(description="Only requests with this HTTP method."),
        ]
        | UnsetType
    ) = UNSET
    operation: (
        Annotated[str, Meta(pattern=r"^[A-Za-z]{1,60}$", description="Only this operation, such as `createPayment`.")]
        | UnsetType
    ) = UNSET
    key_id: Annotated[int, Meta(ge=1, description="Only requests with this key.")] | UnsetType = UNSET
    request_id: (
        Annotated[str, Meta(pattern=ids.REQUEST_ID_PATTERN, description="Only the request with this id.")] | UnsetType
    ) = UNSET
    date_from: Annotated[Moment, Meta(description="From this day or time on.")] | UnsetType = UNSET
    date_to: Annotated[Moment, Meta(description="Before this time; a day is included.")] | UnsetType = UNSET
    per_page: Annotated[PerPage, Meta(description="Requests on a page.")] = PerPage.when_absent(PER_PAGE)
    cursor: Annotated[Cursor, Meta(description="The `nextCursor` of the page before.")] | UnsetType = UNSET


class RequestRecord(msgspec.Struct, kw_only=True, rename="camel"):
    request_id: Annotated[str, Meta(description="As in the `x-request-id` header of the answer.")]
    created_at: Annotated[Timestamp, Meta(description="When it was answered, in real time.")]
    method: Annotated[str, Meta(description="HTTP method.")]
    path: Annotated[str, Meta(description="Path of the address, without its query.")]
    operation: Annotated[str, Meta(description="Name of the operation in the reference.")]
    status: Annotated[int, Meta(description="HTTP status of the answer.")]
    duration_ms: Annotated[int, Meta(description="Time to the answer, in milliseconds.")]
    key_id: Annotated[int, Meta(description="Number of the key that was used.")]
    address: Annotated[str, Meta(description="Address that the request came from.")]
    error_type: Annotated[str | None, Meta(description="`errorType` of the answer; null for a success.")]
    message: Annotated[str | None, Meta(description="`message` of the answer; null for a success.")]
    body: Annotated[
        str | None,
        Meta(description="Of a request that failed: its body with texts and long numbers masked; otherwise null."),
    ]


class RequestRecordPage(msgspec.Struct, kw_only=True, rename="camel"):
    results: Annotated[list[RequestRecord], Meta(description="The newest first.")]
    next_cursor: Annotated[str | None, Meta(description="Cursor of the next page; null on the last.")]


def filter_from(request: ListLoggedRequests) -> RequestFilter:
    return RequestFilter(
        is_error=None if request.outcome is UNSET else request.outcome == "error",
        status=_given(request.status),
        method=_given(request.method),
        operation=_given(request.operation),
        key_id=_given(request.key_id),
        request_id=_given(request.request_id),
        start=request.date_from.start if isinstance(request.date_from, Moment) else None,
        end=request.date_to.end if isinstance(request.date_to, Moment) else None,
    )


def _given(value: Any) -> Any:
    return None if value is UNSET else value


def record_of(request: LoggedRequest) -> RequestRecord:
    return RequestRecord(
        request_id=request.request_id,
        created_at=to_iso(request.created_at),
        method=request.method,
        path=request.path,
        operation=request.operation,
        status=request.status,
        duration_ms=request.duration_ms,
        key_id=request.key_id,
        address=request.address,
        error_type=request.error_type,
        message=request.message,
        body=request.body,
    )
