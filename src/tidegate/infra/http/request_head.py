"""Limits on the address and the headers of a request."""

from __future__ import annotations

from starlette.types import Scope

from tidegate.core.errors import HeadersTooLarge, Malformed, MethodNotImplemented, UriTooLong

HEADERS_MAX = 100
HEADER_BYTES_MAX = 16 * 1024
URL_BYTES_MAX = 8 * 1024
METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE")


def check_head(scope: Scope) -> None:
    headers = scope["headers"]
    header_bytes = host_count = 0
    for name, value in headers:
        header_bytes += len(name) + len(value)
        host_count += name == b"host"
    if len(headers) > HEADERS_MAX or header_bytes > HEADER_BYTES_MAX:
        raise headers_too_large()
    if len(scope["raw_path"]) + len(scope["query_string"]) > URL_BYTES_MAX:
        raise uri_too_long()
    if host_count > 1 or (not host_count and scope["http_version"] == "1.1"):
        raise malformed()


def malformed() -> Malformed:
    return Malformed("this is not a valid HTTP request; HTTP/1.1 also needs exactly one Host header")


def unknown_method() -> MethodNotImplemented:
    return MethodNotImplemented(f"this method is not known here; use {', '.join(METHODS)}, in capital letters")


def headers_too_large() -> HeadersTooLarge:
    return HeadersTooLarge(
        f"the request may have at most {HEADERS_MAX} headers of {HEADER_BYTES_MAX} bytes in all; send fewer"
    )


def uri_too_long() -> UriTooLong:
    return UriTooLong(f"the address may have at most {URL_BYTES_MAX} bytes; shorten it")
