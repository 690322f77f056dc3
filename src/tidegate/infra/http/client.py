"""Where a request comes from, and what our own proxies say about it."""

from __future__ import annotations

import re

from starlette.types import Scope

from tidegate.core import ids

# Some proxies add the port: 203.0.113.11:51234, [2001:db8::1]:443. An IPv6 address without brackets has more colons.
_WITH_PORT = re.compile(r"\[(?P<ipv6>[^\]]*)\](?::\d*)?|(?P<ipv4>[^:]*):\d*")


def client_of(scope: Scope) -> str:
    """The other end of the connection, or what our own proxies say; what other clients claim is not believed.

    Each proxy adds the address that called it at the right, so the one that called our outermost proxy stands as
    many places from the right as we have proxies.
    """
    trusted_proxies: int = scope["tidegate.trusted_proxies"]
    if trusted_proxies:
        values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        hops = b",".join(values).decode("latin-1").split(",")
        if len(hops) >= trusted_proxies and (address := hops[-trusted_proxies].strip()):
            return _without_port(address)
    peer = scope.get("client")
    return str(peer[0]) if peer else ""


def id_by_proxy(scope: Scope) -> str | None:
    """The id under which our proxy logs the request, so that one id finds it there and here."""
    if not scope["tidegate.trusted_proxies"]:
        return None
    given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"]
    return given[0] if len(given) == 1 and ids.looks_like_request_id(given[0]) else None


def _without_port(address: str) -> str:
    match = _WITH_PORT.fullmatch(address)
    return (match["ipv6"] or match["ipv4"] or "") if match else address
