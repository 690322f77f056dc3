"""How a payment ended: what happened, where the money is, and where the payer goes from here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum

import msgspec
from markupsafe import escape

from tidegate.checkout.model import ReturnStatus
from tidegate.checkout.page.model import PageModel, unbroken
from tidegate.checkout.page.state import PageState
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.money_return.reason import ReturnReason
from tidegate.payment.redirect import with_reference
from tidegate.payment.variance import Variance
from tidegate.rail import phone as phones
from tidegate.refund.model import RefundStatus

# The payer is taken back to the shop after this long; longer where there is something to read about money.
LEAVE_AFTER_S = 5
LEAVE_AFTER_READING_S = 15
# A link opened later shows the result and does not redirect.
LEAVE_WITHIN = timedelta(minutes=10)


class ResultRow(msgspec.Struct, frozen=True):
    label: str
    value: str
    # What a copy button copies; without it there is no button.
    raw: str | None = None


class Tone(StrEnum):
    GOOD = "good"
    # Paid, and not all of it.
    WARN = "warn"
    OFF = "off"


_ICONS = {Tone.GOOD: "tick", Tone.WARN: "info", Tone.OFF: "cross"}


class Result(msgspec.Struct, frozen=True, kw_only=True):
    tone: Tone
    icon: str
    title: str
    # The merchant's own words, shown as plain text.
    message: str | None
    lead: str | None
    notes: list[str]
    rows: list[ResultRow]
    # Back to the shop; without seconds only when the payer presses the button.
    leave_url: str | None
    leave_after_s: int | None
    has_receipt: bool


def result_of(page: PageModel) -> Result:
    is_paid = page.state is PageState.PAID
    tone = _tone(page)
    notes = list(_notes(page))
    order = page.payment.order
    leave_url = with_reference(order.redirect_url, page.payment.reference) if order.redirect_url else None
    return Result(
        tone=tone,
        icon="clock" if page.state is PageState.EXPIRED else _ICONS[tone],
        title=_title(page),
        # It thanks for a payment that is complete.
        message=order.success_message if tone is Tone.GOOD else None,
        lead=_lead(page),
        notes=notes,
        rows=list(_paid_rows(page) if is_paid else _unpaid_rows(page)),
        leave_url=leave_url,
        leave_after_s=_leave_after_s(page, has_notes=bool(notes)) if leave_url else None,
        has_receipt=is_paid,
    )


def _leave_after_s(page: PageModel, *, has_notes: bool) -> int | None:
    payment = page.payment
    # Money that moves afterwards is no new result.
    ended_at = payment.paid_at or min(payment.updated_at, payment.expires_at)
    is_fresh = page.now - ended_at < LEAVE_WITHIN
    if page.stays or not is_fresh or page.state in (PageState.DISABLED, PageState.CLOSED):
        return None
    return LEAVE_AFTER_READING_S if has_notes else LEAVE_AFTER_S


def _tone(page: PageModel) -> Tone:
    if page.state is not PageState.PAID or page.payment.is_reversed:
        return Tone.OFF
    return Tone.WARN if page.payment.variance is Variance.UNDERPAYMENT else Tone.GOOD


def _title(page: PageModel) -> str:
    payment = page.payment
    if payment.is_reversed:
        return page.words("result.reversed", amount=page.money(payment.received))
    if payment.variance is Variance.UNDERPAYMENT:
        received, expected = page.money(payment.received), page.money(payment.expected)
        return page.words("result.part_paid", received=received, expected=expected)
    if page.state is PageState.PAID:
        return page.words("result.paid", amount=page.money(payment.received))
    if page.state is PageState.CLOSED:
        return page.words("result.closed", shop=page.shop_name)
    # words: result.cancelled, result.used_up, result.expired, result.disabled
    return page.words(f"result.{page.state.value}")


def _lead(page: PageModel) -> str | None:
    words, shop = page.words, page.shop_name
    if page.payment.is_reversed:
        return words("result.reversed_more", shop=shop)
    if page.state is PageState.PAID:
        has_thanks = page.payment.order.success_message or _tone(page) is Tone.WARN
        return None if has_thanks else words("result.paid_thanks", shop=shop)
    if page.payment.held.minor or page.payment.returned.minor:
        return None  # The notes say where the money is.
    if page.state is PageState.CANCELLED and page.may_be_approved:
        return None  # Perhaps it is being taken.
    if page.state in (PageState.CANCELLED, PageState.CLOSED):
        return words(f"result.{page.state.value}_more")  # words: result.cancelled_more, result.closed_more
    # words: result.used_up_more, result.expired_more, result.disabled_more
    return words(f"result.{page.state.value}_more", shop=shop)


def variance_of(page: PageModel) -> Iterator[str]:
    """What differs from the amount asked for."""
    payment, words = page.payment, page.words
    shop = escape(page.shop_name)
    received, expected = page.money(payment.received), page.money(payment.expected)
    if payment.variance is Variance.UNDERPAYMENT and _rest_goes_back(page):
        yield words.rich("result.underpaid_accepted", received=received, expected=expected, shop=shop)
    elif payment.variance is Variance.UNDERPAYMENT:
        yield words.rich("result.underpaid", missing=page.money(payment.expected - payment.received), shop=shop)
    elif payment.variance is Variance.OVERPAYMENT:
        yield words.rich("result.overpaid", received=received, expected=expected, shop=shop)


def _notes(page: PageModel) -> Iterator[str]:
    payment, words = page.payment, page.words
    yield from variance_of(page)
    if page.may_get_money and not (payment.held.minor or payment.returned.minor):
        yield words.rich("result.just_approved") if page.may_be_approved else words.rich("result.just_sent")
    if payment.held.minor and page.state is not PageState.PAID:
        yield words.rich("result.will_go_back", amount=page.money(payment.held))
    yield from movements_of(page)


def _rest_goes_back(page: PageModel) -> bool:
    """The payer sent more after the first amount had been accepted: nothing that was sent is missing."""
    return any(back.reason is ReturnReason.ALREADY_PAID for back in page.movements.returns)


def movements_of(page: PageModel) -> Iterator[str]:
    """Money that went back, is going back, or was taken back by the bank."""
    yield from _returns_of(page)
    yield from _refunds_of(page)
    shop = escape(page.shop_name)
    for taken in page.movements.reversals:
        yield page.words.rich(
            "result.taken_back", amount=page.money(taken.amount), shop=shop, when=page.moment(taken.at)
        )


def _refunds_of(page: PageModel) -> Iterator[str]:
    words, shop = page.words, escape(page.shop_name)
    for refund in page.movements.refunds:
        amount = page.money(refund.amount)
        if refund.status is RefundStatus.PROCESSING:
            yield words.rich("result.refunding", amount=amount, shop=shop)
        elif refund.status is RefundStatus.SUCCESSFUL and refund.completed_at:
            yield words.rich("result.refunded", amount=amount, shop=shop, when=page.moment(refund.completed_at))
        else:
            yield words.rich("result.refund_failed", amount=amount, shop=shop)
        if refund.reason:
            yield words.rich("result.refund_why", shop=shop, reason=escape(refund.reason))


def _returns_of(page: PageModel) -> Iterator[str]:
    """Each amount that goes back: why, and whether it has left."""
    for back in page.movements.returns:
        why = escape(page.words(f"why.{_why(page, back.reason)}"))  # words: why.*
        amount = page.money(back.amount)
        if back.status is ReturnStatus.CONFIRMED and back.confirmed_at:
            when = page.moment(back.confirmed_at)
            yield page.words.rich("result.went_back", amount=amount, when=when, why=why)
        else:
            yield page.words.rich("result.going_back", amount=amount, why=why)


def _why(page: PageModel, reason: ReturnReason | None) -> str:
    if reason is ReturnReason.ALREADY_PAID and page.payment.variance is Variance.UNDERPAYMENT:
        return "already_accepted"
    return reason.value if reason else "other"


def _paid_rows(page: PageModel) -> Iterator[ResultRow]:
    payment, words = page.payment, page.words
    yield ResultRow(words("row.paid_to"), page.shop_name)
    yield ResultRow(words("row.reference"), payment.reference, raw=payment.reference)
    if payment.variance:
        yield ResultRow(words("row.expected"), page.money(payment.expected))
        yield ResultRow(words("row.received"), page.money(payment.received))
    if payment.returned.minor:
        yield ResultRow(words("row.returned"), page.money(payment.returned))
    refunded = [refund.amount for refund in page.movements.refunds if refund.status is RefundStatus.SUCCESSFUL]
    if refunded:
        yield ResultRow(words("row.refunded"), page.money(sum(refunded, start=Money.zero(page.currency))))
    if payment.reversed.minor:
        yield ResultRow(words("row.reversed"), page.money(payment.reversed))
    yield ResultRow(words("row.method"), method_text(page))
    if payment.paid_at:
        yield ResultRow(words("row.when"), page.moment(payment.paid_at))


def _unpaid_rows(page: PageModel) -> Iterator[ResultRow]:
    payment, words = page.payment, page.words
    yield ResultRow(words("row.pay_to"), page.shop_name)
    yield ResultRow(words("row.reference"), payment.reference, raw=payment.reference)
    yield ResultRow(words("row.expected"), page.money(payment.expected))
    if payment.held.minor:
        yield ResultRow(words("row.received"), page.money(payment.held))
    if payment.returned.minor:
        yield ResultRow(words("row.returned"), page.money(payment.returned))


def method_text(page: PageModel) -> str:
    """Bank transfer from Zenith ··4471, Mastercard card ending in 6660, M-PESA +254 … 5678."""
    payment, attempt, words = page.payment, page.attempt, page.words
    method = payment.method_chosen or payment.order.default_method
    details = attempt.details if attempt is not None and attempt.method is method else {}
    if method is Method.CARD and "last4" in details:
        brand = words(f"brand.{details['brand']}")  # words: brand.*
        return words("method.card_ending", brand=brand, digits=details["last4"])
    if method is Method.MOBILE_MONEY and "phone" in details:
        operator = phones.find_operator(details["operator"], page.currency)
        return words("method.mobile_from", operator=operator.name if operator else "", phone=unbroken(details["phone"]))
    if method is Method.USSD and "bank" in details:
        return words("method.ussd_with", bank=details["bank"])
    return _transfer_text(page) or words(f"method.{method.value}")  # words: method.*


def _transfer_text(page: PageModel) -> str | None:
    paid = [money for money in page.movements.receipts if money.payer_bank]
    if not paid:
        return None
    last = paid[-1]
    if last.payer_account_end is None:
        return page.words("method.transfer_by", bank=last.payer_bank or "")
    return page.words("method.transfer_from", bank=last.payer_bank or "", digits=f"··{last.payer_account_end}")
