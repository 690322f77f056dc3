"""The summary of what is to be paid, or was."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.checkout.page import values
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.money_format import MoneyParts
from tidegate.checkout.page.shape import LONG_AMOUNT
from tidegate.checkout.page.sketch import Sketch
from tidegate.checkout.page.values import OF_COSTS
from tidegate.payment.variance import Variance


@dataclass(frozen=True)
class Line:
    label: str
    value: str


@dataclass(frozen=True)
class Price:
    # Shown while this method is selected; empty where it is the same for all of them.
    method: str
    is_selected: bool
    text: str
    parts: MoneyParts
    is_long: bool
    lines: tuple[Line, ...]
    # "Paid" or "Not paid"; nothing while that is open.
    state: str = ""


def prices_of(sketch: Sketch) -> tuple[Price, ...]:
    return tuple(_price(sketch, number) for number in range(len(sketch.shape.costs)))


def _price(sketch: Sketch, number: int) -> Price:
    shape, money_format, of_cost = sketch.shape, sketch.words.money_format, OF_COSTS[number]
    method = shape.methods[number] if len(shape.costs) > 1 else None
    text = sketch.cost(number)
    return Price(
        method=method.value if method else "",
        is_selected=method is None or method is shape.chosen,
        text=text,
        parts=MoneyParts(money_format.signs[shape.currency], sketch.own(of_cost.digits), money_format.is_sign_first),
        is_long=shape.costs[number].is_long,
        lines=(*_lines(sketch, number), Line(sketch.words("summary.total"), text)),
    )


def price_at_the_end(sketch: Sketch, look: Look) -> Price:
    """What was paid, or what would have had to be."""
    payment, words = look.situation.payment, look.words
    is_paid = payment.paid_at is not None
    shown = payment.received if is_paid else payment.expected
    total = Line(words("summary.paid_total") if is_paid else words("row.expected"), look.money(shown))
    parts = words.money_parts(shown)
    return Price(
        method="",
        is_selected=True,
        text=look.money(shown),
        parts=parts,
        is_long=len(parts.digits) >= LONG_AMOUNT,
        lines=(*_lines(sketch, 0), total),
        state=_state(look),
    )


def _state(look: Look) -> str:
    payment = look.situation.payment
    # What the bank took back is not paid any more.
    if payment.paid_at is None or payment.is_reversed:
        return look.words("summary.not_paid")
    if payment.variance is Variance.UNDERPAYMENT:
        return look.words("summary.part_paid")
    return look.words("summary.paid")


def _lines(sketch: Sketch, number: int) -> list[Line]:
    """What is asked for and what it costs; of another amount than expected, what was expected."""
    words, own, cost = sketch.words, sketch.own, sketch.shape.costs[number]
    first = Line(words("summary.asked"), own(values.asked))
    if sketch.shape.has_variance:
        return [first, Line(words("row.expected"), sketch.expected)]
    if not cost.has_fee:
        return [first, Line(words("summary.fee"), words("summary.no_fee"))]
    vat = [Line(words("summary.vat"), own(OF_COSTS[number].vat))] if cost.has_vat else []
    return [first, Line(words("summary.fee"), own(OF_COSTS[number].fee)), *vat]
