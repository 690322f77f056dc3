"""Webhooks as JSON, in and out: the only module with the wire's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.core.errors import Problem
from tidegate.infra.address import WebUrl
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.infra.http.paging import PER_PAGE
from tidegate.infra.http.query import Moment, period_problems
from tidegate.infra.timestamp import to_iso
from tidegate.webhook.field import Description, Secret, delivery_id
from tidegate.webhook.log_store import DeliveryFilter, Window, first_id_of
from tidegate.webhook.model import (
    EVENTS,
    EVENTS_ALWAYS,
    MEANING_OF_EVENT,
    RATE_PER_SECOND,
    RATE_PER_SECOND_MAX,
    TEST_EVENT,
    Delivery,
    DeliveryAttempt,
    DeliveryStatus,
    DisabledReason,
    Endpoint,
    EndpointStatus,
    NewEndpoint,
    WithSecret,
)

# A delivery includes its payload and the answers to it.
DELIVERIES_PER_PAGE_MAX = 50

if TYPE_CHECKING:
    EventName = str
else:
    EventName = Annotated[Literal[EVENTS], meanings({name: MEANING_OF_EVENT[name] for name in EVENTS})]
_EVENTS = (
    f"Besides {' and '.join(f'`{name}`' for name in EVENTS_ALWAYS)}, which every endpoint gets. At least one name; for "
    "no others, name one of these."
)
EventNames = Annotated[list[EventName], Meta(min_length=1, max_length=len(EVENTS) * 2, description=_EVENTS)]
DeliveriesPerSecond = Annotated[
    int, Meta(ge=1, le=RATE_PER_SECOND_MAX, description="The most requests a second that your server accepts.")
]
EndpointId = Annotated[str, Meta(pattern="^we_[0-9A-Za-z]{22}$")]
Url = Annotated[WebUrl, Meta(description="https, port 443 or 8443; in the sandbox also http and your own machine.")]


Status = Annotated[EndpointStatus, Meta(description="Enabling also resets the failures of an endpoint.")]
AnyEventName = Annotated[str, Meta(pattern="^[a-z]{1,30}[.][a-z]{1,30}$", description="Such as `charge.successful`.")]
EventReference = Annotated[
    str, Meta(pattern="^[A-Za-z0-9_.=:-]{1,100}$", description="Your reference of the payment or other subject.")
]
PeriodStart = Annotated[Moment, Meta(description="From this day or time, inclusive.")]
PeriodEnd = Annotated[Moment, Meta(description="Before this time; a date includes the whole day.")]
NextCursor = Annotated[Cursor, Meta(description="The `nextCursor` of the previous page.")]


class CreateEndpoint(msgspec.Struct, kw_only=True, rename="camel"):
    url: Url
    events: Annotated[EventNames | None, Meta(description=_EVENTS)] = None
    description: Annotated[Description | None, Meta(description="Your own text, shown in lists.")] = None
    rate_per_second: DeliveriesPerSecond = RATE_PER_SECOND
    secret: Annotated[
        Secret | None, Meta(description="`whsec_` and 24 to 64 bytes in base64. Generated when absent.")
    ] = None


class ChangeEndpoint(msgspec.Struct, kw_only=True, rename="camel"):
    url: Url | UnsetType = UNSET
    events: EventNames | UnsetType = UNSET
    description: Annotated[Description | UnsetType | None, Meta(description="Your own text; null removes it.")] = UNSET
    status: Status | UnsetType = UNSET
    rate_per_second: DeliveriesPerSecond | UnsetType = UNSET


class EndpointRecord(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[str, Meta(description="Id of the endpoint.")]
    url: Annotated[str, Meta(description="Where events are sent to.")]
    events: Annotated[list[str], Meta(description="Events that it receives.")]
    description: Annotated[str | None, Meta(description="Your own text; null without.")]
    status: Annotated[EndpointStatus, Meta(description="Whether it receives events.")]
    disabled_reason: Annotated[DisabledReason | None, Meta(description="Why it is disabled; null while it is enabled.")]
    rate_per_second: Annotated[int, Meta(description="The most requests a second that it is sent.")]
    created_at: Annotated[Timestamp, Meta(description="Time of creation.")]
    updated_at: Annotated[Timestamp, Meta(description="Time of the last change.")]


class EndpointWithSecret(EndpointRecord, kw_only=True, rename="camel"):
    secret: Annotated[
        str | UnsetType,
        Meta(description="Shown only once: absent from the answer to a repeated `Idempotency-Key`."),
    ] = UNSET


class EndpointList(msgspec.Struct, kw_only=True):
    results: Annotated[list[EndpointRecord], Meta(description="The oldest first.")]


class EndpointDeleted(msgspec.Struct, kw_only=True):
    id: Annotated[str, Meta(description="Id of the deleted endpoint.")]


class ListDeliveries(msgspec.Struct, kw_only=True, rename="camel"):
    """Filters of the list of deliveries."""

    status: Annotated[DeliveryStatus, Meta(description="Only deliveries with this status.")] | UnsetType = UNSET
    event: AnyEventName | UnsetType = UNSET
    endpoint_id: Annotated[EndpointId, Meta(description="Only deliveries to this endpoint.")] | UnsetType = UNSET
    reference: EventReference | UnsetType = UNSET
    date_from: PeriodStart | UnsetType = UNSET
    date_to: PeriodEnd | UnsetType = UNSET
    per_page: Annotated[int, Meta(description="Deliveries on a page.", ge=1, le=DELIVERIES_PER_PAGE_MAX)] = PER_PAGE
    cursor: NextCursor | UnsetType = UNSET


class AttemptRecord(msgspec.Struct, kw_only=True, rename="camel"):
    number: Annotated[int, Meta(description="1 for the first attempt.")]
    url: Annotated[str, Meta(description="Where it was sent to.")]
    attempted_at: Annotated[Timestamp, Meta(description="When it was sent.")]
    duration_ms: Annotated[
        int | None, Meta(description="How long the answer took, in milliseconds; null without an answer.")
    ]
    status_code: Annotated[int | None, Meta(description="Your server's status; null without an answer.")]
    error: Annotated[str | None, Meta(description="Why there was no complete answer, such as `timeout`.")]
    response_body: Annotated[str | None, Meta(description="The first 16 kB of the answer, as text.")]


class DeliveryRecord(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[str, Meta(description="Id of the delivery.")]
    event_id: Annotated[str, Meta(description="The `webhook-id` header; drop duplicates by it.")]
    event: Annotated[str, Meta(description="Name of the event.")]
    reference: Annotated[
        str | None, Meta(description="Your reference of the payment or other subject; null for a test.")
    ]
    endpoint_id: Annotated[str, Meta(description="Id of the endpoint.")]
    url: Annotated[str, Meta(description="Where it is sent to.")]
    status: Annotated[
        DeliveryStatus,
        Meta(description="Where the delivery stands."),
    ]
    attempts_made: Annotated[int, Meta(description="How many attempts were made.")]
    attempts: Annotated[list[AttemptRecord], Meta(description="The last ten attempts.")]
    next_attempt_at: Annotated[
        Timestamp | None, Meta(description="When it is tried next; null when nothing is planned.")
    ]
    payload: Annotated[
        msgspec.Raw, Meta(description="The body, the same in every attempt.", extra_json_schema={"type": "object"})
    ]
    is_erased: Annotated[
        bool, Meta(description="Whether the payload was erased at the payer's request; it cannot be resent.")
    ]
    created_at: Annotated[Timestamp, Meta(description="When the event happened.")]
    delivered_at: Annotated[Timestamp | None, Meta(description="When your server accepted it; null before.")]


class TestData(msgspec.Struct, kw_only=True, rename="camel"):
    endpoint_id: Annotated[str, Meta(description="Id of the endpoint.")]
    message: Annotated[str, Meta(description="What this is, in words.")] = "A test of this endpoint. No money moved."
    created_at: Annotated[Timestamp, Meta(description="When you asked for it.")]


class TestEvent(msgspec.Struct, kw_only=True):
    event: Annotated[
        Literal["webhook.test"],
        meanings({TEST_EVENT: MEANING_OF_EVENT[TEST_EVENT]}),
        Meta(description="Name of the event."),
    ] = TEST_EVENT
    type: Annotated[
        Literal["test"], meanings({"test": "Nothing happened; a test."}), Meta(description="Kind of event.")
    ] = "test"
    data: Annotated[TestData, Meta(description="The test.")]


class DeliveryPage(msgspec.Struct, kw_only=True, rename="camel"):
    results: Annotated[list[DeliveryRecord], Meta(description="The newest first.")]
    next_cursor: Annotated[str | None, Meta(description="Null on the last page.")]


class ReplayWindow(msgspec.Struct, kw_only=True, rename="camel"):
    date_from: PeriodStart
    date_to: PeriodEnd
    endpoint_id: Annotated[EndpointId | None, Meta(description="Only deliveries to this endpoint.")] = None
    events: Annotated[
        Annotated[list[EventName], Meta(min_length=1, max_length=len(EVENTS) * 2)] | None,
        Meta(description="Only these events."),
    ] = None
    undelivered_only: Annotated[bool, Meta(description="Leave out delivered events.")] = False
    confirm: Annotated[bool, Meta(description="Without it deliveries are counted, not sent.")] = False


class ReplayAnswer(msgspec.Struct, kw_only=True):
    count: Annotated[int, Meta(description="The number of deliveries.")]
    sent: Annotated[bool, Meta(description="Whether they were queued.")]
    erased: Annotated[
        int, Meta(description="Left out, since their payloads were erased at the payer's request; not in `count`.")
    ]


def new_endpoint_from(request: CreateEndpoint) -> NewEndpoint:
    return NewEndpoint(
        url=str(request.url),
        events=events_of(request.events or []),
        description=str(request.description) if request.description else None,
        rate_per_second=request.rate_per_second,
        secret=str(request.secret) if request.secret else None,
    )


def changes_from(request: ChangeEndpoint) -> dict[str, Any]:
    """By the model's field names; absent fields are left out."""
    given = {name: value for name, value in msgspec.structs.asdict(request).items() if value is not UNSET}
    if "events" in given:
        given["events"] = list(events_of(given["events"]))
    if "url" in given:
        given["url"] = str(given["url"])
    if "description" in given:
        given["description"] = str(given["description"]) if given["description"] else None
    return given


