"""The page /mail: what a sandbox without a mail server would have sent. Absent in live mode."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup, escape

from tidegate.core.errors import NotFound
from tidegate.infra.db import Database
from tidegate.infra.http.routing import Route
from tidegate.infra.page.response import File, Html
from tidegate.infra.page.router import PageRequest, PageRoute
from tidegate.infra.site.pages import SitePages
from tidegate.infra.timestamp import to_iso
from tidegate.mail import store

PATH = "/mail"
MAILS_SHOWN_MAX = 50
_URL = re.compile(r"https?://[!-~]+")
_LINK = Markup('<a href="{url}">{url}</a>')
# What our own mails carry.
_KNOWN_KINDS = ("application/pdf",)
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class MailboxLine:
    id: int
    recipient: str
    subject: str
    at: datetime
    text: Markup
    # Address and name.
    attachments: list[tuple[str, str]]


@dataclass(frozen=True)
class Mailbox:
    pages: SitePages
    db: Database

    async def show(self, request: PageRequest) -> Html:
        async with self.db.connection() as tx:
            mails = await store.list_newest(tx, limit=MAILS_SHOWN_MAX)
        return self.pages.html(
            "mail.html", mails=[self._line(mail) for mail in mails], shown_max=MAILS_SHOWN_MAX, iso=to_iso, when=when
        )

    async def show_attachment(self, request: PageRequest) -> File:
        """Always downloaded: a file from a mail is never a page of ours."""
        numbers = request.path["mail"], request.path["number"]
        if not all(map(_NUMBER.fullmatch, numbers)):
            raise NotFound("there is no such attachment")
        async with self.db.connection() as tx:
            found = await store.find_attachment(tx, int(numbers[0]), min(int(numbers[1]), 100))
        if found is None:
            raise NotFound("there is no such attachment")
        name = re.sub(r"[^A-Za-z0-9._-]", "_", found.name)
        disposition = f'attachment; filename="{name}"'.encode("ascii")
        kind = found.media_type if found.media_type in _KNOWN_KINDS else "application/octet-stream"
        return File(found.body, kind, headers=[(b"content-disposition", disposition)])

    def _line(self, mail: store.ShownMail) -> MailboxLine:
        links = [
            (self.pages.site.url(f"{PATH}/{mail.id}/{number}"), name) for number, name in enumerate(mail.attachments, 1)
        ]
        return MailboxLine(mail.id, mail.recipient, mail.subject, mail.created_at, with_links(mail.text), links)

    def routes(self) -> list[Route]:
        return self.pages.router.routes(
            [
                PageRoute("GET", PATH, "showMailbox", self.show),
                PageRoute("GET", f"{PATH}/{{mail}}/{{number}}", "showMailAttachment", self.show_attachment),
            ]
        )


def when(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"{moment:%A}, {moment.day} {moment:%B %Y}, {moment:%H:%M} UTC"


def with_links(text: str) -> Markup:
    """Escaped, with its addresses as links."""
    parts, at = [], 0
    for found in _URL.finditer(text):
        parts += [escape(text[at : found.start()]), _LINK.format(url=found[0])]
        at = found.end()
    return Markup("").join([*parts, escape(text[at:])])
