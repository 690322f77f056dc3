"""The amount of a refund, which needs more than a type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Self

AMOUNT_MAX = 10**15
# The most decimals of any supported currency; those of the payment are checked once it is known.
DECIMALS_MAX = 2


class RefundAmount(Decimal):
    """A positive JSON number with at most two decimals."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise ValueError("must be a number such as 100 or 100.50")
        amount = cls(value)
        exponent = amount.as_tuple().exponent
        if not amount.is_finite() or not isinstance(exponent, int) or exponent < -DECIMALS_MAX:
            raise ValueError(f"must have at most {DECIMALS_MAX} decimals")
        if amount <= 0:
            raise ValueError("must be greater than 0")
        if amount > AMOUNT_MAX:
            raise ValueError(f"must be at most {AMOUNT_MAX}")
        return amount

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "number", "exclusiveMinimum": 0, "maximum": AMOUNT_MAX, "multipleOf": 0.01}
