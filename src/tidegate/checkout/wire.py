"""The payer's view of a payment, and the payer's requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from tidegate.checkout.field import CardNumber, Cvv, ExpiryMonth, ExpiryYear, OtpText, PinText
from tidegate.core.described_enum import DescribedEnum
from tidegate.core.errors import Invalid, Problem
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import Currency
from tidegate.infra.http.operation import Timestamp
from tidegate.infra.timestamp import to_iso
from tidegate.merchant import card_data
from tidegate.merchant.model import Business
from tidegate.merchant.wire import SupportView, logo_url, support_view
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.method_field import ChosenMethod, PaymentMethod
from tidegate.payment.model import Ending, Payment, PaymentOrder, PaymentStatus
from tidegate.payment.transition import attempts_left, is_final, methods_left
from tidegate.payment.variance import Variance, VariancePolicy
from tidegate.rail.action import (
    AddressAction,
    DialAction,
    FailureReason,
    OtpAction,
    PinAction,
    PromptAction,
    RedirectAction,
    TransferAction,
)
from tidegate.rail.choice import MethodOffer
from tidegate.rail.instrument import month_has_passed
from tidegate.rail.mobile_money import MOBILE_MONEY
from tidegate.rail.ussd_bank import USSD_BANKS

T = TypeVar("T")
ShortText = Annotated[str, Meta(min_length=1, max_length=100)]

StatusOfPayment = Annotated[PaymentStatus, Meta(description="The payment's status.")]
StatusOfAttempt = Annotated[AttemptStatus, Meta(description="The attempt's own status.")]
Failure = Annotated[
    FailureReason | None,
    Meta(description="Why it failed; while waiting for the payer, what was wrong with the last answer."),
]
AnswersLeft = Annotated[
    int | None,
    Meta(description="For `pin`, `otp`, `address` and `redirect`: the last wrong answer fails the attempt."),
]
ResendsLeft = Annotated[
    int | None, Meta(description="How often the prompt or code can be sent again; null where it cannot be.")
]
OpenMethods = Annotated[list[PaymentMethod], Meta(description="Offered methods that can be tried; empty at the end.")]
ResendFrom = Annotated[Timestamp | None, Meta(description="The earliest time of the next resend.")]


class CardFields(msgspec.Struct, kw_only=True, rename="camel"):
    number: Annotated[CardNumber, Meta(description="With or without spaces.")]
    expiry_month: Annotated[ExpiryMonth, Meta(description="From 1 to 12, as a number or as text.")]
    expiry_year: Annotated[ExpiryYear, Meta(description="Two digits or four, as a number or as text.")]
    cvv: Annotated[Cvv, Meta(description="The security code.")]
    holder: Annotated[Annotated[str, Meta(max_length=100)] | None, Meta(description="The name on the card.")] = None


class AddressFields(msgspec.Struct, kw_only=True, rename="camel"):
    line: Annotated[ShortText, Meta(description="Street and number.")]
    city: Annotated[ShortText, Meta(description="City or town.")]
    state: Annotated[ShortText | None, Meta(description="State, province or region, where the country has them.")] = (
        None
    )
    country: Annotated[ShortText, Meta(description="Country, by name or ISO 3166 code.")]
    postal_code: Annotated[ShortText | None, Meta(description="Postal code, where the country has them.")] = None


class Charge(msgspec.Struct, kw_only=True, rename="camel"):
    type: Annotated[ChosenMethod, Meta(description="One of the offered methods, in any letter case.")]
    card: Annotated[CardFields | None, Meta(description="For `card`: the payer's card.")] = None
    phone: Annotated[ShortText | None, Meta(description="For mobile money, such as +254712345678.")] = None
    operator: Annotated[
        ShortText | None,
        Meta(description="For mobile money: an `id` of the checkout's `operators`; guessed from the number if absent."),
    ] = None
    bank: Annotated[ShortText | None, Meta(description="For USSD: a `code` of the checkout's `banks`.")] = None


class Authorize(msgspec.Struct, kw_only=True, rename="camel"):
    pin: Annotated[PinText | None, Meta(description="When the action is `pin`.")] = None
    otp: Annotated[OtpText | None, Meta(description="When the action is `otp` or `redirect`.")] = None
    address: Annotated[
        AddressFields | None, Meta(description="When the action is `address`: the card's billing address.")
    ] = None


class BusinessView(msgspec.Struct, kw_only=True, rename="camel"):
    name: Annotated[str, Meta(description="The name of the business.")]
    logo_url: Annotated[str | None, Meta(description="A PNG, JPEG or WebP picture of 32 to 1024 pixels a side.")]
    accent_colour: Annotated[
        str | None,
        Meta(description="The business's colour, such as `#0f7b6c`, unadjusted: check the contrast of text."),
    ]
    support: Annotated[SupportView, Meta(description="Contacts for the payer; at least one is set.")]


class VirtualAccountView(msgspec.Struct, kw_only=True, rename="camel"):
    account_number: Annotated[str, Meta(description="The number to send to.")]
    bank_name: Annotated[str, Meta(description="The bank to choose.")]
    account_name: Annotated[str, Meta(description="The recipient's name that the payer's bank shows.")]
    expires_at: Annotated[Timestamp | None, Meta(description="Money that arrives later is returned.")]


class ActionType(DescribedEnum):
    TRANSFER = "transfer", "Send `amountExpected` to `virtualAccount`."
    PROMPT = "prompt", "Approve the prompt on the phone; wait."
    DIAL = "dial", "Dial `code` on the phone; wait."
    PIN = "pin", "Ask for the card's PIN and authorize with it."
    OTP = "otp", "Ask for the one-time code and authorize with it."
    ADDRESS = "address", "Ask for the billing address and authorize with it."
    REDIRECT = "redirect", "Send the payer to the bank's page at `url`."
    NONE = "none", "Nothing to do: the attempt has ended or is being processed."


class ActionView(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    type: Annotated[ActionType, Meta(description="The payer's next step.")]
    amount_expected: Annotated[Decimal | None, Meta(description="With `transfer`: the amount to send.")] = None
    virtual_account: Annotated[
        VirtualAccountView | None, Meta(description="With `transfer`: the account to send it to.")
    ] = None
    reference: Annotated[
        str | None, Meta(description="With `transfer`, where payments share the account: the narration to type.")
    ] = None
    code: Annotated[
        str | None, Meta(description="With `dial`: the code to dial. With `prompt`: what to dial if no prompt appears.")
    ] = None
    text: Annotated[str | None, Meta(description="With `prompt` and `otp`: what the bank or operator says.")] = None
    url: Annotated[
        str | None, Meta(description="With `redirect`: the page to open, the bank's or that of a hosted method.")
    ] = None


class AttemptView(msgspec.Struct, kw_only=True, rename="camel"):
    attempt_id: Annotated[str, Meta(description="Id of this attempt.")]
    type: Annotated[PaymentMethod, Meta(description="The payment method.")]
    status: StatusOfAttempt
    failure: Failure
    details: Annotated[dict[str, Any], Meta(description="Masked payment details, such as the last digits of a card.")]
    answers_left: AnswersLeft
    resends_left: ResendsLeft
    resend_from: ResendFrom
    action: Annotated[ActionView, Meta(description="What the payer does next.")]


class Charged(msgspec.Struct, kw_only=True, rename="camel"):
    """`status` is the payment's, `attemptStatus` the attempt's own."""

    attempt_id: Annotated[str, Meta(description="Id of this attempt.")]
    type: Annotated[PaymentMethod, Meta(description="The payment method.")]
    status: StatusOfPayment
    attempt_status: StatusOfAttempt
    failure: Failure
    answers_left: AnswersLeft
    resends_left: ResendsLeft
    resend_from: ResendFrom
    attempts_left: Annotated[int, Meta(description="New attempts left by this method; other methods have their own.")]
    open_payment_methods: OpenMethods
    action: Annotated[ActionView, Meta(description="What the payer does next.")]


class BankView(msgspec.Struct, kw_only=True, rename="camel", frozen=True):
    code: Annotated[str, Meta(description="The value for `bank` in a charge.")]
    name: Annotated[str, Meta(description="Name of the bank, to show.")]
    dial_prefix: Annotated[str, Meta(description="The prefix of the code to dial.")]


class OperatorView(msgspec.Struct, kw_only=True, frozen=True):
    id: Annotated[str, Meta(description="The value for `operator` in a charge.")]
    name: Annotated[str, Meta(description="Name of the operator, to show.")]


class CheckoutView(msgspec.Struct, kw_only=True, rename="camel"):
    pay_code: Annotated[str, Meta(description="The payment's pay code.")]
    reference: Annotated[str, Meta(description="The merchant's reference.")]
    business: Annotated[BusinessView, Meta(description="Who is paid.")]
    customer_name: Annotated[str, Meta(description="The customer's name, as the merchant gave it.")]
    amount: Annotated[Decimal, Meta(description="The merchant's amount, in major units, as all amounts here.")]
    amount_expected: Annotated[
        Decimal, Meta(description="What the payer pays: including the fee, when the customer bears it.")
    ]
    amount_received: Annotated[Decimal, Meta(description="Received so far; 0 before anything arrived.")]
    amount_remaining: Annotated[
        Decimal, Meta(description="Still to be paid; 0 once paid, also when less was accepted.")
    ]
    amount_returned: Annotated[Decimal, Meta(description="Returned to the payer, or being returned.")]
    amount_reversed: Annotated[Decimal, Meta(description="Reversed by the payer's bank, out of `amountReceived`.")]
    currency: Annotated[Currency, Meta(description="ISO 4217 code of the currency.")]
    status: StatusOfPayment
    ending: Annotated[Ending | None, Meta(description="Why it failed finally; null otherwise.")]
    variance_type: Annotated[
        Variance | None, Meta(description="Set when another amount than expected was accepted; otherwise null.")
    ]
    variance_policy: Annotated[VariancePolicy, Meta(description="What happens to an amount other than expected.")]
    payment_methods: Annotated[list[PaymentMethod], Meta(description="In the order of the page.")]
    default_payment_method: Annotated[PaymentMethod, Meta(description="What the page opens with.")]
    banks: Annotated[tuple[BankView, ...], Meta(description="Banks for USSD; empty where USSD is not offered.")]
    operators: Annotated[
        tuple[OperatorView, ...], Meta(description="Operators of mobile money; empty where it is not offered.")
    ]
    success_message: Annotated[str | None, Meta(description="To be shown after a success, as plain text.")]
    attempts_left: Annotated[
        int,
        Meta(
            description="By the method tried last, or else the default one. At 0 the other methods may be open: see "
            "`attemptsLeftByMethod`."
        ),
    ]
    attempts_left_by_method: Annotated[
        dict[str, int],
        Meta(description="New attempts left by each offered method; each has 5. A bank transfer stays open at 0."),
    ]
    open_payment_methods: OpenMethods
    hosted_payment_methods: Annotated[
        list[PaymentMethod], Meta(description="Of these, those paid on another page: a charge only redirects there.")
    ]
    is_disabled: Annotated[bool, Meta(description="The merchant has disabled the link: no new attempts.")]
    version: Annotated[int, Meta(description="Increases with every change; a page with a lower one is out of date.")]
    expires_at: Annotated[Timestamp, Meta(description="When the checkout expires.")]
    paid_at: Annotated[Timestamp | None, Meta(description="When it was paid; null before.")]
    attempt: Annotated[AttemptView | None, Meta(description="The newest attempt.")]


_BANKS = {
    currency: tuple(BankView(code=bank.code, name=bank.name, dial_prefix=f"*{bank.ussd}") for bank in banks)
    for currency, banks in USSD_BANKS.items()
}
_OPERATORS = {
    currency: tuple(OperatorView(id=operator.id, name=operator.name) for operator in row.operators)
    for currency, row in MOBILE_MONEY.items()
}


def card_data_elsewhere(value: Any) -> Iterator[Problem]:
    """A card number is allowed only in the card's own field."""
    return card_data.problems_in(value, but_not_in=("card.number", "phone"))


