"""What comes in and what goes out, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, EmailStr, Field
from pydantic.alias_generators import to_camel

AMOUNT_MAX = 10_000_000


class Schema(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Customer(Schema):
    name: Annotated[str, Field(min_length=1, max_length=255)]
    email: EmailStr
    phone_number: Annotated[str, Field(pattern=r"^\+[1-9][0-9]{6,14}$")] | None = None


class CreatePayment(Schema):
    amount: Annotated[int, Field(strict=True, ge=1, le=AMOUNT_MAX)]
    currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW"]
    customer: Customer
    fee_bearer: Literal["business", "customer"] = "business"
    reference: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._:-]+$")] | None = None
    redirect_url: AnyHttpUrl | None = None
    metadata: dict[str, Any] | None = None
    success_message: Annotated[str, Field(max_length=5_000)] | None = None
    settlement_destination: Literal["wallet"] | None = None
    payment_methods: Annotated[list[str], Field(min_length=1, max_length=16)] | None = None
    default_payment_method: str | None = None


class Created(Schema):
    link: str
    pay_code: str
    reference: str


class Envelope(Schema):
    status: bool = True
    message: str
    data: Created
