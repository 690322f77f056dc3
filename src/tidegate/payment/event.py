"""Payloads of checkout events, with both published sets of field names."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from tidegate.core import ids
from tidegate.core.fee import Fee
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import Money
from tidegate.core.public_id import PublicIds
from tidegate.infra.http.operation import encode
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.model import Business
from tidegate.payment.attempt import Attempt
from tidegate.payment.change import PaymentSnapshot, Receipt
from tidegate.payment.model import Payment
from tidegate.payment.wire import REVERSED_MESSAGE, VARIANCE_MESSAGE
from tidegate.rail.action import TransferAction
from tidegate.webhook.model import Event

CHARGE_SUCCESSFUL = "charge.successful"
CHARGE_REVERSED = "charge.reversed"


def charge_successful(
    business: Business,
    payment: Payment,
    attempt: Attempt,
    receipt: Receipt,
    *,
    names: MethodNames,
    public_ids: PublicIds,
    now: datetime,
) -> Event:
    data = _data(payment, attempt, names, public_ids, now)
    if attempt.method is Method.BANK_TRANSFER:
        data["virtualAccount"] = _virtual_account(business, attempt, receipt)
    payload = encode({"event": CHARGE_SUCCESSFUL, "type": "charge", "data": data})
    return Event(
        id=ids.new_event_id(),
        type=CHARGE_SUCCESSFUL,
        cause=f"payment/{payment.id}",
        reference=payment.reference,
        payload=payload,
    )


class ReversalEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What the bank took back of one transfer, and of the whole payment so far."""

    transaction_id: str
    amount: Money
    total: Money
    reason: str


def charge_reversed(
    snapshot: PaymentSnapshot, taken: ReversalEvent, *, names: MethodNames, public_ids: PublicIds, now: datetime
) -> Event:
    payment, attempt = snapshot.payment, snapshot.attempt
    assert attempt is not None  # Otherwise it could not have been paid.
    data = _data(payment, attempt, names, public_ids, now)
    data |= {
        "message": REVERSED_MESSAGE,
        "isReversed": True,
        "amountReversed": taken.total.major,
        "reversal": {
            "sessionId": taken.transaction_id,
            "amount": taken.amount.major,
            "reason": taken.reason,
            "createdAt": to_iso(now),
        },
    }
    return Event(
        id=ids.new_event_id(),
        type=CHARGE_REVERSED,
        cause=f"{attempt.rail}/{taken.transaction_id}",
        reference=payment.reference,
        payload=encode({"event": CHARGE_REVERSED, "type": "charge", "data": data}),
    )


def _data(
    payment: Payment, attempt: Attempt, names: MethodNames, public_ids: PublicIds, now: datetime
) -> dict[str, Any]:
    order = payment.order
    nothing = Money.zero(order.asked.currency)
    fee = payment.fee or Fee(nothing, nothing)
    method = names.in_record(attempt.method)
    return {
        "id": public_ids.payment.hide(payment.id),
        "authorization": {"mode": None, "redirect": None, "metadata": None},
        "auth_model": attempt.details.get("authModel"),
        "amount": payment.received.major,
        "amountReceived": payment.received.major,
        "amountExpected": payment.expected.major,
        "amountToSettle": (payment.settled or nothing).major,
        "currency": order.asked.currency,
        "fee": fee.fee.major,
        "vat": fee.vat.major,
        "feeBearer": order.fee_bearer,
        "message": VARIANCE_MESSAGE if payment.variance else "Payment successful",
        "varianceType": payment.variance,
        "status": payment.status,
        "reference": payment.pay_code,
        "transactionReference": payment.pay_code,
        "merchantReference": payment.reference,
        "paymentReference": payment.reference,
        "chargeReference": attempt.reference,
        "description": f"Checkout payment {payment.reference}",
        "type": method,
        "method": method,
        "customer": {
            "name": order.customer.name,
            "email": order.customer.email,
            "phoneNumber": order.customer.phone or "",
        },
        "metadata": msgspec.Raw((order.metadata or "{}").encode()),
        "settlementDestination": "wallet",
        "createdAt": to_iso(payment.created_at),
        "updatedAt": to_iso(now),
    }


def _virtual_account(business: Business, attempt: Attempt, receipt: Receipt) -> dict[str, Any]:
    action = attempt.action if isinstance(attempt.action, TransferAction) else None
    return {
        "id": attempt.account_id,
        "bankName": action.bank_name if action else "",
        "bankCode": action.bank_code if action else "",
        "accountName": action.account_name if action else "",
        "accountNumber": attempt.account_number,
        "sessionId": receipt.transaction_id,
        "channelName": attempt.rail,
        "payerAccountNumber": receipt.payer.get("account_number") or "",
        "payerAccountName": receipt.payer.get("name") or "",
        "payerBankName": receipt.payer.get("bank_name") or "",
        "payerBankCode": receipt.payer.get("bank_code"),
        "expiresAt": to_iso(attempt.expires_at) if attempt.expires_at else "",
        "business": business.id,
    }
