"""Writes the Python client's types and methods."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from generator.document import ApiOperation, Document, Parameter, Schema
from tidegate.docs.client_name import pascal, python_name

HEAD = '"""{title} Written by `make clients` from the OpenAPI document; not by hand."""\n\n'
_PLAIN = {"string": "str", "integer": "int", "boolean": "bool", "null": "None", "number": "Decimal", "binary": "bytes"}
# Numbers that are sent may be whole; a binary float is no amount.
_SENT = {**_PLAIN, "number": "Decimal | int"}


class PythonWriter:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._answered = set(document.answered())
        self._sent = set(document.sent())
        # Lists of values that have no name of their own in the document, by the name they get here.
        self._values: dict[str, Schema] = {}

    def files(self) -> dict[str, str]:
        methods = {
            "_operations.py": self._operations(),
            "_resources.py": self._resources(is_async=False),
            "_async_resources.py": self._resources(is_async=True),
        }
        # They have the lists of values that stand in methods, too.
        return {"_types.py": self._types(), **methods}

    def _types(self) -> str:
        records = [self._record(name) for name in sorted(self._answered) if _is_object(self._schema(name))]
        inner = [self._typed_dict(name) for name in sorted(self._sent) if _is_object(self._schema(name))]
        enums = {name: self._schema(name) for name in self._answered | self._sent if "enum" in self._schema(name)}
        enums |= self._values
        made = {*enums, *(name for name in self._answered if _is_object(self._schema(name)))}
        made |= {self._sent_name(name) for name in self._sent if _is_object(self._schema(name))}
        names = ", ".join(repr(name) for name in sorted({*made, "EVENT_TYPES", "Event"}))
        kinds = " | ".join(dict.fromkeys(self._document.events.values()))
        table = "".join(f"    {name!r}: {kind},\n" for name, kind in self._document.events.items())
        return (
            HEAD.format(title="Records of the API.")
            + "from __future__ import annotations\n\n"
            + "from datetime import datetime\nfrom decimal import Decimal\n"
            + "from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict\n\n"
            + "from msgspec import field\n\nfrom tidegate_client._model import EventModel, Model, Page\n\n"
            + "# A value that is newer than this client is not refused: a program sees one of these, or a new one.\n"
            + "if TYPE_CHECKING:\n"
            + "".join(f"    {name} = Literal[{_values(enums[name])}]\n" for name in sorted(enums))
            + "else:\n"
            + f"    {' = '.join(sorted(enums))} = str\n\n\n"
            + "\n\n".join(inner)
            + "\n\n"
            + "\n\n".join(_parents_first(records))
            + f"\n\n__all__ = [{names}]\n\nEvent = {kinds}\n\nEVENT_TYPES: dict[str, type[Event]] = {{\n{table}}}\n"
        )

    def _schema(self, name: str) -> Schema:
        return self._document.schemas[name]

    def _record(self, name: str) -> str:
        schema = self._schema(name)
        item = self._document.page_item(name)
        is_event = name in self._document.events.values()
        parent = f"Page[{self._type(item, name)}]" if item else "EventModel" if is_event else "Model"
        lines = [f"class {name}({parent}, kw_only=True):"]
        if "description" in schema:
            lines.append(_doc(schema["description"]))
        for wire_name, inner in schema.get("properties", {}).items():
            if item and wire_name in ("results", "nextCursor"):
                continue
            lines += self._field(name, wire_name, inner, is_required=wire_name in schema.get("required", ()))
        return "\n".join(lines if len(lines) > 1 else [*lines, "    pass"]) + "\n"

    def _field(self, owner: str, wire_name: str, schema: Schema, *, is_required: bool) -> list[str]:
        name = python_name(wire_name)
        kind = self._type(schema, f"{owner}_{wire_name}")
        options = [] if _camel(name) == wire_name else [f"name={wire_name!r}"]
        if not is_required:
            default = schema.get("default")
            plain = default is None or isinstance(default, str | int | bool)
            options.append(f"default={default!r}" if plain else f"default_factory={type(default).__name__}")
            if default is None and "None" not in kind:
                kind += " | None"
        value = f" = field({', '.join(options)})" if options else ""
        return [f"    {name}: {kind}{value}", _doc(schema.get("description", ""))]

    def _typed_dict(self, name: str) -> str:
        schema = self._schema(name)
        lines = [f"class {self._sent_name(name)}(TypedDict):"]
        for wire_name, inner in schema["properties"].items():
            kind = self._type(inner, f"{name}_{wire_name}", sent=True)
            is_required = wire_name in schema.get("required", ())
            lines.append(f"    {python_name(wire_name)}: {kind if is_required else f'NotRequired[{kind}]'}")
            lines.append(_doc(inner.get("description", "")))
        return "\n".join(lines) + "\n"

    def _sent_name(self, name: str) -> str:
        return f"{name}Param" if name in self._answered else name

    def _type(self, schema: Schema, place: str, *, sent: bool = False) -> str:
        """`place` names a list of values that has no name. One of an argument, in small letters, takes any sequence."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self._sent_name(name) if sent and _is_object(self._schema(name)) else name
        kind = schema.get("type", "object")
        choices = [{**schema, "type": one} for one in kind] if isinstance(kind, list) else schema.get("anyOf")
        if choices:
            return " | ".join(dict.fromkeys(self._type(one, place, sent=sent) for one in choices))
        if "enum" in schema:
            return self._enum(schema, place, sent=sent)
        if kind == "array":
            item = self._type(schema["items"], place, sent=sent)
            return f"Sequence[{item}]" if sent and place.islower() else f"list[{item}]"
        if kind == "object":
            return self._object(schema, place, sent=sent)
        return "datetime" if schema.get("format") == "date-time" and not sent else (_SENT if sent else _PLAIN)[kind]

    def _enum(self, schema: Schema, place: str, *, sent: bool) -> str:
        if title := self._document.title(schema):
            self._values[title] = schema
            # The operator may have named one of them.
            return f"{title} | str" if sent else title
        if sent or len(schema["enum"]) == 1 or place.endswith("_event"):
            return f"Literal[{_values(schema)}]"
        self._values[pascal(place)] = schema
        return pascal(place)

    def _object(self, schema: Schema, place: str, *, sent: bool) -> str:
        inner = schema.get("additionalProperties")
        value = self._type(inner, place, sent=sent) if isinstance(inner, dict) else "Any"
        return f"Mapping[str, {value}]" if sent and place.islower() else f"dict[str, {value}]"

    # Methods.

    def _resources(self, *, is_async: bool) -> str:
        tree: dict[str, list[ApiOperation]] = {}
        for operation in self._document.operations:
            parts = operation.resource.split(".")
            for depth in range(1, len(parts) + 1):
                tree.setdefault(".".join(parts[:depth]), [])
            tree[operation.resource].append(operation)
        classes = [self._resource(name, tree, is_async) for name in sorted(tree, key=lambda name: -name.count("."))]
        roots = [name for name in tree if "." not in name]
        attach = "".join(f"        self.{name} = {pascal(name)}(send)\n" for name in roots)
        return (
            HEAD.format(title="Methods of the async client." if is_async else "Methods of the client.")
            + "from __future__ import annotations\n\n"
            + "from collections.abc import Mapping, Sequence\n"
            + "from decimal import Decimal\nfrom typing import Any, Literal\n\n"
            + "from tidegate_client import _operations as ops\nfrom tidegate_client import _types as t\n"
            + "from tidegate_client import _webhooks\n"
            + f"from tidegate_client._call import {'AsyncSend as Send' if is_async else 'Send'}, given_only\n"
            + f"from tidegate_client._model import NOT_GIVEN, NotGiven{', Pager' if is_async else ''}\n\n"
            + "# `list` is the name of a method.\n_List = list\n\n\n"
            + "\n\n".join(classes)
            + f"\n\nclass Resources:\n    def _attach(self, send: Send) -> None:\n{attach}"
        )

    def _operations(self) -> str:
        return (
            HEAD.format(title="Operations of the API.")
            + "from __future__ import annotations\n\n"
            + "from tidegate_client import _types as t\nfrom tidegate_client._call import Operation\n\n"
            + "\n".join(self._operation(one) for one in self._document.operations)
            + "\n"
        )

    def _resource(self, name: str, tree: dict[str, list[ApiOperation]], is_async: bool) -> str:
        inner = [other for other in tree if other.rpartition(".")[0] == name]
        lines = [f"class {pascal(name)}:", "    def __init__(self, send: Send) -> None:", "        self._send = send"]
        lines += [f"        self.{one.rpartition('.')[2]} = {pascal(one)}(send)" for one in inner]
        if name == "webhooks":
            lines += ["", "    verify = staticmethod(_webhooks.verify)"]
        for operation in tree[name]:
            lines += ["", self._method(operation, is_async)]
        return "\n".join(lines) + "\n"

    def _operation(self, operation: ApiOperation) -> str:
        kind = _qualified(self._returned(operation)).replace("_List[", "list[")
        facts = [repr(operation.http_method), repr(operation.path), kind]
        facts.append(f"retry={operation.retry!r}")
        if operation.headers:
            facts.append(f"headers={operation.headers!r}")
        shape = self._shape((*operation.query, *operation.body))
        if shape != "{}":
            facts.append(f"shape={shape}")
        queried = {one.wire_name for one in operation.query}
        if paging := next((name for name in ("cursor", "page") if name in queried), None):
            facts.append(f"paging={paging!r}")
        if operation.has_business:
            facts.append("has_business=True")
        if operation.media != "application/json":
            facts.append(f"media={operation.media!r}")
        return f"{_constant(operation)} = Operation({', '.join(facts)})"

    def _shape(self, parameters: Iterable[Parameter]) -> str:
        """Only names that are others on the wire."""
        inner = {one.name: self._inner(one.wire_name, one.schema) for one in parameters}
        return "{" + ", ".join(f"{name!r}: {there}" for name, there in inner.items() if there != repr(name)) + "}"

    def _inner(self, wire_name: str, schema: Schema) -> str:
        choices = [self._document.resolve(one) for one in schema.get("anyOf", [schema])]
        choices += [self._document.resolve(one["items"]) for one in choices if "items" in one]
        for one in choices:
            if one.get("properties"):
                inner = [Parameter(name, each, False, "") for name, each in one["properties"].items()]
                shape = self._shape(inner)
                return f"({wire_name!r}, {shape})" if shape != "{}" else repr(wire_name)
        return repr(wire_name)

    def _returned(self, operation: ApiOperation) -> str:
        return self._type(operation.answer, pascal(operation.id)).replace("list[", "_List[")

    def _is_page(self, operation: ApiOperation) -> bool:
        name = operation.answer.get("$ref", "").rpartition("/")[2]
        return bool(name) and self._document.page_item(name) is not None

    def _method(self, operation: ApiOperation, is_async: bool) -> str:
        returned = _qualified(self._returned(operation))
        is_pager = is_async and self._is_page(operation)
        head = "    async def" if is_async and not is_pager else "    def"
        arguments = ["self", *(f"{one.name}: str" for one in operation.path_parameters), "*"]
        own = sorted((*operation.body, *operation.query), key=lambda one: not one.is_required)
        arguments += [self._argument(one) for one in own]
        if operation.retry == "key":
            arguments.append("idempotency_key: str | None = None")
        arguments += ["timeout: float | None = None", "max_retries: int | None = None"]
        answer = f"Pager[{returned}]" if is_pager else returned
        sending = self._sending(operation)
        if is_pager:
            last = f"        return Pager(lambda: {sending})"
        else:
            last = f"        return {'await ' if is_async else ''}{sending}"
        words = _method_doc(operation, own)
        return f"{head} {operation.name}({', '.join(arguments)}) -> {answer}:\n{words}\n{last}"

    def _argument(self, one: Parameter) -> str:
        kind = _qualified(self._type(one.schema, one.name, sent=True))
        if one.is_required:
            return f"{one.name}: {kind}"
        if _may_be_null(one):
            return f"{one.name}: {kind.removesuffix(' | None')} | NotGiven | None = NOT_GIVEN"
        return f"{one.name}: {kind}{'' if 'None' in kind else ' | None'} = None"

    def _sending(self, operation: ApiOperation) -> str:
        path = "{" + ", ".join(f"{one.wire_name!r}: {one.name}" for one in operation.path_parameters) + "}"
        body = _given(operation.body) if operation.has_body else "None"
        key = "idempotency_key" if operation.retry == "key" else "None"
        return (
            f"self._send(ops.{_constant(operation)}, {path}, {_given(operation.query)}, {body}, "
            f"idempotency_key={key}, timeout=timeout, max_retries=max_retries)"
        )


