"""The clients. They differ only in the loop that sends."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2

from tidegate_client import _async_resources, _resources
from tidegate_client._call import Call, Operation, T, Wait, body_of, key_of, path_of, query_of
from tidegate_client._errors import ConfigurationError
from tidegate_client._model import Page
from tidegate_client._version import __version__

DEFAULT_TIMEOUT_S = 30.0
DEFAULT_MAX_RETRIES = 2
TIMEOUT_MAX_S = 86_400
_ENVIRONMENT = {
    "secret_key": "TIDEGATE_SECRET_KEY",
    "public_key": "TIDEGATE_PUBLIC_KEY",
    "business_id": "TIDEGATE_BUSINESS_ID",
}
_HEADERS = {"api-key": "secret_key", "x-pub-key": "public_key"}


class _Base:
    def __init__(
        self,
        *,
        secret_key: str | None,
        public_key: str | None,
        business_id: str | None,
        base_url: str | None,
        timeout: float,
        max_retries: int,
    ) -> None:
        self._secret_key = _header_value("secret_key", secret_key)
        self._public_key = _header_value("public_key", public_key)
        self._business_id = _header_value("business_id", business_id)
        self.base_url = _checked_url(os.environ.get("TIDEGATE_URL") if base_url is None else base_url, self._secret_key)
        self.timeout = _checked_timeout(timeout)
        self.max_retries = max_retries

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={_without_password(self.base_url)!r})"

    def _needs_business(self, operation: Operation[Any]) -> bool:
        asks = operation.has_business or "x-business-id" in operation.headers
        return asks and self._business_id is None

    def _call(
        self,
        operation: Operation[Any],
        path: Mapping[str, object],
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        *,
        idempotency_key: str | None,
        timeout: float | None,
        max_retries: int | None,
    ) -> Call:
        headers = {"accept": operation.media, "user-agent": f"tidegate-client-python/{__version__}"}
        headers |= self._credentials(operation)
        if operation.retry == "key":
            headers["idempotency-key"] = key_of(idempotency_key)
        params = query_of(query, operation.shape)
        if operation.has_business:
            params.setdefault("business", self._business_id or "")
        if body is not None:
            headers["content-type"] = "application/json"
        try:
            content = None if body is None else body_of(body, operation.shape)
            url = httpx2.URL(self.base_url + path_of(operation.path, path), params=params)
        except UnicodeEncodeError:
            raise ConfigurationError(f"what is given to {operation.path} has half of a character") from None
        except httpx2.InvalidURL as error:
            raise ConfigurationError(f"no address can be made of what is given to {operation.path}: {error}") from None
        return Call(
            operation,
            url,
            f"{operation.method} {_without_password(self.base_url)}{operation.path}",
            headers,
            content,
            _checked_timeout(self.timeout if timeout is None else timeout),
            self.max_retries if max_retries is None else max_retries,
        )

    def _credentials(self, operation: Operation[Any]) -> dict[str, str]:
        values = {"api-key": self._secret_key, "x-pub-key": self._public_key, "x-business-id": self._business_id}
        found: dict[str, str] = {}
        for header in operation.headers:
            value = values[header]
            if not value:
                name = _HEADERS[header]
                raise ConfigurationError(f"{name} is missing: give it, or set {_ENVIRONMENT[name]}")
            found[header] = value
        return found

    @staticmethod
    def _following(operation: Operation[Any], page: Page[Any], query: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The query of the next page; None after the last."""
        if operation.paging == "cursor":
            return {**query, "cursor": page.next_cursor} if page.next_cursor else None
        if operation.paging == "page" and page.results:
            number = int(query.get("page", 1))
            size = int(query.get("per_page") or len(page.results))
            is_last = number * size >= int(page.raw.get("total", 0))
            return None if is_last else {**query, "page": number + 1}
        return None


