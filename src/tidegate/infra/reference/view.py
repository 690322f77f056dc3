"""What the API reference shows: the OpenAPI document as words and tables. Pure; the template only lays it out.

Texts may mark `code` with backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.core import errors
from tidegate.core.errors import Invalid, Problem, Refusal, Unauthenticated
from tidegate.infra.http import openapi
from tidegate.infra.http.endpoint import BODY_BYTES_MAX, BODY_TIMEOUT_S
from tidegate.infra.http.front_door import error_body
from tidegate.infra.http.operation import Operation
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.reference import example as examples
from tidegate.infra.reference.example import Example
from tidegate.infra.reference.schema import Row, Schemas

_REQUEST_ID = "req_4fQ0xYb7Lk2ZsW9d"

# What to do about each refusal. A class without a sentence of its own has its parent's.
REMEDY_OF: dict[type[Refusal], str] = {
    Refusal: "Read `message`: it says what is wrong.",
    errors.Malformed: "Send one JSON object in UTF-8, no key twice. `message` says what could not be read.",
    errors.Unauthenticated: "A header is missing, or its key is mistyped, revoked or of the other mode. "
    "`message` names the header.",
    errors.AccessDenied: "The headers do not belong together, or the account is suspended. Check them; "
    "repeating does not help.",
    errors.NotFound: "Check the address and what you put into it: you have nothing by that name.",
    errors.WrongRequest: "Change the request as `message` says.",
    errors.MethodNotAllowed: "Use a method that the `Allow` header lists.",
    errors.RequestTimeout: f"The body took longer than {BODY_TIMEOUT_S:.0f} seconds to arrive. Send it again.",
    errors.BodyTooLarge: f"Send at most {BODY_BYTES_MAX} bytes.",
    errors.UnsupportedMediaType: "Send `Content-Type: application/json`, in UTF-8 and not compressed.",
    errors.Conflict: "Look at what is there already, then decide.",
    errors.DuplicateReference: "The reference was used before. When `data` is there, it is what you made then "
    "and you can go on with it; otherwise choose a new reference.",
    errors.IllegalTransition: "Look at the thing again: it has moved on, and some states are final.",
    errors.StillRunning: "Wait as long as `Retry-After` says and send the same request with the same key.",
    errors.Invalid: "Mend every field that `errors` lists; all of them are there. When they all break one "
    f"special rule, `errorType` is its name, such as `{Invalid.METHOD_NOT_SUPPORTED}` or `{Invalid.CARD_DATA}`.",
    errors.InsufficientBalance: "Your wallet of this currency holds less than that. Ask for less, or wait until more "
    "has been paid in.",
    errors.RateLimited: "Wait as many seconds as `Retry-After` says, then go on more slowly.",
    errors.Unavailable: "Nothing is wrong with your request. Send it again in a moment, a change with the same "
    "`Idempotency-Key`.",
}


@dataclass(frozen=True)
class Link:
    anchor: str
    text: str


@dataclass(frozen=True)
class HeaderUse:
    name: str
    description: str
    is_everywhere: bool
    used_by: tuple[Link, ...]


@dataclass(frozen=True)
class ErrorRow:
    status: int
    error_type: str
    remedy: str


@dataclass(frozen=True)
class OperationView:
    anchor: str
    method: str
    path: tuple[str, ...]  # Every second piece is a parameter.
    summary: str
    description: str
    headers: tuple[Row, ...]
    parameters: tuple[Row, ...]
    fields: tuple[Row, ...]
    example: Example
    before: tuple[Link, ...]  # Whose example sets the variable that this one needs.
    after: tuple[Link, ...]  # Whose example needs the variable that this one sets.
    answer_status: int
    answer: str
    errors: tuple[ErrorRow, ...]


@dataclass(frozen=True)
class Page:
    title: str
    version: str
    base_url: str
    carries_keys: bool
    exports: str
    headers: tuple[HeaderUse, ...]
    success_key: str
    success: str
    failure: str
    operations: tuple[OperationView, ...]


def page_of(document: Mapping[str, Any], operations: Sequence[Operation], keys: Mapping[str, str]) -> Page:
    """`keys` are the values of credential headers that the examples may show; without one, a shell variable."""
    base_url = document["servers"][0]["url"]
    shown = _Shown(document, operations, examples.Shell(base_url, keys, operations))
    views = tuple(shown.operation(operation) for operation in operations)
    headers = tuple(_header_uses(operations))
    success_keys = sorted({operation.success_key for operation in operations}, reverse=True)
    return Page(
        title=document["info"]["title"],
        version=document["info"]["version"],
        base_url=base_url,
        carries_keys=bool(keys),
        exports=examples.exports_of([header.name for header in headers]),
        headers=headers,
        success_key=" or ".join(f"`{key}`" for key in success_keys),
        success=views[0].answer,
        failure=examples.pretty(error_body(_a_refusal(views), _REQUEST_ID)),
        operations=views,
    )


class _Shown:
    def __init__(self, document: Mapping[str, Any], operations: Sequence[Operation], shell: examples.Shell) -> None:
        self._paths = document["paths"]
        self._schemas = Schemas(document)
        self._operations = operations
        self._shell = shell

    def operation(self, operation: Operation) -> OperationView:
        described = self._paths[operation.path][operation.method.lower()]
        parameters = described["parameters"]
        content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        answer = described["responses"][str(operation.success_status)]["content"]["application/json"]
        example = self._shell.example_of(operation)
        made = self._shell.made_by(operation)
        return OperationView(
            anchor=operation.name,
            method=operation.method,
            path=tuple(re.split(r"(\{\w+\})", operation.path)),
            summary=operation.summary,
            description=operation.description,
            headers=(*_credential_rows(operation), *self._parameter_rows(parameters, "header")),
            parameters=tuple(self._parameter_rows(parameters, "path")),
            fields=tuple(self._schemas.rows(content.get("schema", {}))),
            example=example,
            before=_links(other for other in self._operations if example.needs in self._shell.made_by(other)),
            after=_links(other for other in self._operations if self._needs_of(other) in made),
            answer_status=operation.success_status,
            answer=examples.pretty(answer["example"]),
            errors=tuple(_error_row(refusal) for refusal in openapi.refusals_of(operation)),
        )

    def _parameter_rows(self, parameters: Sequence[Mapping[str, Any]], place: str) -> Iterator[Row]:
        for given in parameters:
            if given["in"] == place:
                schema = {"description": given.get("description", ""), **given["schema"]}
                yield self._schemas.row(given["name"], schema, is_required=given["required"])

    def _needs_of(self, operation: Operation) -> str | None:
        return self._shell.example_of(operation).needs


def _links(operations: Iterable[Operation]) -> tuple[Link, ...]:
    return tuple(Link(operation.name, operation.summary) for operation in operations)


def _credential_rows(operation: Operation) -> Iterator[Row]:
    for name in operation.credentials.headers:
        yield Row(name, "string", is_required=True, description=examples.credential(name).words)
    if operation.request:
        yield Row("Content-Type", "string", is_required=True, rules="Only `application/json`.")


def _header_uses(operations: Sequence[Operation]) -> Iterator[HeaderUse]:
    for name in dict.fromkeys(name for operation in operations for name in operation.credentials.headers):
        users = [operation for operation in operations if name in operation.credentials.headers]
        words = examples.credential(name).words
        yield HeaderUse(name, words, is_everywhere=len(users) == len(operations), used_by=_links(users))


def _error_row(refusal: type[Refusal]) -> ErrorRow:
    remedy = next(REMEDY_OF[kind] for kind in refusal.__mro__ if kind in REMEDY_OF)
    return ErrorRow(STATUS_OF[refusal], refusal.error_type, remedy)


def _a_refusal(views: Sequence[OperationView]) -> Refusal:
    """A real one: an empty object sent to the first operation that takes a body."""
    missing = next(([row for row in view.fields if row.is_required] for view in views if view.fields), [])
    problems = [Problem(row.path, "is required") for row in missing if row.depth == 0]
    return Invalid(*problems) if problems else Unauthenticated("send a valid key")
