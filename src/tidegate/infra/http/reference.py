"""The API reference: /openapi.json for programs, /docs for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tidegate.infra.http.operation import Operation, encode


@dataclass(frozen=True)
class SandboxKeys:
    """Put into the examples, so that they run when pasted. Only the sandbox on one's own machine has them."""

    secret_key: str
    public_key: str
    business_id: str


def routes(document: Mapping[str, Any], operations: Sequence[Operation], keys: SandboxKeys | None) -> list[BaseRoute]:
    body = encode(document)

    async def openapi_json(_: Request) -> Response:
        return Response(body, media_type="application/json")

    return [Route("/openapi.json", openapi_json)]
