"""Receipts by e-mail: one for each payment and each refund that succeeds, in the payer's language, where the business
wants them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from datetime import timedelta
from email.message import EmailMessage
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from build import Checkout
from checkout.paying import SUCCEEDS, WITHOUT_MONEY, card
from checkout.plain_browser import open_page
from cli.operating import Operator
from conftest import MakeCheckout
from dashboard.people import SignedInPerson
from mail.mail_server import MailServer, mail_server
from pdf_file import text_of
from settable_clock import SettableClock
from tidegate.checkout import receipt_mail, receipt_store
from tidegate.checkout.language.catalog import LANGUAGES
from tidegate.core.clock import SystemClock
from tidegate.infra.leased_work import LEASE, RoundResult
from tidegate.mail import send
from tidegate.mail.send import SmtpTransport
from tidegate.payment.pay import view
from tidegate.refund import send as refund_send
from tidegate.runtime import Runtime

ON = {"receipts_by_mail": True}
# Writers of a mail's last row, held up by a lock.
WAITS = "SELECT count(*) FROM pg_locks WHERE relation = 'mail_attachment'::regclass AND NOT granted"


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with mail_server() as opened:
        yield opened


async def write(runtime: Runtime) -> RoundResult:
    return await receipt_mail.write_due(runtime.deps, runtime.clock)


async def write_refunds(runtime: Runtime) -> RoundResult:
    return await receipt_mail.write_refunds_due(runtime.deps, runtime.clock)


async def sent(runtime: Runtime, server: MailServer) -> list[EmailMessage]:
    """All that was received, once the worker has nothing more to do."""
    while any(await write(runtime)) or any(await write_refunds(runtime)):
        pass
    while any(await send.send_due(runtime.db, SmtpTransport(server.settings), SystemClock())):
        pass
    return server.received


def parts_of(message: EmailMessage) -> list[Any]:
    return [part.get_content() for part in message.walk() if not part.is_multipart()]


async def mails(admin: Any) -> int:
    return int(await admin.fetchval("SELECT count(*) FROM mail"))


async def pay(checkout: Checkout, number: str = SUCCEEDS) -> None:
    assert (await checkout.charge(card(number))).status_code == 200


async def test_a_payer_gets_the_receipt_once_with_the_pdf_and_a_link(
    new_checkout: MakeCheckout, runtime: Runtime, server: MailServer
) -> None:
    checkout = await new_checkout(settings={**ON, "support_email": "help@shop.example"}, amount=10_000)
    await pay(checkout)
    [message] = await sent(runtime, server)
    customer = (await checkout.record())["customer"]
    assert message["to"] == customer["email"]
    assert message["subject"].endswith(": ₦10,000.00")
    text, html, pdf = parts_of(message)
    address = f"{runtime.settings.base_url}/pay/{checkout.pay_code}/receipt?lang=en"
    for words in ("has received your payment of ₦10,000.00", checkout.reference, "help@shop.example", address):
        assert words in text
    assert '<html lang="en" dir="ltr">' in html
    assert checkout.reference in text_of(pdf)
    assert (await checkout.shop.client.get(address)).status_code == 200
    assert len(await sent(runtime, server)) == 1


async def test_without_the_setting_nothing_is_sent(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    await pay(await new_checkout())
    assert await write(runtime) == (0, 0)
    assert await mails(admin) == 0


async def test_a_setting_switched_off_before_the_success_counts(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    await pay(await new_checkout(settings=ON))
    await admin.execute("UPDATE business SET receipts_by_mail = false")
    assert (await write(runtime)).done == 1
    await admin.execute("UPDATE business SET receipts_by_mail = true")
    assert await write(runtime) == (0, 0)
    assert await mails(admin) == 0


@pytest.mark.parametrize(
    ("amount", "variance", "sentence"),
    [("90", "underpayment", "₦10.00 is missing."), ("110", "overpayment", "You sent ₦110.00 instead of ₦100.00.")],
)
async def test_another_amount_that_was_accepted_has_a_receipt_that_says_so(
    new_checkout: MakeCheckout, admin: Any, amount: str, variance: str, sentence: str
) -> None:
    checkout = await new_checkout(settings=ON, amount=100)
    await checkout.transfer(await checkout.account(), amount)
    assert (await checkout.record())["varianceType"] == variance
    [text] = [row["text_body"] for row in await admin.fetch("SELECT text_body FROM mail")]
    assert f"has received your payment of ₦{amount}.00" in text
    assert sentence in text


async def test_an_address_that_was_refused_for_good_gets_none_for_a_month(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    first = await new_checkout(settings=ON)
    await pay(first)
    await write(runtime)
    await admin.execute("UPDATE mail SET status = 'failed', failure = 'no such address', ended_at = now()")
    await pay(await new_checkout(first.shop))
    assert (await write(runtime)).done == 1
    assert await mails(admin) == 1
    await admin.execute("UPDATE mail SET ended_at = now() - interval '31 days'")
    await pay(await new_checkout(first.shop))
    await write(runtime)
    assert await mails(admin) == 2


async def test_a_payment_that_is_not_paid_has_none(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings=ON)
    await pay(checkout, WITHOUT_MONEY)
    await checkout.tick()
    assert await admin.fetchval("SELECT count(*) FROM receipt_mail WHERE ended_at IS NULL") == 1
    assert (await checkout.cancel()).status_code == 200
    await checkout.tick()
    assert await admin.fetchval("SELECT count(*) FROM receipt_mail WHERE ended_at IS NULL") == 0
    assert await mails(admin) == 0


async def test_it_is_in_the_language_that_the_page_was_in(
    new_checkout: MakeCheckout, runtime: Runtime, server: MailServer
) -> None:
    checkout = await new_checkout(settings=ON, amount=10_000)
    page = await open_page(checkout.shop.client, f"/pay/{checkout.pay_code}?lang=fr&method=card")
    fields = {"number": SUCCEEDS, "expiry": "12 / 40", "cvv": "123", "holder": "Ada Obi"}
    await page.send("/charge", {"type": "card"}, **fields)
    [message] = await sent(runtime, server)
    text, html, pdf = parts_of(message)
    assert message["subject"].startswith("Reçu de ")
    assert "Le reçu est joint" in text
    assert "lang=fr" in text
    assert '<html lang="fr"' in html
    assert "Reçu" in text_of(pdf)


async def test_a_language_chosen_while_the_money_is_on_its_way_counts(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings=ON, amount=100)
    account = await checkout.account()
    await open_page(checkout.shop.client, f"/pay/{checkout.pay_code}?lang=ar")
    await checkout.transfer(account, "100")
    row = await admin.fetchrow("SELECT subject, html_body FROM mail")
    assert row["subject"].startswith("إيصال من ")
    assert 'lang="ar" dir="rtl"' in row["html_body"]


async def test_a_payer_by_the_api_is_asked_by_the_header(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings=ON)
    path = f"/checkout/payments/{checkout.pay_code}/charge"
    assert (await checkout.post(path, card(), **{"accept-language": "sw-KE,en;q=0.5"})).status_code == 200
    await checkout.tick()
    assert (await admin.fetchval("SELECT subject FROM mail")).startswith("Risiti kutoka ")


async def test_a_worker_that_dies_before_it_commits_loses_and_doubles_nothing(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    await pay(await new_checkout(settings=ON))
    # Stopped in the midst of its transaction by a lock on what it writes last.
    async with admin.transaction():
        await admin.execute("LOCK TABLE mail_attachment")
        dying = asyncio.create_task(write(runtime))
        while not await admin.fetchval(WAITS):
            assert not dying.done()
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
    assert await mails(admin) == 0
    assert await write(runtime) == (0, 0), "its lease is not over"
    await admin.execute("UPDATE leased_work SET next_try_at = $1", runtime.clock.now() - LEASE)
    assert (await write(runtime)).done == 1
    assert await write(runtime) == (0, 0)
    assert await mails(admin) == 1


async def test_one_that_is_asked_for_while_its_payment_ends_is_written(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    """The attempt before has succeeded between the look at the payment and the note."""
    checkout = await new_checkout()
    payment = (await view(runtime.deps.db, checkout.shop.business_id, checkout.pay_code)).payment
    await pay(checkout)
    await admin.execute("UPDATE business SET receipts_by_mail = true")
    async with runtime.deps.db.connection() as tx:
        await receipt_store.ask(tx, payment, language="en", now=runtime.clock.now())
    assert (await write(runtime)).done == 1
    assert await mails(admin) == 1


async def test_many_workers_write_one(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout(settings=ON)
    await pay(checkout)
    await asyncio.gather(*(write(runtime) for _ in range(5)))
    # A payer who clicks again asks for nothing new.
    assert (await checkout.charge(card())).status_code == 409
    await checkout.tick()
    assert await mails(admin) == 1


async def test_an_erased_payer_gets_nothing(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout(settings=ON)
    await pay(checkout)
    payment_id = await admin.fetchval("SELECT id FROM payment")
    erase = "SELECT erase_payment($1, $2, now())"
    await admin.execute("UPDATE event SET is_fanned_out = true")
    assert await admin.fetchval(erase, checkout.shop.business_id, payment_id) == "erased"
    assert await write(runtime) == (0, 0)
    assert await mails(admin) == 0


async def test_a_receipt_on_its_way_is_sent_before_its_payer_is_erased(
    new_checkout: MakeCheckout, runtime: Runtime, server: MailServer, admin: Any
) -> None:
    checkout = await new_checkout(settings=ON)
    await pay(checkout)
    assert (await write(runtime)).done == 1
    await admin.execute("UPDATE event SET is_fanned_out = true")
    payment_id = await admin.fetchval("SELECT id FROM payment")
    erase = ("SELECT erase_payment($1, $2, now())", checkout.shop.business_id, payment_id)
    assert await admin.fetchval(*erase) == "undelivered"
    await sent(runtime, server)
    assert await admin.fetchval(*erase) == "erased"
    assert await mails(admin) == 0
    assert await admin.fetchval("SELECT count(*) FROM receipt_mail") == 0


async def erased_while(
    writing: Coroutine[Any, Any, RoundResult], runtime: Runtime, admin: Any, business_id: str, payment_id: int
) -> Any:
    """What erasing says that began while the mail was being written."""

    async def erase() -> Any:
        async with runtime.db.transaction() as tx:
            return await tx.fetchval("SELECT erase_payment($1, $2, now())", business_id, payment_id)

    async with admin.transaction():
        await admin.execute("LOCK TABLE mail_attachment")
        written = asyncio.create_task(writing)
        while not await admin.fetchval(WAITS):
            assert not written.done()
        erasing = asyncio.create_task(erase())
        while not await admin.fetchval(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
        ):
            assert not erasing.done()
    assert (await written).done == 1
    return await erasing


@pytest.mark.one_server("pg_locks has those of one node")
async def test_erasing_waits_for_a_receipt_that_is_being_written(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout(settings=ON)
    await pay(checkout)
    await admin.execute("UPDATE event SET is_fanned_out = true")
    payment_id = await admin.fetchval("SELECT id FROM payment")
    assert await erased_while(write(runtime), runtime, admin, checkout.shop.business_id, payment_id) == "undelivered"


# Refunds.


async def begin_refund(checkout: Checkout, amount: str, **fields: str) -> None:
    body = {"transReference": checkout.reference, "amount": float(amount), **fields}
    begun = await checkout.post("/collections/refund", body, **{"api-key": checkout.shop.secret_key})
    assert begun.status_code == 200, begun.text


async def complete_refunds(runtime: Runtime, admin: Any) -> None:
    """Without the other loops of a worker: what is due afterwards is written by the test."""
    now = runtime.clock.now()
    while await admin.fetchval("SELECT count(*) FROM refund_leg WHERE next_poll_at IS NOT NULL"):
        now += timedelta(minutes=1)
        assert (await refund_send.poll_rails(runtime.deps, SettableClock(now))).failed == 0


async def test_a_payer_is_told_of_each_refund_once_with_the_receipt_as_it_is_then(
    new_checkout: MakeCheckout, runtime: Runtime, server: MailServer, admin: Any
) -> None:
    checkout = await new_checkout(settings={**ON, "support_email": "help@shop.example"}, amount=10_000)
    await pay(checkout)
    assert len(await sent(runtime, server)) == 1
    await begin_refund(checkout, "2500", reason="One cup was broken")
    await complete_refunds(runtime, admin)
    [_, message] = await sent(runtime, server)
    assert message["to"] == (await checkout.record())["customer"]["email"]
    assert message["subject"].startswith("Refund from ")
    assert message["subject"].endswith(": ₦2,500.00")
    text, html, pdf = parts_of(message)
    address = f"{runtime.settings.base_url}/pay/{checkout.pay_code}/receipt?lang=en"
    for words in (
        "has refunded ₦2,500.00 to you",
        checkout.reference,
        "One cup was broken",
        "help@shop.example",
        address,
    ):
        assert words in text
        assert words in unescape(html)
    shown = text_of(pdf)
    assert checkout.reference in shown
    for amount in ("₦10,000.00", "₦2,500.00", "₦7,500.00"):
        assert amount in shown
    await begin_refund(checkout, "500")
    await complete_refunds(runtime, admin)
    subjects = [each["subject"].rpartition(": ")[2] for each in await sent(runtime, server)]
    assert subjects == ["₦10,000.00", "₦2,500.00", "₦500.00"]


REFUNDED = {
    "en": ("Refund from ", " has refunded ₦100.00 to you", "ltr"),
    "fr": ("Remboursement de ", " vous a remboursé ", "ltr"),
    "pt": ("Reembolso de ", " reembolsou-lhe ", "ltr"),
    "sw": ("Urejeshaji kutoka ", " imekurejeshea ", "ltr"),
    "ar": ("استرداد من ", "ردّ ", "rtl"),
}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_refund_is_told_in_the_language_of_the_payer(
    new_checkout: MakeCheckout, runtime: Runtime, server: MailServer, admin: Any, language: str
) -> None:
    checkout = await new_checkout(settings=ON, amount=10_000)
    path = f"/checkout/payments/{checkout.pay_code}/charge"
    assert (await checkout.post(path, card(), **{"accept-language": language})).status_code == 200
    assert len(await sent(runtime, server)) == 1
    await begin_refund(checkout, "100")
    await complete_refunds(runtime, admin)
    [_, message] = await sent(runtime, server)
    subject, lead, direction = REFUNDED[language]
    text, html, _ = parts_of(message)
    assert message["subject"].startswith(subject)
    assert lead in text
    assert f'<html lang="{language}" dir="{direction}">' in html
    assert f"lang={language}" in text


async def test_a_refund_that_fails_is_not_told(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout(settings=ON, amount=10_000)
    await pay(checkout)
    assert (await write(runtime)).done == 1
    await begin_refund(checkout, "100.13")
    await complete_refunds(runtime, admin)
    assert await admin.fetchval("SELECT status FROM refund") == "failed"
    assert await write_refunds(runtime) == (0, 0)
    assert await mails(admin) == 1


async def test_a_refund_is_told_to_those_who_are_sent_receipts(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    """Noted before the payment, and wanted still."""
    checkout = await new_checkout(amount=10_000)
    await pay(checkout)
    await admin.execute("UPDATE business SET receipts_by_mail = true")
    await begin_refund(checkout, "100")
    await complete_refunds(runtime, admin)
    assert await write_refunds(runtime) == (0, 0)
    other = await new_checkout(settings=ON, amount=10_000)
    await pay(other)
    assert (await write(runtime)).done == 1
    await begin_refund(other, "100")
    await complete_refunds(runtime, admin)
    await admin.execute("UPDATE business SET receipts_by_mail = false")
    assert (await write_refunds(runtime)).done == 1
    await admin.execute("UPDATE business SET receipts_by_mail = true")
    assert await write_refunds(runtime) == (0, 0)
    assert await mails(admin) == 1


async def test_many_workers_tell_of_a_refund_once(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout(settings=ON, amount=10_000)
    await pay(checkout)
    assert (await write(runtime)).done == 1
    await begin_refund(checkout, "100")
    await complete_refunds(runtime, admin)
    await asyncio.gather(*(write_refunds(runtime) for _ in range(5)))
    assert await mails(admin) == 2


async def test_an_erased_payer_is_told_of_no_refund(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout(settings=ON, amount=10_000)
    await pay(checkout)
    await begin_refund(checkout, "100")
    await complete_refunds(runtime, admin)
    payment_id = await admin.fetchval("SELECT id FROM payment")
    await admin.execute("UPDATE event SET is_fanned_out = true")
    erase = "SELECT erase_payment($1, $2, now())"
    assert await admin.fetchval(erase, checkout.shop.business_id, payment_id) == "erased"
    assert await write_refunds(runtime) == (0, 0)
    assert await mails(admin) == 0


@pytest.mark.one_server("pg_locks has those of one node")
async def test_erasing_waits_for_a_refund_that_is_being_told(
    new_checkout: MakeCheckout, runtime: Runtime, server: MailServer, admin: Any
) -> None:
    checkout = await new_checkout(settings=ON, amount=10_000)
    await pay(checkout)
    assert len(await sent(runtime, server)) == 1
    await begin_refund(checkout, "100")
    await complete_refunds(runtime, admin)
    await admin.execute("UPDATE event SET is_fanned_out = true")
    payment_id = await admin.fetchval("SELECT id FROM payment")
    assert (
        await erased_while(write_refunds(runtime), runtime, admin, checkout.shop.business_id, payment_id)
        == "undelivered"
    )


async def test_the_operator_and_the_business_switch_it(
    owner: SignedInPerson, shop: Any, database_url: str, tmp_path: Path, admin: Any
) -> None:
    operator = Operator(database_url, tmp_path)
    assert (await operator.json("merchant", "set", shop.business_id, "--receipts-by-mail"))["receiptsByMail"] is True
    form = {"policy": "accept", "zone": "Africa/Lagos", "session": "60", "bearer": "business"}
    assert (await owner.send("/settings", at="/settings", **form)).status_code == 303
    assert await admin.fetchval("SELECT receipts_by_mail FROM business WHERE id = $1", shop.business_id) is False
    assert (await owner.send("/settings", at="/settings", **form, receipts="yes")).status_code == 303
    assert await admin.fetchval("SELECT receipts_by_mail FROM business WHERE id = $1", shop.business_id) is True
    off = await operator.json("merchant", "set", shop.business_id, "--no-receipts-by-mail")
    assert off["receiptsByMail"] is False
