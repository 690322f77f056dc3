"""PNG and JPEG pictures as a PDF takes them: most with the very bytes they came with."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from tidegate.infra.pdf.syntax import Name, Stream, Value

SIDE_PX_MAX = 2_048
REMEMBERED_MAX = 64


_DAMAGED = "the picture is damaged"


class NotAPicture(ValueError):
    """It cannot be drawn; the message says why."""


@dataclass(frozen=True, eq=False)
class Picture:
    width: int
    height: int
    colours: Stream
    # How much each pixel hides of what is below it: a picture of its own, in grey.
    alpha: Stream | None = None


@lru_cache(maxsize=REMEMBERED_MAX)
def read_picture(content: bytes) -> Picture:
    """Remembered, because Python is slow at taking transparency apart; `docs/decisions/0008-pdf.md` has the figures."""
    for signature, read in _FORMATS:
        if content.startswith(signature):
            try:
                return read(content)
            except (IndexError, KeyError, struct.error, zlib.error):
                raise NotAPicture(_DAMAGED) from None
    raise NotAPicture("only PNG and JPEG pictures can be drawn")


def _refuse_size(width: int, height: int) -> None:
    if not (0 < width <= SIDE_PX_MAX and 0 < height <= SIDE_PX_MAX):
        raise NotAPicture(f"a side must have 1 to {SIDE_PX_MAX} pixels, not {width} × {height}")


def _image(width: int, height: int, entries: dict[str, Value], compressed: bytes) -> Stream:
    frame: dict[str, Value] = {"Type": Name("XObject"), "Subtype": Name("Image"), "Width": width, "Height": height}
    return Stream(frame | entries, compressed, is_compressed=True)


# JPEG: segments of marker, length and data. A PDF shows the file as it is.

_JPEG_MARKER = 0xFF
_JPEG_FRAMES = (0xC0, 0xC1, 0xC2)
_JPEG_ADOBE = 0xEE
_JPEG_COLOURS = {1: Name("DeviceGray"), 3: Name("DeviceRGB"), 4: Name("DeviceCMYK")}


def _jpeg(content: bytes) -> Picture:
    at, is_adobe = 2, False
    while content[at + 1] not in _JPEG_FRAMES:
        is_adobe |= content[at + 1] == _JPEG_ADOBE
        at += 2 + struct.unpack_from(">H", content, at + 2)[0]
    if content[at] != _JPEG_MARKER:
        raise NotAPicture(_DAMAGED)
    depth, height, width, channels = struct.unpack_from(">BHHB", content, at + 4)
    _refuse_size(width, height)
    entries: dict[str, Value] = {
        "ColorSpace": _JPEG_COLOURS[channels],
        "BitsPerComponent": depth,
        "Filter": Name("DCTDecode"),
    }
    if channels == 4 and is_adobe:
        # Adobe's programs write ink the other way round.
        entries["Decode"] = [1, 0] * 4
    return Picture(width, height, _image(width, height, entries, content))


# PNG: chunks of length, kind, data and checksum. A PDF can read the rows as they are, but keeps transparency apart.

_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGB_ALPHA = 0, 2, 3, 4, 6
_NOT_ZERO = re.compile(rb"[^\0]")
_CHANNELS = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGB_ALPHA: 4}
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _RGB: (8, 16), _PALETTE: (1, 2, 4, 8), _GREY_ALPHA: (8, 16), _RGB_ALPHA: (8, 16)}


@dataclass(frozen=True)
class _Png:
    width: int
    height: int
    depth: int
    kind: int
    palette: bytes
    transparent: bytes
    compressed: bytes

    @property
    def channels(self) -> int:
        return _CHANNELS[self.kind]

    @property
    def row_bytes(self) -> int:
        return (self.width * self.channels * self.depth + 7) // 8

    def rows(self) -> bytes:
        """Each row with the number of its filter before it. Never inflates more than the picture can have."""
        size = (self.row_bytes + 1) * self.height
        rows = zlib.decompressobj().decompress(self.compressed, size)
        if len(rows) != size or max(rows[:: self.row_bytes + 1]) >= len(_FILTERS):
            raise NotAPicture(_DAMAGED)
        return rows


def _png(content: bytes) -> Picture:
    png = _read_png(content)
    rows = png.rows()
    if png.kind in (_GREY_ALPHA, _RGB_ALPHA):
        return _apart(png, _planes(png, rows))
    entries: dict[str, Value] = {
        "ColorSpace": _colour_space(png),
        "BitsPerComponent": png.depth,
        "Filter": Name("FlateDecode"),
        "DecodeParms": {
            "Predictor": 15,
            "Colors": png.channels,
            "BitsPerComponent": png.depth,
            "Columns": png.width,
        },
    }
    alpha = None
    if png.transparent and png.kind == _PALETTE:
        alpha = _plain(png, "DeviceGray", _alpha_of_palette(png, _planes(png, rows)[0]))
    elif png.transparent:
        # One colour, which is not painted.
        values = struct.unpack_from(f">{png.channels}H", png.transparent)
        entries["Mask"] = [value for value in values for _ in range(2)]
    return Picture(png.width, png.height, _image(png.width, png.height, entries, png.compressed), alpha)


def _read_png(content: bytes) -> _Png:
    chunks: dict[bytes, bytes] = {}
    at = 8
    while (kind := content[at + 4 : at + 8]) != b"IEND":
        (length,) = struct.unpack_from(">I", content, at)
        chunks[kind] = chunks.get(kind, b"") + content[at + 8 : at + 8 + length]
        at += 12 + length
    width, height, depth, kind_of_colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    _refuse_size(width, height)
    if depth not in _DEPTHS[kind_of_colour] or (kind_of_colour == _PALETTE and not chunks[b"PLTE"]):
        raise NotAPicture(_DAMAGED)
    if interlaced:
        raise NotAPicture("an interlaced PNG cannot be drawn")
    return _Png(
        width, height, depth, kind_of_colour, chunks.get(b"PLTE", b""), chunks.get(b"tRNS", b""), chunks[b"IDAT"]
    )


def _colour_space(png: _Png) -> Value:
    if png.kind != _PALETTE:
        return Name("DeviceRGB" if png.channels == 3 else "DeviceGray")
    return [Name("Indexed"), Name("DeviceRGB"), len(png.palette) // 3 - 1, png.palette]


def _apart(png: _Png, planes: list[bytes]) -> Picture:
    """Colour and transparency, each for itself. Of sixteen bits the upper eight are enough."""
    *colours, alpha = planes[:: png.depth // 8]
    content = bytearray(len(colours) * len(alpha))
    for channel, plane in enumerate(colours):
        content[channel :: len(colours)] = plane
    space = "DeviceRGB" if len(colours) == 3 else "DeviceGray"
    return Picture(png.width, png.height, _plain(png, space, bytes(content)), _plain(png, "DeviceGray", alpha))


def _plain(png: _Png, space: str, content: bytes) -> Stream:
    entries: dict[str, Value] = {"ColorSpace": Name(space), "BitsPerComponent": 8, "Filter": Name("FlateDecode")}
    return _image(png.width, png.height, entries, zlib.compress(content))


def _alpha_of_palette(png: _Png, packed: bytes) -> bytes:
    alpha_of = png.transparent[:256].ljust(256, b"\xff")
    highest = (1 << png.depth) - 1
    shifts = range(8 - png.depth, -1, -png.depth)
    unpacked = [bytes(alpha_of[byte >> shift & highest] for shift in shifts) for byte in range(256)]
    rows = (packed[at : at + png.row_bytes] for at in range(0, len(packed), png.row_bytes))
    return b"".join(b"".join(map(unpacked.__getitem__, row))[: png.width] for row in rows)


def _planes(png: _Png, rows: bytes) -> list[bytes]:
    """The bytes of each channel, without the filters."""
    step = max(1, png.channels * png.depth // 8)
    above = [bytes(png.row_bytes // step)] * step
    planes = [bytearray() for _ in range(step)]
    for start in range(0, len(rows), png.row_bytes + 1):
        unfilter = _FILTERS[rows[start]]
        row = rows[start + 1 : start + 1 + png.row_bytes]
        for channel in range(step):
            above[channel] = unfilter(row[channel::step], above[channel])
            planes[channel] += above[channel]
    return [bytes(plane) for plane in planes]


def _sub(raw: bytes, above: bytes) -> bytes:
    return bytes(value & 255 for value in accumulate(raw)) if any(raw) else raw


def _up(raw: bytes, above: bytes) -> bytes:
    # All bytes at once, as two long numbers: the lower seven bits of each are added, the upper one without a carry.
    one, other = int.from_bytes(raw), int.from_bytes(above)
    lower, upper = int.from_bytes(b"\x7f" * len(raw)), int.from_bytes(b"\x80" * len(raw))
    return (((one & lower) + (other & lower)) ^ ((one ^ other) & upper)).to_bytes(len(raw))


def _average(raw: bytes, above: bytes) -> bytes:
    left = 0
    found = bytearray()
    for value, up in zip(raw, above, strict=True):
        left = (value + (left + up) // 2) & 255
        found.append(left)
    return bytes(found)


def _paeth(raw: bytes, above: bytes) -> bytes:
    found = bytearray()
    left = corner = at = 0
    while at < len(raw):
        if left == corner and not raw[at]:
            # As long as nothing is added, the row repeats the one above it, as most of a logo does.
            change = _NOT_ZERO.search(raw, at)
            end = change.start() if change else len(raw)
            found += above[at:end]
            left = corner = above[end - 1]
            at = end
            continue
        up = above[at]
        to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
        nearest = left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner
        left, corner = (raw[at] + nearest) & 255, up
        found.append(left)
        at += 1
    return bytes(found)


_FILTERS: tuple[Callable[[bytes, bytes], bytes], ...] = (lambda raw, above: raw, _sub, _up, _average, _paeth)

_FORMATS: tuple[tuple[bytes, Callable[[bytes], Picture]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"\xff\xd8\xff", _jpeg),
)
