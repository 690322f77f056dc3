"""Pages of the API reference: the OpenAPI document as texts and tables. Pure; the templates only lay it out.

Texts may mark `code` with backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tidegate.core.errors import Refusal
from tidegate.docs import example as examples
from tidegate.docs.client_call import ClientCalls
from tidegate.docs.example import Example
from tidegate.docs.sample import Sample, samples_of
from tidegate.docs.schema import FieldRow, Schemas
from tidegate.docs.variable import Variable
from tidegate.infra.http import error_guide, openapi
from tidegate.infra.http.error_guide import Guide
from tidegate.infra.http.openapi import EventDocument
from tidegate.infra.http.operation import Csv, Operation
from tidegate.infra.http.status import STATUS_OF

FOLDER = "/docs/reference"
ERRORS_PATH = f"{FOLDER}/errors"
# Besides deletions: these are run only after a question.
_DESTRUCTIVE = ("resetSandbox", "rotateSecret", "advanceClock")


@dataclass(frozen=True)
class PageLink:
    path: str
    text: str


@dataclass(frozen=True)
class RequiredVariable:
    variable: str
    made_by: PageLink  # The operation whose example sets it.


@dataclass(frozen=True)
class ErrorRow:
    status: int
    error_type: str
    guide: Guide
    # Any operation of its kind can meet it.
    is_common: bool = False


@dataclass(frozen=True)
class OperationView:
    name: str
    slug: str
    group: str
    method: str
    path: tuple[str, ...]  # Every second piece is a parameter.
    summary: str
    description: str
    headers: tuple[FieldRow, ...]
    parameters: tuple[FieldRow, ...]
    query: tuple[FieldRow, ...]
    fields: tuple[FieldRow, ...]
    is_body_optional: bool
    example: Example
    samples: tuple[Sample, ...]
    plan: str  # JSON, for the script that runs the example.
    is_destructive: bool
    prepared_by: tuple[PageLink, ...]  # What the example sends first.
    needs: tuple[RequiredVariable, ...]
    makes: tuple[str, ...]  # Variables for the examples of other operations,
    used_by: tuple[PageLink, ...]  # which are these.
    answer_status: int
    answer: str
    answer_fields: tuple[FieldRow, ...]
    file: str  # The head line of the same answer as CSV; empty where there is none.
    errors: tuple[ErrorRow, ...]


@dataclass(frozen=True)
class EventView:
    name: str
    slug: str
    description: str
    sent_to: str
    headers: tuple[tuple[str, str], ...]
    payload: str
    fields: tuple[FieldRow, ...]


@dataclass(frozen=True)
class ErrorView:
    error_type: str
    statuses: tuple[int, ...]
    guides: tuple[Guide, ...]
    body: str


def slug_of(operation: str) -> str:
    """`createPayment` as `create-payment`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", operation).lower()


def by_group(operations: Sequence[Operation]) -> dict[str, list[Operation]]:
    """In order of first appearance."""
    groups: dict[str, list[Operation]] = {}
    for operation in operations:
        groups.setdefault(operation.group or "Operations", []).append(operation)
    return groups


