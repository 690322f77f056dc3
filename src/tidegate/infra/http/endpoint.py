"""The way of a request through an operation, as an ASGI application for one path."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tidegate.core.errors import (
    BodyTooLarge,
    Malformed,
    MethodNotAllowed,
    RequestTimeout,
    UnsupportedMediaType,
)
from tidegate.infra.http.accept import prefers
from tidegate.infra.http.download import VARIES, Downloads
from tidegate.infra.http.operation import Answer, Call, Credentials, File, Headers, Operation, RawHeaders
from tidegate.infra.http.query import query_of

BODY_BYTES_MAX = 64 * 1024
BODY_TIMEOUT_S = 10.0

# Says who is calling, or raises Unauthenticated.
Admit = Callable[[Credentials, Headers], Awaitable[Any]]
JSON_MEDIA = "application/json"
JSON = [(b"content-type", b"application/json; charset=utf-8")]
NO_HEADERS: RawHeaders = []


def routes_of(operations: Iterable[Operation], admit: Admit) -> list[Route]:
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    return [Route(path, Endpoint(methods, admit)) for path, methods in by_path.items()]


class Endpoint:
    def __init__(self, by_method: dict[str, Operation], admit: Admit) -> None:
        self._by_method = dict(by_method)
        if "GET" in by_method:
            self._by_method["HEAD"] = by_method["GET"]  # The server leaves out the body.
        self._admit = admit
        self._downloads = Downloads()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self._by_method.get(scope["method"])
        if operation is None:
            raise MethodNotAllowed(sorted(self._by_method))
        scope["tidegate.operation"] = operation.name
        headers = Headers(scope["headers"])
        caller = await self._admit(operation.credentials, headers)
        scope["tidegate.caller"] = caller
        body = await _body_of(operation, headers, receive)
        query = _query_of(operation, scope["query_string"], body)
        call = Call(operation, headers, _path_of(scope), caller, body, client_of(scope), query)
        if file := _file_for(operation, headers):
            await self._downloads.send(file, call, scope, receive, send)
        else:
            await _send(await operation.handler(call), send, VARIES if operation.files else NO_HEADERS)


def _path_of(scope: Scope) -> dict[str, str]:
    """No text in PostgreSQL has U+0000, so nothing has a name with it, nor with what stands in its place."""
    return {name: value.replace("\0", "\ufffd") for name, value in scope["path_params"].items()}


def client_of(scope: Scope) -> str:
    """The address of whoever is calling, as the front door found it."""
    return str(scope["tidegate.client"])


def _query_of(operation: Operation, raw: bytes, body: bytes) -> dict[str, Any]:
    if operation.query is None:
        return {}
    return query_of(raw, operation.query, body if operation.takes_query_in_body else b"")


def _file_for(operation: Operation, headers: Headers) -> File | None:
    """None for whoever would rather have JSON, or does not say."""
    chosen: File | None = None
    for file in operation.files:
        if prefers(headers.all(b"accept"), file.media, over=chosen.media if chosen else JSON_MEDIA):
            chosen = file
    return chosen


async def _send(answer: Answer, send: Send, more: RawHeaders = NO_HEADERS) -> None:
    length = (b"content-length", str(len(answer.body)).encode())
    headers = [*JSON, length, *answer.headers, *more]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _body_of(operation: Operation, headers: Headers, receive: Receive) -> bytes:
    if operation.request is None and not operation.takes_query_in_body:
        return b""
    if (
        (operation.is_body_optional or operation.takes_query_in_body)
        and headers.one(b"content-length") in (None, "0")
        and not headers.all(b"transfer-encoding")
    ):
        return b""
    refuse_other_media(headers, JSON_MEDIA)
    return await read_body(headers, receive)


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """Within the limits of size and time."""
    declared = headers.one(b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > BODY_BYTES_MAX:
        raise _too_large()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            return await _receive_all(receive)
    except TimeoutError:
        raise RequestTimeout(f"the body did not arrive within {BODY_TIMEOUT_S:.0f} s") from None


async def _receive_all(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Malformed("the connection closed before the body was complete")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise _too_large()
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _too_large() -> BodyTooLarge:
    return BodyTooLarge(f"the body may have at most {BODY_BYTES_MAX} bytes")


def refuse_other_media(headers: Headers, wanted: str) -> None:
    media, _, parameters = (headers.one(b"content-type") or "").partition(";")
    if media.strip().lower() != wanted:
        raise UnsupportedMediaType(f"send Content-Type: {wanted}")
    charset = parameters.strip().lower().replace('"', "")
    if charset not in ("", "charset=utf-8"):
        raise UnsupportedMediaType("send the body as UTF-8")
    if any(coding.lower() != b"identity" for coding in headers.all(b"content-encoding")):
        raise UnsupportedMediaType("send the body without Content-Encoding")
    if any(coding.lower() != b"chunked" for coding in headers.all(b"transfer-encoding")):
        raise UnsupportedMediaType("send the body plain or chunked, in no other Transfer-Encoding")
