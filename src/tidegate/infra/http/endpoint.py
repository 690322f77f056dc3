"""The way of a request through an operation, as an ASGI application for one path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from starlette.types import Receive, Scope

from tidegate.core.errors import MethodNotAllowed
from tidegate.infra.http.accept import prefers
from tidegate.infra.http.body import read_body, refuse_other_media
from tidegate.infra.http.download import VARIES, Downloads
from tidegate.infra.http.operation import Call, Credentials, FileAnswer, Headers, Operation
from tidegate.infra.http.query import query_of
from tidegate.infra.http.reply import JSON, Reply
from tidegate.infra.http.routing import Route, path_of

# Says who is calling, or raises Unauthenticated.
Admit = Callable[[Credentials, Headers, Scope], Awaitable[Any]]
JSON_MEDIA = "application/json"
JSON_OR_FILE = [*JSON, *VARIES]


def routes_of(operations: Iterable[Operation], admit: Admit) -> list[Route]:
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
        for path, handler in operation.also_at.items():
            by_path.setdefault(path, {})[operation.method] = replace(operation, handler=handler)
    return [Route(path, OperationEndpoint(methods, admit)) for path, methods in by_path.items()]


class OperationEndpoint:
    def __init__(self, by_method: dict[str, Operation], admit: Admit) -> None:
        self._by_method = dict(by_method)
        if "GET" in by_method:
            self._by_method["HEAD"] = by_method["GET"]  # The server leaves out the body.
        self._admit = admit
        self._downloads = Downloads()

    async def __call__(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        operation = self._by_method.get(scope["method"])
        if operation is None:
            raise MethodNotAllowed(sorted(self._by_method))
        scope["tidegate.operation"] = operation.name
        scope["tidegate.right"] = operation.right_needed
        headers = Headers(scope["headers"])
        if operation.commits:
            reply.is_committed_when_successful()
        if operation.limit:
            operation.limit(scope)
        caller = await self._admit(operation.credentials, headers, scope)
        scope["tidegate.caller"] = caller
        body = scope["tidegate.body"] = (
            await _body_of(operation, headers, scope, receive) if operation.takes_body else b""
        )
        query = _query_of(operation, scope["query_string"], body)
        call = Call(operation, headers, path_of(scope), caller, body, query, scope)
        if operation.files and (file := _file_for(operation, headers)):
            await self._downloads.send(file, call, scope, receive, reply)
            return
        answer = await operation.handler(call)
        kind = JSON_OR_FILE if operation.files else JSON
        await reply.whole(answer.status, answer.body, [*kind, *answer.headers])


def _query_of(operation: Operation, raw: bytes, body: bytes) -> dict[str, Any]:
    if operation.query is None:
        return {}
    return query_of(raw, operation.query, body if operation.takes_query_in_body else b"")


def _file_for(operation: Operation, headers: Headers) -> FileAnswer | None:
    """None where `Accept` prefers JSON or is absent."""
    chosen: FileAnswer | None = None
    for file in operation.files:
        if prefers(headers.all(b"accept"), file.media, over=chosen.media if chosen else JSON_MEDIA):
            chosen = file
    return chosen


async def _body_of(operation: Operation, headers: Headers, scope: Scope, receive: Receive) -> bytes:
    if (
        (operation.is_body_optional or operation.takes_query_in_body)
        and headers.one(b"content-length") in (None, "0")
        and not headers.all(b"transfer-encoding")
    ):
        return b""
    refuse_other_media(headers, JSON_MEDIA)
    return await read_body(headers, scope, receive)
