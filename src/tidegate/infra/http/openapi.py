"""The OpenAPI 3.1 document, made from the table of operations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tidegate.core import errors
from tidegate.core.errors import Refusal
from tidegate.infra.http.operation import Csv, Operation, Pdf
from tidegate.infra.http.read import Checked
from tidegate.infra.http.reply import API_VERSION
from tidegate.infra.http.status import STATUS_OF

_REF = "#/components/schemas/{name}"
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
_WITH_IDEMPOTENCY_KEY: tuple[type[Refusal], ...] = (errors.StillRunning, errors.Invalid)
_WITH_QUERY: tuple[type[Refusal], ...] = (errors.Malformed, errors.Invalid)

_ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["status", "success", "message", "error", "errorType", "errors", "requestId"],
    "properties": {
        "status": {"const": False},
        "success": {"const": False},
        "message": {"type": "string"},
        "error": {"type": "string", "description": "The same text as `message`."},
        "errorType": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
        "requestId": {"type": "string", "pattern": "^req_[0-9A-Za-z]{16}$"},
        "data": {"type": "object", "description": "Only where the answer helps to go on."},
    },
}


def document(operations: Sequence[Operation], *, title: str, server_url: str) -> dict[str, Any]:
    schemas = _schemas(operations)
    schemas["Error"] = _ERROR_SCHEMA
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    headers = sorted({name for operation in operations for name in operation.credentials.headers})
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": API_VERSION},
        "servers": [{"url": server_url}],
        "tags": _tags(operations),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {name: {"type": "apiKey", "in": "header", "name": name} for name in headers},
        },
    }


def _tags(operations: Sequence[Operation]) -> list[dict[str, str]]:
    """Each group once, in the order of the operations, with the first words said of it."""
    words: dict[str, str] = {}
    for operation in operations:
        if operation.group:
            words[operation.group] = words.get(operation.group) or operation.group_words
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


def _schemas(operations: Iterable[Operation]) -> dict[str, Any]:
    components = _components({t for operation in operations for t in (operation.request, operation.response) if t})
    return {name: _with_decimals_as_numbers(schema) for name, schema in components.items()}


def _components(types: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    ordered = sorted(types, key=lambda t: t.__name__)
    _, components = msgspec.json.schema_components(ordered, schema_hook=_schema_of, ref_template=_REF)
    return components


def _with_decimals_as_numbers(schema: Any) -> Any:
    """The library describes decimals as it would write them by default, as text; our encoder writes numbers."""
    if isinstance(schema, dict):
        if schema.get("format") == "decimal":
            return {**schema, "type": "number"}
        return {key: _with_decimals_as_numbers(value) for key, value in schema.items()}
    return [_with_decimals_as_numbers(item) for item in schema] if isinstance(schema, list) else schema


def _schema_of(wanted: type) -> dict[str, Any]:
    if issubclass(wanted, Checked):
        return wanted.json_schema()
    raise TypeError(f"{wanted} has no schema")


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
    }
    if operation.group:
        described["tags"] = [operation.group]
    if operation.credentials.headers:
        described["security"] = [{name: [] for name in operation.credentials.headers}]
    if operation.request:
        described["requestBody"] = {
            "required": not operation.is_body_optional,
            "content": {
                "application/json": {
                    "schema": {"$ref": _REF.format(name=operation.request.__name__)},
                    "example": operation.request_example,
                }
            },
        }
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, **details} for name, details in operation.path_parameters.items()
    ]
    if operation.query:
        parameters += _query_parameters(operation.query)
    if operation.is_idempotent_by_key:
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "Repeat a request with the same key and get the first answer again.",
                "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
            }
        )
    return parameters


def _query_parameters(query: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """Each field of the type is a parameter; its words stand beside its schema, as the document wants it."""
    described = _components([query])[query.__name__]
    made = {field.encode_name: _made_default(field) for field in msgspec.structs.fields(query)}
    return [
        {
            "name": name,
            "in": "query",
            "required": name in described.get("required", ()),
            "description": schema.get("description", ""),
            "schema": {key: value for key, value in schema.items() if key != "description"} | made[name],
        }
        for name, schema in described["properties"].items()
    ]


def _made_default(field: msgspec.structs.FieldInfo) -> dict[str, Any]:
    """A default that a factory makes, such as a number of a checked type; the library describes all others."""
    if field.default_factory is msgspec.NODEFAULT:
        return {}
    value = field.default_factory()
    return {"default": int(value) if isinstance(value, int) else value}


def _responses(operation: Operation) -> dict[str, Any]:
    record = {"$ref": _REF.format(name=operation.response.__name__)}
    schema = {
        "type": "object",
        "required": [operation.success_key, "message", "data"],
        "properties": {
            operation.success_key: {"const": True},
            "message": {"type": "string"},
            "data": {"type": "array", "items": record} if operation.answers_list else record,
        },
    }
    example = {operation.success_key: True, "message": operation.success_message, "data": operation.response_example}
    content: dict[str, Any] = {"application/json": {"schema": schema, "example": example}}
    if operation.csv:
        content[Csv.media] = {"schema": {"type": "string"}, "example": operation.csv.head.decode()}
    if operation.pdf:
        content[Pdf.media] = {"schema": {"type": "string", "contentMediaType": Pdf.media}}
    responses: dict[str, Any] = {str(operation.success_status): {"description": operation.summary, "content": content}}
    by_status: dict[int, list[str]] = {}
    for refusal in refusals_of(operation):
        by_status.setdefault(STATUS_OF[refusal], []).append(refusal.error_type)
    for status, names in by_status.items():
        responses[str(status)] = {
            "description": " or ".join(dict.fromkeys(names)),
            "content": {"application/json": {"schema": {"$ref": _REF.format(name="Error")}}},
        }
    return responses
