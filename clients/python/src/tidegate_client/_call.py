"""One call, without the sending: what is sent, and what follows from an answer or from none. Pure but for chance."""

from __future__ import annotations

import math
import random
import re
import time
import uuid
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from tidegate_client import _errors as errors
from tidegate_client._model import NOT_GIVEN, decode_any, encode, read_data

# Longer than this is the caller's decision: `RateLimited.retry_after` says how long.
RETRY_AFTER_MAX_S = 60
# So that a server which cannot be reached is known before the try has lasted as long as it may.
CONNECT_MAX_S = 10.0
_FIRST_WAIT_S, _WAIT_MAX_S = 0.5, 8.0
_TEMPORARY = frozenset({408, 429, 500, 502, 503, 504})

_KEY = re.compile(r"[!-~]{1,255}")

# From the names of arguments to those on the wire; the second is the shape of what is inside.
Shape = Mapping[str, "str | tuple[str, Shape]"]


T = TypeVar("T")


@dataclass(frozen=True)
class Operation(Generic[T]):
    method: str
    path: str
    kind: type[T]
    # safe: may be repeated. key: may be repeated with the same idempotency key. never: only when it was not begun.
    retry: Literal["safe", "key", "never"] = "never"
    headers: tuple[str, ...] = ()
    shape: Shape = field(default_factory=dict)
    paging: Literal["cursor", "page"] | None = None
    has_business: bool = False
    media: str = "application/json"


class Send(Protocol):
    def __call__(
        self,
        operation: Operation[T],
        path: Mapping[str, object],
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        *,
        idempotency_key: str | None,
        timeout: float | None,
        max_retries: int | None,
    ) -> T: ...


class AsyncSend(Protocol):
    def __call__(
        self,
        operation: Operation[T],
        path: Mapping[str, object],
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        *,
        idempotency_key: str | None,
        timeout: float | None,
        max_retries: int | None,
    ) -> Coroutine[Any, Any, T]: ...


@dataclass
class Call:
    """What is sent, the same at every try."""

    operation: Operation[Any]
    url: httpx2.URL
    # For messages: without what was asked, and without a password.
    where: str
    headers: dict[str, str]
    content: bytes | None
    # Of one try.
    timeout: float
    max_retries: int
    tries: int = 0

    @property
    def sent(self) -> dict[str, Any]:
        return {
            "headers": self.headers,
            "content": self.content,
            "timeout": httpx2.Timeout(self.timeout, connect=self._connect_timeout),
            "follow_redirects": False,
        }

    @property
    def _connect_timeout(self) -> float:
        return min(self.timeout, CONNECT_MAX_S)

    def after_answer(self, answer: httpx2.Response) -> Any:
        """The result, or a `Wait` before the next try. Raises the refusal."""
        self.tries += 1
        request_id = answer.headers.get("x-request-id")
        if answer.is_success:
            return self._result(answer, request_id)
        body = _json_in(answer)
        refusal = errors.error_of(
            answer.status_code,
            body,
            request_id=request_id,
            retry_after=_retry_after(answer.headers),
            moved_to=answer.headers.get("location") if answer.has_redirect_location else None,
        )
        if self.tries > 1 and isinstance(refusal, errors.DuplicateReference) and refusal.link:
            # Our own first try was carried out and its answer lost.
            return self._result(answer, request_id)
        if not self._may_repeat(refusal):
            raise refusal
        return self._wait(refusal.retry_after)

    def after_fault(self, fault: httpx2.RequestError | TimeoutError) -> Wait:
        """How long to wait before the next try. Raises what is known of the fault."""
        self.tries += 1
        not_sent = isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
        if self.tries <= self.max_retries and (not_sent or self.operation.retry != "never"):
            return self._wait(None)
        hint = "base_url or TIDEGATE_URL sets the address"
        if isinstance(fault, httpx2.TimeoutException | TimeoutError):
            limit_s = self._connect_timeout if isinstance(fault, httpx2.ConnectTimeout) else self.timeout
            raise errors.APITimeoutError(f"no answer to {self.where} in {limit_s:g} s; {hint}") from fault
        # The fault's own text may hold the address with what was asked; it says no more than its class.
        raise errors.APIConnectionError(f"no answer to {self.where}: {type(fault).__name__}; {hint}") from fault

    def _result(self, answer: httpx2.Response, request_id: str | None) -> Any:
        if self.operation.kind is bytes:
            return answer.content
        try:
            return read_data(self.operation.kind, answer.content, request_id)
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            raise errors.APIError(
                f"the answer is not as documented: {error}",
                status=answer.status_code,
                error_type="UNREADABLE_ANSWER",
                request_id=request_id,
            ) from error

    def _may_repeat(self, refusal: errors.APIError) -> bool:
        if self.tries > self.max_retries or (refusal.retry_after or 0) > RETRY_AFTER_MAX_S:
            return False
        if refusal.status == 429:
            return True  # Refused before anything was done.
        if self.operation.retry == "never":
            return False
        return refusal.status in _TEMPORARY or (refusal.status == 409 and refusal.retry_after is not None)

    def _wait(self, retry_after: int | None) -> Wait:
        doubled = min(_WAIT_MAX_S, _FIRST_WAIT_S * 2 ** (self.tries - 1))
        if retry_after is not None:
            # Never less than asked for; those who were refused together do not come back together.
            return Wait(retry_after + doubled * random.random())  # noqa: S311  no secret
        return Wait(doubled * random.uniform(0.75, 1.25))  # noqa: S311  no secret


