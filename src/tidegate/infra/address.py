"""Untrusted web addresses, parsed without repairs, and which IP addresses are public."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Self
from urllib.parse import urlsplit

import idna

URL_LENGTH_MAX = 2_048
HOST_LENGTH_MAX = 253
_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*", re.IGNORECASE)
# URL libraries repair these silently, and would connect to another host than the text shows.
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_SHAPE = re.compile(r"(https?)://([^/?#]+)([/?#].*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>.*))?")
_PORT = re.compile(r"[0-9]{1,5}")

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


class WebUrl(str):
    """An absolute http or https address, kept byte for byte; only a non-ASCII host becomes punycode."""

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
    def port(self) -> int:
        return urlsplit(self).port or (443 if self.is_https else 80)

    @property
    def is_public(self) -> bool:
        """False for this machine, private networks and names without a dot: not reachable from the internet."""
        host = self.host
        ip = ip_in(host)
        if ip is not None:
            return is_public(ip)
        return "." in host and not is_spelled_as_number(host) and host.rpartition(".")[2] != "localhost"


def ip_in(host: str) -> Ip | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_spelled_as_number(host: str) -> bool:
    """2130706433, 127.1 and 0x7f000001 parse as names, but a resolver reads them as 127.0.0.1."""
    last = host.rpartition(".")[2]
    return ip_in(host) is None and (last.isdigit() or last.startswith("0x"))


# Special-purpose blocks of IANA, not public. Our own list, since the standard library's differs from version to
# version, and calls multicast and tunnels global.
_SET_ASIDE = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
            "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        ),
    )
)  # fmt: skip
# The only allocated part of IPv6, without its blocks for protocols (and Teredo), documentation and 6to4.
_GIVEN_OUT = ipaddress.IPv6Network("2000::/3")
_NOT_GIVEN_OUT = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
# IPv4 addresses behind a translator, for networks without IPv4.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(ip: Ip) -> bool:
    """Whether it is the same machine from everywhere on the internet."""
    ip = _unwrapped(ip)
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _SET_ASIDE)
    return ip in _GIVEN_OUT and not any(ip in network for network in _NOT_GIVEN_OUT)


def is_loopback(ip: Ip) -> bool:
    return _unwrapped(ip).is_loopback


def _unwrapped(ip: Ip) -> Ip:
    """The IPv4 address that an IPv6 one embeds: 64:ff9b::7f00:1 is 127.0.0.1 behind NAT64."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip


def _checked_authority(authority: str) -> str:
    if "@" in authority:
        raise ValueError("must not contain a user name or password")
    match = _AUTHORITY.fullmatch(authority)
    assert match is not None  # The pattern matches any text without a line break.
    host, port = match["host"], match["port"]
    if port is not None and not (_PORT.fullmatch(port) and 1 <= int(port) <= 65_535):
        raise ValueError("has an invalid port; use 1 to 65535")
    suffix = f":{port}" if port else ""
    if host.startswith("["):
        return _checked_ipv6(host) + suffix
    if not host.isascii() and len(host) <= HOST_LENGTH_MAX:
        host = _in_punycode(host)
    if len(host) > HOST_LENGTH_MAX or not _HOST.fullmatch(host):
        raise ValueError("has an invalid host name")
    return host + suffix


def _checked_ipv6(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        raise ValueError("has an invalid IPv6 address") from None
    if address.scope_id is not None:
        raise ValueError("has an IPv6 address with a zone, which is valid on one machine only")
    return host


def _in_punycode(host: str) -> str:
    try:
        return idna.encode(host, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        raise ValueError("has an invalid host name") from None
