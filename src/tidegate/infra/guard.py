"""Who may be called: judged by the text of an address, by what its name stands for, and when a socket is opened."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from tidegate.core.ids import Mode
from tidegate.infra.address import Ip, WebUrl, ip_in, is_loopback, is_public, is_spelled_as_number

LIVE_PORTS = frozenset({443, 8443})
# A sandbox calls a developer's own server, on whatever port; but neither what only the system runs nor a database.
_SANDBOX_SYSTEM_PORTS = frozenset({80, 443})
_SYSTEM_PORTS_BELOW = 1_024
_DATABASE_PORTS = frozenset({3306, 5432, 6379, 9200, 11211, 27017})
# A name server that does not answer holds a thread for many seconds; the names of others must not wait for it.
LOOKUPS_MAX = 64
LOOKUP_WHEN_SAVING_S = 2.0

Lookup = Callable[[str], Awaitable[list[Ip]]]


class Forbidden(Exception):
    """We do not call there; the message says why."""


class ItIsUs(Forbidden):
    """An address at which this very service listens."""


class Guard:
    """The sandbox may call this machine, by http as well; live mode only what everybody reaches, by https.

    Private networks are refused in both: what answers there was not meant for whoever typed the address.
    """

    def __init__(
        self, mode: Mode, own_url: str, lookup: Lookup | None = None, *, own_ports: Iterable[int] = ()
    ) -> None:
        """`own_ports` are those that this service listens on, besides that of its URL."""
        self._is_live = mode is Mode.LIVE
        self._own = WebUrl(own_url)
        self._own_ports = frozenset({*own_ports, self._own.port})
        self._lookup = lookup or SystemLookup()

    def problem_in(self, url: WebUrl) -> str | None:
        """By the text alone."""
        if "#" in url:
            return "must not have a fragment; no server sees it"
        if is_spelled_as_number(url.host):
            return "must name its host, or write its IP address in full"
        ip = ip_in(url.host)
        if ip is not None and not self.allows(ip):
            return "must not lead into a private network"
        if self._is_ours(url) or (ip is not None and self._reaches_us(ip, url.port)):
            return "must not be this service itself"
        return self._problem_in_live(url) if self._is_live else self._problem_in_sandbox(url)

    async def problem_at(self, url: WebUrl) -> str | None:
        """Also by what the name stands for now. One that cannot be found may be set up later."""
        problem = self.problem_in(url)
        if problem or ip_in(url.host):
            return problem
        try:
            async with asyncio.timeout(LOOKUP_WHEN_SAVING_S):
                await self.resolve(url.host, url.port)
        except ItIsUs:
            return "must not be this service itself"
        except Forbidden:
            return "must not lead into a private network"
        except OSError:  # A time-out is one too.
            return None
        return None

    async def resolve(self, host: str, port: int) -> list[Ip]:
        """Every address of the name. One that must not be called spoils them all."""
        found = await self._lookup(host)
        for ip in found:
            self.refuse(ip, port)
        return found

    def refuse(self, ip: Ip, port: int) -> None:
        if not self.allows(ip):
            raise Forbidden(f"{ip} is in a private network")
        if self._reaches_us(ip, port):
            raise ItIsUs(f"{ip} port {port} is this service itself")

    def allows(self, ip: Ip) -> bool:
        return is_public(ip) or (not self._is_live and is_loopback(ip))

    def _is_ours(self, url: WebUrl) -> bool:
        # On a developer's machine everything has one host; in live mode ours has all its ports to itself.
        return url.host == self._own.host and (self._is_live or url.port == self._own.port)

    def _reaches_us(self, ip: Ip, port: int) -> bool:
        """Whatever name led there."""
        return port in self._own_ports and (is_loopback(ip) or _is_of_this_machine(ip))

    def _problem_in_live(self, url: WebUrl) -> str | None:
        if not url.is_https:
            return "must be an https address"
        if not url.is_public:
            return "must be an address that the internet can reach"
        if url.port not in LIVE_PORTS:
            return f"must have the port {' or '.join(map(str, sorted(LIVE_PORTS)))}"
        return None

    def _problem_in_sandbox(self, url: WebUrl) -> str | None:
        is_system = url.port < _SYSTEM_PORTS_BELOW and url.port not in _SANDBOX_SYSTEM_PORTS
        if is_system or url.port in _DATABASE_PORTS:
            return "must have a port of a web server"
        return None


def _is_of_this_machine(ip: Ip) -> bool:
    """Only an address of an interface of ours can be bound."""
    with socket.socket(socket.AF_INET if ip.version == 4 else socket.AF_INET6, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((str(ip), 0))
        except OSError:
            return False
    return True


class SystemLookup:
    """Asks the system, in threads of its own."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUPS_MAX, thread_name_prefix="lookup")

    async def __call__(self, host: str) -> list[Ip]:
        found = await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host)
        return [ip for ip in found if ip is not None]


def _look_up(host: str) -> list[Ip | None]:
    # As bytes, since text would be put through a codec that cannot spell every name.
    answers = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_STREAM)
    return [ip_in(str(address[0])) for *_, address in answers]
