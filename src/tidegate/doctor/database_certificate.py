"""The certificate that the database shows. Those of deploy/ha end all at once, and nothing renews them by itself."""

from __future__ import annotations

import asyncio
import ssl
import struct
from datetime import datetime
from urllib.parse import urlsplit

from cryptography import x509

from tidegate.core.finding import Finding

TIMEOUT_S = 10.0
DAYS_MIN = 30
PORT = 5432
# The first message of a client that wants TLS; the answer to it is S for yes.
_ASKS_FOR_TLS = struct.pack("!ii", 8, 80877103)


async def examine_database_certificate(url: str, *, now: datetime) -> Finding | None:
    """None where the address leads to a socket, or to a pooler without TLS."""
    parts = urlsplit(url)
    if not parts.hostname:
        return None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            ends_at = await _end(parts.hostname, parts.port or PORT)
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        return Finding("database certificate", True, f"cannot be seen: {error or type(error).__name__}")
    if ends_at is None:
        return None
    days = (ends_at - now).days
    advice = "renew those of all databases: docs/operations.md, Rotate secrets"
    return Finding("database certificate", days >= DAYS_MIN, f"{days} days left", advice)


async def _end(host: str, port: int) -> datetime | None:
    """Whom to trust is not asked: the service's own connection has done that."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(_ASKS_FOR_TLS)
        if await reader.readexactly(1) != b"S":
            return None
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        await writer.start_tls(context)
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(shown).not_valid_after_utc
    finally:
        writer.transport.abort()
