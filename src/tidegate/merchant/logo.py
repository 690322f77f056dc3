"""A business's logo: decoded and re-encoded by an image library, so that payers load an image and nothing else.

Everything else in the file is dropped: HTML after its end, a colour profile that unpacks to hundreds of megabytes, the
location of a photograph.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.core.errors import Invalid, Problem
from tidegate.infra.lazy_module import LazyModule

if TYPE_CHECKING:
    import PIL
    from PIL import Image
else:
    # 3 MB, for uploads only.
    PIL, Image = LazyModule("PIL"), LazyModule("PIL.Image")

BYTES_MAX = 100 * 1024
SIDE_PX_MIN = 32
SIDE_PX_MAX = 1_024
ASPECT_MAX = 4
# Pages and receipts show it at 132 pixels or less; the largest of these sizes within the byte limit is kept.
KEPT_SIDES_PX = (512, 256, 128)
FORMATS = ("PNG", "JPEG", "WEBP")

_UNKNOWN = "must be a PNG, JPEG or WebP image"
_SVG = "must not be SVG, which can carry script into the payment page; save it as PNG or WebP"
_DAMAGED = "is damaged or incomplete; save it again with an image program"
_ANIMATED = "must not be animated; save it as a still image"


@dataclass(frozen=True, slots=True)
class Logo:
    media_type: str
    width: int
    height: int
    # Hash of the body and part of the logo's URL, so that browsers may cache it without a time limit.
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
        # The library warns about unusual files that it can read; only the image is kept.
        with warnings.catch_warnings(action="ignore"):
            picture = Image.open(io.BytesIO(body), formats=FORMATS)
    except PIL.UnidentifiedImageError:
        raise ValueError(_SVG if b"<svg" in body.lower() else _UNKNOWN) from None
    except Exception:
        raise ValueError(_DAMAGED) from None
    # Before any pixel is decoded.
    _refuse_shape(*picture.size)
    if getattr(picture, "is_animated", False):
        raise ValueError(_ANIMATED)
    return picture


def _refuse_shape(width: int, height: int) -> None:
    shorter, longer = sorted((width, height))
    if shorter < SIDE_PX_MIN or longer > SIDE_PX_MAX:
        raise ValueError(f"must have {SIDE_PX_MIN} to {SIDE_PX_MAX} pixels on each side, not {width} × {height}")
    if longer > ASPECT_MAX * shorter:
        raise ValueError(f"must have sides in a ratio of at most {ASPECT_MAX} to 1, not {width} × {height}")


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
