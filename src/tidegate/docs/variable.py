"""Values that one operation's example makes and another one's needs: shell variables. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args

import msgspec

from tidegate.infra.http.operation import Operation


@dataclass(frozen=True)
class Variable:
    name: str
    value: str  # As in the examples of the document.
    maker: str  # The operation whose example sets it,
    field: str | None  # from this field of the answer; without one, the maker's request chooses the value.

    def is_in(self, operation: Operation) -> bool:
        """Whether the request has it, in the URL or in the body."""
        sent = (*_parameters(operation), *_filters(operation), *texts_in(operation.request_example))
        return any(value == self.value for _, value in sent)

    def is_chosen_by(self, operation: Operation) -> bool:
        return self.field is None and self.maker == operation.name and self.is_in(operation)

    def is_answered_by(self, operation: Operation) -> bool:
        return self.field is not None and self.maker == operation.name


def variables_of(operations: Sequence[Operation]) -> list[Variable]:
    found: dict[str, Variable] = {}
    for index, operation in enumerate(operations):
        makers = [
            *((name, value, _maker(value, operations)) for name, value in _parameters(operation)),
            *((name, value, _filter_maker(value, operations)) for name, value in _filters(operation)),
            *(
                (name, value, _answerer(name, value, operations[:index]))
                for name, value in _sent_by(operation)
                if name not in _listed_in(operation.request)
            ),
            *((name, value, _answerer(name, value, operations[:index])) for name, value in _sent_before(operation)),
        ]
        for name, value, maker in makers:
            if maker and value not in found:
                found[value] = _named(name, value, maker, taken={variable.name for variable in found.values()})
    return list(found.values())


def _named(name: str, value: str, maker: tuple[str, str | None], *, taken: set[str]) -> Variable:
    plain = shell_name(name)
    return Variable(f"{shell_name(maker[0])}_{plain}" if plain in taken else plain, value, *maker)


def _maker(value: str, operations: Sequence[Operation]) -> tuple[str, str | None] | None:
    """The first operation with the value of a path parameter: in its request, or in a field of its answer."""
    for operation in operations:
        if any(value == asked for _, asked in (*_parameters(operation), *_filters(operation))):
            continue
        if any(value == sent for _, sent in _sent_by(operation)):
            return operation.name, None
        for field, answered in texts_in(operation.response_example):
            if answered == value:
                return operation.name, field
    return None


def _filter_maker(value: str, operations: Sequence[Operation]) -> tuple[str, str | None] | None:
    """The operation whose answer has it. A value of a request may be a general word, which no example makes."""
    maker = _maker(value, operations)
    return maker if maker and maker[1] else None


def _answerer(name: str, value: str, before: Sequence[Operation]) -> tuple[str, str | None] | None:
    """The first operation whose answer has a value of the body. A value that was sent before, such as a currency or
    a person's name, is not made by an answer."""
    if any(value == sent for operation in before for _, sent in _sent_by(operation)):
        return None
    makers = (operation for operation in before if (name, value) in texts_in(operation.response_example))
    return next(((maker.name, name) for maker in makers), None)


def _parameters(operation: Operation) -> Iterator[tuple[str, str]]:
    for name, details in operation.path_parameters.items():
        # A value of an enumeration, such as a currency, is not made by an operation.
        if isinstance(details.get("example"), str) and "enum" not in details.get("schema", {}):
            yield name, details["example"]


def _filters(operation: Operation) -> Iterator[tuple[str, str]]:
    listed = _listed_in(operation.query)
    for name, value in operation.query_example.items():
        if isinstance(value, str) and name not in listed:
            yield name, value


def _listed_in(kind: type[msgspec.Struct] | None) -> set[str]:
    """The names of its fields that have a value of an enumeration."""
    return {one.encode_name for one in msgspec.structs.fields(kind) if _is_listed(one.type)} if kind else set()


def _is_listed(kind: Any) -> bool:
    """A value of an enumeration, such as a status, is not made by an operation."""
    return (isinstance(kind, type) and issubclass(kind, Enum)) or any(map(_is_listed, get_args(kind)))


def _sent_by(operation: Operation) -> Iterator[tuple[str, str]]:
    return texts_in(operation.request_example)


def _sent_before(operation: Operation) -> Iterator[tuple[str, str]]:
    """In the steps that prepare its example."""
    for step in operation.prepared_by:
        yield from texts_in(step.request)


def texts_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text, however deep, with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts_in(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner, name)


def shell_name(name: str) -> str:
    """`merchantReference` and `x-key` as `MERCHANT_REFERENCE` and `X_KEY`."""
    return re.sub(r"\W", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).upper()
