"""Examples and words for the API reference."""

from __future__ import annotations

from typing import Any

PAY_CODE = "tg_k3PzQ_5TqBn0yJ3mX8aVdWcR2sKe"

VIEW = "What the hosted page shows, for apps that draw their own. No key is needed: the pay code is enough."
CHARGE = (
    "Starts an attempt by one of the offered methods. `action` says what the payer does next: send a `transfer`, "
    "approve a `prompt`, `dial` a code, give a `pin`, an `otp` or an `address`, follow a `redirect`, or nothing. A "
    "second charge replaces one that still waits for the payer, and is refused while an outcome is not known."
)
AUTHORIZE = "Exactly one of `pin`, `otp` and `address`, as the last `action` asked."
EXTEND = "Keeps the account of a bank transfer open for another 30 minutes, as long as the checkout itself lasts."
CANCEL = "The payer gives up. Money that was already received goes back."

CHARGE_REQUEST: dict[str, Any] = {"type": "bank_transfer"}
AUTHORIZE_REQUEST: dict[str, Any] = {"otp": "123456"}

_ACTION: dict[str, Any] = {
    "type": "transfer",
    "amountExpected": 2500,
    "virtualAccount": {
        "accountNumber": "9900000001",
        "bankName": "Tidegate Test Bank",
        "accountName": "Sandbox Shop",
        "expiresAt": "2026-11-15T10:00:00.000Z",
    },
}
CHARGED: dict[str, Any] = {
    "attemptId": "at_2b5RkWq0Zt7cYhN4mPs9Lx",
    "type": "bank_transfer",
    "status": "pending",
    "attemptStatus": "waiting",
    "failure": None,
    "action": _ACTION,
}
VIEWED: dict[str, Any] = {
    "payCode": PAY_CODE,
    "reference": "ORDER-1001",
    "business": {"name": "Sandbox Shop"},
    "customerName": "Ada Obi",
    "amount": 2500,
    "amountExpected": 2500,
    "amountReceived": 0,
    "amountRemaining": 2500,
    "amountReturned": 0,
    "currency": "NGN",
    "status": "initiated",
    "ending": None,
    "varianceType": None,
    "variancePolicy": "accept",
    "paymentMethods": ["card", "bank_transfer"],
    "defaultPaymentMethod": "card",
    "successMessage": None,
    "attemptsLeft": 5,
    "expiresAt": "2026-11-15T11:30:00.000Z",
    "paidAt": None,
    "attempt": None,
}
