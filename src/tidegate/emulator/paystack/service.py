"""The rules of the emulated Paystack: what is asked of it, and what happens by time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from tidegate.core.clock import SystemClock
from tidegate.emulator.faults import Faults
from tidegate.emulator.paystack.model import (
    APPROVING,
    CARDS,
    FEE_BASIS_POINTS,
    OTP,
    EmulatedAccount,
    EmulatedCustomer,
    EmulatedDispute,
    EmulatedMemory,
    EmulatedPayment,
    EmulatedRefund,
    timestamp,
)
from tidegate.emulator.paystack.notifier import Notifier

_REFERENCE = re.compile(r"[-.=0-9A-Za-z]+")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.(?!local$|test$|invalid$)[^@\s.]+")
MINIMUM = {"NGN": 50_00, "GHS": 10, "ZAR": 1_00, "KES": 3_00}
MAXIMUM = 10_000_000_00
TRANSFER_MINIMUM = 100_00
# Of a transfer's account: at least, at most, and by default.
OPEN_FOR = {"NGN": (timedelta(minutes=15), timedelta(hours=8)), "KES": (timedelta(minutes=1), timedelta(minutes=25))}
PROMPT_LASTS = timedelta(seconds=180)
APPROVED_AFTER = timedelta(seconds=2)
REFUND_STEP = timedelta(seconds=5)
USSD_TYPES = ("737", "919", "822", "966")
PROVIDERS = {"GHS": ("mtn", "atl", "vod"), "KES": ("mpesa", "atl")}


class ApiRefusal(Exception):
    """Answered with `status` and the message."""

    def __init__(self, message: str, *, status: int = 400, code: str = "", kind: str = "validation_error") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.kind = kind


class PaystackService:
    def __init__(self, settings: EmulatedAccount) -> None:
        self.settings = settings
        self.memory = EmulatedMemory()
        self.faults = Faults()
        self.notifier = Notifier(settings.secret_key, settings.webhook_url)
        self._clock = SystemClock()
        self._ahead = timedelta(0)
        self._kinds = {
            "bank_transfer": self._charge_bank_transfer,
            "ussd": self._charge_ussd,
            "mobile_money": self._charge_mobile_money,
            "eft": self._charge_eft,
        }
        # Where its pages are; known once it listens.
        self.page_url = ""

    def now(self) -> datetime:
        return self._clock.now() + self._ahead

    def advance(self, by: timedelta) -> None:
        self._ahead += by
        self.tick()

    # Payments

    def initialize(self, asked: dict[str, Any]) -> dict[str, Any]:
        payment = self._new(asked, channel="card")
        payment.callback_url = str(asked.get("callback_url") or "")
        payment.access_code = f"{payment.id:015d}"
        url = f"{self.page_url}/{payment.access_code}"
        return {"authorization_url": url, "access_code": payment.access_code, "reference": payment.reference}

    def charge(self, asked: dict[str, Any]) -> dict[str, Any]:
        kinds = [name for name in self._kinds if name in asked]
        if len(kinds) != 1:
            raise ApiRefusal("Please enter a valid channel")
        [kind] = kinds
        details = asked[kind] if isinstance(asked[kind], dict) else {}
        return self._kinds[kind](asked, details)

    def _charge_bank_transfer(self, asked: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
        if asked.get("currency", "NGN") == "NGN" and int(asked["amount"]) < TRANSFER_MINIMUM:
            raise ApiRefusal("Amount is below the minimum for bank transfers")
        payment = self._new(asked, channel="bank_transfer", status="ongoing")
        payment.account_number = f"126{payment.id:07d}"
        payment.ends_at = self._account_expiry(payment, details.get("account_expires_at"))
        payment.ends_with = "abandoned"
        answer: dict[str, Any] = {
            "reference": payment.reference,
            "status": "pending_bank_transfer",
            "display_text": "Please make a transfer to the account specified",
            "account_name": "TEST-MANAGED-ACCOUNT",
            "account_number": payment.account_number,
            "bank": {"slug": "test-bank", "name": "Test Bank", "id": 24},
            "account_expires_at": timestamp(payment.ends_at),
        }
        if payment.currency == "KES":
            payment.account_number = "1234567890"
            payment.narration = f"{payment.id:07d}"
            answer |= {"account_number": payment.account_number, "amount": payment.amount}
            answer["transaction_reference"] = payment.narration
        return answer

    def _account_expiry(self, payment: EmulatedPayment, expires_at: str | None) -> datetime:
        if payment.currency not in OPEN_FOR:
            raise ApiRefusal("Bank transfer is not available for this currency")
        shortest, longest = OPEN_FOR[payment.currency]
        wanted = datetime.fromisoformat(expires_at) if expires_at else self.now() + longest
        return min(max(wanted, self.now() + shortest), self.now() + longest)

    def _charge_ussd(self, asked: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
        if details.get("type") not in USSD_TYPES:
            raise ApiRefusal("Invalid USSD type")
        payment = self._new(asked, channel="ussd", status="ongoing")
        code = f"*{details['type']}*33*4*{payment.id}#"
        text = "Please dial the USSD code to complete the payment"
        return {"reference": payment.reference, "status": "pay_offline", "ussd_code": code, "display_text": text}

    def _charge_mobile_money(self, asked: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
        provider, phone = details.get("provider"), str(details.get("phone", ""))
        if provider not in PROVIDERS.get(str(asked.get("currency")), ()):
            raise ApiRefusal("Invalid mobile money provider")
        payment = self._new(asked, channel="mobile_money", status="ongoing")
        if provider == "vod":
            text = "Please dial *110# to generate a voucher code. Then input the voucher"
            return {"reference": payment.reference, "status": "send_otp", "display_text": text}
        payment.ends_at = self.now() + (APPROVED_AFTER if phone in APPROVING else PROMPT_LASTS)
        payment.ends_with = "success" if phone in APPROVING else "failed"
        text = "Please complete authorization process on your mobile phone"
        return {"reference": payment.reference, "status": "pay_offline", "display_text": text}

    def _charge_eft(self, asked: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
        if details.get("provider") != "ozow" or asked.get("currency") != "ZAR":
            raise ApiRefusal("Invalid EFT provider")
        payment = self._new(asked, channel="eft", status="ongoing")
        payment.access_code = f"{payment.id:015d}"
        return {"reference": payment.reference, "status": "open_url", "url": f"{self.page_url}/{payment.access_code}"}

    def submit_otp(self, asked: dict[str, Any]) -> dict[str, Any]:
        payment = self.memory.payments.get(str(asked.get("reference")))
        if payment is None:
            raise ApiRefusal("Transaction reference is invalid")
        if asked.get("otp") != OTP:
            text = "The voucher is wrong. Please try again"
            return {"reference": payment.reference, "status": "send_otp", "display_text": text}
        self.pay(payment)
        return payment.as_json()

    def _new(self, asked: dict[str, Any], *, channel: str, status: str = "abandoned") -> EmulatedPayment:
        serial = self.memory.next_serial()
        reference = str(asked.get("reference") or f"T{serial:015d}")
        amount, currency = _amount(asked.get("amount")), str(asked.get("currency") or "NGN")
        email = str(asked.get("email") or "")
        self._refuse_wrong(reference, amount, currency, email)
        customer = self.memory.customers.setdefault(email, EmulatedCustomer(serial, email))
        payment = EmulatedPayment(
            3_000_000_000 + serial, self.settings.domain, reference, amount, currency, customer, channel,
            self.now(), status, requested_amount=amount,
        )  # fmt: skip
        self.memory.payments[reference] = payment
        return payment

    def _refuse_wrong(self, reference: str, amount: int, currency: str, email: str) -> None:
        if not _REFERENCE.fullmatch(reference):
            raise ApiRefusal("Invalid character in transaction reference. Only -,.,= and alphanumeric are allowed")
        if not _EMAIL.fullmatch(email):
            raise ApiRefusal("Invalid Email Address Passed")
        if currency not in self.settings.currencies:
            raise ApiRefusal("Currency not supported by merchant", code="unsupported_currency")
        if amount < MINIMUM[currency]:
            raise ApiRefusal("Invalid Amount Sent")
        if amount > MAXIMUM:
            raise ApiRefusal("Transaction amount limit exceeded")
        if reference in self.memory.payments:
            raise ApiRefusal("Duplicate Transaction Reference", code="duplicate_reference")

    def pay(self, payment: EmulatedPayment, *, sender: str = "Jadesola Oluwashina") -> None:
        """Whatever was asked for is paid."""
        if not payment.is_open:
            return
        payment.fees = payment.requested_amount * FEE_BASIS_POINTS // 10_000
        payment.amount = payment.requested_amount + (payment.fees if self.settings.passes_fees_on else 0)
        payment.status, payment.gateway_response, payment.message = "success", "Approved", None
        payment.paid_at, payment.ends_at, payment.sender = self.now(), None, sender
        held = self.memory.balances
        held[payment.currency] = held.get(payment.currency, 0) + payment.amount - payment.fees
        self._notify("charge.success", payment.as_json())

    def pay_with_card(self, payment: EmulatedPayment, number: str) -> bool:
        """False for a number that is no test card."""
        if number not in CARDS:
            return False
        outcome, payment.refund_end = CARDS[number]
        if outcome == "success":
            self.pay(payment)
        else:
            self.decline(payment, outcome)
        return True

    def decline(self, payment: EmulatedPayment, why: str = "Declined") -> None:
        """There is no notification of a failure."""
        if payment.is_open:
            payment.status, payment.gateway_response, payment.message, payment.ends_at = "failed", why, why, None

    def transfer(self, payment: EmulatedPayment, amount: int, *, sender: str, narration: str | None = None) -> bool:
        """Any other amount than the one asked for is rejected, and Paystack sends it back itself."""
        is_right = payment.is_open and amount == payment.requested_amount
        if is_right and (payment.currency != "KES" or narration == payment.narration):
            self.pay(payment, sender=sender)
            return True
        transfer = {
            "amount": str(amount),
            "message": "incorrect amount sent",
            "message_type": "INCORRECT_AMOUNT",
            "transaction_id": str(payment.id),
        }
        self._notify("bank.transfer.rejected", {"bank_transfer": transfer, "customer": payment.customer.as_json()})
        return False

    # Refunds and disputes

    def refund(self, asked: dict[str, Any]) -> EmulatedRefund:
        payment = self.find(str(asked.get("transaction", "")))
        if payment is None or payment.paid_at is None:
            raise ApiRefusal("Transaction not found", status=404, code="transaction_not_found", kind="api_error")
        left = payment.amount - payment.refunded
        amount = _amount(asked["amount"]) if asked.get("amount") is not None else left
        if left == 0:
            raise ApiRefusal("Transaction has been fully reversed", code="transaction_reversed", kind="api_error")
        if amount > left:
            raise ApiRefusal("Refund amount cannot be more than the amount left", kind="api_error")
        if self.memory.balances.get(payment.currency, 0) < amount:
            raise ApiRefusal("Insufficient balance to fulfill this refund, please top up", kind="api_error")
        self.memory.balances[payment.currency] -= amount
        payment.refunded += amount
        record = EmulatedRefund(
            3_018_000 + self.memory.next_serial(), payment, amount, self.now(),
            str(asked.get("merchant_note") or ""), str(asked.get("customer_note") or ""),
        )  # fmt: skip
        self.memory.refunds[record.id] = record
        self._notify_refund(record)
        return record

    def retry_refund(self, record: EmulatedRefund) -> EmulatedRefund:
        if record.status != "needs-attention":
            raise ApiRefusal("Refund does not need attention", status=422)
        record.payment.refund_end, record.status, record.created_at = "processed", "processing", self.now()
        return record

    def _move_refund(self, record: EmulatedRefund) -> None:
        age = self.now() - record.created_at
        if record.status == "pending" and age >= REFUND_STEP:
            record.status = "processing"
            self._notify_refund(record)
        if record.status == "processing" and age >= 2 * REFUND_STEP:
            record.status = record.payment.refund_end
            self._end_refund(record)
            self._notify_refund(record)

    def _end_refund(self, record: EmulatedRefund) -> None:
        payment = record.payment
        if record.status == "processed":
            record.refunded_at = self.now()
            if payment.refunded == payment.amount:
                payment.status = "reversed"
        elif record.status == "failed":
            payment.refunded -= record.amount
            self.memory.balances[payment.currency] += record.amount

    def _notify_refund(self, record: EmulatedRefund) -> None:
        data: dict[str, Any] = {
            "status": record.status,
            "transaction_reference": record.payment.reference,
            "refund_reference": "TRF_1" if record.status == "processed" else None,
            # As text, as Paystack sends it.
            "amount": str(record.amount),
            "currency": record.payment.currency,
            "processor": "instant-transfer",
            "customer": record.payment.customer.as_json(),
            "integration": 100043,
            "domain": record.payment.domain,
        }
        if record.status == "needs-attention":
            data["id"] = record.id
        self._notify(f"refund.{record.status}", data)

    def dispute(self, payment: EmulatedPayment, amount: int | None = None) -> EmulatedDispute:
        made = EmulatedDispute(
            358_000 + self.memory.next_serial(), payment, amount or payment.amount, self.now(),
            self.now() + timedelta(days=1),
        )  # fmt: skip
        self.memory.disputes[made.id] = made
        self._notify("charge.dispute.create", made.as_json())
        return made

    def resolve(self, dispute: EmulatedDispute, resolution: str) -> None:
        """`merchant-accepted` and `auto-accepted` take the money; `declined` leaves it."""
        dispute.status, dispute.resolution, dispute.resolved_at = "resolved", resolution, self.now()
        if resolution != "declined":
            dispute.payment.status = "reversed"
            self.memory.balances[dispute.payment.currency] -= dispute.amount
        self._notify("charge.dispute.resolve", dispute.as_json())

    # Time, notifications, look-ups

    def tick(self) -> None:
        """What has become due."""
        for payment in list(self.memory.payments.values()):
            if payment.is_open and payment.ends_at is not None and payment.ends_at <= self.now():
                if payment.ends_with == "success":
                    self.pay(payment)
                elif payment.ends_with == "failed":
                    self.decline(payment, "Oooops, your payment has exceeded the time to pay.")
                else:
                    payment.status, payment.ends_at = payment.ends_with, None
        for record in list(self.memory.refunds.values()):
            self._move_refund(record)

    def _notify(self, event: str, data: dict[str, Any]) -> None:
        for _ in range(2 if self.settings.notifies_twice else 1):
            self.notifier.add(event, data, now=self.now())

    def find(self, text: str) -> EmulatedPayment | None:
        """By reference or number."""
        found = self.memory.payments.get(text)
        return found or next((one for one in self.memory.payments.values() if str(one.id) == text), None)


def _amount(value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isascii() or not text.isdigit():
        raise ApiRefusal("Invalid Amount Sent")
    return int(text)
