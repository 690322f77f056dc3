"""Where the console answers: at its own host, to its own networks. Elsewhere there is nothing."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from urllib.parse import urlsplit

from starlette.types import Receive, Scope

from tidegate.infra.http.client import client_of
from tidegate.infra.http.reply import Reply
from tidegate.infra.http.routing import Route


@dataclass(frozen=True)
class ConsoleAccess:
    # Any host, where the console has none of its own.
    host: str | None = None
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def allows(self, scope: Scope) -> bool:
        return self._is_its_host(scope) and self._is_its_network(client_of(scope))

    def _is_its_host(self, scope: Scope) -> bool:
        if self.host is None:
            return True
        given = [value for name, value in scope["headers"] if name == b"host"]
        return len(given) == 1 and urlsplit(f"//{given[0].decode('latin-1')}").hostname == self.host

    def _is_its_network(self, client: str) -> bool:
        if not self.networks:
            return True
        try:
            address = ip_address(client)
        except ValueError:
            return False
        return any(address in network for network in self.networks if network.version == address.version)


def restricted(route: Route, access: ConsoleAccess, nothing: Route) -> Route:
    async def endpoint(scope: Scope, receive: Receive, reply: Reply) -> None:
        chosen = route if access.allows(scope) else nothing
        await chosen.app(scope, receive, reply)

    return Route(route.path, endpoint)
