"""A JSON value becomes a typed request, or a list of everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from itertools import islice
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, get_args, get_origin, runtime_checkable

import msgspec

from tidegate.core.errors import PROBLEMS_MAX, Invalid, Problem

T = TypeVar("T", bound=msgspec.Struct)
# Rules between fields. It is given only the fields that are right by themselves.
Check = Callable[[Mapping[str, Any]], Iterable[Problem]]


@runtime_checkable
class Checked(Protocol):
    """A type whose values were checked when they were made: `parse` raises ValueError with what is wrong."""

    @classmethod
    def parse(cls, value: Any) -> Self: ...

    @classmethod
    def json_schema(cls) -> dict[str, Any]: ...


def read(value: Any, request_type: type[T], check: Check | None = None) -> T:
    """Raises Invalid with every problem at once."""
    given = as_object(value)
    try:
        request = msgspec.convert(given, request_type, dec_hook=_parse_checked)
    except msgspec.ValidationError:
        problems, fields = _explain(given, request_type, "")
        raise Invalid(*problems, *_first(check(fields) if check else ())) from None
    if check and (found := _first(check(msgspec.structs.asdict(request)))):
        raise Invalid(*found)
    return request


def _first(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """One more than are listed, so that it is known whether there are more."""
    return tuple(islice(problems, PROBLEMS_MAX + 1))


def as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(Problem("body", "must be a JSON object"))
    return value


def _parse_checked(wanted: type, value: Any) -> Any:
    return _parser_of(wanted)(value)


@cache
def _parser_of(wanted: type) -> Callable[[Any], Any]:
    if issubclass(wanted, Checked):
        return wanted.parse
    raise TypeError(f"{wanted} has no parser")


def _explain(value: dict[str, Any], struct: type[msgspec.Struct], path: str) -> tuple[list[Problem], dict[str, Any]]:
    """Field by field, since the decoder stops at the first mistake. Also gives the fields that are right."""
    problems: list[Problem] = []
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        name = field.encode_name
        if name not in value:
            if field.required:
                problems.append(Problem(path + name, "is required"))
            continue
        given = value[name]
        if isinstance(given, dict) and (inner := _struct_of(field.type)):
            inner_problems, _ = _explain(given, inner, f"{path}{name}.")
            problems += inner_problems
        try:
            fields[field.name] = msgspec.convert(given, field.type, dec_hook=_parse_checked)
        except msgspec.ValidationError as error:
            if not any(problem.field.startswith(f"{path}{name}.") for problem in problems):
                problems.append(_problem_of(error, path + name, field.type))
    return problems, fields


def _struct_of(field_type: Any) -> type[msgspec.Struct] | None:
    """Also inside `… | None` and annotations."""
    if isinstance(field_type, type) and issubclass(field_type, msgspec.Struct):
        return field_type
    return next((found for argument in get_args(field_type) if (found := _struct_of(argument))), None)


_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)


def _problem_of(error: msgspec.ValidationError, field: str, field_type: Any) -> Problem:
    match = _PLACE.match(str(error))
    assert match is not None  # The pattern matches any text.
    path = (match["path"] or "$").removeprefix("$")
    inner = path.replace("[...]", "")
    is_about_array = not path and _entry_of(field_type) is not None
    choices = [] if is_about_array else _choices_of(field_type)
    # A wrong value and a value of the wrong type are mended in the same way: by choosing one of these.
    message = f"must be one of {', '.join(choices)}" if choices else _in_plain_words(match["what"], field_type)
    # Set by a type that has several rules.
    return Problem(field + inner, message, kind=getattr(error.__cause__, "kind", None))


def _choices_of(field_type: Any) -> list[str]:
    """The values of an enumeration or a literal, also inside `… | None`."""
    if isinstance(field_type, type) and issubclass(field_type, Enum):
        return [str(member.value) for member in field_type]
    arguments = get_args(field_type)
    if get_origin(field_type) is Literal:
        return [str(argument) for argument in arguments]
    return [choice for argument in arguments for choice in _choices_of(argument)]


_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), phrase)
    for pattern, phrase in (
        (r"^Expected `(?:int|float)(?: \| null)?` >= (\S+)$", r"must be at least \1"),
        (r"^Expected `(?:int|float)(?: \| null)?` <= (\S+)$", r"must be at most \1"),
        (r"^Expected `(?:str|array)` of length >= 1$", r"must not be empty"),
        (r"^Expected `str` of length >= (\d+)$", r"must have at least \1 characters"),
        (r"^Expected `str` of length <= (\d+)$", r"must have at most \1 characters"),
        (r"^Expected `array` of length >= (\d+)$", r"must have at least \1 entries"),
        (r"^Expected `array` of length <= (\d+)$", r"must have at most \1 entries"),
        (r"^Expected `str` matching regex '(.*)'$", r"must match \1"),
        (r"^Invalid enum value (.*)$", r"cannot be \1"),
        (r"^Object missing required field `(.*)`$", r"must have the field \1"),
    )
)
# What the decoder expected, when it found something of another type.
_TYPES = re.compile(r"^Expected `([^`]+)`(?:, got .*)?$")
_TYPE_NAMES = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
}


def _in_plain_words(message: str, field_type: Any) -> str:
    for pattern, phrase in _PHRASES:
        if pattern.match(message):
            return pattern.sub(phrase, message)
    if found := _TYPES.match(message):
        names = (_TYPE_NAMES.get(name, name) for name in found[1].split(" | ") if name != "null")
        return f"must be {' or '.join(names)}".replace("an array", _array_of(field_type))
    return message


def _array_of(field_type: Any) -> str:
    """With what is in it, where that is said in a word."""
    entry = _entry_of(field_type)
    if choices := _choices_of(entry):
        return f"an array of strings, each one of {', '.join(choices)}"
    if entry is str:
        return "an array of strings"
    return "an array of objects" if _struct_of(entry) else "an array"


def _entry_of(field_type: Any) -> Any:
    """The type of a list's entries, also inside `… | None` and annotations. None when it is no list."""
    arguments = get_args(field_type)
    if get_origin(field_type) is list:
        entry = arguments[0]
        return get_args(entry)[0] if get_origin(entry) is Annotated else entry
    return next((found for inner in arguments if (found := _entry_of(inner)) is not None), None)
