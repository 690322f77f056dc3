"""The rules of the emulated pawaPay: what is asked of it, and what happens by time."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from tidegate.core.clock import SystemClock
from tidegate.emulator.faults import Faults
from tidegate.emulator.pawapay.callbacks import Callbacks
from tidegate.emulator.pawapay.model import (
    COMPLETED,
    FAILED,
    PREFIXES,
    REFUND_ENDS,
    STUCK,
    EmulatedPawapayAccount,
    EmulatedProvider,
    EmulatedTransaction,
    PawapayMemory,
    timestamp,
)
from tidegate.emulator.pawapay.request import AskedDeposit, AskedRefund, has_decimals

ENDS_AFTER = timedelta(seconds=2)
PROMPT_LASTS = timedelta(minutes=5)
RECONCILED_AFTER = timedelta(minutes=10)
_SUFFIX = 3


class PawapayService:
    def __init__(self, account: EmulatedPawapayAccount) -> None:
        self.account = account
        self.memory = PawapayMemory()
        self.faults = Faults()
        self.callbacks = Callbacks(account)
        self._clock = SystemClock()
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return self._clock.now() + self._ahead

    def advance(self, by: timedelta) -> None:
        self._ahead += by
        self.tick()

    # Deposits

    def deposit(self, asked: AskedDeposit) -> dict[str, Any]:
        if (known := self.memory.deposits.get(asked.id)) is not None:
            return self._duplicate(known)
        provider = self.memory.providers.get(asked.provider)
        code = "INVALID_PROVIDER" if provider is None else self._rejection(asked, provider)
        if provider is None or code is not None:
            return {"depositId": asked.id, "status": "REJECTED", "failureReason": _failure(code or "INVALID_PROVIDER")}
        made = EmulatedTransaction(
            asked.id, provider, asked.phone, asked.amount, self.now(), asked.metadata,
            client_reference=asked.client_reference, message=asked.message or "Test Shop",
        )  # fmt: skip
        self.memory.deposits[asked.id] = made
        self._foresee(made, provider.numbers.get(asked.phone.removeprefix(provider.stem)))
        return {
            "depositId": asked.id,
            "status": "ACCEPTED",
            "nextStep": "FINAL_STATUS",
            "created": timestamp(made.created_at),
        }

    def _rejection(self, asked: AskedDeposit, provider: EmulatedProvider) -> str | None:
        if asked.currency != provider.currency:
            return "INVALID_CURRENCY"
        if not asked.phone.startswith(PREFIXES[provider.country]) or not 11 <= len(asked.phone) <= 13:
            return "INVALID_PHONE_NUMBER"
        if has_decimals(asked.amount_text) and not provider.has_decimals:
            return "INVALID_AMOUNT"
        if not provider.minimum <= asked.amount <= provider.maximum:
            return "AMOUNT_OUT_OF_BOUNDS"
        return None if provider.deposits == "OPERATIONAL" else "PROVIDER_TEMPORARILY_UNAVAILABLE"

    def _foresee(self, made: EmulatedTransaction, end: str | None) -> None:
        """A number of the table ends by itself; any other waits for its payer."""
        made.status = "PROCESSING"
        if end == STUCK:
            return
        if end is None:
            made.ends_at, made.ends_with = self.now() + PROMPT_LASTS, "PAYMENT_NOT_APPROVED"
            return
        after = timedelta(0) if self.account.callbacks_early else ENDS_AFTER
        made.ends_at, made.ends_with = self.now() + after, end

    def _duplicate(self, known: EmulatedTransaction) -> dict[str, Any]:
        return {known.id_name: known.id, "status": "DUPLICATE_IGNORED", "created": timestamp(known.created_at)}

    # Refunds

    def refund(self, asked: AskedRefund) -> dict[str, Any]:
        if (known := self.memory.refunds.get(asked.id)) is not None:
            return self._duplicate(known)
        deposit = self.memory.deposits.get(asked.deposit_id)
        if deposit is None:
            return self._refund_rejected(asked, "NOT_FOUND")
        left = deposit.amount - deposit.refunded
        amount = left if asked.amount is None else asked.amount
        code = self._refund_rejection(asked, deposit, amount, left)
        if code is not None:
            return self._refund_rejected(asked, code)
        made = EmulatedTransaction(
            asked.id, deposit.provider, deposit.phone, amount, self.now(), asked.metadata, deposit=deposit
        )
        self.memory.refunds[asked.id] = made
        deposit.refunded += amount
        if deposit.provider.refunds == "DELAYED":
            made.status = "ENQUEUED"
        else:
            self._foresee_refund(made)
        return {"refundId": asked.id, "status": "ACCEPTED", "created": timestamp(made.created_at)}

    def _refund_rejection(
        self, asked: AskedRefund, deposit: EmulatedTransaction, amount: Decimal, left: Decimal
    ) -> str | None:
        if deposit.status != COMPLETED:
            return "INVALID_STATE"
        if any(one.deposit is deposit and not one.is_final for one in self.memory.refunds.values()):
            return "REFUND_IN_PROGRESS"
        if left == 0:
            return "DEPOSIT_ALREADY_REFUNDED"
        if asked.currency not in (None, deposit.provider.currency):
            return "INVALID_CURRENCY"
        if asked.amount_text and has_decimals(asked.amount_text) and not deposit.provider.has_decimals:
            return "INVALID_AMOUNT"
        return "AMOUNT_TOO_LARGE" if amount > left else None

    def _refund_rejected(self, asked: AskedRefund, code: str) -> dict[str, Any]:
        reason = {"failureReason": _failure(code)}
        if self.account.rejects_by_rejection_reason:
            reason = {"rejectionReason": {"rejectionCode": code, "rejectionMessage": f"Rejected: {code}."}}
        return {"refundId": asked.id, "status": "REJECTED", **reason}

    def _foresee_refund(self, made: EmulatedTransaction) -> None:
        made.status = "PROCESSING"
        end = REFUND_ENDS.get(made.phone[-_SUFFIX:], COMPLETED)
        if end != STUCK:
            made.ends_at, made.ends_with = self.now() + ENDS_AFTER, end

    # Ends

    def approve(self, made: EmulatedTransaction, *, paid: Decimal | None = None) -> None:
        """`paid` is another amount than was asked for."""
        if made.is_final:
            return
        if made.deposit is None:
            made.amount = paid or made.amount
            self._hold(made, made.amount)
        elif self._held(made) < made.amount:
            self.fail(made, "PAWAPAY_WALLET_OUT_OF_FUNDS")
            return
        else:
            self._hold(made, -made.amount)
        made.status, made.ends_at = COMPLETED, None
        self.callbacks.add(made.as_json(is_callback=True), now=self.now())

    def fail(self, made: EmulatedTransaction, code: str = "PAYMENT_NOT_APPROVED") -> None:
        if made.is_final:
            return
        made.status, made.failure, made.ends_at = FAILED, code, None
        if made.deposit is not None:
            made.deposit.refunded -= made.amount
        self.callbacks.add(made.as_json(is_callback=True), now=self.now())

    def reconcile(self, made: EmulatedTransaction) -> None:
        """pawaPay looks into it for a while, then it is paid."""
        made.status, made.ends_at, made.ends_with = "IN_RECONCILIATION", self.now() + RECONCILED_AFTER, COMPLETED

    def _held(self, made: EmulatedTransaction) -> Decimal:
        return self.memory.balances.get(made.provider.currency, Decimal(0))

    def _hold(self, made: EmulatedTransaction, amount: Decimal) -> None:
        self.memory.balances[made.provider.currency] = self._held(made) + amount

    def tick(self) -> None:
        """What has become due."""
        for made in [*self.memory.deposits.values(), *self.memory.refunds.values()]:
            if made.status == "ENQUEUED" and made.provider.refunds == "OPERATIONAL":
                self._foresee_refund(made)
            if made.ends_at is None or made.is_final or made.ends_at > self.now():
                continue
            if made.ends_with == COMPLETED:
                self.approve(made)
            else:
                self.fail(made, made.ends_with)

    def find(self, text: str) -> EmulatedTransaction | None:
        """By its id, or ours."""
        own = (one for one in self.memory.deposits.values() if one.client_reference == text)
        return self.memory.deposits.get(text) or self.memory.refunds.get(text) or next(own, None)


def _failure(code: str) -> dict[str, str]:
    return {"failureCode": code, "failureMessage": f"The request was rejected: {code}."}
