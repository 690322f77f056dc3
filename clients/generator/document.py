"""The OpenAPI document as the writers need it: operations with their parts, schemas in two directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidegate.docs import client_name as names

Schema = dict[str, Any]
METHODS = ("get", "post", "patch", "put", "delete")
FILES = {"text/csv": "csv", "application/pdf": "pdf"}


@dataclass(frozen=True)
class Parameter:
    wire_name: str
    schema: Schema
    is_required: bool
    description: str

    @property
    def name(self) -> str:
        return names.snake(self.wire_name)


@dataclass(frozen=True)
class ApiOperation:
    id: str
    http_method: str
    path: str
    # Dotted: resource, perhaps an inner one, and the method.
    method: str
    summary: str
    description: str
    path_parameters: tuple[Parameter, ...]
    query: tuple[Parameter, ...]
    body: tuple[Parameter, ...]
    has_body: bool
    has_business: bool
    headers: tuple[str, ...]
    retry: str
    answer: Schema
    media: str = "application/json"

    @property
    def resource(self) -> str:
        return self.method.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.method.rpartition(".")[2]


class Document:
    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.schemas: dict[str, Schema] = raw["components"]["schemas"]
        self.operations = [made for path, methods in raw["paths"].items() for made in self._of_path(path, methods)]
        found = [operation.method for operation in self.operations]
        twice = sorted({method for method in found if found.count(method) > 1})
        if twice:
            raise ValueError(
                f"two operations have the same method: {twice}; name one in src/tidegate/docs/client_name.py"
            )
        self.events = {
            name: _body_of(methods["post"])["$ref"].rpartition("/")[2] for name, methods in raw["webhooks"].items()
        }

    def resolve(self, schema: Schema) -> Schema:
        return self.schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def title(self, schema: Schema) -> str | None:
        """The name of a list of values that stands in several places and is no schema of its own."""
        title: str | None = schema.get("title")
        return None if title in self.schemas else title

    def page_item(self, name: str) -> Schema | None:
        """What a page's results are; None for a record that is no page."""
        results = self.schemas[name].get("properties", {}).get("results", {})
        item: Schema | None = results.get("items")
        return item

    def answered(self) -> list[str]:
        """Schemas that the server sends, and what stands in them."""
        roots = [operation.answer for operation in self.operations]
        roots += [{"$ref": f"#/components/schemas/{name}"} for name in self.events.values()]
        return self._reachable(roots)

    def sent(self) -> list[str]:
        """Schemas of objects that stand inside a request."""
        return self._reachable([one.schema for each in self.operations for one in (*each.body, *each.query)])

    def _reachable(self, roots: list[Schema]) -> list[str]:
        found: set[str] = set()
        waiting = [name for root in roots for name in _refs(root)]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += _refs(self.schemas[name])
        return sorted(found)

    def _of_path(self, path: str, methods: dict[str, Any]) -> Iterator[ApiOperation]:
        for http_method in METHODS:
            if http_method not in methods:
                continue
            raw = methods[http_method]
            one = self._operation(path, http_method, raw)
            yield one
            success = next(answer for status, answer in raw["responses"].items() if status.startswith("2"))
            for media in success["content"]:
                if media in FILES:
                    changed = {"method": f"{one.method}_{FILES[media]}", "media": media, "answer": {"type": "binary"}}
                    yield ApiOperation(**{**vars(one), **changed})

    def _operation(self, path: str, http_method: str, raw: dict[str, Any]) -> ApiOperation:
        given = [
            (one["in"], Parameter(one["name"], one["schema"], one["required"], one["description"]))
            for one in raw["parameters"]
        ]
        has_key = any(one.wire_name == "Idempotency-Key" for _, one in given)
        is_safe = http_method == "get" or raw["operationId"] in names.SAFE
        query = tuple(one for place, one in given if place == "query")
        body = self.resolve(_body_of(raw)) if "requestBody" in raw else {}
        required = body.get("required", ())
        success = next(answer for status, answer in raw["responses"].items() if status.startswith("2"))
        return ApiOperation(
            id=raw["operationId"],
            http_method=http_method.upper(),
            path=path,
            method=names.method_of(raw["operationId"], raw["tags"][0]),
            summary=raw["summary"],
            description=raw["description"],
            path_parameters=tuple(one for place, one in given if place == "path"),
            # The client knows its own business.
            query=tuple(one for one in query if one.wire_name != "business"),
            body=tuple(
                Parameter(name, schema, name in required, schema.get("description", ""))
                for name, schema in body.get("properties", {}).items()
            ),
            has_body="requestBody" in raw,
            has_business=any(one.wire_name == "business" for one in query),
            headers=tuple(name for scheme in raw["security"] for name in scheme),
            retry="safe" if is_safe else "key" if has_key else "never",
            answer=success["content"]["application/json"]["schema"]["properties"]["data"],
        )


def _body_of(raw: dict[str, Any]) -> Schema:
    schema: Schema = raw["requestBody"]["content"]["application/json"]["schema"]
    return schema


def _refs(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"].rpartition("/")[2]] if isinstance(node.get("$ref"), str) else []
        return own + [name for key, inner in node.items() if key != "example" for name in _refs(inner)]
    if isinstance(node, list):
        return [name for inner in node for name in _refs(inner)]
    return []
