"""Which files may be a logo: told by their bytes, still, and written anew so that nothing else is kept of them."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import pictures
from tidegate.core.errors import Invalid
from tidegate.merchant.logo import BYTES_MAX, KEPT_SIDES_PX, SIDE_PX_MAX, SIDE_PX_MIN, logo_from

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
    assert Image.open(io.BytesIO(logo.body)).size == (64, 48)


def test_the_same_bytes_have_the_same_hash_and_others_another() -> None:
    assert logo_from(pictures.JPEG).hash == logo_from(pictures.JPEG).hash
    assert len({logo_from(pictures.png(side, 64)).hash for side in (40, 50, 60)}) == 3


@each_picture
@pytest.mark.parametrize("junk", [b"\x00", b"\xff\xd9", b"<script>alert(1)</script>", pictures.png()])
def test_what_stands_behind_the_end_is_not_kept(body: bytes, junk: bytes) -> None:
    assert logo_from(body + junk).body == logo_from(body).body


def test_what_a_file_says_besides_the_picture_is_not_kept() -> None:
    commented = pictures.png(
        extra=((b"tEXt", b"Comment\0<script>alert(1)</script>"), (b"eXIf", b"MM\0*where it was taken"))
    )
    body = logo_from(commented).body
    assert b"script" not in body
    assert b"where" not in body


@each_picture
@pytest.mark.parametrize("junk", [b"\x00", b"<!doctype html>"])
def test_nothing_may_stand_before_the_beginning(body: bytes, junk: bytes) -> None:
    assert "must be a PNG, JPEG or WebP image" in refusal_of(junk + body)


@pytest.mark.parametrize("kind", [b"zTXt", b"iCCP", b"iTXt"])
def test_a_part_that_unpacks_to_hundreds_of_megabytes_costs_nothing(kind: bytes) -> None:
    packed = zlib.compress(bytes(90_000_000), 9)
    between = b"\0\1\0\0\0" if kind == b"iTXt" else b"\0\0"
    bomb = pictures.png(extra=((kind, b"name" + between + packed),))
    assert len(bomb) < BYTES_MAX
    tracemalloc.start()
    check_any(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def test_pixels_that_are_too_many_for_the_size_are_not_unpacked() -> None:
    bomb = pictures.png_of(header(), (b"IDAT", zlib.compress(bytes(90_000_000), 9)), IEND)
    tracemalloc.start()
    check_any(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_logo_is_kept_light_enough_for_a_phone() -> None:
    noise = Image.effect_noise((1024, 1024), 200).convert("RGB").resize((256, 256)).resize((1024, 1024))
    heavy = io.BytesIO()
    noise.save(heavy, "WEBP", quality=40)
    assert len(heavy.getvalue()) <= BYTES_MAX
    logo = logo_from(heavy.getvalue())
    assert max(logo.width, logo.height) <= max(KEPT_SIDES_PX)
    assert len(logo.body) <= BYTES_MAX


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
    assert Image.open(io.BytesIO(logo.body)).size == (logo.width, logo.height)


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
    assert "must be a PNG, JPEG or WebP image" in refusal_of(body)


def filled(size: int) -> bytes:
    """A picture of exactly this many bytes."""
    empty = len(pictures.png(extra=((b"tEXt", b"a\0"),)))
    return pictures.png(extra=((b"tEXt", b"a\0" + b"b" * (size - empty)),))


def test_a_file_has_at_most_100_kb() -> None:
    assert len(filled(BYTES_MAX)) == BYTES_MAX
    assert len(logo_from(filled(BYTES_MAX)).body) < BYTES_MAX
    assert "at most 100 kB" in refusal_of(filled(BYTES_MAX + 1))


@pytest.mark.parametrize(
    ("width", "height"), [(SIDE_PX_MIN, SIDE_PX_MIN), (SIDE_PX_MAX, SIDE_PX_MAX), (256, 64), (64, 256), (1024, 256)]
)
def test_every_side_from_32_to_1024_pixels_is_taken(width: int, height: int) -> None:
    logo = logo_from(pictures.png(width, height))
    shrunk = max(1, max(width, height) // max(KEPT_SIDES_PX))
    assert (logo.width, logo.height) == (width // shrunk, height // shrunk)


@pytest.mark.parametrize(
    ("width", "height", "words"),
    [
        (31, 32, "32 to 1024 pixels on each side, not 31 × 32"),
        (32, 31, "32 to 1024 pixels"),
        (1025, 512, "32 to 1024 pixels"),
        (512, 1025, "32 to 1024 pixels"),
        (257, 64, "at most 4 to 1"),
        (64, 257, "at most 4 to 1"),
    ],
)
def test_other_shapes_are_refused(width: int, height: int, words: str) -> None:
    assert words in refusal_of(pictures.png(width, height))


def still(seed: int) -> Image.Image:
    return Image.new("RGB", (64, 48), (seed, 0, 0))


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_a_logo_stands_still(kind: str) -> None:
    moving = io.BytesIO()
    still(0).save(moving, kind, save_all=True, append_images=[still(200)])
    assert "must not be animated" in refusal_of(moving.getvalue())


def header(width: int = 64, height: int = 48, *rest: int) -> tuple[bytes, bytes]:
    return b"IHDR", struct.pack(">IIBBBBB", width, height, *(rest or (8, 2, 0, 0, 0)))


@each_picture
def test_a_picture_of_which_half_is_missing_is_refused(body: bytes) -> None:
    assert refusal_of(body[: len(body) // 2])


@pytest.mark.parametrize(
    "body",
    [
        pictures.png_of(header(), IEND),
        pictures.png_of(header(), (b"IDAT", b"x"), IEND),
        pictures.png_of(header(64, 48, 4, 2, 0, 0, 0), (b"IDAT", b"x"), IEND),
        b"\xff\xd8\xff\xd9",
    ],
)
def test_a_picture_that_contradicts_itself_is_refused(body: bytes) -> None:
    assert refusal_of(body)
