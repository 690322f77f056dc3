"""The receipt of a payment: on the page, to be printed, and as a PDF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from tidegate.checkout.page import receipt_pdf
from tidegate.checkout.page.ending import Row, method_text, movements_of
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.shell import Shell, Shop, shell_of, shop_of
from tidegate.checkout.page.sketch import Sketch
from tidegate.core.colour import LIGHT, palette_for
from tidegate.core.fee import FeeBearer


@dataclass(frozen=True)
class Receipt:
    shell: Shell
    shop: Shop
    amount: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    here: str
    pay_code: str


def receipt_of(look: Look, sketch: Sketch) -> Receipt:
    payment = look.situation.payment
    return Receipt(
        shell=shell_of(sketch, is_over=True, refresh=None, here=f"{sketch.here}/receipt"),
        shop=shop_of(sketch),
        amount=look.money(payment.received),
        rows=tuple(_rows(look)),
        notes=tuple(movements_of(look)),
        here=sketch.here,
        pay_code=payment.pay_code,
    )


def pdf_of(look: Look, sketch: Sketch, *, logo: bytes | None) -> receipt_pdf.Receipt:
    words, business = look.words, look.situation.business
    receipt = receipt_of(look, sketch)
    # A receipt of no money must not pass for one.
    test = (words("shell.test_mode"),) if sketch.is_test else ()
    questions = words("shell.questions", shop=business.name)
    return receipt_pdf.Receipt(
        language=words.language,
        direction="rtl" if words.direction == "rtl" else "ltr",
        title=words("receipt.title"),
        merchant=business.name,
        amount=receipt.amount,
        rows=tuple((row.label, _plain(row.value)) for row in receipt.rows),
        notes=(
            *test,
            *map(_plain, receipt.notes),
            *(f"{questions} {contact.plain}" for contact in receipt.shell.contacts),
        ),
        footer=f"Tidegate · {receipt.pay_code}",
        accent=str(palette_for(business.brand.accent, LIGHT).accent_text),
        logo=logo,
        made_at=look.situation.payment.paid_at or look.now,
    )


def _plain(text: str) -> str:
    """Without the markup of a time or an emphasis."""
    return text.striptags() if isinstance(text, Markup) else text


def _rows(look: Look) -> Iterator[Row]:
    payment, words = look.situation.payment, look.words
    yield Row(words("row.paid_to"), look.shop_name)
    yield Row(words("row.paid_by"), payment.order.customer.name)
    yield Row(words("row.reference"), payment.reference)
    yield Row(words("row.method"), method_text(look))
    if payment.paid_at:
        yield Row(words("row.when"), look.moment(payment.paid_at))
    yield Row(words("row.expected"), look.money(payment.expected))
    yield Row(words("row.received"), look.money(payment.received))
    if payment.reversed.minor:
        yield Row(words("row.reversed"), look.money(payment.reversed))
    if payment.refunded.minor:
        yield Row(words("row.refunded"), look.money(payment.refunded))
    if payment.refunded.minor and not payment.reversed.minor:
        yield Row(words("row.net"), look.money(payment.received - payment.refunded))
    # As it was taken: on another amount than was asked for it is another fee.
    if payment.fee is not None and payment.order.fee_bearer is FeeBearer.CUSTOMER and payment.fee.total.minor:
        yield Row(words("row.fee"), look.money(payment.fee.total))
    if payment.pay_code != payment.reference:
        yield Row(words("row.code"), payment.pay_code)
