"""The base URL as a payer's browser finds it: name, TLS, certificate, answer."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime
from urllib.parse import urlsplit

from tidegate.core.finding import Finding

TIMEOUT_S = 10.0
HEAD_BYTES_MAX = 16 * 1024
CERTIFICATE_DAYS_MIN = 14


async def examine_public_address(base_url: str, *, now: datetime, trust: ssl.SSLContext | None = None) -> list[Finding]:
    """`trust` instead of the system's authorities."""
    parts = urlsplit(base_url)
    is_tls = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if is_tls else 80)
    context = (trust or ssl.create_default_context()) if is_tls else None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await _ask(host, port, parts.path, context, now)
    except ssl.SSLCertVerificationError as error:
        advice = "renew the certificate at the TLS proxy, with this host name and the whole chain"
        return [Finding("certificate", False, f"{host}: {error.verify_message}", advice)]
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        why = str(error) or type(error).__name__
        advice = (
            "let TIDEGATE_BASE_URL's name lead to the TLS proxy, and the proxy to HOST and PORT; is `serve` running?"
        )
        return [Finding("public address", False, f"{host}:{port} cannot be used: {why}", advice)]


async def _ask(host: str, port: int, path: str, context: ssl.SSLContext | None, now: datetime) -> list[Finding]:
    reader, writer = await asyncio.open_connection(host, port, ssl=context, limit=HEAD_BYTES_MAX)
    try:
        findings = [_certificate(writer, now)] if context is not None else []
        name = f"[{host}]" if ":" in host else host
        writer.write(f"GET {path}/readyz HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n".encode())
        status = (await reader.readuntil(b"\r\n")).decode("latin-1").split(" ", 2)[1]
    except IndexError:
        raise ValueError("it does not answer in HTTP") from None
    finally:
        writer.transport.abort()
    advice = "503: look at /readyz and the log of `tidegate serve`; anything else: the proxy leads elsewhere"
    return [*findings, Finding("public address", status == "200", f"{host}:{port}/readyz answers {status}", advice)]


def _certificate(writer: asyncio.StreamWriter, now: datetime) -> Finding:
    certificate, session = writer.get_extra_info("peercert"), writer.get_extra_info("ssl_object")
    ends_at = datetime.fromtimestamp(ssl.cert_time_to_seconds(certificate["notAfter"]), UTC)
    days = (ends_at - now).days
    advice = "renew it now, and find out why the proxy has not"
    return Finding("certificate", days >= CERTIFICATE_DAYS_MIN, f"{session.version()}, {days} days left", advice)
