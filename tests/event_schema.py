"""Whether events are as the OpenAPI document says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jsonschema_rs
import msgspec

from tidegate.app import document_of
from tidegate.infra.http.operation import encode

DOCUMENT: dict[str, Any] = msgspec.json.decode(encode(document_of((), "http://localhost")))


def _validator(event: dict[str, Any]) -> Any:
    schema = event["post"]["requestBody"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


_VALIDATORS = {name: _validator(event) for name, event in DOCUMENT["webhooks"].items()}


def problems_of(payloads: Iterable[bytes]) -> list[str]:
    found = []
    for payload in payloads:
        sent = msgspec.json.decode(payload)
        errors = _VALIDATORS[sent["event"]].iter_errors(sent)
        found += [f"{sent['event']} {error.instance_path}: {error.message}" for error in errors]
    return found
