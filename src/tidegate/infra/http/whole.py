"""An answer that is there as a whole goes out in one piece."""

from __future__ import annotations

from typing import Protocol

from starlette.types import Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from tidegate.infra.http.operation import RawHeaders


def lines_of(headers: RawHeaders) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


class Block(Protocol):
    """Headers whose lines are known to be right, most of them since the start. As headers they are asked for only in
    the usual way."""

    @property
    def headers(self) -> RawHeaders: ...

    @property
    def lines(self) -> bytes: ...


class Steady:
    """A block that is the same in every answer."""

    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self.headers = list(headers)
        self.lines = lines_of(self.headers)


NO_BLOCK = Steady()


class _DefaultLines:
    """Of the headers that uvicorn adds, such as the date: it makes a new list of them once a second."""

    def __init__(self) -> None:
        self._headers: RawHeaders = []
        self._lines = b""

    def __call__(self, headers: RawHeaders) -> bytes:
        if headers is not self._headers:
            self._headers, self._lines = headers, lines_of(headers)
        return self._lines


default_lines = _DefaultLines()


def write_whole(send: Send, status: int, lines: bytes, body: bytes) -> bool:
    """What uvicorn does with the two messages of an answer, when nothing about it is out of the ordinary.

    uvicorn examines each name and value of each header of each answer by itself; `lines` are known to be right.
    False when it has to be sent in the usual way.
    """
    cycle = getattr(send, "__self__", None)
    if type(cycle) is not RequestResponseCycle or not _is_ordinary(cycle):
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    transport = cycle.transport
    if not transport.is_closing():  # Else whoever asked has gone.
        transport.write(b"".join((STATUS_LINE[status], default_lines(cycle.default_headers), lines, b"\r\n", body)))
    cycle.message_event.set()
    cycle.on_response()
    return True


def _is_ordinary(cycle: RequestResponseCycle) -> bool:
    flow: FlowControl = cycle.flow
    return (
        cycle.keep_alive
        and not cycle.disconnected
        and not cycle.response_started
        and not flow.write_paused
        and cycle.scope["method"] != "HEAD"
    )
