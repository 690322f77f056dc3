"""The receipt of a payment: on the page, to be printed, and as a PDF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from markupsafe import Markup

from tidegate.checkout.page.document import PdfDocument, pdf_by
from tidegate.checkout.page.layout import contact_of
from tidegate.checkout.page.model import PageModel
from tidegate.checkout.page.result import ResultRow, method_text, movements_of, variance_of
from tidegate.core.colour import LIGHT, palette_for
from tidegate.core.fee import FeeBearer


class ReceiptPage(msgspec.Struct, frozen=True):
    amount: str
    rows: list[ResultRow]
    notes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptDocument(PdfDocument):
    """Its notes say what differs from the amount asked for, what went back, how to reach the merchant."""

    # Label and value.
    rows: tuple[tuple[str, str], ...]
    footer: str


def receipt_of(page: PageModel) -> ReceiptPage:
    # Refunded, the merchant has decided about the difference.
    variance = () if page.payment.refunded.minor else variance_of(page)
    notes = [*variance, *movements_of(page)]
    return ReceiptPage(page.money(page.payment.received), list(_rows(page)), notes)


def pdf_of(page: PageModel, *, logo: bytes | None) -> ReceiptDocument:
    words, business = page.words, page.business
    receipt, contact = receipt_of(page), contact_of(page.business)
    # A receipt of no money must not pass for one.
    test = (words("layout.test_mode"),) if page.is_test else ()
    questions = (f"{words('layout.questions', shop=business.name)} {contact.address}",) if contact else ()
    return ReceiptDocument(
        language=words.language,
        direction="rtl" if words.direction == "rtl" else "ltr",
        title=words("receipt.title"),
        merchant=business.name,
        amount=receipt.amount,
        rows=tuple((row.label, _plain(row.value)) for row in receipt.rows),
        notes=(*test, *map(_plain, receipt.notes), *questions),
        footer=f"Tidegate · {page.payment.pay_code}",
        accent=str(palette_for(business.brand.accent, LIGHT).accent_text),
        logo=logo,
        made_at=page.payment.paid_at or page.now,
    )


def _plain(text: str) -> str:
    """Without the markup of a time or an emphasis."""
    return text.striptags() if isinstance(text, Markup) else text


def _rows(page: PageModel) -> Iterator[ResultRow]:
    payment, words = page.payment, page.words
    yield ResultRow(words("row.paid_to"), page.shop_name)
    yield ResultRow(words("row.paid_by"), payment.order.customer.name)
    yield ResultRow(words("row.reference"), payment.reference)
    yield ResultRow(words("row.method"), method_text(page))
    if payment.paid_at:
        yield ResultRow(words("row.when"), page.moment(payment.paid_at))
    yield ResultRow(words("row.expected"), page.money(payment.expected))
    yield ResultRow(words("row.received"), page.money(payment.received))
    if payment.reversed.minor:
        yield ResultRow(words("row.reversed"), page.money(payment.reversed))
    if payment.refunded.minor:
        yield ResultRow(words("row.refunded"), page.money(payment.refunded))
    if payment.refunded.minor and not payment.reversed.minor:
        yield ResultRow(words("row.net"), page.money(payment.received - payment.refunded))
    # As it was taken: on another amount than was asked for it is another fee.
    if payment.fee is not None and payment.order.fee_bearer is FeeBearer.CUSTOMER and payment.fee.total.minor:
        yield ResultRow(words("row.fee"), page.money(payment.fee.total))
    if payment.pay_code != payment.reference:
        yield ResultRow(words("row.code"), payment.pay_code)


def receipt_pdf(receipt: ReceiptDocument) -> bytes:
    return pdf_by("receipt.typ", receipt)
