"""The requests of an example as calls of our clients: methods, arguments, what is taken from answers. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tidegate.docs.client_name import method_of
from tidegate.docs.example import Request
from tidegate.docs.schema import Schema, Schemas
from tidegate.docs.variable import Variable
from tidegate.infra.http.operation import Operation, SameAsHeader, encode


@dataclass(frozen=True)
class VariableRef:
    """In place of a value: the variable that has it."""

    name: str


@dataclass(frozen=True)
class NamedFields:
    """An object whose fields the interface names; the names of a plain dictionary are the merchant's own."""

    fields: dict[str, Any]


# A name or a number, and whether it is a field.
PathStep = tuple[str | int, bool]


@dataclass(frozen=True)
class AnswerPath:
    """Where a value stands in an answer: fields of records, keys of dictionaries, entries of lists."""

    steps: tuple[PathStep, ...]

    @property
    def list(self) -> AnswerPath | None:
        """The outermost list that it is in."""
        names = [name for name, _ in self.steps]
        at = next((at for at, name in enumerate(names) if isinstance(name, int)), None)
        return AnswerPath(self.steps[:at]) if at is not None else None


@dataclass(frozen=True)
class ClientCall:
    method: str  # Dotted: resource, perhaps an inner one, and the method.
    verb: str
    template: str  # The path, with `{name}` for each of its values.
    path: tuple[Any, ...]
    own_business: tuple[str, ...]  # Parameters that clients fill in.
    params: NamedFields
    chooses: Mapping[str, str]
    takes: Mapping[str, AnswerPath]
    repeats: bool

    @property
    def answer(self) -> str:
        """What its answer is called: a thing, or several."""
        *_, resource, verb = self.method.split(".")
        if verb in _ANSWERS:
            return _ANSWERS[verb]
        return resource if verb.startswith("list") else re.sub("ies$", "y", resource).removesuffix("s")


# By method, where its answer is not what it was called on.
_ANSWERS = {"quote": "quote", "statement": "statement", "test": "delivery", "replay": "replay", "me": "business"}


class ClientCalls:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._paths = document["paths"]
        self._schemas = Schemas(document)

    def of(self, requests: Sequence[Request]) -> list[ClientCall]:
        """Nothing is taken from an answer that no later call uses."""
        used = [{*request.names.values()} - {variable.name for variable in request.chosen} for request in requests]
        return [self._call(request, set().union(*used[at + 1 :])) for at, request in enumerate(requests)]

    def _call(self, request: Request, used: set[str]) -> ClientCall:
        operation = request.operation
        described = self._paths[operation.path][operation.method.lower()]
        success = described["responses"][str(operation.success_status)]["content"]["application/json"]
        answered = success["schema"]["properties"]["data"]
        taken = [variable for variable in request.kept if variable.name in used]
        return ClientCall(
            method=method_of(operation.name, described["tags"][0]),
            verb=operation.method,
            template=operation.path,
            own_business=tuple(name for name, v in operation.query_example.items() if isinstance(v, SameAsHeader)),
            path=tuple(self._valued(value, {}, request.names) for value in _path_values(operation)),
            params=NamedFields(dict(self._params(described, request))),
            chooses={variable.name: variable.value.rstrip("0123456789") for variable in request.chosen},
            takes={variable.name: self._answer_path(operation, answered, variable) for variable in taken},
            repeats=request.is_awaited,
        )

    def _params(self, described: Mapping[str, Any], request: Request) -> Iterator[tuple[str, Any]]:
        schemas = {one["name"]: one["schema"] for one in described["parameters"] if one["in"] == "query"}
        for name, value in request.operation.query_example.items():
            # The client knows its own business.
            if not isinstance(value, SameAsHeader):
                is_number = any(choice.get("type") == "integer" for choice in self._schemas.choices(schemas[name]))
                yield name, int(value) if is_number else self._valued(value, {}, request.names)
        if request.operation.request:
            schema = described["requestBody"]["content"]["application/json"]["schema"]
            body = self._valued(_plain(request.operation.request_example or {}), schema, request.names)
            yield from body.fields.items() if isinstance(body, NamedFields) else ()

    def _valued(self, value: Any, schema: Schema, names: Mapping[str, str]) -> Any:
        if isinstance(value, str):
            return VariableRef(names[value]) if value in names else value
        if isinstance(value, list):
            return [self._valued(each, self._items(schema), names) for each in value]
        if isinstance(value, dict):
            fields = self._fields(schema)
            inner = {name: self._valued(each, fields.get(name, {}), names) for name, each in value.items()}
            return NamedFields(inner) if fields else inner
        return value

    def _answer_path(self, operation: Operation, schema: Schema, variable: Variable) -> AnswerPath:
        return AnswerPath(next(self._answer_paths(_plain(operation.response_example), schema, variable)))

    def _answer_paths(self, value: Any, schema: Schema, variable: Variable) -> Iterator[tuple[PathStep, ...]]:
        if isinstance(value, dict):
            fields = self._fields(schema)
            for name, inner in value.items():
                step = (name, name in fields)
                if (name, inner) == (variable.field, variable.value):
                    yield (step,)
                for rest in self._answer_paths(inner, fields.get(name, {}), variable):
                    yield (step, *rest)
        elif isinstance(value, list):
            for at, inner in enumerate(value):
                for rest in self._answer_paths(inner, self._items(schema), variable):
                    yield ((at, False), *rest)

    def _fields(self, schema: Schema) -> Mapping[str, Schema]:
        return {name: each for one in self._schemas.choices(schema) for name, each in one.get("properties", {}).items()}

    def _items(self, schema: Schema) -> Schema:
        return next((one["items"] for one in self._schemas.choices(schema) if "items" in one), {})


def _path_values(operation: Operation) -> Iterator[str]:
    for name, details in operation.path_parameters.items():
        yield str(details.get("example", name))


def _plain(value: Any) -> Any:
    """As JSON has it, with exact numbers."""
    return json.loads(encode(value), parse_float=Decimal)
