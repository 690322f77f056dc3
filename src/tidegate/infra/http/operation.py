"""An operation of the API: what it is called, who may call it, what goes in and what comes out."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import msgspec
from starlette.types import Scope

from tidegate.core.errors import Refusal
from tidegate.infra.http import csv_text, strict_json
from tidegate.infra.http.client import client_of
from tidegate.infra.http.request_limit import Limit

# ISO 8601, as `infra.timestamp.to_iso` writes it.
Timestamp = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
RawHeaders = list[tuple[bytes, bytes]]
# The key of an enumeration's meanings in its schema, by value.
MEANINGS_KEY = "x-enum-descriptions"


def meanings(words: Mapping[str, str]) -> msgspec.Meta:
    """What each value of a `Literal` means, for the reference. An enumeration has them in `meaning` of its members."""
    return msgspec.Meta(extra_json_schema={MEANINGS_KEY: dict(words)})


# Decimals go out as JSON numbers, digit for digit.
_encoder = msgspec.json.Encoder(decimal_format="number")
encode = _encoder.encode


class Headers:
    """Request headers by lower-case name. One given twice has no value."""

    __slots__ = ("_by_name", "_has_repeats", "_raw")

    def __init__(self, raw: RawHeaders) -> None:
        self._raw = raw
        self._by_name = dict(raw)
        self._has_repeats = len(self._by_name) != len(raw)

    def all(self, name: bytes) -> list[bytes]:
        if name not in self._by_name:
            return []
        if not self._has_repeats:
            return [self._by_name[name]]
        return [value for key, value in self._raw if key == name]

    def one(self, name: bytes) -> str | None:
        value = self._by_name.get(name)
        if value is None or (self._has_repeats and len(self.all(name)) > 1):
            return None
        return value.decode("latin-1")


@dataclass(slots=True)
class Call:
    """One request on its way through an operation."""

    operation: Operation
    headers: Headers
    path: Mapping[str, str]
    caller: Any
    body: bytes
    query: Mapping[str, Any]
    scope: Scope

    @property
    def client(self) -> str:
        return client_of(self.scope)

    def json(self) -> Any:
        return strict_json.loads(self.body)

    def answer(self, data: Any) -> Answer:
        return Answer(self.operation.success_status, b"%b%b}" % (self.operation.answer_head, encode(data)))


@dataclass(slots=True)
class Answer:
    status: int
    body: bytes
    headers: RawHeaders = field(default_factory=list)
    # What is kept for a repeated request, where that is less: secrets are shown once.
    kept_body: bytes | None = None


Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(slots=True)
class Stream:
    """An answer of any length. It is sent as fast as the client takes it, and holds no more than a chunk of it.

    What the generator holds while it stands at a `yield`, it holds for as long as the slowest client likes.
    """

    chunks: AsyncGenerator[bytes, None]
    filename: str
    status: int = 200
    headers: RawHeaders = field(default_factory=list)

    def __post_init__(self) -> None:
        if not _PLAIN_FILENAME.fullmatch(self.filename):
            raise ValueError(f"{self.filename!r} cannot stand in a header as it is")


_PLAIN_FILENAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


@dataclass(frozen=True)
class Csv:
    """The same answer as a file, for requests with `Accept: text/csv`. The head line is written for the handler."""

    media: ClassVar[str] = "text/csv"
    content_type: ClassVar[bytes] = b"text/csv; charset=utf-8"

    columns: tuple[str, ...]
    handler: Callable[[Call], Awaitable[Stream]]

    @property
    def head(self) -> bytes:
        return csv_text.row(self.columns)


@dataclass(frozen=True)
class Pdf:
    """The same answer as a document, for requests with `Accept: application/pdf`."""

    media: ClassVar[str] = "application/pdf"
    content_type: ClassVar[bytes] = b"application/pdf"
    head: ClassVar[bytes] = b""

    handler: Callable[[Call], Awaitable[Stream]]


FileAnswer = Csv | Pdf


@dataclass(frozen=True)
class Credentials:
    """Which headers say who is calling; none means that no credential is needed."""

    headers: tuple[str, ...] = ()


# What each header of `Credentials` holds, for the reference.
CREDENTIAL_WORDS = {
    "api-key": "Your secret key. It belongs on your server, nowhere else.",
    "x-pub-key": "Your public key, of the same business as the secret key.",
    "x-business-id": "The id of the business that the secret key belongs to.",
}


@dataclass(frozen=True)
class Step:
    """What an example sends before its own request: another operation's, with a body of this example's choice."""

    operation: str
    request: Mapping[str, Any] | None = None  # Without one, the other operation's own example.
    query: Mapping[str, str] = field(default_factory=dict)  # Besides the other operation's own.
    # Asked again until its answer has what is needed, since that comes about in the background.
    is_awaited: bool = False


@dataclass(frozen=True)
class SameAsHeader:
    """In an example: the value that this credential header has."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Operation:
    method: str
    path: str
    name: str
    summary: str
    description: str = ""
    handler: Handler
    # Where clients of other providers ask for the same, and what answers there; not in the reference.
    also_at: Mapping[str, Handler] = field(default_factory=dict)
    credentials: Credentials
    # What a caller with some rights must have; without one, `read` for a GET and `create` for anything else.
    right: str | None = None
    # Of callers without credentials; checked before the body is read.
    limit: Limit | None = None
    request: type[msgspec.Struct] | None = None
    is_body_optional: bool = False
    # Without one, the query string is ignored.
    query: type[msgspec.Struct] | None = None
    # The same parameters may then come as a JSON object too.
    takes_query_in_body: bool = False
    # As the example in the reference sends it.
    query_example: Mapping[str, str | SameAsHeader] = field(default_factory=dict)
    request_example: Mapping[str, Any] | None = None
    response: type[msgspec.Struct]
    # Then `data` is a list of them.
    answers_list: bool = False
    response_example: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    csv: Csv | None = None
    pdf: Pdf | None = None
    success_status: int = 200
    # The specification says `status` on some paths and `success` on the others.
    success_key: str = "success"
    success_message: str
    errors: tuple[type[Refusal], ...] = ()
    is_idempotent_by_key: bool = False
    # A success is a commit, which has waited for the standby: its answer need not. For what is asked very often.
    commits: bool = False
    path_parameters: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    # Where the reference shows it; the words stand once, at the head of the group.
    group: str = ""
    group_words: str = ""
    prepared_by: tuple[Step, ...] = ()
    # The operation that removes what the example has made, where it would be in the reader's way.
    undone_by: str | None = None

    def __post_init__(self) -> None:
        if self.takes_query_in_body and (self.query is None or self.request is not None):
            raise ValueError(f"{self.name}: a query in the body needs a query, and no other body")

    @cached_property
    def answer_head(self) -> bytes:
        """All of a successful answer that comes before its data."""
        return encode({self.success_key: True, "message": self.success_message, "data": None}).removesuffix(b"null}")

    @cached_property
    def right_needed(self) -> str:
        return self.right or ("read" if self.method == "GET" else "create")

    @cached_property
    def takes_body(self) -> bool:
        return self.request is not None or self.takes_query_in_body

    @cached_property
    def files(self) -> tuple[FileAnswer, ...]:
        """What its answer can be instead of JSON."""
        return tuple(file for file in (self.csv, self.pdf) if file)
