"""Settings of the mail server."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from tidegate.rail_settings import is_loopback
from tidegate.settings_reader import SettingsReader

_SENDER = re.compile(r"(?:[^<>@\x00-\x1f]{1,100} <)?[^@\s<>]+@[^@\s<>]+>?")
_PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, kw_only=True)
class MailSettings:
    """`smtps` is TLS from the first byte; `smtp` begins in the clear and must upgrade, except on this machine."""

    host: str
    port: int
    is_tls: bool
    is_local: bool
    sender: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, read: SettingsReader) -> MailSettings | None:
        url, sender = read.text("TIDEGATE_SMTP_URL"), read.text("TIDEGATE_MAIL_FROM")
        if not url:
            return None
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/") or parts.query:
            read.problems.append("TIDEGATE_SMTP_URL must be like smtps://user:password@mail.example.com.")
            return None
        if not _SENDER.fullmatch(sender):
            read.problems.append("TIDEGATE_MAIL_FROM must be like Tidegate <no-reply@example.com>.")
        return cls(
            host=parts.hostname,
            port=parts.port or _PORTS[parts.scheme],
            is_tls=parts.scheme == "smtps",
            is_local=is_loopback(f"http://{parts.netloc.rpartition('@')[2]}"),
            sender=sender,
            user=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
        )
