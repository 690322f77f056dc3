"""The OpenAPI 3.1 document, made from the tables of operations and of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tidegate.core import errors, ids
from tidegate.core.errors import Refusal
from tidegate.infra.http import error_guide
from tidegate.infra.http.openapi_schema import REF, components_of, ref_to
from tidegate.infra.http.operation import CREDENTIAL_WORDS, MEANINGS_KEY, Csv, Operation, Pdf
from tidegate.infra.http.reply import API_VERSION
from tidegate.infra.http.status import STATUS_OF

# Any operation can meet these.
_ALWAYS: tuple[type[Refusal], ...] = (errors.Unavailable,)
_WITH_CREDENTIALS: tuple[type[Refusal], ...] = (
    errors.Unauthenticated,
    errors.AccessDenied,
    errors.RateLimited,
)
_WITH_BODY: tuple[type[Refusal], ...] = (
    errors.Malformed,
    errors.RequestTimeout,
    errors.BodyTooLarge,
    errors.UnsupportedMediaType,
    errors.Invalid,
)
_WITH_IDEMPOTENCY_KEY: tuple[type[Refusal], ...] = (errors.Conflict, errors.StillRunning, errors.Invalid)
_WITH_QUERY: tuple[type[Refusal], ...] = (errors.Malformed, errors.Invalid)

_IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes a retry safe: the same key and body give the first answer again for at least 30 days.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    "example": "7f2c1b0e-order-1001",
}
_HEADERS: dict[str, Any] = {
    "X-Request-Id": {
        "description": "Id of the request; quote it when you ask for help.",
        "schema": {"type": "string"},
        "example": error_guide.REQUEST_ID,
    },
    "API-Version": {
        "description": "Date of the interface.",
        "schema": {"type": "string"},
        "example": API_VERSION,
    },
    "Retry-After": {
        "description": "Seconds to wait before the next try.",
        "schema": {"type": "integer"},
        "example": 1,
    },
}
_EVERY_ANSWER = {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", "API-Version")}
_AND_RETRY = {**_EVERY_ANSWER, "Retry-After": {"$ref": "#/components/headers/Retry-After"}}


def _error_schema() -> dict[str, Any]:
    causes = {name: guide.cause for name, guide in error_guide.error_types()}
    return {
        "type": "object",
        "required": ["status", "success", "message", "error", "errorType", "errors", "requestId"],
        "properties": {
            "status": {"const": False, "description": "Always false."},
            "success": {"const": False, "description": "Always false."},
            "message": {"type": "string", "description": "What is wrong, for people; the text may change."},
            "error": {"type": "string", "description": "The same text as `message`."},
            "errorType": {
                "type": "string",
                "description": "What is wrong, for programs. New values may be added.",
                MEANINGS_KEY: causes,
            },
            "errors": {
                "type": "array",
                "description": "Every field that is wrong; empty for other errors.",
                "items": {
                    "type": "object",
                    "required": ["field", "message"],
                    "properties": {
                        "field": {"type": "string", "description": "Path of the field, such as `customer.email`."},
                        "message": {"type": "string", "description": "What is wrong with it."},
                    },
                },
            },
            "requestId": {
                "type": "string",
                "pattern": ids.REQUEST_ID_PATTERN,
                "description": "Id of the request, as in `X-Request-Id`.",
            },
            "data": {"type": "object", "description": "Only where the answer helps to go on."},
        },
    }


@dataclass(frozen=True, kw_only=True)
class EventDocument:
    """An event that is sent to merchants."""

    name: str
    description: str
    payload: type[msgspec.Struct]
    example: Mapping[str, Any]
    # Which endpoints get it: a sentence.
    sent_to: str
    # Headers of the request and what they say.
    headers: Mapping[str, str]


def document(
    operations: Sequence[Operation],
    *,
    title: str,
    server_url: str,
    description: str = "",
    events: Sequence[EventDocument] = (),
) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    types = [t for operation in operations for t in (operation.request, operation.response) if t]
    headers = sorted({name for operation in operations for name in operation.credentials.headers})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": API_VERSION,
            "description": description,
            "contact": {"name": title, "url": f"{server_url}/docs"},
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server_url, "description": "This service."}],
        "tags": _tags(operations, events),
        "paths": paths,
        "webhooks": {event.name: {"post": _webhook(event)} for event in events},
        "components": {
            "schemas": {**components_of([*types, *(event.payload for event in events)]), "Error": _error_schema()},
            "headers": _HEADERS,
            "securitySchemes": {
                name: {"type": "apiKey", "in": "header", "name": name, "description": CREDENTIAL_WORDS.get(name, "")}
                for name in headers
            },
        },
    }


EVENTS_TAG = "Events"


def _tags(operations: Sequence[Operation], events: Sequence[EventDocument]) -> list[dict[str, str]]:
    """Each group once, in the order of the operations, with the first words said of it."""
    words: dict[str, str] = {}
    for operation in operations:
        if operation.group:
            words[operation.group] = words.get(operation.group) or operation.group_words
    if events:
        words[EVENTS_TAG] = "Sent to the endpoints that you create."
    return [{"name": name, "description": text} for name, text in words.items()]


def refusals_of(operation: Operation) -> list[type[Refusal]]:
    found = {*operation.errors, *_ALWAYS}
    if operation.credentials.headers:
        found.update(_WITH_CREDENTIALS)
    if operation.query:
        found.update(_WITH_QUERY)
    if operation.request or operation.takes_query_in_body:
        found.update(_WITH_BODY)
    if operation.is_idempotent_by_key:
        found.update(_WITH_IDEMPOTENCY_KEY)
    return sorted(found, key=lambda refusal: (STATUS_OF[refusal], refusal.__name__))


def description_of(operation: Operation) -> str:
    """With what holds for every operation of its kind.

    A query in the body is said in words only. OpenAPI allows a `requestBody` on a GET but asks to avoid it, since
    HTTP gives such a body no meaning; generated clients either fail on it or can no longer send the query.
    """
    sentences = [operation.description]
    if operation.takes_query_in_body:
        sentences.append(_IN_BODY)
    sentences += [_AS_FILE[type(file)] for file in operation.files]
    return " ".join(sentence for sentence in sentences if sentence)


_IN_BODY = "The query parameters may also be sent as a JSON object in the body; each one in one place."
_AS_FILE = {
    Csv: f"With `Accept: {Csv.media}` the answer is a file.",
    Pdf: f"With `Accept: {Pdf.media}` it is a document to print or to keep.",
}


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": description_of(operation),
        "parameters": _parameters(operation),
        "responses": _responses(operation),
        "security": [{name: [] for name in operation.credentials.headers}] if operation.credentials.headers else [],
    }
    if operation.group:
        described["tags"] = [operation.group]
    if operation.request:
        content = {"schema": ref_to(operation.request), "example": operation.request_example}
        described["requestBody"] = {
            "required": not operation.is_body_optional,
            "content": {"application/json": content},
        }
    return described


def _webhook(event: EventDocument) -> dict[str, Any]:
    return {
        "operationId": event.name,
        "summary": event.name,
        "description": event.description,
        "tags": [EVENTS_TAG],
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": words, "schema": {"type": "string"}}
            for name, words in event.headers.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": ref_to(event.payload), "example": event.example}},
        },
        "responses": {
            "2XX": {"description": "Received. Any other answer, or none within 15 seconds, is tried again."},
            "410": {"description": "Disables the endpoint."},
        },
    }


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, **details} for name, details in operation.path_parameters.items()
    ]
    if operation.query:
        parameters += _query_parameters(operation.query, operation.query_example)
    if operation.is_idempotent_by_key:
        parameters.append(_IDEMPOTENCY_KEY)
    return parameters


def _query_parameters(query: type[msgspec.Struct], example: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each field of the type is a parameter; its words stand beside its schema, as the document wants it."""
    components = components_of([query])
    described = components[query.__name__]
    made = {field.encode_name: _made_default(field) for field in msgspec.structs.fields(query)}
    parameters = []
    for name, found in described["properties"].items():
        schema = _without_ref(found, components)
        parameter = {
            "name": name,
            "in": "query",
            "required": name in described.get("required", ()),
            "description": schema.pop("description", ""),
            "schema": schema | made[name],
        }
        if isinstance(example.get(name), str):
            parameter["example"] = int(example[name]) if schema.get("type") == "integer" else example[name]
        parameters.append(parameter)
    return parameters


