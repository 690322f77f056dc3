"""JSON schemas of the types of the API, with the meaning of every value of an enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import msgspec
from msgspec import inspect

from tidegate.infra.http.operation import MEANINGS_KEY
from tidegate.infra.http.read import Checked

REF = "#/components/schemas/{name}"


def ref_to(record: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": REF.format(name=record.__name__)}


def components_of(types: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    ordered = sorted(set(types), key=lambda t: t.__name__)
    _, components = msgspec.json.schema_components(ordered, schema_hook=_schema_of, ref_template=REF)
    for info in inspect.multi_type_info(ordered):
        for enum in _enums_in(info, set()):
            components[enum.__name__] = _enum_schema(enum)
    return {name: _as_published(schema) for name, schema in components.items()}


def respelled(node: Any, spellings: Mapping[str, str]) -> Any:
    """With other values in enumerations and examples, where the operator has named something."""
    if isinstance(node, list):
        return [respelled(item, spellings) for item in node]
    if not isinstance(node, dict):
        return node
    made = {
        key: _example_respelled(value, spellings) if key == "example" else respelled(value, spellings)
        for key, value in node.items()
    }
    if "enum" in made and MEANINGS_KEY in made:
        made["enum"] = [spellings.get(value, value) for value in made["enum"]]
        made[MEANINGS_KEY] = {spellings.get(value, value): words for value, words in made[MEANINGS_KEY].items()}
    return made


def _example_respelled(node: Any, spellings: Mapping[str, str]) -> Any:
    """A name is a value, or the name of a value, such as of the attempts that are left by each method."""
    if isinstance(node, list):
        return [_example_respelled(item, spellings) for item in node]
    if isinstance(node, dict):
        return {spellings.get(key, key): _example_respelled(value, spellings) for key, value in node.items()}
    return spellings.get(node, node) if isinstance(node, str) else node


def _schema_of(wanted: type) -> dict[str, Any]:
    if issubclass(wanted, Checked):
        return wanted.json_schema()
    raise TypeError(f"{wanted} has no schema")


def _enums_in(node: Any, seen: set[type]) -> Iterator[type[Enum]]:
    if isinstance(node, inspect.EnumType):
        yield node.cls
    elif isinstance(node, inspect.StructType):
        if node.cls not in seen:
            seen.add(node.cls)
            for field in node.fields:
                yield from _enums_in(field.type, seen)
    elif isinstance(node, inspect.Type):
        for value in (getattr(node, name) for name in node.__struct_fields__):
            for inner in value if isinstance(value, tuple) else (value,):
                yield from _enums_in(inner, seen)


def _enum_schema(enum: type[Enum]) -> dict[str, Any]:
    """In the order of its definition. Its docstring is for programmers of this service."""
    meanings = {member.value: member.meaning for member in enum}  # type: ignore[attr-defined]
    return {"title": enum.__name__, "type": "string", "enum": list(meanings), MEANINGS_KEY: meanings}


def _as_published(schema: Any, *, is_component: bool = True) -> Any:
    """Decimals are numbers, as our encoder writes them. A struct's docstring is for programmers of this service."""
    if isinstance(schema, list):
        return [_as_published(item, is_component=False) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: value if key == MEANINGS_KEY else _as_published(value, is_component=key == "$defs")
        for key, value in schema.items()
        if not (is_component and key == "description")
    }
    if made.get("format") == "decimal":
        made["type"] = "number"
    if MEANINGS_KEY in made and "enum" in made:
        made["type"] = "string"
        # The library sorts them.
        made["enum"] = [value for value in made[MEANINGS_KEY] if value in made["enum"]]
    return made