def _given(parameters: Iterable[Parameter]) -> str:
    nullable = [one for one in parameters if _may_be_null(one)]
    others = [one for one in parameters if not _may_be_null(one)]
    plain = f"given_only({', '.join(f'{one.name}={one.name}' for one in others)})" if others else "{}"
    if not nullable:
        return plain
    return f"{plain} | {{{', '.join(f'{one.name!r}: {one.name}' for one in nullable)}}}"


def _may_be_null(one: Parameter) -> bool:
    """Null says something else than nothing: it has no default, and null is among its values."""
    return (
        not one.is_required
        and "default" not in one.schema
        and any(choice.get("type") == "null" for choice in one.schema.get("anyOf", ()))
    )


def _is_object(schema: Schema) -> bool:
    return "properties" in schema or schema.get("type") == "object"


def _values(schema: Schema) -> str:
    return ", ".join(repr(value) for value in schema["enum"])


def _constant(operation: ApiOperation) -> str:
    return operation.method.replace(".", "_").upper()


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _qualified(kind: str) -> str:
    """Names of records, from another module."""
    known = {"Any", "Decimal", "None", "Literal", "Mapping", "Sequence", "_List"}
    out, word, is_quoted = "", "", False
    for character in f"{kind} ":
        if character in "'\"":
            is_quoted = not is_quoted
        if character.isalnum() or character == "_":
            word += character
            continue
        is_record = word[:1].isupper() and word not in known and not is_quoted and character not in "'\""
        out += (f"t.{word}" if is_record else word) + character
        word = ""
    return out[:-1]