EXPIRED_CARD = "expired"


def expiry_passed(value: Any, *, now: datetime) -> Iterator[Problem]:
    """Checks the raw value, so that it is reported together with the card's other problems."""
    card = value.get("card")
    if not isinstance(card, dict):
        return
    try:
        month, year = ExpiryMonth.parse(card.get("expiryMonth")), ExpiryYear.parse(card.get("expiryYear"))
    except ValueError:
        return  # Reported by their own fields.
    if month_has_passed(month=month, year=year, now=now):
        is_year = month_has_passed(month=12, year=year, now=now)
        yield Problem("card.expiryYear" if is_year else "card.expiryMonth", "has passed", kind=EXPIRED_CARD)


def one_answer(value: Any) -> Iterator[Problem]:
    """Checks the raw value: an answer in the wrong form is still an answer."""
    given = [name for name in ("pin", "otp", "address") if value.get(name) is not None]
    if len(given) != 1:
        yield Problem("body", "must have exactly one of pin, otp and address")


def view_of(
    snapshot: PaymentSnapshot,
    names: MethodNames,
    offers: Mapping[Method, MethodOffer],
    *,
    can_resend: bool,
    checkout_url: str,
) -> CheckoutView:
    payment, attempt = snapshot.payment, snapshot.attempt
    order = payment.order
    open_now = open_methods(payment, offers)
    arrived = payment.received if payment.paid_at else payment.held
    remaining = payment.expected - arrived
    return CheckoutView(
        pay_code=payment.pay_code,
        reference=payment.reference,
        business=business_view(snapshot.business, checkout_url=checkout_url),
        customer_name=order.customer.name,
        amount=order.asked.major,
        amount_expected=payment.expected.major,
        amount_received=arrived.major,
        amount_remaining=remaining.major if remaining.minor > 0 and not payment.paid_at else Decimal(0),
        amount_returned=payment.returned.major,
        amount_reversed=payment.reversed.major,
        currency=order.asked.currency,
        status=payment.status,
        ending=payment.ending,
        variance_type=payment.variance,
        variance_policy=VariancePolicy(snapshot.business.variance_policy),
        payment_methods=names.in_records(order.methods),
        default_payment_method=names.in_record(order.default_method),
        banks=tuple(b for b in _listed(_BANKS, order, Method.USSD) if _is_taken(offers, Method.USSD, b.code)),
        operators=tuple(
            one
            for one in _listed(_OPERATORS, order, Method.MOBILE_MONEY)
            if _is_taken(offers, Method.MOBILE_MONEY, one.id)
        ),
        success_message=order.success_message,
        attempts_left=attempts_left(payment, attempt.method if attempt else order.default_method),
        attempts_left_by_method={names.in_record(method): attempts_left(payment, method) for method in order.methods},
        open_payment_methods=names.in_records(open_now),
        hosted_payment_methods=names.in_records(m for m in open_now if offers[m].is_hosted),
        is_disabled=payment.is_disabled,
        version=payment.version,
        expires_at=to_iso(payment.expires_at),
        paid_at=_iso(payment.paid_at),
        attempt=attempt_view(snapshot, names, can_resend=can_resend) if attempt else None,
    )


