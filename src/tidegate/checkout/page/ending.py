"""How a payment ended: what happened, where the money is, and where the payer goes from here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from markupsafe import escape

from tidegate.checkout.model import ReturnStatus
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.scene import Scene
from tidegate.checkout.page.sketch import Sketch
from tidegate.checkout.page.values import unbroken
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.payment.redirect import with_reference
from tidegate.payment.variance import Variance
from tidegate.rail import phone as phones
from tidegate.refund.model import RefundStatus

# The payer is taken back to the shop after this long; longer where there is something to read about money.
LEAVE_AFTER_S = 5
LEAVE_AFTER_READING_S = 15
# Whoever opens the link later wants to see how things stand, and is not sent away.
LEAVE_WITHIN = timedelta(minutes=10)


@dataclass(frozen=True)
class Row:
    label: str
    value: str
    # What a copy button copies; without it there is no button.
    raw: str | None = None


@dataclass(frozen=True)
class Leave:
    url: str
    # None: only when the payer presses the button.
    after_s: int | None


class Tone(StrEnum):
    GOOD = "good"
    # Paid, and not all of it.
    WARN = "warn"
    OFF = "off"


@dataclass(frozen=True)
class Ending:
    tone: Tone
    icon: str
    title: str
    # The merchant's own words, shown as plain text.
    message: str | None
    lead: str | None
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    leave: Leave | None
    receipt_href: str | None


def ending_of(look: Look, sketch: Sketch) -> Ending:
    scene = look.scene
    is_paid = scene is Scene.PAID
    tone = _tone(look, scene)
    notes = tuple(_notes(look, scene))
    return Ending(
        tone=tone,
        icon=_icon(tone, scene),
        title=_title(look, scene),
        # It thanks for a payment that is complete.
        message=look.situation.payment.order.success_message if tone is Tone.GOOD else None,
        lead=_lead(look, scene),
        notes=notes,
        rows=tuple(rows_of(look) if is_paid else _open_rows(look)),
        leave=_leave(look, scene, has_to_read=bool(notes)),
        receipt_href=f"{sketch.here}/receipt" if is_paid else None,
    )


def _icon(tone: Tone, scene: Scene) -> str:
    if tone is Tone.OFF:
        return "clock" if scene is Scene.EXPIRED else "cross"
    return "tick" if tone is Tone.GOOD else "info"


def _tone(look: Look, scene: Scene) -> Tone:
    if scene is not Scene.PAID or look.situation.payment.is_reversed:
        return Tone.OFF
    return Tone.WARN if look.situation.payment.variance is Variance.UNDERPAYMENT else Tone.GOOD


def _title(look: Look, scene: Scene) -> str:
    payment = look.situation.payment
    if payment.is_reversed:
        return look.words("ending.reversed", amount=look.money(payment.received))
    if payment.variance is Variance.UNDERPAYMENT:
        received, expected = look.money(payment.received), look.money(payment.expected)
        return look.words("ending.part_paid", received=received, expected=expected)
    if scene is Scene.PAID:
        return look.words("ending.paid", amount=look.money(payment.received))
    if scene is Scene.CLOSED:
        return look.words("ending.closed", shop=look.shop_name)
    # words: ending.cancelled, ending.used_up, ending.expired, ending.disabled
    return look.words(f"ending.{scene.value}")


def _lead(look: Look, scene: Scene) -> str | None:
    words, shop = look.words, look.shop_name
    if look.situation.payment.is_reversed:
        return words("ending.reversed_more", shop=shop)
    if scene is Scene.PAID:
        has_thanks = look.situation.payment.order.success_message or _tone(look, scene) is Tone.WARN
        return None if has_thanks else words("ending.paid_thanks", shop=shop)
    if look.situation.payment.held.minor or look.situation.payment.returned.minor:
        return None  # The notes say where the money is.
    if scene in (Scene.CANCELLED, Scene.CLOSED):
        return words(f"ending.{scene.value}_more")  # words: ending.cancelled_more, ending.closed_more
    # words: ending.used_up_more, ending.expired_more, ending.disabled_more
    return words(f"ending.{scene.value}_more", shop=shop)


def _notes(look: Look, scene: Scene) -> Iterator[str]:
    payment, words = look.situation.payment, look.words
    shop = escape(look.shop_name)
    if payment.variance is Variance.UNDERPAYMENT:
        yield words.rich("ending.underpaid", missing=look.money(payment.expected - payment.received), shop=shop)
    if payment.variance is Variance.OVERPAYMENT:
        received, expected = look.money(payment.received), look.money(payment.expected)
        yield words.rich("ending.overpaid", received=received, expected=expected, shop=shop)
    if look.may_get_money and not (payment.held.minor or payment.returned.minor):
        yield words.rich("ending.just_sent")
    if payment.held.minor and scene is not Scene.PAID:
        yield words.rich("ending.will_go_back", amount=look.money(payment.held))
    yield from movements_of(look)


def movements_of(look: Look) -> Iterator[str]:
    """Where money is that is not, or no longer, the shop's."""
    yield from _returns_of(look)
    yield from _refunds_of(look)
    shop = escape(look.shop_name)
    for taken in look.movements.reversals:
        yield look.words.rich(
            "ending.taken_back", amount=look.money(taken.amount), shop=shop, when=look.moment(taken.at)
        )


