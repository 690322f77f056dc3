"""Answers leave in one piece, in order, and none is lost when the connection closes right after."""

from __future__ import annotations

import asyncio

import pytest

from tidegate.infra.http import lingering
from tidegate.infra.http.lingering import HELD_BYTES_MAX, LingeringTransport


class Written(asyncio.Transport):
    """Remembers what was written, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self._is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self._is_closed, "written after it was closed"
        self.pieces.append(bytes(data))

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True

    def write_eof(self) -> None:
        self.pieces.append(b"(end)")

    def resume_reading(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0


async def test_head_and_body_are_one_piece() -> None:
    below = Written()
    transport = LingeringTransport(below, lambda: False)
    transport.write(b"head ")
    transport.write(b"body")
    assert below.pieces == []
    await asyncio.sleep(0)
    assert below.pieces == [b"head body"]


async def test_a_long_body_is_not_held() -> None:
    below = Written()
    transport = LingeringTransport(below, lambda: False)
    long = b"x" * (HELD_BYTES_MAX + 1)
    transport.write(b"head ")
    transport.write(long)
    assert below.pieces == [b"head " + long]
    transport.write(b"rest")
    await asyncio.sleep(0)
    assert below.pieces[1:] == [b"rest"]


@pytest.mark.parametrize("is_sending", [False, True])
async def test_what_was_held_goes_out_before_the_end(is_sending: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lingering, "LINGER_S", 0.0)
    below = Written()
    transport = LingeringTransport(below, lambda: is_sending)
    transport.write(b"refused")
    transport.close()
    transport.write(b"too late")
    await asyncio.sleep(0.01)
    assert below.pieces == [b"refused", *([b"(end)"] if is_sending else [])]
    assert below.is_closing()


async def test_nothing_is_written_to_a_connection_that_was_lost() -> None:
    below = Written()
    transport = LingeringTransport(below, lambda: False)
    transport.write(b"answer")
    below.close()
    await asyncio.sleep(0)
    assert below.pieces == []
