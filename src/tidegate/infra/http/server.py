"""uvicorn, with limits on what a client may send before a request exists, and a gentle stop."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import time
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from tidegate.core import ids
from tidegate.core.errors import Unavailable
from tidegate.infra.http.operation import encode
from tidegate.infra.http.service import Service

HEADERS_MAX = 100
HEADER_BYTES_MAX = 16 * 1024
URL_BYTES_MAX = 8 * 1024
HEADER_TIMEOUT_S = 10.0
KEEP_ALIVE_S = 30
GRACEFUL_STOP_S = 20
BACKLOG = 2_048
DRAIN_SIGNAL = signal.SIGUSR1

_REASONS = {
    400: (b"400 Bad Request", "MALFORMED_REQUEST", "this is not a valid HTTP request"),
    414: (b"414 URI Too Long", "URI_TOO_LONG", f"the address may have at most {URL_BYTES_MAX} bytes"),
    431: (
        b"431 Request Header Fields Too Large",
        "HEADERS_TOO_LARGE",
        f"at most {HEADERS_MAX} headers and {HEADER_BYTES_MAX} bytes of them",
    ),
}


class _OverLimit(Exception):
    """Stops the parser; never leaves this module."""


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn sets no limit on headers and waits for ever for the first one."""

    _header_bytes = 0
    _refused_with = 400
    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self._start_header_timer()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > URL_BYTES_MAX:
            self._refuse(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > HEADER_BYTES_MAX or len(self.headers) >= HEADERS_MAX:
            self._refuse(431)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_header_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Also the way out for 414 and 431: the parser has been stopped, the connection ends here."""
        line, error_type, message = _REASONS[self._refused_with]
        request_id = ids.new_request_id()
        body = encode(
            {
                "status": False,
                "success": False,
                "message": message,
                "error": message,
                "errorType": error_type,
                "errors": [],
                "requestId": request_id,
            }
        )
        head = (
            b"HTTP/1.1 %s\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: %d\r\n"
            b"cache-control: no-store\r\nx-request-id: %s\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head % (line, len(body), request_id.encode()) + body)
        self.transport.close()

    def _refuse(self, status: int) -> None:
        self._refused_with = status
        raise _OverLimit

    def _start_header_timer(self) -> None:
        self._stop_header_timer()
        self._header_timer = self.loop.call_later(HEADER_TIMEOUT_S, self.transport.close)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


class GentleServer(uvicorn.Server):
    """On the first signal it says it is not ready, waits for the load balancer to notice, then stops."""

    def __init__(self, config: uvicorn.Config, *, drain_s: float = 0.0) -> None:
        super().__init__(config)
        self._drain_s = drain_s

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        app = self.config.loaded_app
        if self._drain_s and isinstance(app, Service) and not app.is_draining:
            app.is_draining = True
            asyncio.get_running_loop().call_later(self._drain_s, super().handle_exit, sig, frame)
            return
        super().handle_exit(sig, frame)


class GentleSupervisor(Multiprocess):
    """The same for several processes: each is told by a signal that it is not ready any more."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], *, drain_s: float) -> None:
        super().__init__(config, sockets)
        self._drain_s = drain_s

    def handle_term(self) -> None:
        if self._drain_s:
            for process in self.processes:
                if process.pid is not None:
                    os.kill(process.pid, DRAIN_SIGNAL)
            time.sleep(self._drain_s)
        super().handle_term()


def drain_on_signal(service: Service) -> None:
    def drain(_: int, __: FrameType | None) -> None:
        service.is_draining = True

    signal.signal(DRAIN_SIGNAL, drain)


class PortTaken(Unavailable):
    """Said before anything else is started."""


def bind(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"port {port} is in use; stop what listens there or choose another: PORT=9000") from None
        raise PortTaken(f"cannot listen on {host}:{port}: {error.strerror}") from None
    listening.set_inheritable(True)
    return listening


def stop_on_terminate() -> None:
    """uvicorn gives the signal back when it has stopped; without this, nothing after it would run."""
    signal.signal(signal.SIGTERM, _exit)


def _exit(_: int, __: FrameType | None) -> None:
    raise SystemExit(0)


def configure(app: Any, *, workers: int = 1, factory: bool = False) -> uvicorn.Config:
    """The listening socket is given when it is served."""
    return uvicorn.Config(
        app,
        factory=factory,
        workers=workers,
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