def _parents_first(records: list[str]) -> Iterator[str]:
    """Pages name their item when they are made; annotations of fields may name what comes later."""
    yield from (record for record in records if "(Page[" not in record.partition("\n")[0])
    yield from (record for record in records if "(Page[" in record.partition("\n")[0])


def _doc(words: str, indent: str = "    ") -> str:
    return textwrap.fill(f'"""{_plain(words)}"""', 116, initial_indent=indent, subsequent_indent=indent)


def _method_doc(operation: ApiOperation, own: Iterable[Parameter]) -> str:
    indent = " " * 8
    lines = [f'{indent}"""{_plain(operation.summary)}', ""]
    lines.append(textwrap.fill(_plain(operation.description), 116, initial_indent=indent, subsequent_indent=indent))
    described = [*operation.path_parameters, *own]
    if described:
        lines += ["", f"{indent}Args:"]
        for one in described:
            text = f"{one.name}: {_plain(one.description)}"
            lines.append(textwrap.fill(text, 116, initial_indent=indent + "    ", subsequent_indent=indent + " " * 6))
    return "\n".join([*lines, f'{indent}"""'])


def _plain(words: str) -> str:
    """As a docstring has it: a whole sentence."""
    return words.replace("\\", "\\\\").removesuffix(".") + "."
