"""The content of the API reference: the OpenAPI document as texts and tables. Pure; the template only lays it out.

Texts may mark `code` with backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.core.errors import Invalid, Problem, Refusal, Unauthenticated
from tidegate.infra.http import error_guide, openapi
from tidegate.infra.http.error_answer import error_body
from tidegate.infra.http.error_guide import Guide
from tidegate.infra.http.operation import Csv, Operation
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.reference import example as examples
from tidegate.infra.reference.example import Example
from tidegate.infra.reference.schema import FieldRow, Schemas
from tidegate.infra.reference.variable import Variable


@dataclass(frozen=True)
class Link:
    anchor: str
    text: str


@dataclass(frozen=True)
class Need:
    variable: str
    made_by: Link  # The operation whose example sets it.


@dataclass(frozen=True)
class HeaderUse:
    name: str
    description: str
    is_everywhere: bool
    used_by: tuple[Link, ...]  # A link to the group if all of its operations use it.


@dataclass(frozen=True)
class ErrorRow:
    status: int
    error_type: str
    guide: Guide


@dataclass(frozen=True)
class OperationView:
    anchor: str
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
    prepared_by: tuple[Link, ...]  # What the example sends first.
    needs: tuple[Need, ...]
    makes: tuple[str, ...]  # Variables for the examples of other operations,
    used_by: tuple[Link, ...]  # which are these.
    answer_status: int
    answer: str
    answer_fields: tuple[FieldRow, ...]
    file: str  # The head line of the same answer as CSV; empty where there is none.
    errors: tuple[ErrorRow, ...]


@dataclass(frozen=True)
class Group:
    anchor: str
    name: str
    words: str
    operations: tuple[OperationView, ...]


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
    groups: tuple[Group, ...]

    @property
    def operations(self) -> list[OperationView]:
        return [operation for group in self.groups for operation in group.operations]


def page_of(document: Mapping[str, Any], operations: Sequence[Operation], keys: Mapping[str, str]) -> Page:
    """`keys` are values of credential headers for the examples; without a value, a shell variable is used."""
    base_url = document["servers"][0]["url"]
    by_group = _by_group(operations)
    in_order = [operation for members in by_group.values() for operation in members]
    shown = _Shown(document, in_order, examples.Shell(base_url, keys, in_order))
    groups = tuple(
        Group(
            anchor=_group_anchor(name),
            name=name,
            words=next((member.group_words for member in members if member.group_words), ""),
            operations=tuple(shown.operation(member) for member in members),
        )
        for name, members in by_group.items()
    )
    views = [view for group in groups for view in group.operations]
    headers = tuple(_header_uses(by_group))
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
        failure=examples.pretty(error_body(_a_refusal(views), error_guide.REQUEST_ID)),
        groups=groups,
    )


def _by_group(operations: Sequence[Operation]) -> dict[str, list[Operation]]:
    """In order of first appearance."""
    groups: dict[str, list[Operation]] = {}
    for operation in operations:
        groups.setdefault(operation.group or "Operations", []).append(operation)
    return groups


def _group_anchor(name: str) -> str:
    return f"group-{re.sub(r'[^a-z0-9]+', '-', name.lower())}"


class _Shown:
    def __init__(self, document: Mapping[str, Any], operations: Sequence[Operation], shell: examples.Shell) -> None:
        self._paths = document["paths"]
        self._schemas = Schemas(document)
        self._operations = {operation.name: operation for operation in operations}
        self._shell = shell
        self._examples = {operation.name: shell.example_of(operation) for operation in operations}

    def operation(self, operation: Operation) -> OperationView:
        described = self._paths[operation.path][operation.method.lower()]
        parameters = described["parameters"]
        content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        answers = described["responses"][str(operation.success_status)]["content"]
        answer = answers["application/json"]
        example = self._examples[operation.name]
        return OperationView(
            anchor=operation.name,
            method=operation.method,
            path=tuple(re.split(r"(\{\w+\})", operation.path)),
            summary=operation.summary,
            description=described["description"],
            headers=(*_credential_rows(operation), *self._parameter_rows(parameters, "header")),
            parameters=tuple(self._parameter_rows(parameters, "path")),
            query=tuple(self._parameter_rows(parameters, "query")),
            fields=tuple(self._schemas.rows(content.get("schema", {}))),
            is_body_optional=operation.is_body_optional,
            example=example,
            prepared_by=_links(self._operations[step.operation] for step in self._shell.steps_of(operation)),
            needs=tuple(Need(variable.name, self._maker(variable)) for variable in example.needs),
            makes=tuple(variable.name for variable in example.sets if variable.maker == operation.name),
            used_by=_links(other for other in self._operations.values() if self._uses(other, of=operation)),
            answer_status=operation.success_status,
            answer=examples.pretty(answer["example"]),
            answer_fields=tuple(self._schemas.rows(answer["schema"]["properties"]["data"])),
            file=answers.get(Csv.media, {}).get("example", ""),
            errors=tuple(_error_row(refusal) for refusal in openapi.refusals_of(operation)),
        )

    def _parameter_rows(self, parameters: Sequence[Mapping[str, Any]], place: str) -> Iterator[FieldRow]:
        for given in parameters:
            if given["in"] == place:
                schema = {"description": given.get("description", ""), **given["schema"]}
                yield self._schemas.row(given["name"], schema, is_required=given["required"])

    def _maker(self, variable: Variable) -> Link:
        return _links([self._operations[variable.maker]])[0]

    def _uses(self, other: Operation, *, of: Operation) -> bool:
        return any(variable.maker == of.name for variable in self._examples[other.name].needs)


def _links(operations: Iterable[Operation]) -> tuple[Link, ...]:
    return tuple(Link(operation.name, operation.summary) for operation in operations)


def _credential_rows(operation: Operation) -> Iterator[FieldRow]:
    for name in operation.credentials.headers:
        yield FieldRow(name, "string", is_required=True, description=examples.credential(name).words)
    if operation.request:
        is_required = not operation.is_body_optional
        description = "" if is_required else "With a body."
        yield FieldRow("Content-Type", "string", is_required, description, rules="Only `application/json`.")


def _header_uses(by_group: Mapping[str, Sequence[Operation]]) -> Iterator[HeaderUse]:
    operations = [operation for members in by_group.values() for operation in members]
    for header in dict.fromkeys(header for operation in operations for header in operation.credentials.headers):
        users: list[Link] = []
        for name, members in by_group.items():
            using = [operation for operation in members if header in operation.credentials.headers]
            users += [Link(_group_anchor(name), name)] if using == members else _links(using)
        is_everywhere = all(header in operation.credentials.headers for operation in operations)
        yield HeaderUse(header, examples.credential(header).words, is_everywhere, tuple(users))


def _error_row(refusal: type[Refusal]) -> ErrorRow:
    return ErrorRow(STATUS_OF[refusal], refusal.error_type, error_guide.GUIDE[refusal])


def _a_refusal(views: Sequence[OperationView]) -> Refusal:
    """The refusal of an empty object, sent to the first operation with a body."""
    missing = next(([row for row in view.fields if row.is_required] for view in views if view.fields), [])
    problems = [Problem(row.path, "is required") for row in missing if row.depth == 0]
    return Invalid(*problems) if problems else Unauthenticated("send a valid key")
