"""A business as JSON, for the merchant itself. Contains no secret."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from tidegate.core.fee import FeeBearer
from tidegate.core.ids import Mode
from tidegate.infra.http.operation import Timestamp
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.model import Business, BusinessStatus, NamePolicy, Support


class SupportView(msgspec.Struct):
    email: Annotated[str | None, Meta(description="E-mail address for payers; null without one.")]
    phone: Annotated[str | None, Meta(description="In international form, such as +2348012345678.")]
    url: Annotated[str | None, Meta(description="Help page for payers; null without one.")]


class BusinessName(msgspec.Struct):
    id: Annotated[str, Meta(description="Id of the business.")]
    name: Annotated[str, Meta(description="The name that payers see.")]


class BusinessRecord(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[str, Meta(description="The value of `x-business-id` and `business`.")]
    business: Annotated[
        BusinessName,
        Meta(description="Id and name once more, where code for other providers of this interface reads them."),
    ]
    name: Annotated[str, Meta(description="The name that payers see.")]
    email: Annotated[str, Meta(description="The business's e-mail address.")]
    status: Annotated[BusinessStatus, Meta(description="Whether its keys work.")]
    mode: Annotated[Mode, Meta(description="`live` moves real money, `sandbox` does not.")]
    rate_per_second: Annotated[int, Meta(description="Requests a second; more are refused with 429.")]
    rate_burst: Annotated[int, Meta(description="Requests that may arrive at once.")]
    session_minutes: Annotated[int, Meta(description="Minutes that a checkout stays open.")]
    variance_policy: Annotated[
        str, Meta(description="Treatment of an amount other than expected: `accept`, `top_up` or `return`.")
    ]
    variance_tolerance_minor: Annotated[
        int, Meta(description="A difference up to this amount, in minor units, counts as exact.")
    ]
    inflow_name_policy: Annotated[
        NamePolicy, Meta(description="Treatment of an inflow whose typed name is only close to the account holder's.")
    ]
    redirect_hosts: Annotated[list[str], Meta(description="Hosts that `redirectUrl` may have; any host when empty.")]
    checkout_origins: Annotated[
        list[str],
        Meta(description="Origins whose pages may open the checkout in a dialog, such as `https://shop.example.com`."),
    ]
    receipts_by_mail: Annotated[
        bool,
        Meta(description="Whether customers are sent the receipt of a successful payment, and of a refund, by e-mail."),
    ]
    fee_bearer: Annotated[
        FeeBearer, Meta(description="Who pays the fee of a payment or a payment link that does not say it.")
    ]
    accent_colour: Annotated[str | None, Meta(description="Accent colour of the payer's pages, such as `#0f7b6c`.")]
    logo_url: Annotated[str | None, Meta(description="The logo on the payer's pages.")]
    support: Annotated[SupportView, Meta(description="Contacts for payers.")]
    created_at: Annotated[Timestamp, Meta(description="Time of creation.")]


def record_of(business: Business, *, mode: Mode, checkout_url: str) -> BusinessRecord:
    return BusinessRecord(
        id=business.id,
        business=BusinessName(business.id, business.name),
        name=business.name,
        email=business.email,
        status=business.status,
        mode=mode,
        rate_per_second=business.rate_per_second,
        rate_burst=business.rate_burst,
        session_minutes=business.session_minutes,
        variance_policy=business.variance_policy,
        variance_tolerance_minor=business.variance_tolerance_minor,
        inflow_name_policy=business.inflow_name_policy,
        redirect_hosts=list(business.redirect_hosts),
        checkout_origins=list(business.checkout_origins),
        receipts_by_mail=business.receipts_by_mail,
        fee_bearer=business.fee_bearer,
        accent_colour=business.brand.accent,
        logo_url=logo_url(business, checkout_url=checkout_url),
        support=support_view(business.support),
        created_at=to_iso(business.created_at),
    )


def logo_url(business: Business, *, checkout_url: str) -> str | None:
    logo_hash = business.brand.logo_hash
    return f"{checkout_url}/logo/{business.code}/{logo_hash}" if logo_hash else None


def support_view(support: Support) -> SupportView:
    return SupportView(email=support.email, phone=support.phone, url=support.url)
