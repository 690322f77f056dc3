"""Which addresses may be called: checked by their text, by their DNS records, and when the socket is opened."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from tidegate.core.ids import Mode
from tidegate.infra.address import Ip, WebUrl, ip_in, is_loopback, is_public, is_spelled_as_number

LIVE_PORTS = frozenset({443, 8443})
# A sandbox calls a developer's server on any port, except system ports and databases.
_SANDBOX_SYSTEM_PORTS = frozenset({80, 443})
_SYSTEM_PORTS_BELOW = 1_024
_DATABASE_PORTS = frozenset({3306, 5432, 6379, 9200, 11211, 27017})
# A name server that does not answer blocks a thread for many seconds; other lookups must not wait for it.
LOOKUPS_MAX = 64
LOOKUP_WHEN_SAVING_S = 2.0

Lookup = Callable[[str], Awaitable[list[Ip]]]


class Forbidden(Exception):
    """The address must not be called; the message says why."""


class OwnAddress(Forbidden):
    """An address of this service itself."""


class Guard:
    """The sandbox may call this machine, also by http; live mode only public addresses, by https.

    Private networks are refused in both: their services are not meant for merchants.
    """

    def __init__(
        self, mode: Mode, own_url: str, lookup: Lookup | None = None, *, own_ports: Iterable[int] = (),
        own_receiver: str | None = None,
    ) -> None:  # fmt: skip
        """`own_ports` are those that this service listens on, besides that of its URL. `own_receiver` is the path of
        the only addresses of its own that may be called, with a name below it."""
        self._is_live = mode is Mode.LIVE
        self._own = WebUrl(own_url)
        self._own_ports = frozenset({*own_ports, self._own.port})
        self._lookup = lookup or SystemLookup()
        self._receiver = re.compile(rf"{re.escape(own_url + own_receiver)}/[0-9a-z]{{1,40}}") if own_receiver else None

    def is_own_receiver(self, url: str) -> bool:
        return self._receiver is not None and self._receiver.fullmatch(url) is not None

    def problem_in(self, url: WebUrl) -> str | None:
        """Checks the text only."""
        if self.is_own_receiver(url):
            return None
        if "#" in url:
            return "must not have a fragment (#…); servers never receive it"
        if is_spelled_as_number(url.host):
            return "must have a host name or an IP address in full"
        ip = ip_in(url.host)
        if ip is not None and not self.allows(ip):
            return "must not lead into a private network"
        if self._is_ours(url) or (ip is not None and self._reaches_us(ip, url.port)):
            return "must not be this service itself"
        return self._problem_in_live(url) if self._is_live else self._problem_in_sandbox(url)

    async def problem_at(self, url: WebUrl) -> str | None:
        """Also resolves the name. A name that does not resolve is allowed: it may be set up later."""
        problem = self.problem_in(url)
        if problem or ip_in(url.host) or self.is_own_receiver(url):
            return problem
        try:
            async with asyncio.timeout(LOOKUP_WHEN_SAVING_S):
                await self.resolve(url.host, url.port)
        except OwnAddress:
            return "must not be this service itself"
        except Forbidden:
            return "must not lead into a private network"
        except OSError:  # A time-out is one too.
            return None
        return None

    async def resolve(self, host: str, port: int) -> list[Ip]:
        """Every address of the name. Raises Forbidden if one of them must not be called."""
        found = await self._lookup(host)
        for ip in found:
            self.refuse(ip, port)
        return found

    def refuse(self, ip: Ip, port: int) -> None:
        if not self.allows(ip):
            raise Forbidden(f"{ip} is in a private network")
        if self._reaches_us(ip, port):
            raise OwnAddress(f"{ip} port {port} is this service itself")

    def allows(self, ip: Ip) -> bool:
        return is_public(ip) or (not self._is_live and is_loopback(ip))

    def _is_ours(self, url: WebUrl) -> bool:
        # On a developer's machine all services share one host; in live mode every port of our host is ours.
        return url.host == self._own.host and (self._is_live or url.port == self._own.port)

    def _reaches_us(self, ip: Ip, port: int) -> bool:
        """By IP address and port, whatever the name."""
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
    """Only an address of a local interface can be bound."""
    with socket.socket(socket.AF_INET if ip.version == 4 else socket.AF_INET6, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((str(ip), 0))
        except OSError:
            return False
    return True


class SystemLookup:
    """Uses the system's resolver, in its own threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUPS_MAX, thread_name_prefix="lookup")

    async def __call__(self, host: str) -> list[Ip]:
        found = await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host)
        return [ip for ip in found if ip is not None]


def _look_up(host: str) -> list[Ip | None]:
    # As bytes, since str would use the idna codec, which rejects some names.
    answers = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_STREAM)
    return [ip_in(str(address[0])) for *_, address in answers]
