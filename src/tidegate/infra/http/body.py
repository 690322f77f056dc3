"""The body of a request, within the limits of size and time."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import Receive, Scope

from tidegate.core.errors import BodyTooLarge, Malformed, RequestTimeout, UnsupportedMediaType
from tidegate.infra.http.operation import Headers

BODY_BYTES_MAX = 64 * 1024
BODY_TIMEOUT_S = 10.0
# Put into the scope by the protocol once all of the body has arrived, mostly before the application runs.
ARRIVED = "tidegate.body_arrived"
# Put into the scope by the protocol when the rest cannot be read: the refusal that says why.
BROKEN = "tidegate.body_broken"


async def read_body(headers: Headers, scope: Scope, receive: Receive, *, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    declared = headers.one(b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > bytes_max:
        raise _too_large(bytes_max)
    if ARRIVED in scope:  # Nothing is waited for.
        return await _receive_all(scope, receive, bytes_max)
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            return await _receive_all(scope, receive, bytes_max)
    except TimeoutError:
        raise RequestTimeout(f"the body did not arrive within {BODY_TIMEOUT_S:.0f} s; send the request again") from None


async def _receive_all(scope: Scope, receive: Receive, bytes_max: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if BROKEN in scope:
            raise scope[BROKEN]
        if message["type"] == "http.disconnect":
            raise Malformed("the connection closed before the body was complete")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def read_beginning(receive: Receive, *, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """Of a body that is refused for its size, before anything of it was read: what arrives of its first bytes."""
    found = b""
    with suppress(TimeoutError):
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while len(found) < bytes_max:
                message = await receive()
                found += message.get("body", b"")
                if not message.get("more_body", False):
                    break
    return found[:bytes_max]


def _too_large(bytes_max: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body may have at most {bytes_max} bytes; send less")


def refuse_other_media(headers: Headers, wanted: str) -> None:
    media, _, parameters = (headers.one(b"content-type") or "").partition(";")
    if media.strip().lower() != wanted:
        raise UnsupportedMediaType(f"send Content-Type: {wanted}")
    charset = parameters.strip().lower().replace('"', "")
    if charset not in ("", "charset=utf-8"):
        raise UnsupportedMediaType("send the body as UTF-8")
    if any(coding.lower() != b"identity" for coding in headers.all(b"content-encoding")):
        raise UnsupportedMediaType("send the body without Content-Encoding")
    if any(coding.lower() != b"chunked" for coding in headers.all(b"transfer-encoding")):
        raise UnsupportedMediaType("send the body plain or chunked, in no other Transfer-Encoding")
