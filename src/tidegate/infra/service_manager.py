"""Reports to systemd: ready, still alive, stopping. Without systemd nothing happens.

The protocol is a line of text in a datagram to the socket that `NOTIFY_SOCKET` names.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from tidegate.core.clock import monotonic_s


class ServiceManager:
    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # A leading @ stands for the abstract namespace.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._alive_every_s = _watchdog_s(environment) / 2
        self._alive_at = 0.0

    def ready(self) -> None:
        self._send("READY=1")

    def alive(self) -> None:
        """Call it often: it is sent twice in the time after which systemd would end the service."""
        if self._alive_every_s and monotonic_s() - self._alive_at >= self._alive_every_s:
            self._alive_at = monotonic_s()
            self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, line: str) -> None:
        if not self._address:
            return
        # A service manager that cannot be reached must not end the service.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(line.encode(), self._address)


def _watchdog_s(environment: Mapping[str, str]) -> float:
    """0 when none is asked for, or only of another process."""
    microseconds = environment.get("WATCHDOG_USEC", "")
    if not microseconds.isdigit() or environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    return int(microseconds) / 1_000_000
