"""A business's logo: read by an image library and written anew, so that what payers load is a picture and nothing else.

Whatever else the file carried (a page of HTML behind its end, a profile that unpacks to hundreds of megabytes, the
place where a photograph was taken) does not survive.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass, field

from PIL import Image, UnidentifiedImageError

from tidegate.core.errors import Invalid, Problem

BYTES_MAX = 100 * 1024
SIDE_PX_MIN = 32
SIDE_PX_MAX = 1_024
ASPECT_MAX = 4
# Pages and receipts show it at 132 pixels or less; the largest of these that is light enough is kept.
KEPT_SIDES_PX = (512, 256, 128)
FORMATS = ("PNG", "JPEG", "WEBP")

_UNKNOWN = "must be a PNG, JPEG or WebP picture"
_SVG = "must not be SVG, which can carry script into the page where people pay; save it as PNG or WebP"
_DAMAGED = "is damaged or cut off; save it anew with an image program"
_ANIMATED = "must not be animated: the page where people pay stands still"


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
        return _written_anew(_read(body))
    except ValueError as error:
        raise Invalid(Problem("logo", str(error))) from None


def _read(body: bytes) -> Image.Image:
    if len(body) > BYTES_MAX:
        raise ValueError(f"must have at most {BYTES_MAX // 1024} kB")
    try:
        # The library warns of odd files that it can read; only the picture is kept of them.
        with warnings.catch_warnings(action="ignore"):
            picture = Image.open(io.BytesIO(body), formats=FORMATS)
    except UnidentifiedImageError:
        raise ValueError(_SVG if b"<svg" in body.lower() else _UNKNOWN) from None
    except Exception:
        raise ValueError(_DAMAGED) from None
    # Before a single pixel is unpacked.
    _refuse_shape(*picture.size)
    if getattr(picture, "is_animated", False):
        raise ValueError(_ANIMATED)
    return picture


def _refuse_shape(width: int, height: int) -> None:
    shorter, longer = sorted((width, height))
    if shorter < SIDE_PX_MIN or longer > SIDE_PX_MAX:
        raise ValueError(f"must have {SIDE_PX_MIN} to {SIDE_PX_MAX} pixels on each side, not {width} × {height}")
    if longer > ASPECT_MAX * shorter:
        raise ValueError(f"must be at most {ASPECT_MAX} times as long as it is broad, not {width} × {height}")


def _written_anew(picture: Image.Image) -> Logo:
    kind = picture.format or ""
    try:
        with warnings.catch_warnings(action="ignore"):
            pixels = picture.convert("RGB" if kind == "JPEG" else "RGBA")
    except Exception:
        raise ValueError(_DAMAGED) from None
    for side_px in KEPT_SIDES_PX:
        pixels.thumbnail((side_px, side_px))
        written = io.BytesIO()
        pixels.save(written, kind, optimize=True, quality=88)
        body = written.getvalue()
        if len(body) <= BYTES_MAX:
            break
    width, height = pixels.size
    return Logo(Image.MIME[kind], width, height, hashlib.sha256(body).hexdigest(), body)
