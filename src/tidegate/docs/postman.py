"""The API as a collection for tools such as Postman, Bruno and Insomnia, made from the OpenAPI document. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidegate.docs.example import pretty

PATH = "/postman.json"
SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
# Variables of the collection, by credential header; the tool asks for their values once.
_VARIABLES = {"api-key": "secretKey", "x-pub-key": "publicKey", "x-business-id": "businessId"}

Item = dict[str, Any]


def collection(document: Mapping[str, Any]) -> Item:
    folders: dict[str, list[Item]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            folders.setdefault(operation["tags"][0], []).append(_request(path, method.upper(), operation))
    words = {tag["name"]: tag["description"] for tag in document["tags"]}
    return {
        "info": {
            "name": document["info"]["title"],
            "description": document["info"]["description"],
            "version": document["info"]["version"],
            "schema": SCHEMA,
        },
        "item": [{"name": name, "description": words[name], "item": items} for name, items in folders.items()],
        "variable": [
            {"key": "baseUrl", "value": document["servers"][0]["url"], "type": "string"},
            *({"key": name, "value": "", "type": "string"} for name in _VARIABLES.values()),
        ],
    }


def _request(path: str, method: str, operation: Mapping[str, Any]) -> Item:
    named = [name for scheme in operation["security"] for name in scheme]
    headers = [{"key": name, "value": f"{{{{{_VARIABLES[name]}}}}}"} for name in named]
    request: Item = {
        "method": method,
        "description": operation["description"],
        "url": _url(path, operation["parameters"]),
    }
    if any(one["name"] == "Idempotency-Key" for one in operation["parameters"]):
        # The tools put a new one into every request.
        headers.append({"key": "Idempotency-Key", "value": "{{$guid}}"})
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        headers.append({"key": "Content-Type", "value": "application/json"})
        options = {"raw": {"language": "json"}}
        request["body"] = {"mode": "raw", "raw": pretty(content["example"]), "options": options}
    request["header"] = headers
    return {"name": operation["summary"], "request": request}


def _url(path: str, parameters: list[Mapping[str, Any]]) -> Item:
    query = [
        {
            "key": one["name"],
            "value": "{{businessId}}" if one["name"] == "business" else str(one.get("example", "")),
            "description": one["description"],
            "disabled": not one["required"],
        }
        for one in parameters
        if one["in"] == "query"
    ]
    inner = [
        {"key": one["name"], "value": str(one.get("example", "")), "description": one["description"]}
        for one in parameters
        if one["in"] == "path"
    ]
    colons = re.sub(r"\{(\w+)\}", r":\1", path)
    sent = "&".join(f"{one['key']}={one['value']}" for one in query if not one["disabled"])
    raw = f"{{{{baseUrl}}}}{colons}{f'?{sent}' if sent else ''}"
    found: Item = {"raw": raw, "host": ["{{baseUrl}}"], "path": colons.strip("/").split("/")}
    if query:
        found["query"] = query
    if inner:
        found["variable"] = inner
    return found