def events_of(asked: list[Any]) -> tuple[str, ...]:
    """The events every endpoint gets and the requested ones, in the order of the list."""
    return tuple(name for name in EVENTS if name in EVENTS_ALWAYS or name in asked)


def problems_between(fields: Mapping[str, Any]) -> Iterator[Problem]:
    """Of a requested period."""
    yield from period_problems(fields)


def filter_from(request: ListDeliveries) -> DeliveryFilter:
    return DeliveryFilter(
        status=_or_none(request.status),
        event_type=_or_none(request.event),
        endpoint_id=_or_none(request.endpoint_id),
        reference=_or_none(request.reference),
        from_id=first_id_of(request.date_from.start) if isinstance(request.date_from, Moment) else None,
        before_id=first_id_of(request.date_to.end) if isinstance(request.date_to, Moment) else None,
    )


def _or_none(value: Any) -> Any:
    return None if value is UNSET else value


def window_from(request: ReplayWindow) -> Window:
    return Window(
        start=request.date_from.start,
        end=request.date_to.end,
        endpoint_id=request.endpoint_id,
        event_types=tuple(request.events) if request.events is not None else None,
        only_undelivered=request.undelivered_only,
    )


def record_of(endpoint: Endpoint) -> EndpointRecord:
    return EndpointRecord(**_facts(endpoint))


