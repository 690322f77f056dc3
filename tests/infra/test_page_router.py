"""Whatever happens in a handler, a visitor gets a page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import msgspec
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Message
from structlog.testing import capture_logs

from infra.page_world import error_page, site_of, visiting
from tidegate.core import errors
from tidegate.infra.http import body, error_answer
from tidegate.infra.http.cookie import CookieLines
from tidegate.infra.http.reply import Reply
from tidegate.infra.http.routing import Route, Routing
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.page.response import Html, see_other
from tidegate.infra.page.router import PageHandler, PageRequest, PageRoute, PageRouter, RenderError

# A busy machine is no failure.
unhurried = settings(deadline=None)

REFUSALS: dict[str, errors.Refusal] = {
    kind.__name__: kind("Say why & how.", retry_after_s=7)
    for kind in STATUS_OF
    if kind not in (errors.MethodNotAllowed, errors.Invalid)
}
REFUSALS["Invalid"] = errors.Invalid(errors.Problem("amount", "is required"))


async def echo(request: PageRequest) -> Html:
    said = {
        "method": request.method,
        "thing": request.path["thing"],
        "query": sorted(request.query.items()),
        "cookies": sorted(request.cookies.items()),
        "agent": request.headers.one(b"user-agent"),
        "client": request.client,
        "request_id": request.request_id,
        "form": sorted(request.form.items()),
    }
    return Html(repr(said).encode())


async def refuse(request: PageRequest) -> Html:
    raise REFUSALS[request.path["kind"]]


async def break_down(request: PageRequest) -> Html:
    raise RuntimeError("a secret of the inside")


async def split(request: PageRequest) -> Html:
    return Html(b"x", headers=[(b"x-name", b"Ada\r\nset-cookie: a=1")])


COOKIE: CookieLines = ((b"set-cookie", b"a=1"),)
COOKIES: CookieLines = (*COOKIE, (b"set-cookie", b"b=2"))


async def move(request: PageRequest) -> Html:
    return msgspec.structs.replace(see_other("/things/1?a=b"), cookies=COOKIE)


def routes(_: str) -> list[Route]:
    return [
        *site_of(
            ("GET", "/things/{thing}", echo),
            ("POST", "/things/{thing}", echo),
            ("GET", "/refused/{kind}", refuse),
            ("GET", "/broken", break_down),
            ("GET", "/split", split),
            ("POST", "/move", move),
        ),
        PageRouter(error_page).nothing_else("/{rest:path}"),
    ]


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(routes) as opened:
        yield opened


def is_page(answer: httpx.Response) -> bool:
    return answer.headers["content-type"] == "text/html; charset=utf-8" and "content-security-policy" in answer.headers


async def test_a_handler_gets_what_the_browser_sent(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/things/a%20b?x=1&x=2&y=%zz", data={"k": "v"}, headers={"cookie": "c=1; c=2", "user-agent": "me"}
    )
    assert is_page(answer)
    assert eval(answer.text) == {
        "method": "POST",
        "thing": "a b",
        "query": [("x", "1")],
        "cookies": [("c", "1")],
        "agent": "me",
        "client": "127.0.0.1",
        "request_id": answer.headers["x-request-id"],
        "form": [("k", "v")],
    }


async def test_a_form_is_read_only_from_a_post(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = await client.request("GET", "/things/1", content=b"k=v", headers=headers)
    assert eval(answer.text)["form"] == []


async def test_head_is_get_without_the_page(client: httpx.AsyncClient) -> None:
    head = await client.head("/things/1")
    assert head.status_code == 200
    assert is_page(head)
    assert head.content == b""
    assert int(head.headers["content-length"]) > 0


@pytest.mark.parametrize("kind", REFUSALS)
async def test_a_refusal_is_a_page(client: httpx.AsyncClient, kind: str) -> None:
    answer = await client.get(f"/refused/{kind}")
    status, refusal = STATUS_OF[type(REFUSALS[kind])], REFUSALS[kind]
    assert answer.status_code == status
    assert is_page(answer)
    assert answer.text == f"<!doctype html><title>{status}</title><p>{refusal.message}</p>"
    assert answer.headers.get("retry-after") == (None if kind == "Invalid" else "7")
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
async def test_a_wrong_method_is_a_page_that_says_which_is_right(client: httpx.AsyncClient, method: str) -> None:
    answer = await client.request(method, "/things/1")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
    assert is_page(answer)


@pytest.mark.parametrize(("method", "path"), [("GET", "/nowhere"), ("POST", "/things/1/2"), ("DELETE", "/%2e%2e/x")])
async def test_nothing_is_a_page_too(client: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == 404
    assert is_page(answer)


async def test_after_a_form_the_browser_is_sent_on(client: httpx.AsyncClient) -> None:
    answer = await client.post("/move", data={"a": "1"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/things/1?a=b")
    assert answer.headers["set-cookie"] == "a=1"
    assert is_page(answer)


@pytest.mark.parametrize(
    "path",
    ["//evil.com", "/\\evil.com", "https://evil.com", "https:evil.com", "evil", "", "/a\r\nb: c", "/a b", "/\tx", "/é"],
)
def test_a_form_ends_nowhere_else(path: str) -> None:
    with pytest.raises(ValueError, match="our own"):
        see_other(path)


# What nobody expected.


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    monkeypatch.setattr(error_answer, "log", structlog.get_logger("http"))  # A used one may be bound elsewhere.
    with capture_logs() as lines:
        yield lines


@pytest.mark.parametrize("path", ["/broken", "/split"])
async def test_an_unexpected_error_is_logged_and_not_shown_on_the_page(
    client: httpx.AsyncClient, log_lines: list[Any], path: str
) -> None:
    answer = await client.get(path)
    assert answer.status_code == 500
    assert is_page(answer)
    assert "set-cookie" not in answer.headers
    assert "something went wrong on our side" in answer.text
    assert "secret" not in answer.text
    unexpected = next(line for line in log_lines if line["event"] == "unexpected")
    assert unexpected["request_id"] == answer.headers["x-request-id"]
    assert isinstance(unexpected["exc_info"], Exception)


def fail_to_render(refusal: errors.Refusal, status: int, request: PageRequest) -> Html:
    raise RuntimeError("a secret of the inside")


def render_badly(refusal: errors.Refusal, status: int, request: PageRequest) -> Html:
    return Html(b"x", headers=[(b"x-name", b"a\r\nb: c")])


@pytest.mark.parametrize("render", [fail_to_render, render_badly])
@pytest.mark.parametrize("handler", [refuse, break_down])
async def test_even_an_error_page_that_fails_is_a_page(render: RenderError, handler: PageHandler) -> None:
    page = PageRoute("GET", "/{kind}", "it", handler)
    async with visiting(lambda _: [*PageRouter(render).routes([page])]) as client:
        answer = await client.get("/NotFound")
    assert answer.status_code == 500
    assert is_page(answer)
    assert answer.headers["x-request-id"] in answer.text
    assert "secret" not in answer.text


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_an_error_page_has_its_cookies_and_what_the_refusal_says(method: str) -> None:
    def remember(refusal: errors.Refusal, status: int, request: PageRequest) -> Html:
        return Html(b"x", cookies=COOKIES)

    page = PageRoute("GET", "/{kind}", "it", refuse)
    async with visiting(lambda _: [*PageRouter(remember).routes([page])]) as client:
        answer = await client.request(method, "/RateLimited")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert is_page(answer)


async def test_the_log_and_the_numbers_name_the_page(client: httpx.AsyncClient, log_lines: list[Any]) -> None:
    for method, path in (("GET", "/things/1"), ("GET", "/broken"), ("DELETE", "/things/1"), ("GET", "/nowhere")):
        await client.request(method, path)
    requests = [(line["operation"], line["status"]) for line in log_lines if line["event"] == "request"]
    assert requests == [("echo", 200), ("break_down", 500), ("other", 405), ("other", 404)]


async def test_a_form_that_never_arrives_ends_in_a_page(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "BODY_TIMEOUT_S", 0.05)
    address = (client.base_url.host, client.base_url.port)
    reader, writer = await asyncio.open_connection(*address)
    head = "POST /things/1 HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n"
    writer.write(f"{head}content-length: 9\r\n\r\na=".encode())
    answer = (await reader.read()).decode()  # To the end, since the connection is closed.
    writer.close()
    assert answer.startswith("HTTP/1.1 408 ")
    assert "content-security-policy: default-src 'none'" in answer
    assert "<title>408</title>" in answer


@unhurried
@given(
    query=st.binary(max_size=60),
    headers=st.lists(st.tuples(st.sampled_from(["cookie", "accept-encoding", "accept-language"]), st.binary())),
    method=st.sampled_from(["GET", "HEAD"]),
)
def test_nothing_in_a_request_for_a_page_is_an_error(
    query: bytes, headers: list[tuple[str, bytes]], method: str
) -> None:
    scope = {
        "type": "http",
        "method": method,
        "path": "/things/1",
        "raw_path": b"/things/1",
        "query_string": query,
        "headers": [(name.encode(), value) for name, value in headers],
        "tidegate.trusted_proxies": 0,
        "tidegate.request_id": "req_1",
    }
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def ask() -> None:
        await Routing(routes(""))(scope, receive, Reply(send, "req_1"))

    asyncio.run(ask())
    assert sent[0]["status"] == 200
