"""A business's logo: which files are taken, told by their bytes and never by their name.

A file must be one whole picture from its first byte to its last. One that is also something else, such as a picture
with a page of HTML behind it, is refused; so the bytes can be kept and served as they came.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tidegate.core.errors import Invalid, Problem

BYTES_MAX = 100 * 1024
SIDE_PX_MIN = 32
SIDE_PX_MAX = 1_024
ASPECT_MAX = 4

_UNKNOWN = "must be a PNG, JPEG or WebP picture"
_SVG = "must not be SVG, which can carry script into the page where people pay; save it as PNG or WebP"
_CUT_OFF = "is cut off: the file ends before the picture does"
_TRAILING = "has something behind the end of the picture; save it anew with an image program"
_DAMAGED = "is damaged; save it anew with an image program"
_ANIMATED = "must not be animated: the page where people pay stands still"

Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Logo:
    media_type: str
    width: int
    height: int
    # Of the body; the address of a logo carries it, so that a browser may keep what it has for ever.
    hash: str
    body: bytes = field(repr=False)


def logo_from(body: bytes) -> Logo:
    try:
        media_type, (width, height) = _read(body)
        _refuse_shape(width, height)
    except ValueError as error:
        raise Invalid(Problem("logo", str(error))) from None
    return Logo(media_type, width, height, hashlib.sha256(body).hexdigest(), body)


def _read(body: bytes) -> tuple[str, Size]:
    if len(body) > BYTES_MAX:
        raise ValueError(f"must have at most {BYTES_MAX // 1024} kB")
    for signature, media_type, size_of in _FORMATS:
        if body.startswith(signature):
            return media_type, size_of(body)
    raise ValueError(_SVG if b"<svg" in body.lower() else _UNKNOWN)


def _refuse_shape(width: int, height: int) -> None:
    shorter, longer = sorted((width, height))
    if shorter < SIDE_PX_MIN or longer > SIDE_PX_MAX:
        raise ValueError(f"must have {SIDE_PX_MIN} to {SIDE_PX_MAX} pixels on each side, not {width} × {height}")
    if longer > ASPECT_MAX * shorter:
        raise ValueError(f"must be at most {ASPECT_MAX} times as long as it is broad, not {width} × {height}")


def _part(body: bytes, at: int, length: int) -> bytes:
    part = body[at : at + length]
    if len(part) < length:
        raise ValueError(_CUT_OFF)
    return part


# PNG: chunks of length, kind, data and checksum, from IHDR to IEND.

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_HEADER = struct.Struct(">IIBBBBB")
_PNG_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}


def _png_size(body: bytes) -> Size:
    chunks = list(_png_chunks(body))
    kinds = [kind for kind, _ in chunks]
    header = chunks[0][1]
    if kinds[0] != b"IHDR" or kinds.count(b"IHDR") != 1 or b"IDAT" not in kinds or len(header) != _PNG_HEADER.size:
        raise ValueError(_DAMAGED)
    if b"acTL" in kinds:
        raise ValueError(_ANIMATED)
    width, height, depth, colours, compression, filtering, interlacing = _PNG_HEADER.unpack(header)
    if depth not in _PNG_DEPTHS.get(colours, ()) or compression or filtering or interlacing > 1:
        raise ValueError(_DAMAGED)
    return width, height


def _png_chunks(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_PNG_SIGNATURE)
    kind = b""
    while kind != b"IEND":
        length = int.from_bytes(_part(body, at, 4))
        kind = _part(body, at + 4, 4)
        data = _part(body, at + 8, length)
        if int.from_bytes(_part(body, at + 8 + length, 4)) != zlib.crc32(kind + data):
            raise ValueError(_DAMAGED)
        yield kind, data
        at += 12 + length
    if at != len(body) or data:
        raise ValueError(_TRAILING)


# JPEG: segments of marker, length and data; behind each start of a scan the picture itself, up to the next marker.

_JPEG_SIGNATURE = b"\xff\xd8\xff"
_JPEG_END = 0xD9
_JPEG_SCAN = 0xDA
# Baseline, extended and progressive: what every browser shows.
_JPEG_FRAMES = (0xC0, 0xC1, 0xC2)
# These have no length: stuffing, TEM, restarts, the start.
_JPEG_BARE = (0x00, 0x01, *range(0xD0, 0xD9))
# A marker may be filled up with any number of leading FF.
_JPEG_MARKER = re.compile(rb"\xff+([^\xff])")
_JPEG_AFTER_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


def _jpeg_size(body: bytes) -> Size:
    segments = list(_jpeg_segments(body))
    markers = [marker for marker, _ in segments]
    frames = [(at, data) for at, (marker, data) in enumerate(segments) if marker in _JPEG_FRAMES]
    if len(frames) != 1 or _JPEG_SCAN not in markers[frames[0][0] :]:
        raise ValueError(_DAMAGED)
    frame = frames[0][1]
    if len(frame) < 6 or frame[0] != 8 or frame[5] not in (1, 3, 4) or len(frame) != 6 + 3 * frame[5]:
        raise ValueError(_DAMAGED)
    return int.from_bytes(frame[3:5]), int.from_bytes(frame[1:3])


def _jpeg_segments(body: bytes) -> Iterator[tuple[int, bytes]]:
    marker, at = _jpeg_marker(body, 2)
    while marker != _JPEG_END:
        length = int.from_bytes(_part(body, at, 2))
        if marker in _JPEG_BARE or length < 2:
            raise ValueError(_DAMAGED)
        yield marker, _part(body, at + 2, length - 2)
        at += length
        if marker == _JPEG_SCAN:
            at = _jpeg_end_of_scan(body, at)
        marker, at = _jpeg_marker(body, at)
    if at != len(body):
        raise ValueError(_TRAILING)


def _jpeg_marker(body: bytes, at: int) -> tuple[int, int]:
    """And the place behind it."""
    found = _JPEG_MARKER.match(body, at)
    if found is None:
        raise ValueError(_DAMAGED if body[at:].strip(b"\xff") else _CUT_OFF)
    return found[1][0], found.end()


def _jpeg_end_of_scan(body: bytes, at: int) -> int:
    found = _JPEG_AFTER_SCAN.search(body, at)
    if found is None:
        raise ValueError(_CUT_OFF)
    return found.start()


# WebP: a RIFF file of chunks. A plain one is a single chunk; VP8X begins one that also has transparency or a profile.

_WEBP_EXTRAS = {b"ICCP", b"ALPH", b"EXIF", b"XMP "}
_VP8X_ANIMATION = 0x02


def _webp_size(body: bytes) -> Size:
    if body[8:12] != b"WEBP":
        raise ValueError(_UNKNOWN)
    announced = 8 + int.from_bytes(body[4:8], "little")
    if announced != len(body):
        raise ValueError(_CUT_OFF if announced > len(body) else _TRAILING)
    chunks = list(_webp_chunks(body))
    if not chunks or chunks[0][0] != b"VP8X":
        return _webp_picture(chunks)
    header = chunks[0][1]
    if len(header) != 10:
        raise ValueError(_DAMAGED)
    if header[0] & _VP8X_ANIMATION:
        raise ValueError(_ANIMATED)
    size = _webp_picture([chunk for chunk in chunks[1:] if chunk[0] not in _WEBP_EXTRAS])
    if size != (1 + int.from_bytes(header[4:7], "little"), 1 + int.from_bytes(header[7:10], "little")):
        raise ValueError(_DAMAGED)
    return size


def _webp_chunks(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at < len(body):
        kind = _part(body, at, 4)
        length = int.from_bytes(_part(body, at + 4, 4), "little")
        yield kind, _part(body, at + 8, length)
        # Chunks begin at even places.
        if any(_part(body, at + 8 + length, length % 2)):
            raise ValueError(_DAMAGED)
        at += 8 + length + length % 2


def _webp_picture(chunks: list[tuple[bytes, bytes]]) -> Size:
    if len(chunks) != 1:
        raise ValueError(_DAMAGED)
    kind, data = chunks[0]
    if kind == b"VP8 " and len(data) > 10 and not data[0] & 1 and data[3:6] == b"\x9d\x01\x2a":
        # The upper two bits of each side ask for scaling, which nobody does.
        return int.from_bytes(data[6:8], "little") & 0x3FFF, int.from_bytes(data[8:10], "little") & 0x3FFF
    if kind == b"VP8L" and len(data) > 5 and data[0] == 0x2F and not data[4] >> 5:
        bits = int.from_bytes(data[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    raise ValueError(_DAMAGED)


_FORMATS: tuple[tuple[bytes, str, Callable[[bytes], Size]], ...] = (
    (_PNG_SIGNATURE, "image/png", _png_size),
    (_JPEG_SIGNATURE, "image/jpeg", _jpeg_size),
    (b"RIFF", "image/webp", _webp_size),
)
