"""Which application answers at which address. Looked up in a tree of path segments, however many routes there are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from tidegate.core.errors import MethodNotAllowed, NotFound
from tidegate.infra.http.reply import App, Reply
from tidegate.infra.http.request_limit import Limit

Respond = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Route:
    """`{name}` in the path stands for one segment, and `{name:path}` at its end for whatever else there is."""

    path: str
    app: App


def answering(path: str, respond: Respond, *, methods: Sequence[str] = ("GET",), limit: Limit | None = None) -> Route:
    """For an address that takes no more than a request and a response."""
    return Route(path, Answering(respond, sorted({*methods, "HEAD"} if "GET" in methods else methods), limit))


@dataclass(frozen=True)
class Answering:
    respond: Respond
    methods: list[str]
    limit: Limit | None

    async def __call__(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        if self.limit:
            self.limit(scope)
        response = await self.respond(Request(scope, receive, reply))
        await response(scope, receive, reply)


@dataclass
class _Node:
    """Below a part of a path. A segment that is spelled out goes before one that has a name."""

    spelled: dict[str, _Node] = field(default_factory=dict)
    named: _Node | None = None
    leaf: _Leaf | None = None
    rest: _Leaf | None = None

    def find(self, segments: Sequence[str], at: int) -> _Leaf | None:
        if at == len(segments):
            return self.leaf
        segment = segments[at]
        spelled = self.spelled.get(segment)
        found = spelled.find(segments, at + 1) if spelled else None
        if found is None and self.named and segment:
            found = self.named.find(segments, at + 1)
        return found or self.rest


@dataclass
class _Leaf:
    app: App
    # Where in the path they stand; the last takes all that follows when it is the rest.
    names: list[tuple[int, str]]
    takes_rest: bool


class Routing:
    """As an ASGI application. `path_params` are put into the scope."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._root = _Node()
        # Most addresses have no name in them, or one at their end: those need no walk through the tree.
        self._spelled: dict[str, App] = {}
        self._ending_in_a_name: dict[str, tuple[str, App]] = {}
        for route in self.routes:
            self._add(route)
            self._remember(route)

    def __call__(self, scope: Scope, receive: Receive, reply: Reply) -> Awaitable[None]:
        app, scope["path_params"] = self._find(scope["path"])
        return app(scope, receive, reply)

    def _find(self, path: str) -> tuple[App, dict[str, str]]:
        """A slash at the end changes nothing: client libraries add one to the addresses they are given."""
        if path[-1:] == "/" != path:
            path = path[:-1]
        spelled = self._spelled.get(path)
        if spelled is not None:
            return spelled, {}
        head, _, last = path.rpartition("/")
        named = self._ending_in_a_name.get(head)
        if named is not None and last:
            return named[1], {named[0]: last}
        return self._walk(path.split("/"))

    def _walk(self, segments: Sequence[str]) -> tuple[App, dict[str, str]]:
        leaf = self._root.find(segments, 0)
        if leaf is None:
            raise NotFound(self._missing(segments))
        params = {name: segments[at] for at, name in leaf.names}
        if leaf.takes_rest:
            at, name = leaf.names[-1]
            params[name] = "/".join(segments[at:])
        return leaf.app, params

    def _missing(self, segments: Sequence[str]) -> str:
        # A base address that ends with a slash, before a path that begins with one.
        if "" in segments[1:]:
            return "the address has two slashes in a row; send one, such as a base address without a slash at its end"
        hint = "; the operations are listed at /docs" if "/docs" in self._spelled else ""
        return f"there is nothing at this address{hint}"

    def _remember(self, route: Route) -> None:
        head, _, last = route.path.rpartition("/")
        if "{" not in route.path:
            self._spelled.setdefault(route.path, route.app)
        elif "{" not in head and not last.endswith(":path}"):
            self._ending_in_a_name.setdefault(head, (last[1:-1], route.app))

    def _add(self, route: Route) -> None:
        """The first one at an address has it."""
        node = self._root
        names: list[tuple[int, str]] = []
        for at, segment in enumerate(route.path.split("/")):
            if segment.endswith(":path}"):
                names.append((at, segment[1:].removesuffix(":path}")))
                node.rest = node.rest or _Leaf(route.app, names, takes_rest=True)
                return
            if segment.startswith("{"):
                names.append((at, segment[1:-1]))
                node.named = node.named or _Node()
                node = node.named
            else:
                node = node.spelled.setdefault(segment, _Node())
        node.leaf = node.leaf or _Leaf(route.app, names, takes_rest=False)


def path_of(scope: Scope) -> dict[str, str]:
    """No text in PostgreSQL has U+0000, so nothing has a name with it, nor with what stands in its place."""
    if "\0" not in scope["path"]:
        params: dict[str, str] = scope["path_params"]
        return params
    return {name: value.replace("\0", "\ufffd") for name, value in scope["path_params"].items()}
