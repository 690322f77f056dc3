"""SQL of the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.infra.db import Tx
from tidegate.infra.leased_work import DueRow
from tidegate.mail.model import Mail, MailAttachment, OutgoingMail, checked

# The kind of leased work. The statement below repeats the name.
SEND = "send_mail"


class ShownMail(msgspec.Struct, frozen=True, kw_only=True):
    """For the sandbox's page."""

    business_id: str
    id: int
    recipient: str
    subject: str
    text: str
    created_at: datetime
    attachments: Sequence[str]


async def insert(tx: Tx, business_id: str, mail: Mail, *, now: datetime) -> int:
    """In the transaction of what it tells of, so that both commit or neither."""
    mail = checked(mail)
    mail_id: int = await tx.fetchval(
        """
        INSERT INTO mail (business_id, recipient, subject, text_body, html_body, created_at)
        VALUES ($1, $2, $3, $4, $5, $6) RETURNING id
        """,
        business_id, mail.recipient, mail.subject, mail.text, mail.html, now,
    )  # fmt: skip
    for number, one in enumerate(mail.attachments, 1):
        await tx.execute(
            """
            INSERT INTO mail_attachment (business_id, mail_id, number, name, media_type, body)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            business_id, mail_id, number, one.name, one.media_type, one.body,
        )  # fmt: skip
    return mail_id


async def list_to_send(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    rows = await tx.fetch(
        """
        SELECT business_id, id::text AS id FROM mail
         WHERE status = 'waiting' AND NOT is_held_back(business_id, 'send_mail', id::text, $1)
         ORDER BY mail.id LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["id"]) for row in rows]


async def find_to_send(tx: Tx, business_id: str, mail_id: int) -> OutgoingMail | None:
    """None when it has been sent."""
    row = await tx.fetchrow(
        """
        SELECT recipient, subject, text_body, html_body FROM mail
         WHERE business_id = $1 AND id = $2 AND status = 'waiting'
        """,
        business_id, mail_id,
    )  # fmt: skip
    if row is None:
        return None
    attached = await tx.fetch(
        "SELECT name, media_type, body FROM mail_attachment WHERE business_id = $1 AND mail_id = $2 ORDER BY number",
        business_id, mail_id,
    )  # fmt: skip
    return OutgoingMail(
        business_id=business_id, id=mail_id, recipient=row["recipient"], subject=row["subject"], text=row["text_body"],
        html=row["html_body"], attachments=tuple(MailAttachment(**one) for one in attached),
    )  # fmt: skip


async def end(tx: Tx, mail: OutgoingMail, *, failure: str | None, is_kept: bool, now: datetime) -> None:
    """Sent, or refused for good. Unless it is kept, its words go: they may hold a link that signs a person in."""
    await tx.execute(
        """
        UPDATE mail SET status = CASE WHEN $3::text IS NULL THEN 'sent' ELSE 'failed' END, failure = $3, ended_at = $5,
                        text_body = CASE WHEN $4 THEN text_body END, html_body = CASE WHEN $4 THEN html_body END
         WHERE business_id = $1 AND id = $2 AND status = 'waiting'
        """,
        mail.business_id, mail.id, failure, is_kept, now,
    )  # fmt: skip
    if not is_kept:
        await tx.execute(
            "DELETE FROM mail_attachment WHERE business_id = $1 AND mail_id = $2", mail.business_id, mail.id
        )


async def was_refused(tx: Tx, business_id: str, recipient: str, *, since: datetime) -> bool:
    """Whether the mail server refused for good what was sent to this address."""
    found = await tx.fetchval(
        """
        SELECT true FROM mail
         WHERE business_id = $1 AND recipient = $2 AND status = 'failed' AND ended_at > $3 LIMIT 1
        """,
        business_id, recipient, since,
    )  # fmt: skip
    return found is True


async def list_newest(tx: Tx, *, limit: int) -> list[ShownMail]:
    rows = await tx.fetch(
        """
        SELECT business_id, id, recipient, subject, coalesce(text_body, '') AS text, created_at,
               ARRAY(SELECT name FROM mail_attachment AS one
                      WHERE one.business_id = mail.business_id AND one.mail_id = mail.id ORDER BY number) AS attachments
          FROM mail ORDER BY mail.id DESC LIMIT $1
        """,
        limit,
    )  # fmt: skip
    return [ShownMail(**row) for row in rows]


async def find_attachment(tx: Tx, mail_id: int, number: int) -> MailAttachment | None:
    row = await tx.fetchrow(
        "SELECT name, media_type, body FROM mail_attachment WHERE mail_id = $1 AND number = $2", mail_id, number
    )
    return MailAttachment(**row) if row else None


async def list_failed(tx: Tx, *, since: datetime, limit: int) -> list[str]:
    """For `tidegate doctor`; without the address, which is personal data."""
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || id || ': ' || failure AS what FROM mail
         WHERE status = 'failed' AND created_at >= $1 ORDER BY id DESC LIMIT $2
        """,
        since, limit,
    )  # fmt: skip
    return [row["what"] for row in rows]