def _refunds_of(look: Look) -> Iterator[str]:
    words, shop = look.words, escape(look.shop_name)
    for refund in look.movements.refunds:
        amount = look.money(refund.amount)
        if refund.status is RefundStatus.PROCESSING:
            yield words.rich("ending.refunding", amount=amount, shop=shop)
        elif refund.status is RefundStatus.SUCCESSFUL and refund.completed_at:
            yield words.rich("ending.refunded", amount=amount, shop=shop, when=look.moment(refund.completed_at))
        else:
            yield words.rich("ending.refund_failed", amount=amount, shop=shop)
        if refund.reason:
            yield words.rich("ending.refund_why", shop=shop, reason=escape(refund.reason))


def _returns_of(look: Look) -> Iterator[str]:
    """Each amount that goes back: why, and whether it has left."""
    for back in look.movements.returns:
        why = escape(look.words(f"why.{back.reason.value if back.reason else 'other'}"))  # words: why.*
        amount = look.money(back.amount)
        if back.status is ReturnStatus.CONFIRMED and back.confirmed_at:
            when = look.moment(back.confirmed_at)
            yield look.words.rich("ending.went_back", amount=amount, when=when, why=why)
        else:
            yield look.words.rich("ending.going_back", amount=amount, why=why)


def rows_of(look: Look) -> Iterator[Row]:
    """Of a payment that was paid."""
    payment, words = look.situation.payment, look.words
    yield Row(words("row.paid_to"), look.shop_name)
    yield Row(words("row.reference"), payment.reference, raw=payment.reference)
    if payment.variance:
        yield Row(words("row.expected"), look.money(payment.expected))
        yield Row(words("row.received"), look.money(payment.received))
    if payment.returned.minor:
        yield Row(words("row.returned"), look.money(payment.returned))
    refunded = [refund.amount for refund in look.movements.refunds if refund.status is RefundStatus.SUCCESSFUL]
    if refunded:
        yield Row(words("row.refunded"), look.money(sum(refunded, start=Money.zero(look.currency))))
    if payment.reversed.minor:
        yield Row(words("row.reversed"), look.money(payment.reversed))
    yield Row(words("row.method"), method_text(look))
    if payment.paid_at:
        yield Row(words("row.when"), look.moment(payment.paid_at))


def _open_rows(look: Look) -> Iterator[Row]:
    """Of a payment that ended without success; with where its money is, when any came."""
    payment, words = look.situation.payment, look.words
    yield Row(words("row.pay_to"), look.shop_name)
    yield Row(words("row.reference"), payment.reference, raw=payment.reference)
    yield Row(words("row.expected"), look.money(payment.expected))
    if payment.held.minor:
        yield Row(words("row.received"), look.money(payment.held))
    if payment.returned.minor:
        yield Row(words("row.returned"), look.money(payment.returned))


def method_text(look: Look) -> str:
    """Bank transfer from Zenith ··4471, Mastercard card ending in 6660, M-PESA +254 … 5678."""
    payment, attempt, words = look.situation.payment, look.situation.attempt, look.words
    method = payment.method_chosen or payment.order.default_method
    details = attempt.details if attempt is not None and attempt.method is method else {}
    if method is Method.CARD and "last4" in details:
        brand = words(f"brand.{details['brand']}")  # words: brand.*
        return words("method.card_ending", brand=brand, digits=details["last4"])
    if method is Method.MOBILE_MONEY and "phone" in details:
        operator = phones.find_operator(details["operator"], look.currency)
        return words("method.mobile_from", operator=operator.name if operator else "", phone=unbroken(details["phone"]))
    if method is Method.USSD and "bank" in details:
        return words("method.ussd_with", bank=details["bank"])
    # words: method.bank_transfer, method.card, method.mobile_money, method.ussd
    return _transfer_text(look) or words(f"method.{method.value}")


def _transfer_text(look: Look) -> str | None:
    paid = [money for money in look.movements.receipts if money.payer_bank]
    if not paid:
        return None
    last = paid[-1]
    if last.payer_account_end is None:
        return look.words("method.transfer_by", bank=last.payer_bank or "")
    return look.words("method.transfer_from", bank=last.payer_bank or "", digits=f"··{last.payer_account_end}")


def _leave(look: Look, scene: Scene, *, has_to_read: bool) -> Leave | None:
    payment = look.situation.payment
    if payment.order.redirect_url is None:
        return None
    url = with_reference(payment.order.redirect_url, payment.reference)
    # Money that moves afterwards is no new ending.
    ended_at = payment.paid_at or min(payment.updated_at, payment.expires_at)
    is_fresh = look.now - ended_at < LEAVE_WITHIN
    if look.stays or not is_fresh or scene in (Scene.DISABLED, Scene.CLOSED):
        return Leave(url, None)
    return Leave(url, LEAVE_AFTER_READING_S if has_to_read else LEAVE_AFTER_S)
