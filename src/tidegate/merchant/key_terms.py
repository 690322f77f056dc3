"""What a restricted key may do, from where and until when: as it is asked for, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_network

import msgspec

from tidegate.core.errors import Invalid, Problem
from tidegate.core.money import Currency
from tidegate.merchant.field import PersonName
from tidegate.merchant.model import KeyScope

NETWORKS_MAX = 20
REFUND_MAX_MAJOR = 10**12


class KeyTerms(msgspec.Struct, frozen=True, kw_only=True):
    name: str | None = None
    scopes: frozenset[KeyScope] | None = None
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    refund_max: Mapping[Currency, int] | None = None
    expires_at: datetime | None = None


ALL_RIGHTS = KeyTerms()


class KeyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """As it was typed. `refund_max` is in major units, by currency; empty for no limit."""

    name: str
    scopes: Sequence[str]
    addresses: Sequence[str] = ()
    refund_max: Mapping[str, int] = {}
    expires_at: datetime | None = None


def terms_of(request: KeyRequest, *, now: datetime) -> KeyTerms:
    """Raises Invalid with everything that is wrong."""
    problems = tuple(_problems(request, now))
    if problems:
        raise Invalid(*problems)
    limits = {Currency(code): major * Currency(code).minor_per_major for code, major in request.refund_max.items()}
    return KeyTerms(
        name=request.name,
        scopes=frozenset(KeyScope(scope) for scope in request.scopes),
        networks=tuple(ip_network(address, strict=False) for address in request.addresses),
        refund_max=limits or None,
        expires_at=request.expires_at,
    )


def _problems(request: KeyRequest, now: datetime) -> Iterator[Problem]:
    try:
        PersonName.parse(request.name)
    except ValueError as error:
        yield Problem("name", str(error))
    known = [scope.value for scope in KeyScope]
    if not request.scopes or any(scope not in known for scope in request.scopes):
        yield Problem("scopes", f"must be one or more of {', '.join(known)}")
    if len(request.addresses) > NETWORKS_MAX:
        yield Problem("addresses", f"must name at most {NETWORKS_MAX} addresses; remove some")
    for address in request.addresses[:NETWORKS_MAX]:
        if not _is_network(address):
            yield Problem("addresses", "must be addresses or networks such as 203.0.113.7 or 203.0.113.0/24")
            break
    yield from _limit_problems(request)
    if request.expires_at is not None and request.expires_at <= now:
        yield Problem("expiresAt", "must be in the future")


def _limit_problems(request: KeyRequest) -> Iterator[Problem]:
    if request.refund_max and KeyScope.REFUND not in request.scopes:
        yield Problem("refundMax", "needs the scope refund; add it, or leave refundMax out")
    for code, major in request.refund_max.items():
        if code not in Currency.__members__:
            yield Problem("refundMax", f"must name currencies such as {next(iter(Currency)).value}")
        elif not 0 <= major <= REFUND_MAX_MAJOR:
            yield Problem("refundMax", f"must be from 0 to {REFUND_MAX_MAJOR} in major units")


def _is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