def _without_ref(schema: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return dict(schema)
    shared = components[schema["$ref"].rpartition("/")[2]]
    return {**shared, **{key: value for key, value in schema.items() if key != "$ref"}}


def _made_default(field: msgspec.structs.FieldInfo) -> dict[str, Any]:
    """A default that a factory makes, such as a number of a checked type; the library describes all others."""
    if field.default_factory is msgspec.NODEFAULT:
        return {}
    value = field.default_factory()
    return {"default": int(value) if isinstance(value, int) else value}


def _responses(operation: Operation) -> dict[str, Any]:
    record = ref_to(operation.response)
    data = {"type": "array", "items": record} if operation.answers_list else record
    schema = {
        "type": "object",
        "required": [operation.success_key, "message", "data"],
        "properties": {
            operation.success_key: {"const": True, "description": "Always true."},
            "message": {"type": "string", "description": "What was done, for people; the text may change."},
            "data": {**data, "description": "The result."},
        },
    }
    example = {operation.success_key: True, "message": operation.success_message, "data": operation.response_example}
    content: dict[str, Any] = {"application/json": {"schema": schema, "example": example}}
    if operation.csv:
        content[Csv.media] = {"schema": {"type": "string"}, "example": operation.csv.head.decode()}
    if operation.pdf:
        content[Pdf.media] = {"schema": {"type": "string", "contentMediaType": Pdf.media}}
    success = {"description": operation.summary, "headers": _EVERY_ANSWER, "content": content}
    return {str(operation.success_status): success, **_refused(operation)}


def _refused(operation: Operation) -> dict[str, Any]:
    by_status: dict[int, list[type[Refusal]]] = {}
    for refusal in refusals_of(operation):
        by_status.setdefault(STATUS_OF[refusal], []).append(refusal)
    return {
        str(status): {
            "description": " or ".join(dict.fromkeys(refusal.error_type for refusal in refusals)),
            "headers": _AND_RETRY if status in _WITH_RETRY_AFTER else _EVERY_ANSWER,
            "content": {
                "application/json": {
                    "schema": {"$ref": REF.format(name="Error")},
                    "examples": {refusal.__name__: _error_example(refusal) for refusal in refusals},
                }
            },
        }
        for status, refusals in by_status.items()
    }


_WITH_RETRY_AFTER = (409, 429, 503)


def _error_example(refusal: type[Refusal]) -> dict[str, Any]:
    guide = error_guide.GUIDE[refusal]
    return {"summary": guide.cause, "description": guide.remedy, "value": error_guide.example_of(refusal)}
