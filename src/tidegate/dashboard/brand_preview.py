"""The payer's real page with a made-up payment, for a brand that is not saved yet. Pure: nothing is read or written."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from tidegate.checkout.language.catalog import catalog_for
from tidegate.checkout.model import NO_MOVEMENTS
from tidegate.checkout.page.model import PageModel
from tidegate.core import ids
from tidegate.core.fee import FeeBearer
from tidegate.core.method import MethodNames
from tidegate.core.money import CHECKOUT_OFFERS, Money
from tidegate.infra.http.public_url import PublicUrl
from tidegate.merchant.model import Brand, Business
from tidegate.payment import transition
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.model import Customer, Payment, PaymentOrder, PaymentStatus, draft
from tidegate.payment.variance import Terms, VariancePolicy

SAMPLE_MAJOR = 12_500
_DARK_RULES = re.compile(rb"@media \(prefers-color-scheme: ?dark\)")


class PreviewState(StrEnum):
    CHOOSE = "choose"
    PAID = "paid"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


def model_of(
    business: Business, name: str, brand: Brand, state: PreviewState, *, site: PublicUrl, names: MethodNames,
    nonce: str, is_test: bool, now: datetime,
) -> PageModel:  # fmt: skip
    dressed = replace(business, name=name, brand=brand)
    payment = _in_state(_sample(dressed, now), dressed, state, now)
    return PageModel(
        snapshot=PaymentSnapshot(dressed, payment, None),
        movements=NO_MOVEMENTS,
        words=catalog_for("en"),
        now=now,
        site=site,
        names=names,
        is_test=is_test,
        nonce=nonce,
        is_preview=True,
    )


def in_theme(page: bytes, *, is_dark: bool) -> bytes:
    """In one theme, whatever the merchant's own device prefers: a frame cannot choose it for the page inside."""
    page = _DARK_RULES.sub(b"@media all" if is_dark else b"@media not all", page)
    # In the style sheet and in the head.
    return page.replace(b"light dark", b"dark" if is_dark else b"light")


def _sample(business: Business, now: datetime) -> Payment:
    currency = next(iter(CHECKOUT_OFFERS))
    nothing = Money.zero(currency)
    order = PaymentOrder(
        reference="ORDER-1042", asked=Money(SAMPLE_MAJOR * currency.minor_per_major, currency),
        fee_bearer=FeeBearer.BUSINESS, methods=currency.spec.methods, default_method=currency.spec.methods[0],
        customer=Customer("Ada Obi", "ada@example.com", None), redirect_url=None, success_message=None, metadata=None,
    )  # fmt: skip
    drawn = draft(order, business, now=now)
    return Payment(
        id=0, business_id=business.id, pay_code=ids.new_pay_code(business.code), status=PaymentStatus.INITIATED,
        variance=None, order=order, reference=drawn.reference, expected=drawn.expected, fee_rule_id=drawn.fee_rule_id,
        received=nothing, held=nothing, returned=nothing, refunded=nothing, reversed=nothing, fee=None, settled=None,
        method_chosen=None, attempts=0, attempts_by_method={}, ending=None, is_disabled=False, version=0, paid_at=None,
        expires_at=drawn.expires_at, created_at=now, updated_at=now,
    )  # fmt: skip


def _in_state(payment: Payment, business: Business, state: PreviewState, now: datetime) -> Payment:
    if state is PreviewState.CHOOSE:
        return payment
    method, currency = payment.order.default_method, payment.expected.currency
    rule = business.fee_rule_for(currency, method)
    begun = transition.begin_attempt(payment, method=method, expected=payment.expected, fee_rule_id=rule.id)
    if state is PreviewState.CANCELLED:
        return transition.cancel(begun)
    if state is PreviewState.EXPIRED:
        return transition.expire(transition.await_payer(begun))
    terms = Terms(VariancePolicy.ACCEPT, Money.zero(currency))
    return transition.receive(
        begun, begun.expected, terms=terms, rule=rule, method=method, is_in_time=True, now=now
    ).payment
