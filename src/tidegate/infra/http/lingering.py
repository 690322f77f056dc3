"""A transport that sends an answer as one piece, and goes on reading for a moment after its last byte."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

LINGER_S = 2.0
# For a client to take what was written before the end.
FLUSH_S = 30.0
# More than the head of an answer and a small body: what is larger is not worth copying.
HELD_BYTES_MAX = 16 * 1024


class LingeringTransport(asyncio.Transport):
    """uvicorn writes head and body each by itself, which would be two system calls and two packets. Here they are held
    until the loop's next turn, and sent together.

    When a connection is closed while the client still sends, the kernel resets it, and the client may lose the
    answer that says why. So our side ends first, and what still comes is thrown away.
    """

    def __init__(self, transport: asyncio.Transport, is_client_sending: Callable[[], bool]) -> None:
        super().__init__()
        self._transport = transport
        self._is_client_sending: Callable[[], bool] | None = is_client_sending
        self._is_ending = False
        self._held: list[bytes | bytearray | memoryview] = []
        self._held_bytes = 0
        self._loop = asyncio.get_running_loop()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_ending:
            return
        if not self._held:
            self._loop.call_soon(self._send_held)
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > HELD_BYTES_MAX:
            self._send_held()

    def _send_held(self) -> None:
        held, self._held, self._held_bytes = self._held, [], 0
        if held and not self._transport.is_closing():
            self._transport.write(b"".join(held))

    def is_closing(self) -> bool:
        return self._is_ending or self._transport.is_closing()

    def close(self) -> None:
        if self.is_closing():
            return
        if self._is_client_sending is None or not self._is_client_sending():
            self.close_now()
            return
        self._is_ending = True
        self._send_held()
        self._transport.resume_reading()
        with suppress(OSError):  # The client may be gone already.
            self._transport.write_eof()
        self._loop.call_later(LINGER_S, self.close_now)

    def close_now(self) -> None:
        """A connection closes only when all is sent, which a client that takes nothing would put off for ever."""
        self._send_held()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self._loop.call_later(FLUSH_S, self._transport.abort)

    def forget_protocol(self) -> None:
        """So that nothing but reference counts is needed to free a connection."""
        self._is_client_sending = None
