"""What goes out beside an answer: the headers that its operation gives it, and those of every answer."""

from __future__ import annotations

import httpx
import pytest

from infra.operation_world import calling, make_find
from tidegate.infra.http.operation import Answer, Call, Operation, RawHeaders


def answering_with(headers: RawHeaders) -> Operation:
    async def answer(_: Call) -> Answer:
        return Answer(200, b"{}", headers)

    return make_find(handler=answer, query=None)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_an_answer_says_once_how_long_it_may_be_kept(method: str) -> None:
    async with calling(answering_with([(b"cache-control", b"max-age=5")])) as (client, _):
        answer = await client.request(method, "/things")
    assert answer.headers.get_list("cache-control") == ["max-age=5"]
    assert answer.headers.get_list("content-length") == ["2"]


@pytest.mark.parametrize("value", [b"one\r\nx-second: two", b"one\nx-second: two", b"one\rtwo", b"one\0two"])
async def test_a_header_that_would_end_early_never_goes_out(value: bytes) -> None:
    async with calling(answering_with([(b"x-odd", value)])) as (client, _):
        with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
            await client.get("/things")
