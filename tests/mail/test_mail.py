"""The outbox: written with its cause, sent once, kept while the mail server is away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from build import Shop
from mail.mail_server import MailServer, mail_server
from settable_clock import SettableClock
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.infra.leased_work import PAUSE_MIN
from tidegate.mail import send, store
from tidegate.mail.model import Mail, MailAttachment, one_line
from tidegate.mail.send import SandboxTransport, SmtpTransport

LETTER = Mail(
    recipient="ada@example.com",
    subject="Your receipt, ₦2,500",
    paragraphs=("Dear Ada,", "<b>thank you</b>"),
    link=("Open it", "http://localhost/pay/x?a=1&b=2"),
    closing="Sandbox Shop",
    attachments=(MailAttachment(name="receipt.pdf", media_type="application/pdf", body=b"%PDF"),),
)


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with mail_server() as opened:
        yield opened


async def write(db: Database, shop: Shop, mail: Mail = LETTER) -> None:
    async with db.transaction() as tx:
        await store.insert(tx, shop.business_id, mail, now=SystemClock().now())


async def rows(admin: Any) -> list[Any]:
    return list(await admin.fetch("SELECT status, failure, text_body IS NULL AS is_empty FROM mail"))


async def test_a_mail_is_sent_once_in_both_forms_with_its_attachment(
    db: Database, shop: Shop, server: MailServer, admin: Any
) -> None:
    await write(db, shop)
    transport = SmtpTransport(server.settings)
    assert (await send.send_due(db, transport, SystemClock())).done == 1
    assert (await send.send_due(db, transport, SystemClock())).done == 0
    [message] = server.received
    assert (message["to"], message["subject"]) == ("ada@example.com", LETTER.subject)
    text, html, attachment = [part for part in message.walk() if not part.is_multipart()]
    assert "http://localhost/pay/x?a=1&b=2" in text.get_content()
    assert "&lt;b&gt;thank you&lt;/b&gt;" in html.get_content()
    assert (attachment.get_filename(), attachment.get_content()) == ("receipt.pdf", b"%PDF")
    # Its words are gone with it.
    assert [tuple(row) for row in await rows(admin)] == [("sent", None, True)]
    assert await admin.fetchval("SELECT count(*) FROM mail_attachment") == 0


async def test_a_mail_is_not_written_when_its_cause_is_not(db: Database, shop: Shop, admin: Any) -> None:
    async def fail() -> None:
        async with db.transaction() as tx:
            await store.insert(tx, shop.business_id, LETTER, now=SystemClock().now())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await rows(admin) == []


async def test_a_mail_server_that_is_away_is_tried_again(
    db: Database, shop: Shop, server: MailServer, admin: Any
) -> None:
    await write(db, shop)
    clock, transport = SettableClock(SystemClock().now()), SmtpTransport(server.settings)
    server.recipient_answer = "451 later"
    assert (await send.send_due(db, transport, clock)).failed == 1
    assert (await send.send_due(db, transport, clock)).failed == 0, "not before its pause is over"
    assert [row["status"] for row in await rows(admin)] == ["waiting"]
    server.recipient_answer = "250 ok"
    clock.advance(PAUSE_MIN)
    assert (await send.send_due(db, transport, clock)).done == 1
    assert len(server.received) == 1


async def test_an_address_that_does_not_exist_is_not_tried_again(
    db: Database, shop: Shop, server: MailServer, admin: Any
) -> None:
    await write(db, shop)
    server.recipient_answer = "550 no such mailbox"
    assert (await send.send_due(db, SmtpTransport(server.settings), SystemClock())).done == 1
    assert [tuple(row) for row in await rows(admin)] == [("failed", "the mail server does not know the address", True)]


async def test_without_a_mail_server_everything_waits(db: Database, shop: Shop, admin: Any) -> None:
    await write(db, shop)
    assert await send.send_due(db, None, SystemClock()) == (0, 0)
    assert [row["status"] for row in await rows(admin)] == ["waiting"]


async def test_the_sandbox_shows_each_mail_with_links_that_work(db: Database, shop: Shop, admin: Any) -> None:
    await write(db, shop)
    await send.send_due(db, SandboxTransport(), SystemClock())
    page = (await shop.client.get("/mail")).text
    assert LETTER.subject in page
    assert '<a href="http://localhost/pay/x?a=1&amp;b=2">' in page
    assert "&lt;b&gt;thank you&lt;/b&gt;" in page
    mail_id = await admin.fetchval("SELECT id FROM mail")
    attached = await shop.client.get(f"/mail/{mail_id}/1")
    assert (attached.content, attached.headers["content-disposition"]) == (
        b"%PDF",
        'attachment; filename="receipt.pdf"',
    )
    for path in (f"/mail/{mail_id}/2", "/mail/0/1", "/mail/x/1", f"/mail/{'9' * 30}/1"):
        assert (await shop.client.get(path)).status_code == 404


@pytest.mark.parametrize(
    "change",
    [
        {"subject": "two\nlines"},
        {"subject": ""},
        {"subject": "x" * 201},
        {"recipient": "a@example.com\r\nbcc: b@example.com"},
        {"paragraphs": ("x" * 10_001,)},
        {"attachments": LETTER.attachments * 6},
    ],
)
async def test_a_mail_that_breaks_a_limit_is_not_written(
    db: Database, shop: Shop, admin: Any, change: dict[str, Any]
) -> None:
    fields = {name: getattr(LETTER, name) for name in LETTER.__struct_fields__}
    with pytest.raises(ValueError, match=r"."):
        await write(db, shop, Mail(**{**fields, **change}))
    assert await rows(admin) == []


def test_words_of_others_fit_into_a_subject() -> None:
    assert one_line("a\r\nbcc: x\x00  y") == "a bcc: x y"
    assert len(one_line("x" * 500)) == 120