@dataclass(frozen=True)
class Wait:
    seconds: float


def path_of(template: str, values: Mapping[str, object]) -> str:
    for name, value in values.items():
        # Also percent-encoded, a part of dots leads to another path.
        if value is None or str(value) in ("", ".", ".."):
            raise errors.ConfigurationError(f"{name} must not be {value!r}: it would address something else")
        try:
            template = template.replace(f"{{{name}}}", quote(str(value), safe=""))
        except UnicodeEncodeError:
            raise errors.ConfigurationError(f"{name} is not text: it has half of a character") from None
    return template


def query_of(given: Mapping[str, Any], shape: Shape) -> dict[str, str]:
    return {str(name): _text(value) for name, value in to_wire(given, shape).items()}


def body_of(given: Mapping[str, Any], shape: Shape) -> bytes:
    return encode(to_wire(given, shape))


def to_wire(given: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """With the names of the wire, without what was not given. Names that the shape does not know go as they are."""
    sent: dict[str, Any] = {}
    for name, value in given.items():
        if value is NOT_GIVEN:
            continue
        known = shape.get(name, name)
        if isinstance(known, tuple):
            sent[known[0]] = _inside(value, known[1])
        else:
            sent[known] = value
    return sent


def given_only(**arguments: Any) -> dict[str, Any]:
    """Arguments whose default is None are left out when they have it."""
    return {name: value for name, value in arguments.items() if value is not None}


def key_of(given: str | None) -> str:
    if given is None:
        return str(uuid.uuid4())
    if not _KEY.fullmatch(given):
        raise errors.ConfigurationError("idempotency_key must be 1 to 255 visible ASCII characters, without spaces")
    return given


def _inside(value: Any, shape: Shape) -> Any:
    if isinstance(value, Mapping):
        return to_wire(value, shape)
    if isinstance(value, list | tuple):
        return [_inside(one, shape) for one in value]
    return value


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _json_in(answer: httpx2.Response) -> Any:
    try:
        return decode_any(answer.content)
    except msgspec.DecodeError:
        return None


def _retry_after(headers: httpx2.Headers) -> int | None:
    """Whole seconds from now, whether they are said as such or as a date."""
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    at = _timestamp(text)
    if at is None:
        return None
    # By the clock that the date is of, where the answer shows it.
    now = _timestamp(headers.get("date", ""))
    return max(0, math.ceil(at - (time.time() if now is None else now)))


def _timestamp(text: str) -> float | None:
    if not text.endswith(" GMT"):
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
