"""Where the customer is sent back to: what may be asked for, and how the reference is added."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Self
from urllib.parse import quote, unquote_plus, urlsplit

import idna

URL_LENGTH_MAX = 2_048
_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*", re.IGNORECASE)
# What URL libraries repair silently: they would send the customer elsewhere than the text seems to say.
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_SHAPE = re.compile(r"(https?)://([^/?#]+)([/?#].*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>.*))?")
_PORT = re.compile(r"[0-9]{1,5}")
# `ipaddress` calls these global, but they lead into tunnels: 64:ff9b::7f00:1 is 127.0.0.1 behind NAT64.
_TUNNELS = tuple(map(ipaddress.ip_network, ("192.88.99.0/24", "64:ff9b::/96", "2002::/16")))


class RedirectUrl(str):
    """An absolute http or https address, kept byte for byte; only a host in other letters becomes punycode."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, str):
            raise ValueError("must be a string")
        if len(value) > URL_LENGTH_MAX:
            raise ValueError(f"must have at most {URL_LENGTH_MAX} characters")
        if _FORBIDDEN.search(value):
            raise ValueError("must not contain spaces, control characters or backslashes")
        match = _SHAPE.fullmatch(value)
        if match is None:
            raise ValueError("must be an absolute http or https address")
        scheme, authority, rest = match[1], match[2], match[3] or ""
        if not rest.isascii():
            raise ValueError("must be percent-encoded after the host")
        return cls(f"{scheme}://{_checked_authority(authority)}{rest}")

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "format": "uri", "maxLength": URL_LENGTH_MAX}

    @property
    def is_https(self) -> bool:
        return self[:8].lower() == "https://"

    @property
    def host(self) -> str:
        return (urlsplit(self).hostname or "").lower()

    @property
    def is_public(self) -> bool:
        """False for this machine, private networks and bare names, which no customer can reach."""
        host = self.host
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            last = host.rpartition(".")[2]
            return (
                bool(last) and not last.isdigit() and not last.startswith("0x") and "." in host and last != "localhost"
            )
        is_tunnel = any(address in network for network in _TUNNELS)
        return address.is_global and not address.is_multicast and not is_tunnel


def _checked_authority(authority: str) -> str:
    if "@" in authority:
        raise ValueError("must not contain a user name or password")
    match = _AUTHORITY.fullmatch(authority)
    assert match is not None  # The pattern matches any text without a line break.
    host, port = match["host"], match["port"]
    if port is not None and not (_PORT.fullmatch(port) and 1 <= int(port) <= 65_535):
        raise ValueError("has a port that does not exist")
    suffix = f":{port}" if port else ""
    if host.startswith("["):
        return _checked_ipv6(host) + suffix
    if not host.isascii():
        host = _in_punycode(host)
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise ValueError("has a host name that cannot exist")
    return host + suffix


def _checked_ipv6(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        raise ValueError("has an IPv6 address that cannot exist") from None
    if address.scope_id is not None:
        raise ValueError("has an address that means something on one machine only")
    return host


def _in_punycode(host: str) -> str:
    try:
        return idna.encode(host, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        raise ValueError("has a host name that cannot exist") from None


def with_reference(url: str, reference: str) -> str:
    """The address with exactly one `reference` parameter; other parameters and the fragment stay as they are."""
    before, hash_sign, fragment = url.partition("#")
    address, _, query = before.partition("?")
    ours = f"reference={quote(reference, safe='')}"
    kept: list[str] = []
    is_placed = False
    for part in query.split("&") if query else []:
        if unquote_plus(part.partition("=")[0]) != "reference":
            kept.append(part)
        elif not is_placed:
            kept.append(ours)
            is_placed = True
    if not is_placed:
        kept.append(ours)
    return f"{address}?{'&'.join(kept)}{hash_sign}{fragment}"
