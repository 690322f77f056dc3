"""Examples and texts for the API reference."""

from __future__ import annotations

from typing import Any

from tidegate.core.money import Currency
from tidegate.infra.http.operation import MEANINGS_KEY, Step

GROUP = (
    "Your balances, one wallet per currency, and every movement. Payments and inflows are credited after our fee; a "
    "refund is debited when it starts, and credited again if it fails."
)
LIST_DESCRIPTION = "One wallet for each currency that you have received."
STATEMENT_DESCRIPTION = (
    "Every line has the balance after it. Opening and closing balance are those of the whole period, on every page. "
    "Page with `cursor`: entries booked meanwhile neither repeat nor hide a line. Files have all lines of the period, "
    "the oldest first."
)

CURRENCY_PARAMETER: dict[str, Any] = {
    "currency": {
        "description": "The wallet's currency.",
        "schema": {
            "type": "string",
            "enum": [currency.value for currency in Currency],
            MEANINGS_KEY: {currency.value: currency.meaning for currency in Currency},
        },
        "example": "NGN",
    }
}

_BUSINESS_ID = "65f0c9a1b2d3e4f5a6b7c8d9"
WALLETS: list[dict[str, Any]] = [
    {
        "id": f"{_BUSINESS_ID}-NGN",
        "business": _BUSINESS_ID,
        "currency": "NGN",
        "walletNumber": "1000000001",
        "availableBalance": 4924.74,
        "ledgerBalance": 5924.74,
        "lockedBalance": 1000,
        "pendingBalance": 0,
        "owedBalance": 0,
        "status": "active",
        "createdAt": "2026-11-15T09:30:00.000Z",
        "updatedAt": "2026-11-15T09:32:10.250Z",
    }
]
STATEMENT: dict[str, Any] = {
    "currency": "NGN",
    "walletNumber": "1000000001",
    "openingBalance": 0,
    "closingBalance": 2462.37,
    "results": [
        {
            "id": 1507732948164027,
            "at": "2026-11-15T09:30:00.000Z",
            "happenedAt": "2026-11-15T09:30:00.000Z",
            "kind": "checkout_settled",
            "description": "Checkout payment from Ada Obi",
            "reference": "ORDER-1001",
            "direction": "in",
            "amount": 2462.37,
            "fee": 35,
            "vat": 2.63,
            "currency": "NGN",
            "balance": 2462.37,
        }
    ],
    "nextCursor": None,
}

# The test card without a challenge.
A_PAID_CHECKOUT = (
    Step(
        "createPayment",
        {"amount": 2500, "currency": "NGN", "customer": {"name": "Ada Obi", "email": "ada@example.com"}},
    ),
    Step(
        "chargeCheckout",
        {"type": "card", "card": {"number": "5319317801366660", "expiryMonth": 12, "expiryYear": 2035, "cvv": "123"}},
    ),
)
