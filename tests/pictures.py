"""Small pictures of every kind that a logo may have, each as a real encoder wrote it."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode


def png(width: int = 64, height: int = 48, *, extra: tuple[tuple[bytes, bytes], ...] = ()) -> bytes:
    """Of one colour; `extra` are chunks between the header and the picture."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\x00" + b"\x0f\x7b\x6c" * width) * height
    return png_of((b"IHDR", header), *extra, (b"IDAT", zlib.compress(rows)), (b"IEND", b""))


def png_of(*chunks: tuple[bytes, bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4) for kind, data in chunks
    )


# All of 64 × 48 pixels.
JPEG = b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62r"
    "Z4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk"
    "pKT/wAARCAAwAEADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFgEBAQEAAAAA"
    "AAAAAAAAAAAAAAIE/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACEQMRAD8AjAWwAAAAAAAAAAAAAAAAAAAAAAP/2Q=="
)
PROGRESSIVE_JPEG = b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62r"
    "Z4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk"
    "pKT/wgARCAAwAEADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAP/xAAWAQEBAQAAAAAAAAAAAAAAAAAAAQT/2gAMAwEAAhAD"
    "EAAAAYi5wAAAAAAAAAAP/8QAFBABAAAAAAAAAAAAAAAAAAAAUP/aAAgBAQABBQJD/8QAFBEBAAAAAAAAAAAAAAAAAAAAMP/aAAgBAwEB"
    "PwFP/8QAFBEBAAAAAAAAAAAAAAAAAAAAMP/aAAgBAgEBPwFP/8QAFBABAAAAAAAAAAAAAAAAAAAAUP/aAAgBAQAGPwJD/8QAFBABAAAA"
    "AAAAAAAAAAAAAAAAUP/aAAgBAQABPyFD/9oADAMBAAIAAwAAABAMMMMMMMMMMMP/xAAUEQEAAAAAAAAAAAAAAAAAAAAw/9oACAEDAQE/"
    "EE//xAAUEQEAAAAAAAAAAAAAAAAAAAAw/9oACAECAQE/EE//xAAUEAEAAAAAAAAAAAAAAAAAAABQ/9oACAEBAAE/EEP/2Q=="
)
WEBP = b64decode(
    "UklGRkQAAABXRUJQVlA4IDgAAABQAwCdASpAADAAPxGIvlisKSajoqgBgCIJZwAAE/GOHwhFgAD+4cNE3P/4i6e8Afp6iyO0AAAAAA=="
)
LOSSLESS_WEBP = b64decode("UklGRiQAAABXRUJQVlA4TBcAAAAvP8ALAAfQvT6Urf8BICH8Xy9G9D/1AwA=")
TRANSPARENT_WEBP = b64decode(
    "UklGRm4AAABXRUJQVlA4WAoAAAAQAAAAPwAALwAAQUxQSBAAAAABB1DAiAgACeH/ejGi/6kfVlA4IDgAAABQAwCdASpAADAAPxGIvlis"
    "KSajoqgBgCIJZwAAE/GOHwhFgAD+4cNE3P/4i6e8Afp6iyO0AAAAAA=="
)
