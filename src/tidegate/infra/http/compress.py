"""gzip for pages and files."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from functools import lru_cache

from isal import isal_zlib

# Decision 0010 has the measurements.
_LEVEL = 2
_LEVEL_ONCE = 9
_GZIP = zlib.MAX_WBITS | 16
# Browsers send a handful of different headers.
_HEADERS_CACHED_MAX = 200
_CODING = re.compile(r"\s*([a-z0-9*-]+)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?", re.IGNORECASE)


def gzip_of(content: bytes) -> bytes:
    return isal_zlib.compress(content, _LEVEL, wbits=_GZIP)


def gzip_once(content: bytes) -> bytes:
    """Smaller and slower, for what is compressed at the start and sent many times."""
    return zlib.compress(content, _LEVEL_ONCE, wbits=_GZIP)


def accepts_gzip(values: Iterable[bytes]) -> bool:
    """What cannot be parsed does not count; without gzip the page goes out plain."""
    return _names_gzip(b",".join(values))


@lru_cache(maxsize=_HEADERS_CACHED_MAX)
def _names_gzip(header: bytes) -> bool:
    weights: dict[str, float] = {}
    for part in header.decode("latin-1").split(","):
        if coding := _CODING.fullmatch(part):
            weights.setdefault(coding[1].lower(), float(coding[2] or 1))
    weight = weights.get("gzip", weights.get("*", 0.0))
    return weight > 0 and weight >= weights.get("identity", 0.0)