class Tidegate(_Base, _resources.Resources):
    """The API, for programs that wait for each answer. Safe to share between threads."""

    def __init__(
        self,
        secret_key: str | None = None,
        public_key: str | None = None,
        business_id: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        max_retries: int = DEFAULT_MAX_RETRIES,
        http_client: httpx2.Client | None = None,
    ) -> None:
        super().__init__(
            secret_key=secret_key,
            public_key=public_key,
            business_id=business_id,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
        )
        self._http = http_client or httpx2.Client()
        self._attach(self._send)

    def _send(
        self,
        operation: Operation[T],
        path: Mapping[str, object],
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        **options: Any,
    ) -> T:
        if self._needs_business(operation):
            self._business_id = self.merchant.me().id
        call = self._call(operation, path, query, body, **options)
        while True:
            try:
                answer = self._answer(call)
            except (httpx2.RequestError, TimeoutError) as fault:
                outcome: Any = call.after_fault(fault)
            else:
                outcome = call.after_answer(answer)
            if not isinstance(outcome, Wait):
                break
            time.sleep(outcome.seconds)
        if isinstance(outcome, Page):
            following = self._following(operation, outcome, query)
            outcome.__dict__["_fetch"] = lambda: (
                None if following is None else self._send(operation, path, following, body, **options)
            )
        return outcome  # type: ignore[no-any-return]

    def _answer(self, call: Call) -> httpx2.Response:
        deadline = time.monotonic() + call.timeout
        with self._http.stream(call.operation.method, call.url, **call.sent) as answer:
            answer.stream = _UntilDeadline(answer.stream, deadline)
            answer.read()
        return answer

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _UntilDeadline(httpx2.SyncByteStream):
    """The HTTP library limits each read: an answer of many small parts would last as long as they come."""

    def __init__(self, parts: Any, deadline: float) -> None:
        self._parts = parts
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            if time.monotonic() > self._deadline:
                raise TimeoutError
            yield part

    def close(self) -> None:
        self._parts.close()


class AsyncTidegate(_Base, _async_resources.Resources):
    """The API, for programs on an event loop."""

    def __init__(
        self,
        secret_key: str | None = None,
        public_key: str | None = None,
        business_id: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        max_retries: int = DEFAULT_MAX_RETRIES,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        super().__init__(
            secret_key=secret_key,
            public_key=public_key,
            business_id=business_id,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
        )
        self._http = http_client or httpx2.AsyncClient()
        self._attach(self._send)

    async def _send(
        self,
        operation: Operation[T],
        path: Mapping[str, object],
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        **options: Any,
    ) -> T:
        if self._needs_business(operation):
            self._business_id = (await self.merchant.me()).id
        call = self._call(operation, path, query, body, **options)
        while True:
            try:
                async with asyncio.timeout(call.timeout):
                    answer = await self._http.request(operation.method, call.url, **call.sent)
            except (httpx2.RequestError, TimeoutError) as fault:
                outcome: Any = call.after_fault(fault)
            else:
                outcome = call.after_answer(answer)
            if not isinstance(outcome, Wait):
                break
            await asyncio.sleep(outcome.seconds)
        if isinstance(outcome, Page):
            outcome.__dict__["_fetch_async"] = self._fetcher(
                operation, path, self._following(operation, outcome, query), body, options
            )
        return outcome  # type: ignore[no-any-return]

    def _fetcher(
        self,
        operation: Operation[Any],
        path: Mapping[str, object],
        following: Mapping[str, Any] | None,
        body: Mapping[str, Any] | None,
        options: Mapping[str, Any],
    ) -> Callable[[], Awaitable[Any]]:
        async def fetch() -> Any:
            return None if following is None else await self._send(operation, path, following, body, **options)

        return fetch

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _header_value(name: str, given: str | None) -> str | None:
    """As given, or as the environment has it; None without either."""
    value = (os.environ.get(_ENVIRONMENT[name], "") if given is None else given).strip()
    if not value:
        if given is None:
            return None
        raise ConfigurationError(f"{name} is empty: give it, or leave it out and set {_ENVIRONMENT[name]}")
    # Refused here: the HTTP library would name the whole value in its error.
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise ConfigurationError(f"{name} must be ASCII without white space inside")
    return value


def _checked_url(url: str | None, secret_key: str | None) -> str:
    url = (url or "").strip()
    if not url:
        raise ConfigurationError("base_url is missing: give it, or set TIDEGATE_URL, such as https://api.example.com")
    if not _is_address(url):
        raise ConfigurationError(f"base_url must be an address such as https://api.example.com, not {url!r}")
    if not url.lower().startswith("https:") and (secret_key or "").startswith("sk_live_"):
        raise ConfigurationError("a live key is only sent over https")
    return url.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        parts, read = urlsplit(url), httpx2.URL(url)
        has_host = parts.hostname and parts.port != 0  # Raises ValueError for a port that is none.
    except (ValueError, httpx2.InvalidURL):
        return False
    return bool(has_host) and read.scheme in ("http", "https") and not any(mark in url for mark in " ?#")


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _checked_timeout(timeout: float) -> float:
    if not (isinstance(timeout, int | float) and 0 < timeout <= TIMEOUT_MAX_S):
        raise ConfigurationError(f"timeout must be more than 0 and at most {TIMEOUT_MAX_S} seconds, not {timeout!r}")
    return timeout