def record_with_secret(made: WithSecret) -> EndpointWithSecret:
    return EndpointWithSecret(**_facts(made.endpoint), secret=made.secret)


def _facts(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "events": list(endpoint.events),
        "description": endpoint.description,
        "status": endpoint.status,
        "disabled_reason": endpoint.disabled_reason,
        "rate_per_second": endpoint.rate_per_second,
        "created_at": to_iso(endpoint.created_at),
        "updated_at": to_iso(endpoint.updated_at),
    }


def delivery_record(delivery: Delivery) -> DeliveryRecord:
    return DeliveryRecord(
        id=delivery_id(delivery.id),
        event_id=delivery.event_id,
        event=delivery.event_type,
        reference=delivery.reference,
        endpoint_id=delivery.endpoint_id,
        url=delivery.url,
        status=delivery.status,
        attempts_made=delivery.attempts_made,
        attempts=[_attempt_record(attempt) for attempt in delivery.attempts],
        next_attempt_at=to_iso(delivery.due_at) if delivery.due_at else None,
        payload=msgspec.Raw(b"{}" if delivery.payload is None else delivery.payload),
        is_erased=delivery.payload is None,
        created_at=to_iso(delivery.created_at),
        delivered_at=to_iso(delivery.delivered_at) if delivery.delivered_at else None,
    )


def _attempt_record(attempt: DeliveryAttempt) -> AttemptRecord:
    return AttemptRecord(
        number=attempt.number,
        url=attempt.url,
        attempted_at=to_iso(attempt.started_at),
        duration_ms=attempt.duration_ms,
        status_code=attempt.status_code,
        error=attempt.error,
        response_body=attempt.body,
    )
