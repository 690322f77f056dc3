"""Operations of a test's own behind the real application and server, open to anybody who says a name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import msgspec
from starlette.types import Scope

from serving import serving_app
from tidegate.infra.http.application import Application
from tidegate.infra.http.endpoint import routes_of
from tidegate.infra.http.operation import Answer, Call, Credentials, Headers, Operation
from tidegate.infra.http.read import read
from tidegate.infra.telemetry import Meter


class Wanted(msgspec.Struct, kw_only=True, rename="camel"):
    name: str
    per_page: int = 10


class Found(msgspec.Struct, kw_only=True, rename="camel"):
    name: str
    per_page: int
    body: str


async def find(call: Call) -> Answer:
    wanted = read(call.query, Wanted)
    return call.answer(Found(name=wanted.name, per_page=wanted.per_page, body=call.body.decode()))


FIND = Operation(
    method="GET",
    path="/things",
    name="findThings",
    summary="Find things",
    success_message="Found",
    handler=find,
    credentials=Credentials(),
    query=Wanted,
    response=Found,
)


def make_find(**changes: Any) -> Operation:
    return replace(FIND, **changes)


async def admit(_: Credentials, headers: Headers, __: Scope) -> str:
    return headers.one(b"x-caller") or "somebody"


@asynccontextmanager
async def nothing_to_open() -> AsyncIterator[None]:
    yield


@asynccontextmanager
async def calling(*operations: Operation) -> AsyncIterator[tuple[httpx.AsyncClient, Application]]:
    def build(_: str) -> Application:
        return Application(routes_of(operations, admit), lifespan=nothing_to_open, meter=Meter())

    async with (
        serving_app(build) as (url, application),
        httpx.AsyncClient(base_url=url, timeout=60, verify=False) as client,
    ):
        yield client, application
