"""uvicorn, as it is set up here, and a graceful stop."""

from __future__ import annotations

import errno
import resource
import signal
import socket
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn

from tidegate.core.errors import Unavailable
from tidegate.infra.http.application import Application
from tidegate.infra.http.protocol import GuardedProtocol
from tidegate.infra.supervisor import DRAIN_SIGNAL, stop_on_terminate

KEEP_ALIVE_S = 30
GRACEFUL_STOP_S = 20
BACKLOG = 2_048
# libuv accepts one connection per listener and iteration of the loop. Under load an iteration is long, and with one
# listener new clients would wait for seconds.
LISTENERS = 32


class GracefulServer(uvicorn.Server):
    """On a signal it is no longer ready, then stops."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        allow_many_connections()
        await super().startup(listeners(sockets) if sockets else None)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        app = self.config.loaded_app
        if isinstance(app, Application):
            app.is_draining = True  # Open streams end by themselves when they see this.
        super().handle_exit(sig, frame)


def serve(app: Any, listening: socket.socket) -> None:
    """Until SIGTERM; in a child of a supervisor, which drains it first."""
    stop_on_terminate()  # uvicorn gives the signal back when it has stopped.
    if isinstance(app, Application):
        drain_on_signal(app)
    GracefulServer(configure(app)).run(sockets=[listening])


def drain_on_signal(app: Application) -> None:
    def drain(_: int, __: FrameType | None) -> None:
        app.is_draining = True

    signal.signal(DRAIN_SIGNAL, drain)


class PortTaken(Unavailable):
    """Said before anything else is started."""


def bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns off Nagle's delay only where it reads TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setblocking(False)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"port {port} is in use; stop what listens there or choose another: PORT=9000") from None
        raise PortTaken(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listening


def listeners(sockets: list[socket.socket]) -> list[socket.socket]:
    """The same sockets, each several times.

    Blocking mode is shared by all processes that have the socket. Left on, a process that has accepted a connection
    would stand still in `accept` until the next one.
    """
    for one in sockets:
        one.setblocking(False)
    return [*sockets, *(one.dup() for one in sockets for _ in range(LISTENERS - 1))]


def allow_many_connections() -> None:
    """As many open files as the administrator allows, instead of the usual 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # Where "unlimited" is not accepted as a number.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def configure(app: Any) -> uvicorn.Config:
    """The listening socket is given when it is served."""
    return uvicorn.Config(
        app,
        http=GuardedProtocol,
        ws="none",
        loop="uvloop",
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACEFUL_STOP_S,
        server_header=False,
        proxy_headers=False,
        access_log=False,
        log_config=None,
    )
