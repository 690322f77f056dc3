"""Which files may be a logo: told by their bytes, whole, still, and nothing else besides."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pictures
from tidegate.core.errors import Invalid
from tidegate.merchant.logo import BYTES_MAX, SIDE_PX_MAX, SIDE_PX_MIN, logo_from

PICTURES = {
    "png": pictures.png(),
    "jpeg": pictures.JPEG,
    "progressive jpeg": pictures.PROGRESSIVE_JPEG,
    "webp": pictures.WEBP,
    "lossless webp": pictures.LOSSLESS_WEBP,
    "transparent webp": pictures.TRANSPARENT_WEBP,
}
each_picture = pytest.mark.parametrize("body", PICTURES.values(), ids=PICTURES)
IEND = (b"IEND", b"")


def refusal_of(body: bytes) -> str:
    with pytest.raises(Invalid) as refused:
        logo_from(body)
    assert refused.value.problems[0].field == "logo"
    return refused.value.message


@pytest.mark.parametrize(("kind", "body"), PICTURES.items(), ids=PICTURES)
def test_a_picture_is_known_by_its_bytes(kind: str, body: bytes) -> None:
    logo = logo_from(body)
    assert (logo.media_type, logo.width, logo.height) == (f"image/{kind.rpartition(' ')[2]}", 64, 48)
    assert logo.body == body


def test_the_same_bytes_have_the_same_hash_and_others_another() -> None:
    assert logo_from(pictures.JPEG).hash == logo_from(pictures.JPEG).hash
    assert len({logo_from(body).hash for body in PICTURES.values()}) == len(PICTURES)


@each_picture
def test_a_picture_that_is_cut_off_anywhere_is_refused(body: bytes) -> None:
    for length in range(len(body)):
        assert refusal_of(body[:length])
    assert "is cut off" in refusal_of(body[:-1])


@each_picture
@pytest.mark.parametrize("junk", [b"\x00", b"\n", b"\xff", b"\xff\xd9", b"<script>alert(1)</script>", pictures.png()])
def test_nothing_may_stand_behind_the_end(body: bytes, junk: bytes) -> None:
    assert "behind the end of the picture" in refusal_of(body + junk)


@each_picture
@pytest.mark.parametrize("junk", [b"\x00", b"GIF89a", b"<!doctype html>"])
def test_nothing_may_stand_before_the_beginning(body: bytes, junk: bytes) -> None:
    assert "must be a PNG, JPEG or WebP picture" in refusal_of(junk + body)


@settings(deadline=None)
@given(st.sampled_from(list(PICTURES.values())), st.lists(st.tuples(st.integers(0, 600), st.integers(0, 255))))
def test_a_damaged_file_is_a_logo_or_is_refused_and_never_anything_else(
    body: bytes, damages: list[tuple[int, int]]
) -> None:
    damaged = bytearray(body)
    for place, value in damages:
        damaged[place % len(body)] = value
    check_any(bytes(damaged))


@settings(deadline=None)
@given(st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\x10\x00\x00\x00WEBP", b"RIFF", b""]), st.binary())
def test_any_bytes_are_a_logo_or_are_refused(beginning: bytes, rest: bytes) -> None:
    check_any(beginning + rest)


def check_any(body: bytes) -> None:
    try:
        logo = logo_from(body)
    except Invalid:
        return
    assert logo.body == body


@pytest.mark.parametrize(
    "body",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"/>',
        b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a logo --><SVG onload="alert(1)"></SVG>',
    ],
)
def test_svg_is_refused_and_the_reason_said(body: bytes) -> None:
    assert "must not be SVG, which can carry script" in refusal_of(body)


@pytest.mark.parametrize(
    "body", [b"", b"GIF89a" + bytes(100), b"BM" + bytes(100), b"RIFF\x04\x00\x00\x00WAVE", b"%PDF-1.7"]
)
def test_other_files_are_refused(body: bytes) -> None:
    assert "must be a PNG, JPEG or WebP picture" in refusal_of(body)


def filled(size: int) -> bytes:
    """A picture of exactly this many bytes."""
    empty = len(pictures.png(extra=((b"tEXt", b""),)))
    return pictures.png(extra=((b"tEXt", bytes(size - empty)),))


def test_a_logo_is_at_most_100_kb() -> None:
    assert len(logo_from(filled(BYTES_MAX)).body) == BYTES_MAX
    assert "at most 100 kB" in refusal_of(filled(BYTES_MAX + 1))


@pytest.mark.parametrize(
    ("width", "height"), [(SIDE_PX_MIN, SIDE_PX_MIN), (SIDE_PX_MAX, SIDE_PX_MAX), (256, 64), (64, 256), (1024, 256)]
)
def test_every_side_from_32_to_1024_pixels_is_taken(width: int, height: int) -> None:
    logo = logo_from(pictures.png(width, height))
    assert (logo.width, logo.height) == (width, height)


@pytest.mark.parametrize(
    ("width", "height", "words"),
    [
        (31, 32, "32 to 1024 pixels on each side, not 31 × 32"),
        (32, 31, "32 to 1024 pixels"),
        (1025, 512, "32 to 1024 pixels"),
        (512, 1025, "32 to 1024 pixels"),
        (0, 0, "32 to 1024 pixels"),
        (257, 64, "at most 4 times as long as it is broad"),
        (64, 257, "at most 4 times as long as it is broad"),
    ],
)
def test_other_shapes_are_refused(width: int, height: int, words: str) -> None:
    assert words in refusal_of(pictures.png(width, height))


MOVING_PNG = pictures.png(extra=((b"acTL", bytes(8)),))
MOVING_WEBP = pictures.TRANSPARENT_WEBP[:20] + b"\x12" + pictures.TRANSPARENT_WEBP[21:]


@pytest.mark.parametrize("body", [MOVING_PNG, MOVING_WEBP], ids=["png", "webp"])
def test_a_logo_stands_still(body: bytes) -> None:
    assert "must not be animated" in refusal_of(body)


def header(width: int = 64, height: int = 48, *rest: int) -> tuple[bytes, bytes]:
    return b"IHDR", struct.pack(">IIBBBBB", width, height, *(rest or (8, 2, 0, 0, 0)))


PIXELS = (b"IDAT", b"x")


@pytest.mark.parametrize(
    "body",
    [
        pictures.png_of(PIXELS, IEND),
        pictures.png_of(header(), IEND),
        pictures.png_of(header(), header(), PIXELS, IEND),
        pictures.png_of(PIXELS, header(), IEND),
        pictures.png_of((b"IHDR", bytes(12)), PIXELS, IEND),
        pictures.png_of(header(64, 48, 8, 1, 0, 0, 0), PIXELS, IEND),
        pictures.png_of(header(64, 48, 4, 2, 0, 0, 0), PIXELS, IEND),
        pictures.png_of(header(64, 48, 8, 2, 1, 0, 0), PIXELS, IEND),
        pictures.png_of(header(64, 48, 8, 2, 0, 1, 0), PIXELS, IEND),
        pictures.png_of(header(64, 48, 8, 2, 0, 0, 2), PIXELS, IEND),
        pictures.png().replace(b"IHDR\x00\x00\x00\x40", b"IHDR\x00\x00\x00\x41"),  # the checksum is of 64
    ],
)
def test_a_png_that_contradicts_itself_is_refused(body: bytes) -> None:
    assert "is damaged" in refusal_of(body)


FRAME = b"\xff\xc0\x00\x11\x08\x00\x30\x00\x40\x03"


@pytest.mark.parametrize(
    "body",
    [
        pictures.JPEG.replace(FRAME, b"\xff\xc3" + FRAME[2:]),  # lossless, which no browser shows
        pictures.JPEG.replace(FRAME, FRAME[:4] + b"\x0c" + FRAME[5:]),  # 12 bits
        pictures.JPEG.replace(FRAME, FRAME[:-1] + b"\x01"),  # one component announced, three described
        pictures.JPEG.replace(b"\xff\xda", b"\xff\xe2"),  # no scan
        pictures.JPEG.replace(b"\xff\xdb", b"\xff\xd8", 1),  # a second beginning
        b"\xff\xd8\xff\xd9",
    ],
)
def test_a_jpeg_that_contradicts_itself_is_refused(body: bytes) -> None:
    assert body not in PICTURES.values()
    assert "is damaged" in refusal_of(body)


def test_a_jpeg_may_have_fill_bytes_before_a_marker() -> None:
    body = pictures.JPEG.replace(FRAME, b"\xff\xff\xff" + FRAME)
    assert logo_from(body).width == 64


@pytest.mark.parametrize(
    "body",
    [
        pictures.WEBP.replace(b"\x9d\x01\x2a", b"\x9d\x01\x2b"),  # no start of a picture
        pictures.WEBP[:20] + b"\x51" + pictures.WEBP[21:],  # no key frame
        pictures.WEBP.replace(b"VP8 ", b"JUNK"),
        pictures.LOSSLESS_WEBP.replace(b"\x2f\x3f", b"\x2e\x3f"),
        pictures.TRANSPARENT_WEBP[:24] + b"\x40" + pictures.TRANSPARENT_WEBP[25:],  # a canvas of another size
        pictures.TRANSPARENT_WEBP.replace(b"ALPH", b"JUNK"),
        pictures.LOSSLESS_WEBP[:-1] + b"\x01",  # what fills up an odd length is nothing
    ],
)
def test_a_webp_that_contradicts_itself_is_refused(body: bytes) -> None:
    assert body not in PICTURES.values()
    assert "is damaged" in refusal_of(body)
