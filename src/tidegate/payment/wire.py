"""Payments as JSON, in and out: the only module with the wire's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.core import ids
from tidegate.core.errors import Invalid, Malformed, Problem
from tidegate.core.fee import FeeBearer, FeeOnRefund, fee_on, fee_within
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import CHECKOUT_OFFERS, Currency, Money, major_of
from tidegate.core.public_id import PublicIds
from tidegate.infra.http import strict_json
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.infra.timestamp import to_iso
from tidegate.merchant import card_data
from tidegate.merchant.field import METADATA_MEANING, CustomerName, EmailAddress, Metadata, PhoneNumber, Reference
from tidegate.merchant.model import Business
from tidegate.payment.method_field import ChosenMethod, OfferedMethods, PaymentMethod, RequestedMethod
from tidegate.payment.model import Customer, PaymentOrder, PaymentStatus
from tidegate.payment.redirect import RedirectUrl
from tidegate.payment.row import PaymentRow
from tidegate.payment.variance import Variance
from tidegate.rail.event import DisputeStatus

SUCCESS_MESSAGE_LENGTH_MAX = 5_000

if TYPE_CHECKING:
    CheckoutCurrency = str
else:
    CheckoutCurrency = Annotated[
        Literal[tuple(currency.value for currency in CHECKOUT_OFFERS)],
        meanings({currency.value: currency.meaning for currency in CHECKOUT_OFFERS}),
    ]

_AT_MOST = f"At most {', '.join(f'{offer.max_major:,} {currency}' for currency, offer in CHECKOUT_OFFERS.items())}."


class CustomerFields(msgspec.Struct, kw_only=True, rename="camel"):
    name: Annotated[CustomerName, Meta(description="The customer's name; shown on the page and the receipt.")]
    email: Annotated[EmailAddress, Meta(description="The customer's e-mail address.")]
    phone_number: Annotated[PhoneNumber | None, Meta(description="With country code, such as +2348012345678.")] = None


class CreatePayment(msgspec.Struct, kw_only=True, rename="camel"):
    amount: Annotated[int, Meta(ge=1, description=f"In major units, a whole number. {_AT_MOST}")]
    currency: Annotated[CheckoutCurrency, Meta(description="What you charge in; decides which methods can be offered.")]
    customer: Annotated[
        CustomerFields, Meta(description="An object; the same object as a JSON string is accepted too.")
    ]
    fee_bearer: (
        Annotated[
            FeeBearer, Meta(description="Who pays the fee. By default what your business has set: at first, it does.")
        ]
        | UnsetType
    ) = UNSET
    reference: Annotated[
        Reference | None, Meta(description="Yours, unique per business, never reusable; the pay code when absent.")
    ] = None
    redirect_url: Annotated[
        RedirectUrl | None,
        Meta(description="Where the customer returns to after the payment, with `?reference=…` added."),
    ] = None
    metadata: Annotated[Metadata | None, Meta(description=METADATA_MEANING)] = None
    success_message: Annotated[
        Annotated[str, Meta(max_length=SUCCESS_MESSAGE_LENGTH_MAX)] | None,
        Meta(description="Shown to the customer after a successful payment, as plain text."),
    ] = None
    settlement_destination: Annotated[
        Annotated[Literal["wallet"], meanings({"wallet": "Your wallet here."})] | None,
        Meta(description="The only destination: your wallet."),
    ] = None
    payment_methods: OfferedMethods = None
    default_payment_method: Annotated[
        RequestedMethod | None,
        Meta(description="The one that the page opens with, in any letter case. The first offered when absent."),
    ] = None


class QuoteFees(msgspec.Struct, kw_only=True, rename="camel"):
    currency: Annotated[CheckoutCurrency, Meta(description="What you would charge in.")]
    type: Annotated[ChosenMethod, Meta(description="The payment method, in any letter case.")]
    amount: Annotated[int, Meta(ge=1, description=f"In major units, a whole number. {_AT_MOST}")]


class FeesQuoted(msgspec.Struct, kw_only=True, rename="camel"):
    """What each side pays and receives, for either fee bearer."""

    currency: Annotated[Currency, Meta(description="ISO 4217 code of the currency.")]
    type: Annotated[PaymentMethod, Meta(description="The payment method.")]
    amount: Annotated[Decimal, Meta(description="The amount asked about, in major units.")]
    fee: Annotated[Decimal, Meta(description="Our fee, without VAT.")]
    vat: Annotated[Decimal, Meta(description="VAT on the fee.")]
    total: Annotated[Decimal, Meta(description="Fee and VAT together.")]
    amount_expected_from_customer: Annotated[
        Decimal, Meta(description="What the customer pays when the customer bears the fee.")
    ]
    amount_to_settle_when_business_bears: Annotated[
        Decimal, Meta(description="What you receive when you bear the fee.")
    ]
    fee_rule: Annotated[str, Meta(description="Id of the rule that gave this price.")]
    fee_on_refund: Annotated[FeeOnRefund, Meta(description="Whether a refund returns your share of the fee.")]


class Created(msgspec.Struct, kw_only=True, rename="camel"):
    link: Annotated[str, Meta(description="Address of the hosted checkout page. Send the customer there.")]
    pay_code: Annotated[str, Meta(description="Our name of the payment.")]
    reference: Annotated[str, Meta(description="Your reference; the pay code when you gave none.")]


class CustomerRecord(msgspec.Struct, kw_only=True, rename="camel"):
    name: Annotated[str, Meta(description="The customer's name.")]
    email: Annotated[str, Meta(description="The customer's e-mail address.")]
    phone_number: Annotated[str, Meta(description="Empty when none was given.")]


class PaymentRecord(msgspec.Struct, kw_only=True, rename="camel"):
    """Table 2.4 of the specification. `reference` is Tidegate's pay code, `merchantReference` the merchant's."""

    id: Annotated[int, Meta(description="Unique, below 2^53, not in order of creation.")]
    business_id: Annotated[str, Meta(description="Your business's id.")]
    payment_link_id: Annotated[
        str | None, Meta(description="The payment link that it was made by; null for a payment that you created.")
    ]
    amount: Annotated[Decimal, Meta(description="What you asked for, in major units, as all amounts here.")]
    currency: Annotated[Currency, Meta(description="ISO 4217 code of the currency.")]
    converted_amount: Annotated[Decimal, Meta(description="The same as `amount`; checkout payments are not converted.")]
    amount_received: Annotated[Decimal, Meta(description="Received so far; 0 before anything arrived.")]
    converted_currency: Annotated[Currency, Meta(description="The same as `currency`.")]
    payment_methods: Annotated[
        list[PaymentMethod], Meta(description="Methods offered to the customer, in the order of the page.")
    ]
    default_payment_method: Annotated[PaymentMethod, Meta(description="The method that the page opens with.")]
    redirect_url: Annotated[str | None, Meta(description="Where the customer returns to; null when you gave none.")]
    custom_url: Annotated[str | None, Meta(description="Always null; kept for clients of the published interface.")]
    success_message: Annotated[
        str | None, Meta(description="Your text shown after a success; null when you gave none.")
    ]
    settlement_destination: Annotated[str, Meta(description="Always `wallet`.")]
    settlement_time: Annotated[str, Meta(description="Always `instant`: credited with the success.")]
    fee_bearer: Annotated[FeeBearer, Meta(description="Who pays our fee.")]
    reference: Annotated[str, Meta(description="The pay code, our name of the payment.")]
    merchant_reference: Annotated[str, Meta(description="Your reference; the pay code when you gave none.")]
    is_disabled: Annotated[bool, Meta(description="Whether you disabled the link: no new attempts.")]
    metadata: Annotated[
        msgspec.Raw,
        Meta(description="Your JSON, as sent; null without.", extra_json_schema={"type": ["object", "null"]}),
    ]
    status: Annotated[
        PaymentStatus,
        Meta(description="Where the payment stands. Deliver on `success`; check `varianceType`."),
    ]
    variance_type: Annotated[
        Variance | None, Meta(description="Set when another amount than expected was accepted; otherwise null.")
    ]
    created_at: Annotated[Timestamp, Meta(description="Time of creation.")]
    updated_at: Annotated[Timestamp, Meta(description="Time of the last change.")]
    customer: Annotated[CustomerRecord, Meta(description="The customer, as you gave it.")]
    amount_expected: Annotated[
        Decimal,
        Meta(description="What the customer was asked to pay: `amount`, plus the fee when the customer bears it."),
    ]
    amount_refunded: Annotated[Decimal, Meta(description="Refunded by you, in progress or paid out.")]
    is_reversed: Annotated[bool, Meta(description="Whether the customer's bank reversed the money or part of it.")]
    amount_reversed: Annotated[Decimal, Meta(description="Reversed by the bank, out of `amountReceived`.")]
    dispute_status: Annotated[
        DisputeStatus | None,
        Meta(description="Set when the customer disputes the payment with the bank; otherwise null."),
    ]
    message: Annotated[
        str | None, Meta(description="`INCORRECT_AMOUNT` or `PAYMENT_REVERSED` when you have to act; otherwise null.")
    ]
    action_required: Annotated[
        str | None, Meta(description="What to do about `message`, in words; null when there is nothing to do.")
    ]


def quote_from(request: QuoteFees, business: Business, names: MethodNames) -> FeesQuoted:
    currency = Currency(request.currency)
    problems = tuple(_name_problems("type", request.type, currency, names, currency.spec.methods))
    if problems:
        raise Invalid(*problems)
    method = names.find(request.type)
    assert method is not None  # Otherwise there would be a problem above.
    rule = business.fee_rule_for(currency, method)
    asked = Money.of_major(request.amount, currency)
    fee = fee_on(asked, rule)
    return FeesQuoted(
        currency=currency,
        type=names.in_record(method),
        amount=asked.major,
        fee=fee.fee.major,
        vat=fee.vat.major,
        total=fee.total.major,
        amount_expected_from_customer=(asked + fee.total).major,
        amount_to_settle_when_business_bears=(asked - fee_within(asked, fee).total).major,
        fee_rule=rule.id,
        fee_on_refund=rule.on_refund,
    )


def unfold_customer(value: Any) -> Any:
    """The specification declares `customer` a string that carries an object; both forms are accepted."""
    if isinstance(value, dict) and isinstance(value.get("customer"), str):
        try:
            return {**value, "customer": strict_json.loads(value["customer"].encode())}
        except (Invalid, Malformed):
            return value
    return value


# The methods that can be paid by in a currency: here, and at the rails of this deployment.
MethodsTaken = Callable[[Currency], tuple[Method, ...]]


def all_methods(currency: Currency) -> tuple[Method, ...]:
    return currency.spec.methods


def problems_between(
    fields: Mapping[str, Any], *, value: Any, business: Business, names: MethodNames, mode: ids.Mode,
    taken: MethodsTaken = all_methods,
) -> Iterator[Problem]:  # fmt: skip
    """Checks across fields. `value` is given when it may hold a card number."""
    currency = Currency(fields["currency"]) if "currency" in fields else None
    yield from amount_problems(fields)
    yield from _method_problems(fields, currency, names, taken)
    if fields.get("redirect_url"):
        yield from _redirect_problems(fields["redirect_url"], business, mode)
    if value is not None:
        yield from card_data.problems_in(value, but_not_in=("customer.phoneNumber", "reference"))


def amount_problems(fields: Mapping[str, Any]) -> Iterator[Problem]:
    """Without a currency there is no limit to check."""
    if "currency" not in fields:
        return
    currency = Currency(fields["currency"])
    most = CHECKOUT_OFFERS[currency].max_major
    if fields.get("amount", 0) > most:
        yield Problem("amount", f"must be at most {most} in {currency}")


def _method_problems(
    fields: Mapping[str, Any], currency: Currency | None, names: MethodNames, taken: MethodsTaken
) -> Iterator[Problem]:
    listed = fields.get("payment_methods")
    possible = offered = taken(currency) if currency else tuple(Method)
    if not possible:
        yield Problem("currency", "is not taken by any rail of this deployment", Invalid.METHOD_NOT_SUPPORTED)
        return
    if listed is not None:
        for index, name in enumerate(listed):
            yield from _name_problems(f"paymentMethods[{index}]", name, currency, names, possible)
        offered = methods_named(listed, names)
    default = fields.get("default_payment_method")
    if default is not None:
        unsupported = tuple(_name_problems("defaultPaymentMethod", default, currency, names, possible))
        yield from unsupported
        if not unsupported and names.find(default) not in offered:
            yield Problem("defaultPaymentMethod", "must be one of paymentMethods")


def _name_problems(
    field: str, name: str, currency: Currency | None, names: MethodNames, offered: tuple[Method, ...]
) -> Iterator[Problem]:
    method = names.find(name)
    if method is None:
        yield Problem(field, f"must be one of {', '.join(names.in_requests(Method))}")
    elif currency is not None and method not in offered:
        choice = ", ".join(names.in_requests(offered))
        yield Problem(field, f"is not offered in {currency}; choose from {choice}", Invalid.METHOD_NOT_SUPPORTED)


def methods_named(listed: list[str], names: MethodNames) -> tuple[Method, ...]:
    """In the given order, without duplicates."""
    return tuple(dict.fromkeys(method for name in listed if (method := names.find(name))))


def _redirect_problems(url: RedirectUrl, business: Business, mode: ids.Mode) -> Iterator[Problem]:
    if problem := url.problem_in(mode):
        yield Problem("redirectUrl", problem)
    if business.redirect_hosts and url.host not in business.redirect_hosts:
        yield Problem(
            "redirectUrl", "must have a host on the business's list of redirect hosts", "REDIRECT_HOST_NOT_ALLOWED"
        )


def order_from(
    request: CreatePayment, business: Business, names: MethodNames, taken: MethodsTaken = all_methods
) -> PaymentOrder:
    currency = Currency(request.currency)
    listed = request.payment_methods
    methods = taken(currency) if listed is None else methods_named(listed, names)
    default = names.find(request.default_payment_method) if request.default_payment_method else None
    customer = request.customer
    return PaymentOrder(
        reference=_plain(request.reference),
        asked=Money.of_major(request.amount, currency),
        fee_bearer=business.fee_bearer if request.fee_bearer is UNSET else request.fee_bearer,
        methods=methods,
        default_method=default or methods[0],
        customer=Customer(str(customer.name), str(customer.email), _plain(customer.phone_number)),
        redirect_url=_plain(request.redirect_url),
        success_message=request.success_message,
        metadata=_plain(request.metadata),
    )


def _plain(text: str | None) -> str | None:
    """Validated above; from here on it is plain text."""
    return str(text) if text else None


VARIANCE_MESSAGE = "INCORRECT_AMOUNT"
REVERSED_MESSAGE = "PAYMENT_REVERSED"
_REVERSED_ACTION = (
    "The bank reversed the customer's transfer, and the amount was taken from your wallet or is owed by it. Do not "
    "deliver, or ask the customer to pay again with a new payment."
)
_VARIANCE_ACTION = {
    Variance.UNDERPAYMENT: "The customer paid less than expected. Process a refund through the dashboard or the "
    "refund operation, or deliver what was paid for.",
    Variance.OVERPAYMENT: "The customer paid more than expected. Process a refund of the excess through the "
    "dashboard or the refund operation.",
}


def record_of(row: PaymentRow, names: MethodNames, public_ids: PublicIds) -> PaymentRecord:
    currency = row.currency
    amount = major_of(row.asked_minor, currency)
    return PaymentRecord(
        id=public_ids.payment.hide(row.id),
        business_id=row.business_id,
        payment_link_id=row.payment_link_id,
        amount=amount,
        currency=currency,
        converted_amount=amount,
        # Part payments that wait for the rest count as received.
        amount_received=major_of(row.received_minor if row.paid_at else row.held_minor, currency),
        converted_currency=currency,
        payment_methods=names.in_records(row.methods),
        default_payment_method=names.in_record(row.default_method),
        redirect_url=row.redirect_url,
        custom_url=None,
        success_message=row.success_message,
        settlement_destination="wallet",
        settlement_time="instant",
        fee_bearer=row.fee_bearer,
        reference=row.pay_code,
        merchant_reference=row.reference,
        is_disabled=row.is_disabled,
        metadata=row.metadata,
        status=row.status,
        variance_type=row.variance,
        created_at=to_iso(row.created_at),
        updated_at=to_iso(row.updated_at),
        customer=CustomerRecord(
            name=row.customer_name, email=row.customer_email, phone_number=row.customer_phone or ""
        ),
        amount_expected=major_of(row.expected_minor, currency),
        amount_refunded=major_of(row.refunded_minor, currency),
        is_reversed=row.reversed_minor > 0,
        amount_reversed=major_of(row.reversed_minor, currency),
        dispute_status=row.dispute_status,
        message=_message(row),
        action_required=_action_required(row),
    )


def _message(row: PaymentRow) -> str | None:
    if row.reversed_minor:
        return REVERSED_MESSAGE
    return VARIANCE_MESSAGE if row.variance else None


def _action_required(row: PaymentRow) -> str | None:
    """Set until done: the excess refunded, or all of an underpayment."""
    if row.reversed_minor:
        return _REVERSED_ACTION
    if row.variance is None:
        return None
    excess_minor = row.received_minor - row.expected_minor
    wanted_minor = excess_minor if row.variance is Variance.OVERPAYMENT else row.received_minor
    return None if wanted_minor <= row.refunded_minor else _VARIANCE_ACTION[row.variance]
