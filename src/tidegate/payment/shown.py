"""What a merchant is shown of a payment."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Shown(msgspec.Struct, frozen=True, array_like=True):
    """The columns of its row that a record is made of, as they are. Nothing is decided on them."""

    # Which of those asked for at once it is, from 1.
    number: int
    id: int
    business_id: str
    pay_code: str
    reference: str
    status: str
    variance: str | None
    currency: str
    asked_minor: int
    expected_minor: int
    received_minor: int
    held_minor: int
    refunded_minor: int
    reversed_minor: int
    fee_bearer: str
    methods: list[str]
    default_method: str
    customer_name: str
    customer_email: str
    customer_phone: str | None
    redirect_url: str | None
    success_message: str | None
    metadata: msgspec.Raw
    is_disabled: bool
    paid_at: datetime | None
    created_at: datetime
    updated_at: datetime