class ApiReference:
    def __init__(
        self, document: Mapping[str, Any], operations: Sequence[Operation], events: Sequence[EventDocument] = ()
    ) -> None:
        self._paths = document["paths"]
        self._base_url = document["servers"][0]["url"]
        self._schemas = Schemas(document)
        self._calls = ClientCalls(document)
        self.operations = {o.name: o for members in by_group(operations).values() for o in members}
        self.events = {event.name: event for event in events}
        self._webhooks = document.get("webhooks", {})

    @cached_property
    def shell(self) -> examples.Shell:
        return examples.Shell(self._base_url, list(self.operations.values()))

    @cached_property
    def _examples(self) -> dict[str, Example]:
        return {name: self.shell.example_of(operation) for name, operation in self.operations.items()}

    def operation(self, operation: Operation) -> OperationView:
        described = self._paths[operation.path][operation.method.lower()]
        parameters = described["parameters"]
        content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        answers = described["responses"][str(operation.success_status)]["content"]
        answer = answers["application/json"]
        example = self._examples[operation.name]
        return OperationView(
            name=operation.name,
            slug=slug_of(operation.name),
            group=operation.group,
            method=operation.method,
            path=tuple(re.split(r"(\{\w+\})", operation.path)),
            summary=operation.summary,
            description=described["description"],
            headers=(*_credential_rows(operation), *self._parameter_rows(parameters, "header")),
            parameters=tuple(self._parameter_rows(parameters, "path")),
            query=tuple(self._parameter_rows(parameters, "query")),
            fields=self._schemas.rows(content.get("schema", {})),
            is_body_optional=operation.is_body_optional,
            example=example,
            samples=samples_of(example.command, self._calls.of(self.shell.requests_of(operation)), self._base_url),
            plan=examples.one_line(self.shell.plan_of(operation)),
            is_destructive=operation.method == "DELETE" or operation.name in _DESTRUCTIVE,
            prepared_by=_links(self.operations[step.operation] for step in self.shell.steps_of(operation)),
            needs=tuple(RequiredVariable(variable.name, self._maker(variable)) for variable in example.needs),
            makes=tuple(variable.name for variable in example.sets if variable.maker == operation.name),
            used_by=_links(other for other in self.operations.values() if self._uses(other, of=operation)),
            answer_status=operation.success_status,
            answer=examples.pretty(answer["example"]),
            answer_fields=self._schemas.rows(answer["schema"]["properties"]["data"]),
            file=answers.get(Csv.media, {}).get("example", ""),
            errors=tuple(_error_rows(operation)),
        )

    def event(self, event: EventDocument) -> EventView:
        content = self._webhooks[event.name]["post"]["requestBody"]["content"]["application/json"]
        return EventView(
            name=event.name,
            slug=f"events/{event.name}",
            description=event.description,
            sent_to=event.sent_to,
            headers=tuple(event.headers.items()),
            payload=examples.pretty(event.example),
            fields=self._schemas.rows(content["schema"]),
        )

    def field_anchors(self, operation: Operation) -> Iterator[tuple[str, str]]:
        """Each field, parameter and header, and its place on the page."""
        described = self._paths[operation.path][operation.method.lower()]
        parameters = described["parameters"]
        content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        answer = described["responses"][str(operation.success_status)]["content"]["application/json"]
        for prefix, rows in (
            ("body", self._schemas.rows(content.get("schema", {}))),
            *((place, self._parameter_rows(parameters, place)) for place in ("path", "query", "header")),
            ("answer", self._schemas.rows(answer["schema"]["properties"]["data"])),
        ):
            yield from _anchors_in(rows, prefix)

    def event_field_anchors(self, event: EventDocument) -> Iterator[tuple[str, str]]:
        return _anchors_in(self.event(event).fields, "field")

    def field_names(self, operation: Operation) -> Iterator[str]:
        for record in (operation.request, operation.query, operation.response):
            if record:
                yield from self._schemas.names(record.__name__)

    def event_field_names(self, event: EventDocument) -> Iterator[str]:
        return self._schemas.names(event.payload.__name__)

    def _parameter_rows(self, parameters: Sequence[Mapping[str, Any]], place: str) -> Iterator[FieldRow]:
        for given in parameters:
            if given["in"] == place:
                schema = {"description": given.get("description", ""), **given["schema"]}
                yield self._schemas.row(given["name"], schema, is_required=given["required"])

    def _maker(self, variable: Variable) -> PageLink:
        return _links([self.operations[variable.maker]])[0]

    def _uses(self, other: Operation, *, of: Operation) -> bool:
        return any(variable.maker == of.name for variable in self._examples[other.name].needs)


def _anchors_in(rows: Iterable[FieldRow], prefix: str) -> Iterator[tuple[str, str]]:
    for row in rows:
        anchor = f"{prefix}-{row.name}"
        yield row.name, anchor
        yield from _anchors_in(row.fields, anchor)


def _links(operations: Iterable[Operation]) -> tuple[PageLink, ...]:
    return tuple(PageLink(f"{FOLDER}/{slug_of(operation.name)}", operation.summary) for operation in operations)


def _credential_rows(operation: Operation) -> Iterator[FieldRow]:
    for name in operation.credentials.headers:
        yield FieldRow(name, "string", is_required=True, description=examples.credential(name).words)
    if operation.request:
        is_required = not operation.is_body_optional
        description = "Type of the body." if is_required else "Type of the body, when there is one."
        yield FieldRow("Content-Type", "string", is_required, description, rules="Only `application/json`.")


def _error_rows(operation: Operation) -> Iterator[ErrorRow]:
    own = {*operation.errors}
    for refusal in openapi.refusals_of(operation):
        is_common = refusal not in own and not refusal.error_type.startswith("VALIDATION")
        yield ErrorRow(STATUS_OF[refusal], refusal.error_type, error_guide.GUIDE[refusal], is_common)


def error_views() -> Iterator[ErrorView]:
    """Every `errorType` once."""
    classes: dict[str, list[type[Refusal]]] = {}
    for refusal in error_guide.GUIDE:
        classes.setdefault(refusal.error_type, []).append(refusal)
    for error_type, members in classes.items():
        yield ErrorView(
            error_type,
            tuple(dict.fromkeys(STATUS_OF[member] for member in members)),
            tuple(error_guide.GUIDE[member] for member in members),
            examples.pretty(error_guide.example_of(members[0])),
        )
    for error_type, guide in error_guide.RULES.items():
        status = 500 if error_type == error_guide.ONLY_INTERNAL else 422
        yield ErrorView(error_type, (status,), (guide,), "")
