"""What is to be paid, or was: the summary beside the page. Fees that the customer bears differ by method."""

from __future__ import annotations

import msgspec

from tidegate.checkout.language.money_format import MoneyParts
from tidegate.checkout.page.model import PageModel
from tidegate.checkout.page.state import RESULTS
from tidegate.core.fee import Fee, FeeBearer, fee_on
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.payment.variance import Variance

# From this many characters on, the amount is set smaller.
LONG_AMOUNT = 13


class Cost(msgspec.Struct, frozen=True):
    expected: Money
    # On top of what is asked for; None where the shop bears it.
    fee: Fee | None


class Price(msgspec.Struct, frozen=True, kw_only=True):
    # Shown while this method is selected; None where it is the same for all of them.
    method: Method | None = None
    is_selected: bool = True
    text: str
    parts: MoneyParts
    # Label and value; the last one is the total.
    lines: list[tuple[str, str]]
    # "Paid" or "Not paid"; empty while the payment is open.
    state: str = ""

    @property
    def is_long(self) -> bool:
        return len(self.parts.digits) >= LONG_AMOUNT


def costs_of(page: PageModel) -> list[Cost]:
    """One for each method; a single one where all cost the same."""
    order = page.payment.order
    if order.fee_bearer is not FeeBearer.CUSTOMER:
        return [Cost(order.asked, None)]
    costs = [_cost(page, method) for method in page.methods]
    return costs if any(cost != costs[0] for cost in costs) else costs[:1]


def _cost(page: PageModel, method: Method) -> Cost:
    asked = page.payment.order.asked
    fee = fee_on(asked, page.business.fee_rule_for(asked.currency, method))
    if not fee.total.minor:
        return Cost(asked, None)
    offer = page.offer(method)
    # Once it is paid, as it was taken: prices may have changed since.
    return Cost(offer.expected if offer else asked + fee.total, page.payment.fee or fee)


def prices_of(page: PageModel, costs: list[Cost]) -> list[Price]:
    if page.state in RESULTS:
        return [_price_of_result(page, costs[0])]
    methods = page.methods if len(costs) > 1 else (None,)
    return [_price(page, cost, method) for cost, method in zip(costs, methods, strict=True)]


def _price(page: PageModel, cost: Cost, method: Method | None) -> Price:
    text = page.money(cost.expected)
    return Price(
        method=method,
        is_selected=method is None or method is page.method,
        text=text,
        parts=page.words.money_parts(cost.expected),
        lines=[*_lines(page, cost), (page.words("summary.total"), text)],
    )


def _price_of_result(page: PageModel, cost: Cost) -> Price:
    """What was paid, or what would have been."""
    payment, words = page.payment, page.words
    shown = payment.received if payment.paid_at else payment.expected
    text = page.money(shown)
    is_paid = payment.paid_at and not payment.is_reversed
    label = words("summary.paid_total") if is_paid else words("row.expected")
    return Price(
        text=text, parts=words.money_parts(shown), lines=[*_lines(page, cost), (label, text)], state=_state(page)
    )


def _state(page: PageModel) -> str:
    # What the bank took back is not paid any more.
    if page.payment.paid_at is None or page.payment.is_reversed:
        return page.words("summary.not_paid")
    if page.payment.variance is Variance.UNDERPAYMENT:
        return page.words("summary.part_paid")
    return page.words("summary.paid")


def _lines(page: PageModel, cost: Cost) -> list[tuple[str, str]]:
    """What is asked for and what it costs; of another amount than expected, what was expected."""
    words, fee = page.words, cost.fee
    asked = (words("summary.asked"), page.money(page.payment.order.asked))
    if page.payment.variance:
        return [asked, (words("row.expected"), page.money(page.payment.expected))]
    if fee is None:
        return [asked, (words("summary.fee"), words("summary.no_fee"))]
    vat = [(words("summary.vat"), page.money(fee.vat))] if fee.vat.minor else []
    # Some rails take whole amounts only.
    rest = cost.expected - page.payment.order.asked - fee.total
    rounding = [(words("summary.rounding"), page.money(rest))] if rest.minor > 0 else []
    return [asked, (words("summary.fee"), page.money(fee.fee)), *vat, *rounding]
