"""A message to a person, and its text in both forms."""

from __future__ import annotations

import re

import msgspec
from markupsafe import Markup

SUBJECT_CHARS_MAX = 200
TEXT_CHARS_MAX = 10_000
ATTACHMENTS_MAX = 5
ATTACHMENT_BYTES_MAX = 1_048_576
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_HTML = Markup(
    '<!doctype html><html lang="{language}" dir="{direction}"><meta charset="utf-8"><title>{subject}</title>'
    '<body style="font:16px/1.5 system-ui,sans-serif;color:#171a19;max-width:36em">{body}</body></html>\n'
)
_PARAGRAPH = Markup("<p>{text}</p>")
_LINK = Markup('<p><a href="{url}">{label}</a></p>')


class MailAttachment(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    # Such as application/pdf.
    media_type: str
    body: bytes


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """Paragraphs and at most one link: enough for everything that we send, and the same in text and HTML."""

    recipient: str
    subject: str
    paragraphs: tuple[str, ...]
    link: tuple[str, str] | None = None
    # Below the link.
    closing: str = ""
    attachments: tuple[MailAttachment, ...] = ()
    language: str = "en"
    # Of its letters: ltr or rtl.
    direction: str = "ltr"

    @property
    def text(self) -> str:
        link = (f"{self.link[0]}\n{self.link[1]}",) if self.link else ()
        return "\n\n".join((*self.paragraphs, *link, *filter(None, (self.closing,)))) + "\n"

    @property
    def html(self) -> str:
        parts = [_PARAGRAPH.format(text=text) for text in self.paragraphs]
        if self.link:
            parts.append(_LINK.format(label=self.link[0], url=self.link[1]))
        if self.closing:
            parts.append(_PARAGRAPH.format(text=self.closing))
        body = Markup("\n").join(parts)
        return str(_HTML.format(language=self.language, direction=self.direction, subject=self.subject, body=body))


def checked(mail: Mail) -> Mail:
    """Raises ValueError: what we write ourselves breaks no limit. Merchants' words are cut where they come in."""
    if _CONTROL.search(mail.subject + mail.recipient) or not 0 < len(mail.subject) <= SUBJECT_CHARS_MAX:
        raise ValueError("a subject is one line of at most 200 characters, a recipient one address")
    if len(mail.text) > TEXT_CHARS_MAX:
        raise ValueError("a mail has at most 10,000 characters")
    if len(mail.attachments) > ATTACHMENTS_MAX:
        raise ValueError("a mail has at most 5 attachments")
    if any(len(one.body) > ATTACHMENT_BYTES_MAX for one in mail.attachments):
        raise ValueError("an attachment has at most 1 MB")
    return mail


def one_line(text: str, *, chars_max: int = 120) -> str:
    """A merchant's or a payer's words, fit for a subject."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= chars_max else line[: chars_max - 1] + "…"


class OutgoingMail(msgspec.Struct, frozen=True, kw_only=True):
    """As the outbox has it."""

    business_id: str
    id: int
    recipient: str
    subject: str
    text: str
    html: str
    attachments: tuple[MailAttachment, ...]
