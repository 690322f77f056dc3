"""Where the demo shop is open. It writes its address into the sandbox's folder, and removes it when it closes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

FILE_NAME = "shop.url"
ADDRESS_CHARS_MAX = 200
ANSWERS_WITHIN_S = 2.0
_PORTS = {"http": 80, "https": 443}


async def address_in(home: Path) -> str:
    """Empty while nothing listens there: a shop that was killed leaves its file."""
    with suppress(OSError, ValueError, TimeoutError):
        address = (home / FILE_NAME).read_text(encoding="utf-8").strip()
        parts = urlsplit(address)
        if parts.scheme not in _PORTS or not parts.hostname or len(address) > ADDRESS_CHARS_MAX:
            return ""
        async with asyncio.timeout(ANSWERS_WITHIN_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or _PORTS[parts.scheme])
        writer.close()
        return address
    return ""
