"""The receipt by e-mail: written once to the outbox when a payment has succeeded and for each refund that has, by the
worker; again when a person of the business asks for it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.checkout import receipt_store, store
from tidegate.checkout.language.catalog import DEFAULT_LANGUAGE, LANGUAGES, catalog_for
from tidegate.checkout.page.model import ROOT, PageModel
from tidegate.checkout.page.receipt import pdf_of, receipt_pdf
from tidegate.checkout.receipt_store import ReceiptSubject, WantedReceipt
from tidegate.core.clock import Clock
from tidegate.core.errors import Conflict
from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.core.money import Money
from tidegate.infra import leased_work
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.mail import store as outbox
from tidegate.mail.model import SUBJECT_CHARS_MAX, Mail, MailAttachment, one_line
from tidegate.merchant import store as merchants
from tidegate.payment import pay
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.model import Payment, PaymentStatus
from tidegate.rail.deps import PaymentDeps

WRITE = WorkKind(receipt_store.WRITE, receipt_store.list_due)
WRITE_REFUND = WorkKind(receipt_store.WRITE_REFUND, receipt_store.list_refunds_due)
# What people may send about one payment, besides what is sent by itself: a payer's mailbox is not theirs to fill.
SENT_MAX = 3
SENT_EVERY = timedelta(minutes=1)
# An address that the mail server does not know is left alone for as long: to insist harms the sender's good name.
REFUSED_FOR = timedelta(days=30)


class ReceiptIssuer(NamedTuple):
    """The deployment, as a receipt names it."""

    base_url: str
    names: MethodNames
    mode: Mode


async def write_due(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round, of payments that have ended."""
    return await leased_work.run_round(deps.db, WRITE, partial(_write, deps, receipt_store.OF_PAYMENT), clock)


async def write_refunds_due(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round, of refunds that have succeeded."""
    return await leased_work.run_round(deps.db, WRITE_REFUND, partial(_write, deps, receipt_store.OF_REFUND), clock)


async def _write(deps: PaymentDeps, subject: ReceiptSubject, lease: Lease, now: datetime) -> int:
    async with deps.db.connection() as tx:
        wanted = await subject.find(tx, lease.business_id, int(lease.id))
    if wanted is None:
        return 0
    snapshot = await pay.view(deps.db, lease.business_id, wanted.pay_code)
    mail = await _mail_if_wanted(deps, snapshot, wanted, now)
    async with leased_work.writing(deps.db, lease) as tx:
        if await subject.end(tx, lease.business_id, int(lease.id), now) and mail is not None:
            await outbox.insert(tx, lease.business_id, mail, now=now)
    return 1


async def _mail_if_wanted(
    deps: PaymentDeps, snapshot: PaymentSnapshot, wanted: WantedReceipt, now: datetime
) -> Mail | None:
    if snapshot.payment.status is not PaymentStatus.SUCCESS or not snapshot.business.receipts_by_mail:
        return None
    async with deps.db.connection() as tx:
        if await _is_refused(tx, snapshot.payment, now):
            return None
    issuer = ReceiptIssuer(deps.base_url, deps.names, deps.mode)
    return await compose(deps.db, snapshot, wanted.language, issuer=issuer, now=now, refunded=wanted.refunded)


async def send(tx: Tx, payment: Payment, mail: Mail, *, by: Actor, now: datetime) -> None:
    """As a person asks for it. Raises Conflict."""
    if not await receipt_store.lock_recipient(tx, payment, mail.recipient):
        raise Conflict("the payer's data were erased, so there is no address to send a receipt to")
    if await _is_refused(tx, payment, now):
        raise Conflict(
            f"the mail server refused this address; another mail can be sent {REFUSED_FOR.days} days after the refusal"
        )
    count = partial(audit.count, tx, payment.business_id, "receipt.sent", payment.pay_code)
    if await count(since=payment.created_at) >= SENT_MAX:
        raise Conflict(f"this receipt was sent {SENT_MAX} times already; give the payer the link to it instead")
    if await count(since=now - SENT_EVERY):
        raise Conflict("this receipt was sent within the last minute; wait a moment")
    await outbox.insert(tx, payment.business_id, mail, now=now)
    await audit.insert(
        tx, payment.business_id, by, action="receipt.sent", subject=payment.pay_code, details={}, now=now
    )


async def _is_refused(tx: Tx, payment: Payment, now: datetime) -> bool:
    recipient = payment.order.customer.email
    return await outbox.was_refused(tx, payment.business_id, recipient, since=now - REFUSED_FOR)


async def compose(
    db: Database, snapshot: PaymentSnapshot, language: str, *, issuer: ReceiptIssuer, now: datetime,
    refunded: Money | None = None,
) -> Mail:  # fmt: skip
    """Of the payment; with an amount, of its refund."""
    payment, business = snapshot.payment, snapshot.business
    async with db.connection() as tx:
        movements = await store.list_movements(tx, business.id, payment.id)
        logo_hash = business.brand.logo_hash
        logo = await merchants.find_logo(tx, business.id, logo_hash) if logo_hash else None
    page = PageModel(
        snapshot=snapshot,
        movements=movements,
        # A language may have been taken away since.
        words=catalog_for(language if language in LANGUAGES else DEFAULT_LANGUAGE),
        now=now,
        site=PublicUrl(issuer.base_url),
        names=issuer.names,
        is_test=issuer.mode is Mode.SANDBOX,
        nonce="",
    )
    document = pdf_of(page, logo=logo.body if logo else None)
    # Takes some milliseconds, during which the event loop must go on.
    return mail_of(page, refunded, pdf=await asyncio.to_thread(receipt_pdf, document), notes=document.notes)


def mail_of(page: PageModel, refunded: Money | None, *, pdf: bytes, notes: tuple[str, ...]) -> Mail:
    words, payment = page.words, page.payment
    shop = one_line(page.shop_name)
    if refunded is None:
        amount = page.money(payment.received)
        subject = words("receipt_mail.subject", shop=shop, amount=amount)
        lead = words("receipt_mail.lead", shop=shop, amount=amount)
    else:
        amount = page.money(refunded)
        subject = words("refund_mail.subject", shop=shop, amount=amount)
        lead = words("refund_mail.lead", shop=shop, amount=amount)
    address = f"{page.site.base_url}{ROOT}/{payment.pay_code}/receipt?lang={words.language}"
    return Mail(
        recipient=payment.order.customer.email,
        subject=one_line(subject, chars_max=SUBJECT_CHARS_MAX),
        paragraphs=(
            lead,
            words("receipt_mail.reference", reference=payment.reference),
            *notes,
        ),
        link=(words("receipt_mail.link"), address),
        attachments=(MailAttachment(name=f"{payment.pay_code}.pdf", media_type="application/pdf", body=pdf),),
        language=words.language,
        direction=words.direction,
    )
