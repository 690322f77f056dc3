"""Pictures made by hand, a few pixels each, and what a document keeps of them."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from datetime import UTC, datetime
from typing import Any

import pypdf
import pytest

from tidegate.infra.pdf.document import Document
from tidegate.infra.pdf.picture import SIDE_PX_MAX, NotAPicture, read_picture

GREY, RGB, PALETTE, GREY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6

# A segment of no interest, then the frame: 8 bits, 3 high, 5 wide, and so many channels.
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x03\x00\x05%c\x01\x11\x00\xff\xd9"


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(
    *rows: bytes,
    width: int,
    colours: int,
    depth: int = 8,
    palette: bytes = b"",
    transparent: bytes = b"",
    height: int | None = None,
    interlaced: bool = False,
) -> bytes:
    """Each row with the number of its filter before it."""
    header = struct.pack(">IIBBBBB", width, height or len(rows), depth, colours, 0, 0, interlaced)
    chunks = [(b"IHDR", header), (b"PLTE", palette), (b"tRNS", transparent), (b"IDAT", zlib.compress(b"".join(rows)))]
    body = b"".join(chunk(kind, content) for kind, content in chunks if content)
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def drawn(picture: bytes) -> Any:
    """The picture as it stands in a document."""
    document = Document(title="t", language="en", made_at=datetime(2026, 11, 15, tzinfo=UTC))
    figure = document.content.add("Figure", alternative="A logo")
    document.add_page().place(read_picture(picture), x=10, top=10, width=20, height=20, part=figure)
    reader = pypdf.PdfReader(io.BytesIO(document.file()), strict=True)
    resources: Any = reader.pages[0]["/Resources"]
    (found,) = resources["/XObject"].values()
    return found.get_object()


def test_a_png_keeps_its_pixels() -> None:
    picture = drawn(png(b"\0\x01\x02\x03\x04\x05\x06", b"\0\x07\x08\x09\x0a\x0b\x0c", width=2, colours=RGB))
    assert picture.get_data() == bytes(range(1, 13))
    assert (picture["/Width"], picture["/Height"], picture["/ColorSpace"]) == (2, 2, "/DeviceRGB")
    assert "/SMask" not in picture


def test_transparency_is_kept_apart() -> None:
    picture = drawn(png(b"\0\x01\x02\x03\x80\x04\x05\x06\xff", width=2, colours=RGB_ALPHA))
    assert picture.get_data() == b"\x01\x02\x03\x04\x05\x06"
    assert picture["/SMask"].get_object().get_data() == b"\x80\xff"


def test_every_filter_is_undone() -> None:
    # Grey 10, 20, 30 and alpha 200, 100, 50 in each row, written five ways.
    rows = [
        b"\x00" + bytes([10, 200, 20, 100, 30, 50]),
        b"\x01" + bytes([10, 200, 10, 156, 10, 206]),
        b"\x02" + bytes([0, 0, 0, 0, 0, 0]),
        b"\x03" + bytes([5, 100, 5, 206, 5, 231]),
        b"\x04" + bytes([0, 0, 0, 0, 0, 0]),
        b"\x04" + bytes([1, 255, 0, 1, 0, 0]),
    ]
    picture = drawn(png(*rows, width=3, colours=GREY_ALPHA))
    assert picture.get_data() == bytes([10, 20, 30] * 5 + [11, 20, 30])
    assert picture["/SMask"].get_object().get_data() == bytes([200, 100, 50] * 5 + [199, 101, 50])


def test_of_sixteen_bits_the_upper_eight_are_kept() -> None:
    picture = drawn(png(b"\0\x12\x34\x56\x78", width=1, colours=GREY_ALPHA, depth=16))
    assert (picture.get_data(), picture["/SMask"].get_object().get_data()) == (b"\x12", b"\x56")


def test_colours_of_a_palette_may_be_transparent() -> None:
    # Five pixels of two bits: 0, 1, 2, 3, 1.
    rows = b"\0\x1b\x40"
    picture = drawn(png(rows, width=5, colours=PALETTE, depth=2, palette=bytes(range(12)), transparent=b"\x00\x80"))
    assert picture["/SMask"].get_object().get_data() == b"\x00\x80\xff\xff\x80"
    assert picture["/ColorSpace"][3].original_bytes == bytes(range(12))


def test_one_colour_may_be_transparent() -> None:
    picture = drawn(png(b"\0\x01\x02\x03", width=1, colours=RGB, transparent=b"\0\x01\0\x02\0\x03"))
    assert list(picture["/Mask"]) == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(("channels", "space"), [(1, "/DeviceGray"), (3, "/DeviceRGB"), (4, "/DeviceCMYK")])
def test_a_jpeg_is_taken_as_it_is(channels: int, space: str) -> None:
    picture = drawn(JPEG % channels)
    assert (picture["/Width"], picture["/Height"], picture["/ColorSpace"]) == (5, 3, space)
    assert picture["/Filter"] == "/DCTDecode"
    assert picture._data == JPEG % channels


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "only PNG and JPEG"),
        (b"RIFF....WEBP", "only PNG and JPEG"),
        (b"<svg/>", "only PNG and JPEG"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (png(b"\0\x01", width=1, colours=GREY)[:40], "damaged"),
        (png(b"\0\x01", width=2, colours=GREY), "damaged"),
        (png(b"\x07\x01", width=1, colours=GREY), "damaged"),
        (png(b"\0\x01", width=1, colours=GREY, depth=7), "damaged"),
        (png(b"\0\x01", width=1, colours=5), "damaged"),
        (png(b"\0\x01", width=1, colours=PALETTE), "damaged"),
        (png(b"\0\x01", width=1, colours=GREY, interlaced=True), "interlaced"),
        (png(b"\0" * 100, width=SIDE_PX_MAX + 1, colours=GREY), "pixels"),
        (png(b"", width=1, height=0, colours=GREY), "damaged"),
        (JPEG[:12], "damaged"),
        (b"\xff\xd8\xff\xe0\x00\x00" + b"\xff\xe0\x00\x00" * 1_000, "damaged"),
    ],
)
def test_what_cannot_be_drawn_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(NotAPicture, match=why):
        read_picture(content)


def test_no_more_is_inflated_than_a_picture_can_have() -> None:
    bomb = png(b"\x09" + bytes(50_000_000), width=1, height=1, colours=GREY)
    tracemalloc.start()
    with pytest.raises(NotAPicture, match="damaged"):
        read_picture(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
