"""Calls to Paystack: what each answer means for the work, never for the money."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from tidegate.core.errors import NotFound
from tidegate.infra.api_client import ApiAnswer, ApiClient, NoAnswer, NotSent
from tidegate.rail.breaker import Breaker
from tidegate.rail.interface import RailBusy, RailRefused, RailTimeout
from tidegate.rail.paystack import wire
from tidegate.rail.paystack.wire import PaystackUnreadable, T

PER_PAGE = 100
PAGES_MAX = 10_000
RETRY_AFTER_S = 60
DUPLICATE = "duplicate_reference"
_UNKNOWN = frozenset({"transaction_not_found", "not_found"})
# Of the account at Paystack, not of the payer.
_REFUSALS = ("not supported by merchant", "not enabled", "not allowed", "not active")


class PaystackRejected(Exception):
    """Paystack refuses this request; nothing was done. `code` may be empty."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class PaystackEnvelope(msgspec.Struct, frozen=True, kw_only=True):
    """Around every answer. `status` speaks of the call; the outcome of a payment is in `data`."""

    status: bool
    message: str = ""
    code: str = ""
    data: Any = None


class PaystackClient:
    def __init__(self, base_url: str, secret_key: str, breaker: Breaker) -> None:
        self._http = ApiClient(base_url, {"Authorization": f"Bearer {secret_key}"})
        self._breaker = breaker

    async def open(self) -> None:
        await self._http.open()

    async def close(self) -> None:
        await self._http.close()

    async def get(self, path: str, kind: type[T], query: Mapping[str, str] | None = None) -> T:
        """Raises NotFound. Whatever else it refuses is no answer to the question."""
        try:
            return self._read(await self._call("GET", path, query=query), kind)
        except PaystackRejected as rejected:
            raise RailTimeout(f"Paystack does not tell: {rejected}") from rejected

    async def post(self, path: str, body: Mapping[str, Any], kind: type[T]) -> T:
        """Raises PaystackRejected, also for what the request names and Paystack does not have, such as a bank."""
        try:
            return self._read(await self._call("POST", path, body=body), kind)
        except NotFound as unknown:
            raise PaystackRejected(unknown.message, "") from unknown

    async def list(self, path: str, kind: type[T], query: Mapping[str, str]) -> AsyncIterator[T]:
        """Every page of a list."""
        for page in range(1, PAGES_MAX + 1):
            found = await self.get(path, list[kind], {**query, "perPage": str(PER_PAGE), "page": str(page)})  # type: ignore[valid-type]
            for one in found:
                yield one
            if len(found) < PER_PAGE:
                return

    async def _call(self, method: str, path: str, **more: Any) -> Any:
        """The `data` of a successful call."""
        try:
            answer = await self._http.call(method, path, **more)
        except NotSent as error:
            self._breaker.failed()
            raise RailBusy(f"Paystack cannot be reached: {error}", retry_after_s=RETRY_AFTER_S) from error
        except NoAnswer as error:
            self._breaker.failed()
            raise RailTimeout(f"Paystack did not answer: {error}") from error
        if answer.status == 429:
            raise RailBusy("Paystack limits the number of requests", retry_after_s=_retry_after_s(answer))
        envelope = self._envelope(answer)
        if answer.status == 401:
            self._breaker.refused()
            raise RailRefused(f"Paystack refuses the secret key: {envelope.message}")
        self._breaker.succeeded()
        if answer.status in (200, 201) and (envelope.status or envelope.data is not None):
            return envelope.data
        raise _refusal(answer.status, envelope)

    def _envelope(self, answer: ApiAnswer) -> PaystackEnvelope:
        """A 5xx, and HTML whatever its status, says nothing about the work."""
        try:
            if answer.status < 500:
                return msgspec.json.decode(answer.body, type=PaystackEnvelope)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass
        self._breaker.failed()
        raise RailTimeout(f"Paystack answered {answer.status} with {answer.body[:100]!r}")

    def _read(self, data: Any, kind: type[T]) -> T:
        try:
            return wire.convert(data, kind)
        except PaystackUnreadable as error:
            raise RailTimeout(f"Paystack's answer is not understood: {error}") from error


def _retry_after_s(answer: ApiAnswer) -> int:
    text = answer.headers.get("retry-after") or answer.headers.get("x-ratelimit-reset") or ""
    seconds = int(text) if text.isdecimal() and len(text) < 5 else RETRY_AFTER_S
    return max(1, min(seconds, RETRY_AFTER_S))


def _refusal(status: int, envelope: PaystackEnvelope) -> Exception:
    message = envelope.message.lower()
    if status == 404 or envelope.code in _UNKNOWN or "not found" in message or "reference is invalid" in message:
        return NotFound(f"Paystack has no such object: {envelope.message}")
    if any(words in message for words in _REFUSALS):
        return RailRefused(f"Paystack refuses: {envelope.message}")
    return PaystackRejected(envelope.message, envelope.code)
