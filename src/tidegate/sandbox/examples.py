"""Examples and texts for the API reference."""

from __future__ import annotations

from typing import Any

from tidegate.checkout.examples import PAY_CODE

GROUP = "Simulates payers, banks and the clock. Only in sandbox mode, where no real money moves."
TRANSFER = (
    "A bank transfer to any virtual account, in any amount and currency: too little, too much, too late, or to an "
    "account that does not exist. It is notified as by a real bank, and handled by your policy. `payee.name` is the "
    "recipient's name as the payer typed it; a permanent account compares it with its holder's name."
)
REVERSE = (
    "The bank reverses the transfer with this reference and notifies it at once. A repeat sends the same reversal "
    "again. For a reversal that comes before its credit, send the transfer with a `delay` and reverse it before the "
    "delay is over."
)
APPROVE = "The payer approves on the phone, for mobile money and USSD."
DECLINE = (
    "The payer declines on the phone. `reason` may be `not_approved`, `insufficient_funds`, `no_such_wallet`, "
    "`wrong_pin` or `expired`; any other text counts as `not_approved`."
)
EXPIRE = (
    "Ends the session of one payment and closes its account, without moving the clock. Money that arrives afterwards "
    "is returned. A moment passes before the payment is `expired`."
)
DISPUTE = (
    "The payer disputes a paid payment with the bank, or the bank decides: `won` leaves you the money, `lost` takes it "
    "back. It is notified a moment later, with `charge.disputed`."
)
CLOCK = "Each business has its own clock, used for its payments, accounts, retries and settlement."
ADVANCE = "Moves the clock of this business ahead, and of no other. It cannot be moved back."
RESET = (
    "Deletes the business's payments, inflows, money, events and deliveries. Its keys, settings, virtual accounts and "
    "webhook endpoints stay."
)

TRANSFER_REQUEST: dict[str, Any] = {
    "accountNumber": "9900000001",
    "amount": 2500,
    "currency": "NGN",
    "payer": {"name": "Ada Obi", "accountNumber": "0123456789", "bankName": "Sample Bank"},
    "remittance": "Invoice 1042",
}
TRANSFER_ID = "sbx_9f2c41d07b8e5a3316c0d4e2"
TRANSFER_SENT: dict[str, Any] = {"transactionId": TRANSFER_ID}
REVERSE_REQUEST: dict[str, Any] = {"reason": "sent twice by mistake"}
TRANSFER_REVERSED: dict[str, Any] = {"transactionId": TRANSFER_ID, "reversalId": "sbx_1b7d03e95a6c42f88e20c7b4"}
TRANSFER_PARAMETER: dict[str, Any] = {
    "reference": {
        "description": "The transfer's reference: yours if you gave one, otherwise its `transactionId`.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 140},
        "example": TRANSFER_ID,
    }
}
DECLINE_REQUEST: dict[str, Any] = {"reason": "not_approved"}
ACTED: dict[str, Any] = {"attemptId": "at_2b5RkWq0Zt7cYhN4mPs9Lx"}
SESSION_ENDED: dict[str, Any] = {"payCode": PAY_CODE, "endedAt": "2026-11-15T09:35:00.000Z"}
DISPUTE_REQUEST: dict[str, Any] = {"status": "open"}
DISPUTED: dict[str, Any] = {"disputeId": f"dispute_{TRANSFER_ID}"}
ADVANCE_REQUEST: dict[str, Any] = {"advance": "2h"}
CLOCK_VIEW: dict[str, Any] = {"now": "2026-11-15T11:30:00.000Z", "aheadSeconds": 7200}
EMPTIED: dict[str, Any] = {"business": "65f0c9a1b2d3e4f5a6b7c8d9"}
PAY_CODE_PARAMETER: dict[str, Any] = {
    "payCode": {
        "description": "The payment's pay code.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": PAY_CODE,
    }
}
