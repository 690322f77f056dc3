"""What an answer becomes: typed, with exact amounts, and nothing of it lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from decimal import Decimal
from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")
P = TypeVar("P", bound="Page[Any]")


class NotGiven:
    """The value of an argument that is left out, where `None` would be sent as null."""

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = NotGiven()


class Model(msgspec.Struct, kw_only=True, rename="camel", dict=True):
    """A record of the API. A field that this version does not know is in `raw`, by its name on the wire."""

    @property
    def raw(self) -> dict[str, Any]:
        """The whole record as it was sent; only of what a call returned, not of what is inside it."""
        found: dict[str, Any] = self.__dict__.get("_raw", {})
        return found

    @property
    def request_id(self) -> str | None:
        """Names the request in our logs; quote it when you report a problem."""
        found: str | None = self.__dict__.get("_request_id")
        return found


class EventModel(Model):
    @property
    def id(self) -> str:
        """The `webhook-id`: the same whenever this event is sent, so drop duplicates by it."""
        found: str = self.__dict__["_event_id"]
        return found


class Page(Model, Generic[T], kw_only=True):
    """One page of a list. Iterating goes on through all pages; `results` is this one."""

    results: list[T]
    next_cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        if "_fetch_async" in self.__dict__:
            raise TypeError("use `async for`, or `results` for this page alone")
        page: Page[T] | None = self
        while page is not None:
            yield from page.results
            fetch: Callable[[], Page[T] | None] = page.__dict__["_fetch"]
            page = fetch()

    async def __aiter__(self) -> AsyncIterator[T]:
        page: Page[T] | None = self
        while page is not None:
            for one in page.results:
                yield one
            fetch: Callable[[], Awaitable[Page[T] | None]] = page.__dict__["_fetch_async"]
            page = await fetch()


class Pager(Generic[P]):
    """A list of the async client: `await` gives the first page, `async for` goes through all of them."""

    def __init__(self, fetch: Callable[[], Awaitable[P]]) -> None:
        self._fetch = fetch

    def __await__(self) -> Generator[Any, None, P]:
        return self._fetch().__await__()

    async def __aiter__(self) -> AsyncIterator[Any]:
        page = await self._fetch()
        async for one in page:
            yield one


_raw_decoder = msgspec.json.Decoder(float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number")
encode = _encoder.encode


def decode_any(body: bytes) -> Any:
    """JSON as it is, with numbers that are not whole as `Decimal`. Raises msgspec.DecodeError."""
    return _raw_decoder.decode(body)


class _Envelope(Model, Generic[T], kw_only=True):
    data: T


# msgspec prepares a type at its first use, and crashes when two threads do that for the same one.
_preparing = Lock()


def _decoder(kind: Any, *, in_envelope: bool) -> msgspec.json.Decoder[Any]:
    with _preparing:
        return _prepared(kind, in_envelope)


@cache
def _prepared(kind: Any, in_envelope: bool) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_Envelope[kind] if in_envelope else kind)


def read_data(kind: Any, body: bytes, request_id: str | None) -> Any:
    """The data of an answer. Raises msgspec.DecodeError when it is no such record."""
    return _with_raw(_decoder(kind, in_envelope=True).decode(body).data, decode_any(body)["data"], request_id)


def read_model(kind: Any, body: bytes) -> Any:
    """A record that is not in an answer, such as an event. Raises msgspec.DecodeError."""
    return _with_raw(_decoder(kind, in_envelope=False).decode(body), decode_any(body), None)


def _with_raw(model: Any, raw: Any, request_id: str | None) -> Any:
    if isinstance(model, Model):
        model.__dict__.update(_raw=raw, _request_id=request_id)
    return model
