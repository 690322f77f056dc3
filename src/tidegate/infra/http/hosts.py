"""Which Host headers are answered.

Another site can point its own name at this machine (DNS rebinding); a browser here would then let its script
read what we answer, such as the sandbox's keys in /docs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import Scope

from tidegate.core.errors import UnknownHost
from tidegate.infra.http.in_flight import ALWAYS_ANSWERED

# Always answered: a client that sends these is on this machine.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::[0-9]*)?", re.IGNORECASE)
_REMEMBERED_MAX = 256


class KnownHosts:
    """The host of the base URL, those named besides, and loopback; on any port."""

    def __init__(self, base_url: str, more: Iterable[str] = ()) -> None:
        host = urlsplit(base_url).hostname or ""
        self._known = LOOPBACK | {f"[{host}]" if ":" in host else host} | {name.lower() for name in more if name}
        self._is_known = lru_cache(_REMEMBERED_MAX)(self._look)
        self._base_url = base_url

    def refuse_unknown(self, scope: Scope) -> None:
        """Health checks come by address. A request without the header comes from no browser."""
        for name, value in scope["headers"]:
            if name == b"host" and not self._is_known(value) and scope["path"] not in ALWAYS_ANSWERED:
                raise UnknownHost(
                    f"this service is {self._base_url} and does not answer to the Host header of this request; "
                    "set TIDEGATE_BASE_URL to the address that clients use, or name further hosts in TIDEGATE_HOSTS"
                )

    def _look(self, value: bytes) -> bool:
        match = _HOST.fullmatch(value)
        return match is not None and match[1].decode("latin-1").lower() in self._known
