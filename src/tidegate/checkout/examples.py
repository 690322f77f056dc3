"""Examples and texts for the API reference."""

from __future__ import annotations

from typing import Any

from tidegate.core.money import Currency
from tidegate.infra.http.operation import Step
from tidegate.payment import examples as payments
from tidegate.rail.ussd_bank import USSD_BANKS

PAY_CODE = payments.PAY_CODE

GROUP = "The payer's operations, for apps with their own checkout page. No key is needed: the pay code is enough."
VIEW = (
    "What the hosted page shows, with the `banks` and `operators` that a charge may name. The same path followed by "
    "`/events` sends it as server-sent events (`event: status`), at once and after every change."
)
CHARGE = (
    "Starts an attempt by one of the offered methods. `action` is the payer's next step: send a `transfer`, approve a "
    "`prompt`, `dial` a code, give a `pin`, an `otp` or an `address`, follow a `redirect`, or none. A second charge "
    "replaces one that still waits for the payer, and is refused while an outcome is not known. While an account for a "
    "transfer is open, another charge by `bank_transfer` gives the same account and is no new attempt."
)
AUTHORIZE = "Exactly one of `pin`, `otp` and `address`, as the last `action` requires."
RESEND = (
    "Sends the prompt, the USSD code or the one-time code of the attempt again: at most 3 times, 30 seconds apart. "
    "Earlier requests get a 429 with `Retry-After`; `resendFrom` is the earliest time. A USSD code is replaced by a "
    "new one. Where `resendsLeft` is null, it cannot be sent again."
)
EXTEND = "Keeps the account of a bank transfer open for another 30 minutes, but not beyond the checkout's expiry."
CANCEL = "The payer cancels. Money already received is returned."

CHARGE_REQUEST: dict[str, Any] = {"type": "bank_transfer"}
AUTHORIZE_REQUEST: dict[str, Any] = {"pin": "1234"}

# Setup of the examples. The test card requires a PIN, then a one-time code.
A_PAYMENT = Step(
    "createPayment",
    {"amount": 2500, "currency": "NGN", "customer": {"name": "Ada Obi", "email": "ada@example.com"}},
)
A_TRANSFER = Step("chargeCheckout")
A_CARD = Step(
    "chargeCheckout",
    {"type": "card", "card": {"number": "5333018248439266", "expiryMonth": 12, "expiryYear": 2035, "cvv": "123"}},
)
# A payment that waits for a phone.
A_PROMPT = (
    Step(
        "createPayment",
        {"amount": 2500, "currency": "KES", "customer": {"name": "Ada Obi", "email": "ada@example.com"}},
    ),
    Step("chargeCheckout", {"type": "mobile_money", "phone": "+254712345678"}),
)
AN_ANSWER = Step("authorizeCharge")
A_PAUSE = Step("advanceClock", {"advance": "1m"})

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
    "answersLeft": None,
    "resendsLeft": None,
    "resendFrom": None,
    "attemptsLeft": 4,
    "openPaymentMethods": ["bank_transfer", "card", "payattitude"],
    "action": _ACTION,
}
ASKED_FOR_OTP: dict[str, Any] = {
    **CHARGED,
    "type": "card",
    "answersLeft": 3,
    "resendsLeft": 3,
    "resendFrom": "2026-11-15T09:30:30.000Z",
    "action": {"type": "otp"},
}
SENT_AGAIN: dict[str, Any] = {**ASKED_FOR_OTP, "resendsLeft": 2}
VIEWED: dict[str, Any] = {
    "payCode": PAY_CODE,
    "reference": "ORDER-1001",
    "business": {
        "name": "Sandbox Shop",
        "logoUrl": None,
        "accentColour": None,
        "support": {"email": "shop@example.com", "phone": None, "url": None},
    },
    "customerName": "Ada Obi",
    "amount": 2500,
    "amountExpected": 2500,
    "amountReceived": 0,
    "amountRemaining": 2500,
    "amountReturned": 0,
    "amountReversed": 0,
    "currency": "NGN",
    "status": "initiated",
    "ending": None,
    "varianceType": None,
    "variancePolicy": "accept",
    "paymentMethods": ["card", "bank_transfer"],
    "defaultPaymentMethod": "card",
    "banks": [],
    "operators": [],
    "successMessage": "Thank you! Your order is on its way.",
    "attemptsLeft": 5,
    "attemptsLeftByMethod": {"card": 5, "bank_transfer": 5},
    "openPaymentMethods": ["card", "bank_transfer"],
    "hostedPaymentMethods": [],
    "isDisabled": False,
    "version": 0,
    "expiresAt": "2026-11-15T11:30:00.000Z",
    "paidAt": None,
    "attempt": None,
}
CANCELLED: dict[str, Any] = {
    **VIEWED,
    "reference": PAY_CODE,
    "status": "failed",
    "ending": "cancelled",
    "attemptsLeftByMethod": {"bank_transfer": 5, "card": 5, "payattitude": 5},
    "openPaymentMethods": [],
    "hostedPaymentMethods": [],
    "paymentMethods": ["bank_transfer", "card", "payattitude"],
    "defaultPaymentMethod": "bank_transfer",
    "banks": [
        {"code": bank.code, "name": bank.name, "dialPrefix": f"*{bank.ussd}"} for bank in USSD_BANKS[Currency.NGN]
    ],
    "successMessage": None,
}
