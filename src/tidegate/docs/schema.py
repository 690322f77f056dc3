"""JSON schemas as rows of a table, in words: "string or null", "1 to 200 characters". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.infra.http.operation import MEANINGS_KEY

# A schema may contain itself.
DEPTH_MAX = 4
# With more allowed values, all are in one code element.
LISTED_MAX = 5

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class FieldRow:
    """One field, parameter or header."""

    name: str
    type: str
    is_required: bool
    description: str = ""
    rules: str = ""
    # The values it may have, each with its meaning.
    values: tuple[tuple[str, str], ...] = ()
    # The fields inside it.
    fields: tuple[FieldRow, ...] = ()


class Schemas:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._by_name = document["components"]["schemas"]

    def names(self, component: str) -> Iterator[str]:
        """Of all fields of a component, however deep."""
        for row in self.rows(self._by_name.get(component, {})):
            yield from _names_in(row)

    def rows(self, schema: Schema, depth: int = 0) -> tuple[FieldRow, ...]:
        """The fields of an object, or of each object in a list."""
        if depth > DEPTH_MAX:
            return ()
        found: list[FieldRow] = []
        for choice in self.choices(schema):
            required = choice.get("required", ())
            for name, inner in choice.get("properties", {}).items():
                found.append(self.row(name, inner, is_required=name in required, depth=depth))
            if "items" in choice:
                found += self.rows(choice["items"], depth)
        return tuple(found)

    def row(self, name: str, schema: Schema, *, is_required: bool, depth: int = 0) -> FieldRow:
        choices = list(self.choices(schema))
        inline = (schema, *schema.get("anyOf", ()))
        return FieldRow(
            name,
            " or ".join(dict.fromkeys(self._type(choice) for choice in choices)),
            is_required,
            # The description of a shared schema is a docstring for programmers, so only inline ones are used.
            description=next((s["description"] for s in inline if s.get("description")), ""),
            rules=_sentence(_rules(schema, choices)),
            values=tuple(self._values(choices)),
            fields=self.rows(schema, depth + 1),
        )

    def _values(self, choices: Iterable[Schema]) -> Iterator[tuple[str, str]]:
        for choice in choices:
            yield from choice.get(MEANINGS_KEY, {}).items()
            if "items" in choice:
                yield from self._values(self.choices(choice["items"]))

    def choices(self, schema: Schema) -> Iterator[Schema]:
        """The schema without `$ref`, or each of its alternatives; one type each."""
        while "$ref" in schema:
            shared = self._by_name[schema["$ref"].rpartition("/")[2]]
            schema = {**shared, **{key: value for key, value in schema.items() if key != "$ref"}}
        alternatives = schema.get("anyOf") or schema.get("oneOf")
        if alternatives:
            for alternative in alternatives:
                yield from self.choices(alternative)
        elif isinstance(schema.get("type"), list):
            yield from ({**schema, "type": name} for name in schema["type"])
        else:
            yield schema

    def _type(self, choice: Schema) -> str:
        if choice.get("type") == "array":
            item = " or ".join(self._type(inner) for inner in self.choices(choice.get("items", {})))
            return f"list of {item}{'s' if item.isalpha() else ''}"
        for value in (*choice.get("enum", ()), *([choice["const"]] if "const" in choice else ())):
            return _TYPE_OF[type(value)]
        return str(choice.get("type", "value"))


def _names_in(row: FieldRow) -> Iterator[str]:
    yield row.name
    for inner in row.fields:
        yield from _names_in(inner)


_TYPE_OF = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}

_FORMATS = {
    "date-time": "a time in ISO 8601",
    "email": "an e-mail address",
    "uri": "an absolute address",
}
_LIMITS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " entries"),
    ("minProperties", "maxProperties", " keys"),
)
_SINGLE = {"exclusiveMinimum": "more than", "exclusiveMaximum": "less than", "multipleOf": "a multiple of"}


def _rules(schema: Schema, choices: list[Schema]) -> Iterator[str]:
    for choice in choices:
        yield from _choice_rules(choice)
    if schema.get("default") is not None:
        yield f"`{schema['default']}` when absent"


def _choice_rules(choice: Schema) -> Iterator[str]:
    # Values with meanings are listed by themselves.
    allowed = [] if MEANINGS_KEY in choice else [f"`{value}`" for value in choice.get("enum", ())]
    if len(allowed) > LISTED_MAX:
        yield f"one of `{', '.join(map(str, choice['enum']))}`"
    elif allowed:
        yield f"one of {', '.join(allowed)}" if len(allowed) > 1 else f"only {allowed[0]}"
    if choice.get("format") in _FORMATS:
        yield _FORMATS[choice["format"]]
    for low, high, unit in _LIMITS:
        if low in choice or high in choice:
            yield _between(choice.get(low), choice.get(high)) + unit
    yield from (f"{words} {choice[key]}" for key, words in _SINGLE.items() if key in choice)
    if "maxLength" in choice.get("propertyNames", {}):
        yield f"keys of at most {choice['propertyNames']['maxLength']} characters"
    if "pattern" in choice:
        yield _pattern(choice["pattern"])


def _between(low: int | None, high: int | None) -> str:
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


_ONE_SET = re.compile(r"\^\[(?P<set>[^\[\]^]+)\]\{(?P<low>\d+),(?P<high>\d+)\}\$")
_RANGE = re.compile(r"[^\\]-.")
_KINDS = (("A-Za-z", "letters"), ("0-9", "digits"), ("!-~", "visible ASCII"))


def _pattern(pattern: str) -> str:
    """In words if it is a number of characters out of one set, as most are."""
    match = _ONE_SET.fullmatch(pattern)
    if match is None:
        return f"matches `{pattern}`"
    left = match["set"]
    words = []
    for kind, word in _KINDS:
        if kind in left:
            left = left.replace(kind, "")
            words.append(word)
    if _RANGE.search(left):
        return f"matches `{pattern}`"
    words += [f"`{sign}`" for sign in left.replace("\\", "")]
    if words in (["letters"], ["digits"]):
        return f"{match['low']} to {match['high']} {words[0]}"
    return f"{match['low']} to {match['high']} characters: {', '.join(words)}"


def _sentence(rules: Iterator[str]) -> str:
    text = "; ".join(dict.fromkeys(rules))
    return f"{text[0].upper()}{text[1:]}." if text else ""
