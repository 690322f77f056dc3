"""The arguments of each release, as an approval keeps them, and what an approver reads."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from tidegate.core.money import Currency
from tidegate.staff.permission import StaffRole


class NoArguments(msgspec.Struct, frozen=True, kw_only=True):
    pass


class LimitArguments(msgspec.Struct, frozen=True, kw_only=True):
    rate_per_second: int
    rate_burst: int


class PriceArguments(msgspec.Struct, frozen=True, kw_only=True):
    currency: Currency
    method: str
    basis_points: int
    vat_basis_points: int
    fixed_minor: int = 0
    cap_minor: int | None = None


class RateArguments(msgspec.Struct, frozen=True, kw_only=True):
    base: Currency
    quote: Currency
    rate: Decimal
    source: str
    spread_basis_points: int = 0


class StaffArguments(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    role: StaffRole


class AssignArguments(msgspec.Struct, frozen=True, kw_only=True):
    """To a payment, by pay code or merchant reference, or to a virtual account."""

    business_id: str
    payment: str | None = None
    account_id: str | None = None


def percent_of(basis_points: int) -> str:
    return f"{basis_points // 100}.{basis_points % 100:02d} %"


def price_words(price: PriceArguments) -> str:
    cap = f", at most {price.cap_minor} minor units" if price.cap_minor is not None else ""
    fixed = f" plus {price.fixed_minor} minor units" if price.fixed_minor else ""
    return f"{price.method} in {price.currency}: {percent_of(price.basis_points)}{fixed}{cap}"
