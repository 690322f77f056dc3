"""Calls to pawaPay: what each answer means for the work, never for the money."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tidegate.core.clock import SystemClock
from tidegate.infra import message_signature
from tidegate.infra.api_client import CONTENT_TYPE, ApiAnswer, ApiClient, NoAnswer, NotSent
from tidegate.infra.message_signature import HttpMessage
from tidegate.rail.breaker import Breaker
from tidegate.rail.interface import RailBusy, RailRefused, RailTimeout
from tidegate.rail.pawapay import wire
from tidegate.rail.pawapay.wire import FailureReasonView, PawapayUnreadable, T
from tidegate.rail_settings import PawapaySettings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from yarl import URL

# The configuration of an account with many countries is long.
BODY_BYTES_MAX = 2 * 1024 * 1024
RETRY_AFTER_S = 60
# No call can succeed with this token or signature.
_LOCKED_OUT = frozenset(
    {"NO_AUTHENTICATION", "AUTHENTICATION_ERROR", "AUTHORISATION_ERROR", "HTTP_SIGNATURE_ERROR", ""}
)


class Refused(msgspec.Struct, frozen=True, rename="camel"):
    """The body of a refusal."""

    failure_reason: FailureReasonView = FailureReasonView()


class PawapayClient:
    def __init__(self, settings: PawapaySettings, breaker: Breaker) -> None:
        self._settings = settings
        headers = {"Authorization": f"Bearer {settings.token}"}
        sign = None
        if settings.signing_key is not None:
            key = load_pem_private_key(settings.signing_key.encode(), password=None)
            sign = partial(self._signed, cast("EllipticCurvePrivateKey", key))
        self._http = ApiClient(settings.base_url, headers, sign=sign, body_bytes_max=BODY_BYTES_MAX)
        self._breaker = breaker

    async def open(self) -> None:
        await self._http.open()

    async def close(self) -> None:
        await self._http.close()

    async def get(self, path: str, kind: type[T]) -> T:
        return self._read(await self._call("GET", path), kind)

    async def post(self, path: str, body: Mapping[str, Any], kind: type[T]) -> T:
        return self._read(await self._call("POST", path, body=body), kind)

    def _signed(self, key: EllipticCurvePrivateKey, method: str, url: URL, body: bytes) -> Mapping[str, str]:
        authority = (url.host or "") if url.is_default_port() else f"{url.host}:{url.port}"
        message = HttpMessage(method, authority, url.raw_path, {"content-type": CONTENT_TYPE}, body)
        now = SystemClock().now()
        return message_signature.sign(message, key, self._settings.signing_key_id, now=now)

    async def _call(self, method: str, path: str, **more: Any) -> bytes:
        """The body of an answer that pawaPay gave to the question."""
        try:
            answer = await self._http.call(method, path, **more)
        except NotSent as error:
            self._breaker.failed()
            raise RailBusy(f"pawaPay cannot be reached: {error}", retry_after_s=RETRY_AFTER_S) from error
        except NoAnswer as error:
            self._breaker.failed()
            raise RailTimeout(f"pawaPay did not answer: {error}") from error
        if answer.status == 429:
            raise RailBusy("pawaPay limits the number of requests", retry_after_s=RETRY_AFTER_S)
        if answer.status in (400, 401, 403):
            raise self._refusal(answer)
        if answer.status != 200:
            # Also UNKNOWN_ERROR with 500: the work may be done.
            self._breaker.failed()
            raise RailTimeout(f"pawaPay answered {answer.status} with {answer.body[:100]!r}")
        self._breaker.succeeded()
        return answer.body

    def _refusal(self, answer: ApiAnswer) -> RailRefused:
        try:
            reason = msgspec.json.decode(answer.body, type=Refused).failure_reason
        except (msgspec.MsgspecError, UnicodeDecodeError):
            reason = FailureReasonView()
        if answer.status != 400 and reason.failure_code in _LOCKED_OUT:
            self._breaker.refused()
        else:
            self._breaker.succeeded()
        why = f"{reason.failure_code} {reason.failure_message}".strip() or "no reason given"
        return RailRefused(f"pawaPay refuses with {answer.status}: {why}")

    def _read(self, body: bytes, kind: type[T]) -> T:
        try:
            return wire.convert(msgspec.json.decode(body), kind)
        except (PawapayUnreadable, msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._breaker.failed()
            raise RailTimeout(f"pawaPay's answer is not understood: {error}") from error
