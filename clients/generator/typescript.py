"""Writes the TypeScript client's types and its table of operations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from generator.document import ApiOperation, Document, Parameter, Schema
from tidegate.docs.client_name import camel, pascal

HEAD = "// Written by `make clients` from the OpenAPI document; not by hand.\n\n"
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "binary": "Uint8Array",
}
_OPTIONS = """export interface CallOptions {
  /** Of one try. */
  timeoutMs?: number;
  maxRetries?: number;
}
export interface KeyedOptions extends CallOptions {
  /** The same request with the same key has one effect. Made for you when absent. */
  idempotencyKey?: string;
}
export interface Answered {
  /** Names the request in our logs; quote it when you report a problem. */
  readonly requestId?: string;
}
/** A list: `await` gives the first page, `for await` goes through all of them. */
export interface Pager<Page, Item> extends PromiseLike<Page & Answered>, AsyncIterable<Item> {}
"""


class TypeScriptWriter:
    def __init__(self, document: Document, exponents: Mapping[str, int]) -> None:
        self._document = document
        self._exponents = exponents
        # Lists of values that have no name of their own in the document but a title.
        self._titled: dict[str, Schema] = {}

    def files(self) -> dict[str, str]:
        return {"operations.js": self._operations(), "types.d.ts": self._types()}

    def _operations(self) -> str:
        rows = []
        for operation in self._document.operations:
            facts: dict[str, object] = {
                "method": operation.http_method,
                "url": operation.path,
                "path": [one.wire_name for one in operation.path_parameters],
                "retry": operation.retry,
                "headers": operation.headers,
            }
            queried = {one.wire_name for one in operation.query}
            facts["takes"] = "body" if operation.has_body else "query" if operation.query else None
            facts["hasBusiness"] = operation.has_business or None
            facts["isPage"] = self._item(operation) is not None or None
            facts["paging"] = next((name for name in ("cursor", "page") if name in queried), None)
            facts["media"] = operation.media if operation.media != "application/json" else None
            row = json.dumps({name: value for name, value in facts.items() if value is not None})
            rows.append(f"  {json.dumps(_dotted(operation))}: {row},\n")
        return f"{HEAD}export const OPERATIONS = {{\n{''.join(rows)}}};\n\n" + (
            f"export const EXPONENTS = {json.dumps(dict(self._exponents))};\n"
        )

    def _types(self) -> str:
        names = sorted({*self._document.answered(), *self._document.sent()})
        kinds = " | ".join(f"{kind}" for kind in dict.fromkeys(self._document.events.values()))
        parts = [self._declared(name) for name in names]
        parts += [self._parameters(one) for one in self._document.operations if one.body or one.query]
        parts += [_open_values(name, schema) for name, schema in sorted(self._titled.items())]
        return (
            f'{HEAD}import type {{ webhooks }} from "./index.js";\n\n{_OPTIONS}\n'
            + "\n".join(parts)
            + f"\nexport type Event = {kinds};\n\n"
            + self._resources()
        )

    def _declared(self, name: str) -> str:
        schema = self._document.schemas[name]
        if "enum" in schema:
            return _open_values(name, schema)
        required = schema.get("required", ())
        is_event = name in self._document.events.values()
        return _interface(
            name,
            [
                # What an event is called is always there, and tells its type.
                (key, self._type(inner, is_exact=is_event), key in required or is_event, inner.get("description", ""))
                for key, inner in schema.get("properties", {}).items()
            ],
        )

    def _parameters(self, operation: ApiOperation) -> str:
        return _interface(_params_name(operation), self._fields((*operation.body, *operation.query)))

    def _fields(self, parameters: Iterable[Parameter]) -> list[tuple[str, str, bool, str]]:
        return [
            (one.wire_name, self._type(one.schema, is_exact=True), one.is_required, one.description)
            for one in parameters
        ]

    def _type(self, schema: Schema, *, is_exact: bool = False) -> str:
        if "$ref" in schema:
            return str(schema["$ref"].rpartition("/")[2])
        kind = schema.get("type", "object")
        choices = [{**schema, "type": one} for one in kind] if isinstance(kind, list) else schema.get("anyOf")
        if choices:
            return " | ".join(dict.fromkeys(self._type(one, is_exact=is_exact) for one in choices))
        if "enum" in schema:
            if title := self._document.title(schema):
                self._titled[title] = schema
                return title
            return _choices(schema) if is_exact or len(schema["enum"]) == 1 else f"{_choices(schema)} | (string & {{}})"
        if kind == "array":
            return f"Array<{self._type(schema['items'], is_exact=is_exact)}>"
        return self._object(schema) if kind == "object" else _PLAIN[kind]

    def _object(self, schema: Schema) -> str:
        inner = schema.get("additionalProperties")
        fields = "".join(
            f" {name}?: {self._type(each, is_exact=True)};" for name, each in schema.get("properties", {}).items()
        )
        if fields:
            return f"{{{fields} [further: string]: unknown }}"
        return f"Record<string, {self._type(inner) if isinstance(inner, dict) else 'unknown'}>"

    def _item(self, operation: ApiOperation) -> Schema | None:
        name = operation.answer.get("$ref", "").rpartition("/")[2]
        return self._document.page_item(name) if name else None

    def _resources(self) -> str:
        tree: dict[str, list[str]] = {"": []}
        for operation in self._document.operations:
            parts = operation.resource.split(".")
            for depth in range(1, len(parts) + 1):
                name = ".".join(parts[:depth])
                if name not in tree:
                    tree[name] = []
                    outer = ".".join(parts[: depth - 1])
                    tree[outer].append(f"  readonly {camel(parts[depth - 1])}: {pascal(name)};\n")
            tree[operation.resource].append(self._method(operation))
        tree["webhooks"].insert(0, "  verify: typeof webhooks.verify;\n")
        return "\n".join(
            f"export interface {pascal(name) or 'Resources'} {{\n{''.join(lines)}}}\n" for name, lines in tree.items()
        )

    def _method(self, operation: ApiOperation) -> str:
        own = (*operation.body, *operation.query)
        arguments = [f"{camel(one.name)}: string" for one in operation.path_parameters]
        if own:
            mark = "" if any(one.is_required for one in own) else "?"
            arguments.append(f"params{mark}: {_params_name(operation)}")
        elif operation.has_body:
            arguments.append("params?: Record<string, never>")
        arguments.append(f"options?: {'KeyedOptions' if operation.retry == 'key' else 'CallOptions'}")
        answer, item = self._type(operation.answer), self._item(operation)
        is_record = answer != "Uint8Array"
        promised = f"Promise<{answer}{' & Answered' if is_record else ''}>"
        returned = f"Pager<{answer}, {self._type(item)}>" if item else promised
        words = f"{operation.summary.removesuffix('.')}. {operation.description}".replace("*/", "* /")
        return f"  /** {words} */\n  {camel(operation.name)}({', '.join(arguments)}): {returned};\n"


def _dotted(operation: ApiOperation) -> str:
    return ".".join(camel(part) for part in operation.method.split("."))


def _params_name(operation: ApiOperation) -> str:
    return f"{pascal(operation.method)}Params"


def _open_values(name: str, schema: Schema) -> str:
    """A value that is newer than the client is not refused."""
    return f"export type {name} = {_choices(schema)} | (string & {{}});\n"


def _choices(schema: Schema) -> str:
    return " | ".join(json.dumps(value) for value in schema["enum"])


def _interface(name: str, fields: Iterable[tuple[str, str, bool, str]]) -> str:
    lines = [
        f"  /** {words.replace('*/', '* /')} */\n  {key}{'' if required else '?'}: {kind};\n"
        for key, kind, required, words in fields
    ]
    return f"export interface {name} {{\n{''.join(lines)}}}\n"
