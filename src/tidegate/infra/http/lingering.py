"""A transport that goes on reading for a moment after its last byte was written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

LINGER_S = 2.0
# For a client to take what was written before the end.
FLUSH_S = 30.0


class LingeringTransport(asyncio.Transport):
    """When a connection is closed while the client still sends, the kernel resets it, and the client may lose the
    answer that says why. So our side ends first, and what still comes is thrown away.
    """

    def __init__(self, transport: asyncio.Transport, is_client_sending: Callable[[], bool]) -> None:
        super().__init__()
        self._transport = transport
        self._is_client_sending: Callable[[], bool] | None = is_client_sending
        self._is_ending = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_ending:
            self._transport.write(data)

    def is_closing(self) -> bool:
        return self._is_ending or self._transport.is_closing()

    def close(self) -> None:
        if self.is_closing():
            return
        if self._is_client_sending is None or not self._is_client_sending():
            self.close_now()
            return
        self._is_ending = True
        self._transport.resume_reading()
        with suppress(OSError):  # The client may be gone already.
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, self.close_now)

    def close_now(self) -> None:
        """A connection closes only when all is sent, which a client that takes nothing would put off for ever."""
        self._transport.close()
        if self._transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(FLUSH_S, self._transport.abort)

    def forget_protocol(self) -> None:
        """So that nothing but reference counts is needed to free a connection."""
        self._is_client_sending = None
