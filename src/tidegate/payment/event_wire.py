"""Payloads of checkout events as they are sent: the only module with their JSON names."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.core.fee import FeeBearer
from tidegate.core.money import Currency
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.payment.method_field import PaymentMethod
from tidegate.payment.model import PaymentStatus
from tidegate.payment.variance import Variance
from tidegate.payment.wire import CustomerRecord
from tidegate.rail.event import DisputeStatus
from tidegate.webhook.model import MEANING_OF_EVENT

EventKind = Annotated[
    Literal["charge"], meanings({"charge": "A payment by the checkout."}), Meta(description="Kind of event.")
]


class ChargeAuthorization(msgspec.Struct, kw_only=True):
    mode: Annotated[str | None, Meta(description="Always null: the charge is complete.")] = None
    redirect: Annotated[str | None, Meta(description="Always null: the charge is complete.")] = None
    metadata: Annotated[dict[str, Any] | None, Meta(description="Always null: the charge is complete.")] = None


class PaidAccount(msgspec.Struct, kw_only=True, rename="camel"):
    """Of a bank transfer."""

    id: Annotated[str | None, Meta(description="Id of the temporary account.")]
    bank_name: Annotated[str, Meta(description="Bank of the temporary account.")]
    bank_code: Annotated[str, Meta(description="Code of that bank.")]
    account_name: Annotated[str, Meta(description="Name on the temporary account.")]
    account_number: Annotated[str | None, Meta(description="Number of the temporary account.")]
    session_id: Annotated[str, Meta(description="The bank's reference of the transfer.")]
    channel_name: Annotated[str, Meta(description="The rail that the money came by.")]
    payer_account_number: Annotated[str, Meta(description="The payer's account number; empty when not given.")]
    payer_account_name: Annotated[str, Meta(description="The payer's name; empty when not given.")]
    payer_bank_name: Annotated[str, Meta(description="The payer's bank; empty when not given.")]
    payer_bank_code: Annotated[str | None, Meta(description="Code of the payer's bank; null when not given.")]
    expires_at: Annotated[str, Meta(description="When the account closes; empty when it does not.")]
    business: Annotated[str, Meta(description="Your business's id.")]


class ChargeData(msgspec.Struct, kw_only=True, rename="camel"):
    """Carries both published sets of field names."""

    id: Annotated[int, Meta(description="Number of the payment; unique, below 2^53.")]
    authorization: Annotated[ChargeAuthorization, Meta(description="Kept for clients of the published interface.")]
    auth_model: Annotated[
        str | None, Meta(description="How the charge was authorized, where the rail tells it; otherwise null.")
    ] = msgspec.field(name="auth_model")
    amount: Annotated[Decimal, Meta(description="What the customer paid, in major units.")]
    amount_received: Annotated[Decimal, Meta(description="The same as `amount`.")]
    amount_expected: Annotated[Decimal, Meta(description="What the customer was asked to pay.")]
    amount_to_settle: Annotated[Decimal, Meta(description="What your wallet was credited, after fee and VAT.")]
    currency: Annotated[Currency, Meta(description="ISO 4217 code of the currency.")]
    fee: Annotated[Decimal, Meta(description="Our fee, without VAT.")]
    vat: Annotated[Decimal, Meta(description="VAT on the fee.")]
    fee_bearer: Annotated[FeeBearer, Meta(description="Who paid our fee.")]
    message: Annotated[
        str, Meta(description="`Payment successful`, `INCORRECT_AMOUNT` with a variance, or `PAYMENT_REVERSED`.")
    ]
    variance_type: Annotated[
        Variance | None, Meta(description="Set when another amount than expected arrived; otherwise null.")
    ]
    status: Annotated[PaymentStatus, Meta(description="Status of the payment; `success`.")]
    reference: Annotated[str, Meta(description="The pay code, our name of the payment.")]
    transaction_reference: Annotated[str, Meta(description="The same as `reference`.")]
    merchant_reference: Annotated[str, Meta(description="Your reference of the payment.")]
    payment_reference: Annotated[str, Meta(description="The same as `merchantReference`.")]
    charge_reference: Annotated[str, Meta(description="Id of the attempt that was paid.")]
    description: Annotated[str, Meta(description="The payment in words.")]
    type: Annotated[PaymentMethod, Meta(description="The payment method.")]
    method: Annotated[PaymentMethod, Meta(description="The same as `type`.")]
    customer: Annotated[CustomerRecord, Meta(description="The customer, as you gave it.")]
    metadata: Annotated[
        msgspec.Raw, Meta(description="Your JSON, as sent; `{}` without.", extra_json_schema={"type": "object"})
    ]
    settlement_destination: Annotated[str, Meta(description="Always `wallet`.")] = "wallet"
    created_at: Annotated[Timestamp, Meta(description="When the payment was created.")]
    updated_at: Annotated[Timestamp, Meta(description="When the event happened.")]


class PaidChargeData(ChargeData, kw_only=True, rename="camel"):
    virtual_account: Annotated[
        PaidAccount | UnsetType, Meta(description="The account and the payer; only with a bank transfer.")
    ] = UNSET


class Reversal(msgspec.Struct, kw_only=True, rename="camel"):
    session_id: Annotated[str, Meta(description="The bank's reference of the transfer.")]
    amount: Annotated[Decimal, Meta(description="What the bank took back of this transfer.")]
    reason: Annotated[str, Meta(description="The bank's reason.")]
    created_at: Annotated[Timestamp, Meta(description="When the rail reported it to us.")]


class ReversedChargeData(ChargeData, kw_only=True, rename="camel"):
    is_reversed: Annotated[bool, Meta(description="Always true.")] = True
    amount_reversed: Annotated[Decimal, Meta(description="What was taken back of the payment in all.")]
    reversal: Annotated[Reversal, Meta(description="What was taken back this time.")]


class DisputeData(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[str, Meta(description="The rail's number of the dispute.")]
    status: Annotated[DisputeStatus, Meta(description="Where the dispute stands.")]
    session_id: Annotated[str, Meta(description="The rail's reference of the payment that is disputed.")]
    amount: Annotated[Decimal, Meta(description="What is disputed of the payment.")]
    reason: Annotated[str, Meta(description="In the rail's words.")]
    due_at: Annotated[
        Timestamp | None, Meta(description="Until when the operator takes evidence; null when the rail gives none.")
    ]


class DisputedChargeData(ChargeData, kw_only=True, rename="camel"):
    dispute: Annotated[
        DisputeData, Meta(description="What the payer's bank disputes, and until when it can be answered.")
    ]


class ChargeSuccessful(msgspec.Struct, kw_only=True):
    event: Annotated[
        Literal["charge.successful"],
        meanings({"charge.successful": MEANING_OF_EVENT["charge.successful"]}),
        Meta(description="Name of the event."),
    ] = "charge.successful"
    type: EventKind = "charge"
    data: Annotated[PaidChargeData, Meta(description="The payment.")]


class ChargeDisputed(msgspec.Struct, kw_only=True):
    event: Annotated[
        Literal["charge.disputed"],
        meanings({"charge.disputed": MEANING_OF_EVENT["charge.disputed"]}),
        Meta(description="Name of the event."),
    ] = "charge.disputed"
    type: EventKind = "charge"
    data: Annotated[DisputedChargeData, Meta(description="The payment.")]


class ChargeReversed(msgspec.Struct, kw_only=True):
    event: Annotated[
        Literal["charge.reversed"],
        meanings({"charge.reversed": MEANING_OF_EVENT["charge.reversed"]}),
        Meta(description="Name of the event."),
    ] = "charge.reversed"
    type: EventKind = "charge"
    data: Annotated[ReversedChargeData, Meta(description="The payment.")]
