"""An HTTP client for the API of one known host, chosen by the operator: JSON both ways, bounded in size and time.

For addresses that strangers chose there is `egress.py`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tidegate.infra.lazy_module import LazyModule

if TYPE_CHECKING:
    import aiohttp
    import yarl
else:
    # 6 MB, for rails that are asked over HTTP; a sandbox has none.
    aiohttp, yarl = LazyModule("aiohttp"), LazyModule("yarl")

BODY_BYTES_MAX = 1024 * 1024
CONNECT_S = 10.0
TOTAL_S = 30.0
# Shorter than most servers keep an idle connection, so that none closes at the moment it is used again.
KEEP_ALIVE_S = 10.0
CONNECTIONS_MAX = 50
USER_AGENT = "Tidegate/1"
CONTENT_TYPE = "application/json"


class NotSent(Exception):
    """No connection was made: the other side has not seen the request."""


class NoAnswer(Exception):
    """No whole answer came. The request may have been carried out."""


class ApiAnswer(msgspec.Struct, frozen=True):
    """Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


# Of a method, an address and a body: the headers that sign them.
RequestSigner = Callable[[str, "yarl.URL", bytes], Mapping[str, str]]


class ApiClient:
    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        sign: RequestSigner | None = None,
        body_bytes_max: int = BODY_BYTES_MAX,
        total_s: float = TOTAL_S,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = {"User-Agent": USER_AGENT, "Accept": "application/json", **headers}
        self._sign = sign
        self._body_bytes_max = body_bytes_max
        self._timeout = aiohttp.ClientTimeout(total=total_s, connect=min(CONNECT_S, total_s))
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        trust = ssl.create_default_context()
        trust.minimum_version = ssl.TLSVersion.TLSv1_2
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trust, limit=CONNECTIONS_MAX, keepalive_timeout=KEEP_ALIVE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=self._timeout,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(
        self, method: str, path: str, *, body: Any = None, query: Mapping[str, str] | None = None
    ) -> ApiAnswer:
        """`body` is sent as JSON. Raises NotSent or NoAnswer; never follows a redirect."""
        assert self._session is not None, "open it first"
        sent = None if body is None else msgspec.json.encode(body)
        headers = {} if sent is None else {"Content-Type": CONTENT_TYPE}
        url = yarl.URL(self._base_url + path).update_query(dict(query or {}))
        if sent is not None and self._sign is not None:
            headers |= self._sign(method, url, sent)
        try:
            async with self._session.request(
                method, url, data=sent, headers=headers, allow_redirects=False
            ) as response:
                received = await self._read(response)
                return ApiAnswer(
                    response.status, {name.lower(): text for name, text in response.headers.items()}, received
                )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise NotSent(f"{type(error).__name__}: {error}") from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise NoAnswer(f"{type(error).__name__}: {error}") from error

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        received = bytearray()
        async for chunk in response.content.iter_any():
            received += chunk
            if len(received) > self._body_bytes_max:
                raise NoAnswer(f"the answer is longer than {self._body_bytes_max} bytes")
        return bytes(received)
