"""The payer's view of a payment, and what a payer may send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tidegate.checkout.field import CardNumber, Cvv, OtpText, PinText
from tidegate.core.card_number import contains_card_number
from tidegate.core.clock import to_iso
from tidegate.core.errors import Invalid, Problem
from tidegate.core.method import Method, MethodNames
from tidegate.infra.http.strict_json import walk
from tidegate.payment.attempt import Attempt
from tidegate.payment.change import Situation
from tidegate.rail.interface import DialAction, RedirectAction, TransferAction

Text = Annotated[str, Meta(min_length=1, max_length=100)]
Year = Annotated[int, Meta(ge=0, le=2100)]
Month = Annotated[int, Meta(ge=1, le=12)]


class CardFields(msgspec.Struct, kw_only=True, rename="camel"):
    number: CardNumber
    expiry_month: Month
    expiry_year: Year
    cvv: Cvv
    holder: Annotated[str, Meta(max_length=100)] | None = None


class AddressFields(msgspec.Struct, kw_only=True, rename="camel"):
    line: Text
    city: Text
    country: Text
    postal_code: Text | None = None


class Charge(msgspec.Struct, kw_only=True, rename="camel"):
    type: Annotated[Text, Meta(description="The payment method.")]
    card: CardFields | None = None
    phone: Annotated[Text | None, Meta(description="For mobile money.")] = None
    operator: Annotated[Text | None, Meta(description="For mobile money; guessed from the number when absent.")] = None
    bank: Annotated[Text | None, Meta(description="For USSD: the bank's code.")] = None


class Authorize(msgspec.Struct, kw_only=True, rename="camel"):
    pin: PinText | None = None
    otp: OtpText | None = None
    address: AddressFields | None = None


class BusinessView(msgspec.Struct):
    name: str


class VirtualAccountView(msgspec.Struct, kw_only=True, rename="camel"):
    account_number: str
    bank_name: str
    account_name: str
    expires_at: str | None


class ActionView(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    type: str
    amount_expected: Decimal | None = None
    virtual_account: VirtualAccountView | None = None
    code: str | None = None
    url: str | None = None


class AttemptView(msgspec.Struct, kw_only=True, rename="camel"):
    attempt_id: str
    type: str
    status: str
    failure: str | None
    details: dict[str, Any]
    action: ActionView


class Charged(msgspec.Struct, kw_only=True, rename="camel"):
    """`status` is the payment's, `attemptStatus` the attempt's own."""

    attempt_id: str
    type: str
    status: str
    attempt_status: str
    failure: str | None
    action: ActionView


class CheckoutView(msgspec.Struct, kw_only=True, rename="camel"):
    pay_code: str
    reference: str
    business: BusinessView
    customer_name: str
    amount: Decimal
    amount_expected: Decimal
    amount_received: Decimal
    amount_remaining: Decimal
    amount_returned: Decimal
    currency: str
    status: str
    ending: str | None
    variance_type: str | None
    variance_policy: str
    payment_methods: list[str]
    default_payment_method: str
    success_message: str | None
    attempts_left: int
    expires_at: str
    paid_at: str | None
    attempt: AttemptView | None


def card_data_elsewhere(value: Any) -> Iterator[Problem]:
    """A card number belongs in the card's own field and nowhere else."""
    for path, item in walk(value, ""):
        if path not in ("card.number", "phone") and isinstance(item, str | int) and contains_card_number(str(item)):
            yield Problem(path, "looks like a card number; never send card data here", Invalid.CARD_DATA)


def one_answer(fields: Mapping[str, Any]) -> Iterator[Problem]:
    given = [name for name in ("pin", "otp", "address") if fields.get(name) is not None]
    if len(given) != 1:
        yield Problem("body", "must have exactly one of pin, otp and address")


def view_of(situation: Situation, names: MethodNames, *, attempts_max: int) -> CheckoutView:
    payment = situation.payment
    order = payment.order
    arrived = payment.received if payment.paid_at else payment.held
    remaining = payment.expected - arrived
    return CheckoutView(
        pay_code=payment.pay_code,
        reference=payment.reference,
        business=BusinessView(situation.business.name),
        customer_name=order.customer.name,
        amount=order.asked.major,
        amount_expected=payment.expected.major,
        amount_received=arrived.major,
        amount_remaining=remaining.major if remaining.minor > 0 and not payment.paid_at else Decimal(0),
        amount_returned=payment.returned.major,
        currency=order.asked.currency,
        status=payment.status,
        ending=payment.ending,
        variance_type=payment.variance,
        variance_policy=situation.business.variance_policy,
        payment_methods=names.in_records(order.methods),
        default_payment_method=names.in_record(order.default_method),
        success_message=order.success_message,
        attempts_left=attempts_max - payment.attempts,
        expires_at=to_iso(payment.expires_at),
        paid_at=_iso(payment.paid_at),
        attempt=attempt_view(situation.attempt, names) if situation.attempt else None,
    )


def attempt_view(attempt: Attempt, names: MethodNames) -> AttemptView:
    return AttemptView(
        attempt_id=attempt.reference,
        type=names.in_record(attempt.method),
        status=attempt.status,
        failure=attempt.failure,
        details=attempt.details,
        action=_action_view(attempt),
    )


def _action_view(attempt: Attempt) -> ActionView:
    action = attempt.action
    if action is None or not attempt.is_open:
        return ActionView(type="none")
    kind = type(action).__struct_config__.tag
    view = ActionView(type=str(kind))
    if isinstance(action, TransferAction):
        view.amount_expected = attempt.expected.major
        view.virtual_account = VirtualAccountView(
            account_number=action.account_number,
            bank_name=action.bank_name,
            account_name=action.account_name,
            expires_at=_iso(attempt.expires_at),
        )
    elif isinstance(action, DialAction):
        view.code = action.code
    elif isinstance(action, RedirectAction):
        view.url = action.url
    return view


def _iso(moment: datetime | None) -> str | None:
    return to_iso(moment) if moment else None


def method_named(name: str, names: MethodNames) -> Method:
    method = names.find(name)
    if method is None:
        raise Invalid(Problem("type", f"must be one of {', '.join(names.in_requests(Method))}"))
    return method
