"""Payloads of inflow events as they are sent: the only module with their JSON names."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tidegate.collection.model import CollectionStatus
from tidegate.collection.reason import InflowReason
from tidegate.core.money import Currency
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.webhook.model import MEANING_OF_EVENT


class InflowData(msgspec.Struct, kw_only=True, rename="camel"):
    business: Annotated[str, Meta(description="Your business's id.")]
    virtual_account: Annotated[str, Meta(description="The `_id` of the virtual account.")]
    sender_address: Annotated[str, Meta(description="The sender's account number; empty when not given.")]
    sender_bank: Annotated[str, Meta(description="The sender's bank; empty when not given.")]
    source_currency: Annotated[Currency, Meta(description="Currency that arrived.")]
    destination_currency: Annotated[Currency, Meta(description="Currency of the wallet.")]
    source_amount: Annotated[Decimal, Meta(description="The amount that arrived, in major units.")]
    description: Annotated[str, Meta(description="The payer's remittance text, or a default.")]
    customer_name: Annotated[str, Meta(description="The sender's name; empty when not given.")]
    status: Annotated[CollectionStatus, Meta(description="Where the inflow stands.")]
    initiated_at: Annotated[Timestamp, Meta(description="From when on the bank counts the money: its value date.")]
    created_at: Annotated[Timestamp, Meta(description="When the rail reported it to us.")]
    updated_at: Annotated[Timestamp, Meta(description="Time of the last change.")]
    reference: Annotated[str, Meta(description="Our reference of the inflow.")]
    merchant_reference: Annotated[
        str | None, Meta(description="Your reference of the virtual account; null without one.")
    ]
    payment_scheme: Annotated[str, Meta(description="How the money came, such as `sepa` or `ach`.")]


class CreditedInflowData(InflowData, kw_only=True, rename="camel"):
    destination_amount: Annotated[Decimal, Meta(description="The same amount in the wallet's currency, before fees.")]
    amount_received: Annotated[Decimal, Meta(description="What your wallet was credited, after fee and VAT.")]
    fee: Annotated[Decimal, Meta(description="Our fee, without VAT.")]
    vat: Annotated[Decimal, Meta(description="VAT on the fee.")]
    exchange_rate: Annotated[
        Decimal | None, Meta(description="One unit of the source currency in the wallet's; null when not converted.")
    ]
    settlement_destination: Annotated[str, Meta(description="Always `wallet`.")] = "wallet"


class ReturnedInflowData(InflowData, kw_only=True, rename="camel"):
    reason: Annotated[str, Meta(description="Why it went back, in words.")]
    reason_code: Annotated[InflowReason, Meta(description="Why it went back.")]
    return_reference: Annotated[
        str | None, Meta(description="The bank's reference of the return; null when the bank took it back.")
    ]
    returned_at: Annotated[Timestamp, Meta(description="When the return was confirmed.")]


class CollectionSuccessful(msgspec.Struct, kw_only=True):
    event: Annotated[
        Literal["collection.successful"],
        meanings({"collection.successful": MEANING_OF_EVENT["collection.successful"]}),
        Meta(description="Name of the event."),
    ] = "collection.successful"
    data: Annotated[CreditedInflowData, Meta(description="The inflow.")]


class CollectionReturned(msgspec.Struct, kw_only=True):
    event: Annotated[
        Literal["collection.returned"],
        meanings({"collection.returned": MEANING_OF_EVENT["collection.returned"]}),
        Meta(description="Name of the event."),
    ] = "collection.returned"
    data: Annotated[ReturnedInflowData, Meta(description="The inflow.")]
