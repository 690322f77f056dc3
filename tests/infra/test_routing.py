"""Which route an address leads to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Match
from starlette.routing import Route as PatternRoute
from starlette.types import Message, Receive, Scope, Send

from tidegate.core.errors import MethodNotAllowed, NotFound
from tidegate.infra.http.routing import Route, Routing, answering

PATHS = [
    "/a",
    "/a/b",
    "/a/{x}",
    "/a/{x}/b",
    "/a/b/{y}",
    "/a/{x}/{y}/c",
    "/c/{x}/b/{y}",
    "/d/{rest:path}",
    "/d/e/{x}",
]


class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("it is only looked up")


def found(routing: Routing, path: str) -> tuple[str, dict[str, str]] | None:
    try:
        app, params = routing._find(path)
    except NotFound:
        return None
    assert isinstance(app, Named)
    return app.name, params


def found_by_patterns(path: str) -> tuple[str, dict[str, str]] | None:
    """What a list of patterns finds, the plainer ones first: slow, and sure."""
    plain_first = sorted(PATHS, key=lambda pattern: [_plainness(segment) for segment in pattern.split("/")])
    for pattern in plain_first:
        match, scope = PatternRoute(pattern, Named(pattern)).matches({"type": "http", "path": path, "method": "GET"})
        if match is Match.FULL and not path.endswith("\n"):
            return pattern, scope["path_params"]
    return None


def _plainness(segment: str) -> int:
    return 2 if segment.endswith(":path}") else int(segment.startswith("{"))


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "", "%", "é", "a b"]), max_size=6).map("/".join))
def test_the_tree_finds_what_a_list_of_patterns_would(path: str) -> None:
    routing = Routing([Route(pattern, Named(pattern)) for pattern in PATHS])
    assert found(routing, f"/{path}") == found_by_patterns(f"/{path}" if path == "" else f"/{path}".removesuffix("/"))


@pytest.mark.parametrize("path", ["/a", "/a/b", "/a/1", "/a/1/b", "/d/e/1", "/d/whatever/else"])
def test_a_slash_at_the_end_is_the_same_address(path: str) -> None:
    routing = Routing([Route(pattern, Named(pattern)) for pattern in PATHS])
    assert found(routing, f"{path}/") == found(routing, path) is not None


@pytest.mark.parametrize("path", ["/a//", "/a/1//", "//", "//a"])
def test_two_slashes_are_another_address(path: str) -> None:
    """And the answer says so: a base address that ends with a slash is the usual cause."""
    with pytest.raises(NotFound, match="two slashes in a row"):
        Routing([Route("/a", Named("/a")), Route("/a/{x}", Named("/a/{x}"))])._find(path)


@pytest.mark.parametrize(("path", "said"), [("/a", "this address$"), ("/docs", "this address; .* listed at /docs$")])
def test_what_is_not_there_names_the_reference_where_there_is_one(path: str, said: str) -> None:
    with pytest.raises(NotFound, match=said):
        Routing([Route(path, Named(path))])._find("/nothing")


def test_a_line_break_at_the_end_is_part_of_the_address() -> None:
    assert found(Routing([Route("/a", Named("/a"))]), "/a\n") is None


def test_the_first_route_at_an_address_has_it() -> None:
    routing = Routing([Route("/a/{x}", Named("first")), Route("/a/{y}", Named("second"))])
    assert found(routing, "/a/1") == ("first", {"x": "1"})


@pytest.mark.parametrize(("methods", "allowed"), [(("GET",), ["GET", "HEAD"]), (("POST",), ["POST"])])
async def test_another_method_gets_405_with_the_allowed_ones(methods: tuple[str, ...], allowed: list[str]) -> None:
    async def respond(_: Any) -> Any:
        raise AssertionError("nobody asked for this")

    async def send(_: Message) -> None:
        raise AssertionError("nothing is sent")

    scope = {"type": "http", "path": "/a", "method": "DELETE"}
    with pytest.raises(MethodNotAllowed) as refused:
        await Routing([answering("/a", respond, methods=methods)])(scope, send, send)  # type: ignore[arg-type]
    assert refused.value.allowed == allowed