def open_methods(payment: Payment, offers: Mapping[Method, MethodOffer]) -> tuple[Method, ...]:
    return () if is_final(payment.status) else tuple(method for method in methods_left(payment) if method in offers)


def _listed(by_currency: Mapping[Currency, tuple[T, ...]], order: PaymentOrder, method: Method) -> tuple[T, ...]:
    return by_currency.get(order.asked.currency, ()) if method in order.methods else ()


def _is_taken(offers: Mapping[Method, MethodOffer], method: Method, choice: str) -> bool:
    choices = offers[method].choices if method in offers else None
    return choices is None or choice in choices


def business_view(business: Business, *, checkout_url: str) -> BusinessView:
    return BusinessView(
        name=business.name,
        logo_url=logo_url(business, checkout_url=checkout_url),
        accent_colour=business.brand.accent,
        support=support_view(business.support),
    )


def attempt_view(snapshot: PaymentSnapshot, names: MethodNames, *, can_resend: bool) -> AttemptView:
    attempt = snapshot.attempt
    assert attempt is not None
    is_asked = attempt.is_open and isinstance(attempt.action, PinAction | OtpAction | AddressAction | RedirectAction)
    return AttemptView(
        attempt_id=attempt.reference,
        type=names.in_record(attempt.method),
        status=attempt.status,
        failure=attempt.failure,
        details=attempt.details,
        answers_left=attempt.answers_left if is_asked else None,
        resends_left=attempt.resends_left if can_resend else None,
        resend_from=_iso(attempt.resend_from) if can_resend else None,
        action=_action_view(snapshot.payment, attempt),
    )


def _action_view(payment: Payment, attempt: Attempt) -> ActionView:
    action = attempt.action
    if action is None or not attempt.is_open or is_final(payment.status):
        return ActionView(type=ActionType.NONE)
    kind = type(action).__struct_config__.tag
    view = ActionView(type=ActionType(str(kind)))
    if isinstance(action, TransferAction):
        # What is left to send, when part of it has arrived.
        view.amount_expected = (attempt.expected - payment.held).major
        view.virtual_account = VirtualAccountView(
            account_number=action.account_number,
            bank_name=action.bank_name,
            account_name=action.account_name,
            expires_at=_iso(attempt.expires_at),
        )
        view.reference = action.reference
    elif isinstance(action, PromptAction):
        view.text, view.code = action.text, action.dial
    elif isinstance(action, OtpAction):
        view.text = action.text
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
