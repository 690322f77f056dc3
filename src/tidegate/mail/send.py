"""Sends the outbox: each message by itself, as leased work. A mail server that is away delays, and loses nothing."""

from __future__ import annotations

from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from functools import partial
from typing import Any, Protocol

import aiosmtplib
import structlog

from tidegate.core.clock import Clock
from tidegate.infra import leased_work
from tidegate.infra.db import Database
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.mail import store
from tidegate.mail.model import OutgoingMail
from tidegate.mail_settings import MailSettings

SEND = WorkKind(store.SEND, store.list_to_send)
# Shorter than a lease, so that no mail is sent by two workers.
TIMEOUT_S = 20.0
FAILURE_CHARS_MAX = 300
SANDBOX_SENDER = "Tidegate sandbox <no-reply@tidegate.invalid>"

log = structlog.get_logger("mail")


class MailRefused(Exception):
    """The mail server will never take this message."""


class MailTransport(Protocol):
    @property
    def sender(self) -> str: ...

    @property
    def keeps_text(self) -> bool:
        """Whether the words stay in the database afterwards."""
        ...

    async def send(self, message: EmailMessage) -> None:
        """Raises MailRefused; any other exception is tried again."""
        ...


class SandboxTransport:
    """Sends nothing: the page /mail shows what would have been sent."""

    sender = SANDBOX_SENDER
    keeps_text = True

    async def send(self, message: EmailMessage) -> None:
        message.as_bytes()


class SmtpTransport:
    keeps_text = False

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings

    @property
    def sender(self) -> str:
        return self._settings.sender

    async def check(self) -> None:
        """Connects and logs in, as for a message, and sends none. Raises what a message would."""
        async with aiosmtplib.SMTP(**self._connection()):
            pass

    async def send(self, message: EmailMessage) -> None:
        try:
            await aiosmtplib.send(message, **self._connection())
        except aiosmtplib.SMTPRecipientsRefused as error:
            if all(500 <= refused.code < 600 for refused in error.recipients):
                raise MailRefused("the mail server does not know the address") from None
            raise
        except aiosmtplib.SMTPDataError as error:
            if 500 <= error.code < 600:
                raise MailRefused(f"the mail server refused the message: {error.code}") from None
            raise

    def _connection(self) -> dict[str, Any]:
        settings = self._settings
        return {
            "hostname": settings.host,
            "port": settings.port,
            "username": settings.user,
            "password": settings.password,
            "use_tls": settings.is_tls,
            # Upgraded or refused: a password and a link are never sent in the clear to another machine.
            "start_tls": None if settings.is_tls or settings.is_local else True,
            "validate_certs": not settings.is_local,
            "timeout": TIMEOUT_S,
        }


def message_of(mail: OutgoingMail, *, sender: str, at: datetime) -> EmailMessage:
    """The same Message-ID however often it is sent, so that a mailbox can drop the second."""
    message = EmailMessage()
    message["From"] = sender
    message["To"] = mail.recipient
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(at)
    message["Message-ID"] = f"<{mail.business_id}.{mail.id}@{parseaddr(sender)[1].rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    message.add_alternative(mail.html, subtype="html")
    for one in mail.attachments:
        main, _, sub = one.media_type.partition("/")
        message.add_attachment(one.body, maintype=main, subtype=sub, filename=one.name)
    return message


async def send_due(db: Database, transport: MailTransport | None, clock: Clock) -> RoundResult:
    """One round. Without a mail server everything waits."""
    if transport is None:
        return RoundResult()
    return await leased_work.run_round(db, SEND, partial(_send, db, transport), clock)


async def _send(db: Database, transport: MailTransport, lease: Lease, now: datetime) -> int:
    async with db.connection() as tx:
        mail = await store.find_to_send(tx, lease.business_id, int(lease.id))
    if mail is None:
        return 0
    failure = None
    try:
        await transport.send(message_of(mail, sender=transport.sender, at=now))
    except MailRefused as refused:
        failure = str(refused)[:FAILURE_CHARS_MAX]
        log.warning("a mail was refused", business=mail.business_id, id=mail.id, why=failure)
    async with leased_work.writing(db, lease) as tx:
        await store.end(tx, mail, failure=failure, is_kept=transport.keeps_text, now=now)
    return 1
