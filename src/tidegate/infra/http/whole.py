"""An answer that is there as a whole goes out in one piece."""

from __future__ import annotations

from typing import Protocol

from starlette.types import Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from tidegate.infra.http.operation import RawHeaders

_LENGTH = b"content-length: "


def lines_of(headers: RawHeaders) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


class Block(Protocol):
    """Headers whose lines were made at start, or nearly so. As headers they are asked for only in the usual way."""

    @property
    def headers(self) -> RawHeaders: ...

    @property
    def lines(self) -> bytes: ...


class Steady:
    """A block that is the same in every answer."""

    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self.headers = list(headers)
        self.lines = lines_of(self.headers)


# In the first message of an answer: a block that it has beside its headers.
BLOCK = "tidegate.block"
NO_BLOCK = Steady()


def write_whole(send: Send, status: int, headers: RawHeaders, constant: bytes, body: bytes) -> bool:
    """What uvicorn does with the two messages of an answer, when nothing about it is out of the ordinary.

    uvicorn examines each name and value of each header of each answer by itself. Here `constant` is a block of lines
    that was made at start. False when it has to be sent in the usual way.
    """
    cycle = getattr(send, "__self__", None)
    if type(cycle) is not RequestResponseCycle or not _is_ordinary(cycle):
        return False
    own = lines_of(headers)
    if not own.count(b"\n") == own.count(b"\r") == len(headers) or b"\0" in own or _LENGTH not in own:
        return False  # A value that would end early, or an answer without its length: uvicorn knows what to do.
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    parts = [STATUS_LINE[status], lines_of(cycle.default_headers), own, constant, b"\r\n", body]
    if not cycle.transport.is_closing():  # Else whoever asked has gone.
        cycle.transport.write(b"".join(parts))
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
