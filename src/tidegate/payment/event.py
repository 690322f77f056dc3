"""Events of checkout payments."""

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
from tidegate.payment import event_wire as wire
from tidegate.payment.attempt import Attempt
from tidegate.payment.change import PaymentSnapshot, Receipt
from tidegate.payment.model import Payment
from tidegate.payment.wire import REVERSED_MESSAGE, VARIANCE_MESSAGE, CustomerRecord
from tidegate.rail.action import TransferAction
from tidegate.rail.event import DisputeChanged
from tidegate.webhook.model import Event


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
    data = wire.PaidChargeData(**_facts(payment, attempt, names, public_ids, now))
    if attempt.method is Method.BANK_TRANSFER:
        data.virtual_account = _paid_account(business, attempt, receipt)
    return _event(wire.ChargeSuccessful(data=data), cause=f"payment/{payment.id}", payment=payment)


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
    facts = _facts(payment, attempt, names, public_ids, now) | {"message": REVERSED_MESSAGE}
    data = wire.ReversedChargeData(
        **facts,
        amount_reversed=taken.total.major,
        reversal=wire.Reversal(
            session_id=taken.transaction_id, amount=taken.amount.major, reason=taken.reason, created_at=to_iso(now)
        ),
    )
    cause = f"{attempt.rail}/{taken.transaction_id}"
    return _event(wire.ChargeReversed(data=data), cause=cause, payment=payment)


def charge_disputed(
    snapshot: PaymentSnapshot,
    changed: DisputeChanged,
    *,
    rail: str,
    names: MethodNames,
    public_ids: PublicIds,
    now: datetime,
) -> Event:
    """One when it begins, and one when it has ended."""
    payment, attempt = snapshot.payment, snapshot.attempt
    assert attempt is not None  # Otherwise it could not have been paid.
    dispute = wire.DisputeData(
        id=changed.dispute_id,
        status=changed.status,
        session_id=changed.transaction_id,
        amount=changed.amount.major,
        reason=changed.reason,
        due_at=to_iso(changed.due_at) if changed.due_at else None,
    )
    data = wire.DisputedChargeData(**_facts(payment, attempt, names, public_ids, now), dispute=dispute)
    cause = f"dispute/{rail}/{changed.dispute_id}/{changed.status}"
    return _event(wire.ChargeDisputed(data=data), cause=cause, payment=payment)


def _event(
    payload: wire.ChargeSuccessful | wire.ChargeReversed | wire.ChargeDisputed, *, cause: str, payment: Payment
) -> Event:
    return Event(
        id=ids.new_event_id(), type=payload.event, cause=cause, reference=payment.reference, payload=encode(payload)
    )


def _facts(
    payment: Payment, attempt: Attempt, names: MethodNames, public_ids: PublicIds, now: datetime
) -> dict[str, Any]:
    order = payment.order
    nothing = Money.zero(order.asked.currency)
    fee = payment.fee or Fee(nothing, nothing)
    method = names.in_record(attempt.method)
    return {
        "id": public_ids.payment.hide(payment.id),
        "authorization": wire.ChargeAuthorization(),
        "auth_model": attempt.details.get("authModel"),
        "amount": payment.received.major,
        "amount_received": payment.received.major,
        "amount_expected": payment.expected.major,
        "amount_to_settle": (payment.settled or nothing).major,
        "currency": order.asked.currency,
        "fee": fee.fee.major,
        "vat": fee.vat.major,
        "fee_bearer": order.fee_bearer,
        "message": VARIANCE_MESSAGE if payment.variance else "Payment successful",
        "variance_type": payment.variance,
        "status": payment.status,
        "reference": payment.pay_code,
        "transaction_reference": payment.pay_code,
        "merchant_reference": payment.reference,
        "payment_reference": payment.reference,
        "charge_reference": attempt.reference,
        "description": f"Checkout payment {payment.reference}",
        "type": method,
        "method": method,
        "customer": CustomerRecord(
            name=order.customer.name, email=order.customer.email, phone_number=order.customer.phone or ""
        ),
        "metadata": msgspec.Raw((order.metadata or "{}").encode()),
        "created_at": to_iso(payment.created_at),
        "updated_at": to_iso(now),
    }


def _paid_account(business: Business, attempt: Attempt, receipt: Receipt) -> wire.PaidAccount:
    action = attempt.action if isinstance(attempt.action, TransferAction) else None
    return wire.PaidAccount(
        id=attempt.account_id,
        bank_name=action.bank_name if action else "",
        bank_code=action.bank_code if action else "",
        account_name=action.account_name if action else "",
        account_number=attempt.account_number,
        session_id=receipt.transaction_id,
        channel_name=attempt.rail,
        payer_account_number=receipt.payer.get("account_number") or "",
        payer_account_name=receipt.payer.get("name") or "",
        payer_bank_name=receipt.payer.get("bank_name") or "",
        payer_bank_code=receipt.payer.get("bank_code"),
        expires_at=to_iso(attempt.expires_at) if attempt.expires_at else "",
        business=business.id,
    )
