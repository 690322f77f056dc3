"""Actions of payers and banks on one payment. The rail's notifications follow as usual."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core import errors, ids
from tidegate.core.money import Money
from tidegate.payment import pay, transition
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.settle import TRIES, changing_too_fast
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import DisputeStatus
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.sandbox.model import BankTransfer
from tidegate.rail.state import Party
from tidegate.sandbox import store


@dataclass(frozen=True)
class Simulator:
    deps: PaymentDeps

    @property
    def rail(self) -> SandboxRail:
        rail = self.deps.rails["sandbox"]
        assert isinstance(rail, SandboxRail)
        return rail

    async def send_transfer(
        self, business_id: str, pay_code: str, amount: Money, *, payer: Party, now: datetime
    ) -> str:
        """To the payment's latest account, open or not. Returns the bank's identifier of the transfer."""
        snapshot = await self._snapshot(business_id, pay_code)
        if snapshot.attempt is None or snapshot.attempt.account_number is None:
            raise errors.Conflict("this payment has no account to send money to; start a bank transfer first")
        sent = BankTransfer(account_number=snapshot.attempt.account_number, amount=amount, payer=payer)
        async with self.deps.db.transaction() as tx:
            return await self.rail.transfer(tx, business_id, sent, now=now)

    async def approve(self, business_id: str, pay_code: str, *, now: datetime) -> str:
        """Approves the prompt. Returns the reference of the attempt."""
        reference = await self._attempt_of(business_id, pay_code)
        await self.rail.approve(business_id, reference, now=now)
        return reference

    async def decline(self, business_id: str, pay_code: str, reason: str | None = None, *, now: datetime) -> str:
        reference = await self._attempt_of(business_id, pay_code)
        await self.rail.decline(business_id, reference, reason, now=now)
        return reference

    async def expire(self, business_id: str, pay_code: str, *, now: datetime) -> None:
        """Ends the session and closes its account; the next sweep then expires the payment."""
        for _ in range(TRIES):
            payment = (await self._snapshot(business_id, pay_code)).payment
            if transition.is_final(payment.status):
                raise errors.IllegalTransition(f"this payment is already {payment.status.value}")
            async with self.deps.db.connection() as tx:
                if await store.end_session(tx, payment, now=now):
                    return
        raise changing_too_fast()

    async def dispute(self, business_id: str, pay_code: str, status: DisputeStatus, *, now: datetime) -> str:
        """The payer disputes what was received last, or the bank has decided. Returns the dispute's id."""
        payment = (await self._snapshot(business_id, pay_code)).payment
        async with self.deps.db.transaction() as tx:
            found = await store.find_last_settled(tx, payment)
            if found is None:
                raise errors.Conflict("this payment is not paid; only a paid one can be disputed")
            return await self.rail.dispute(tx, business_id, *found, status, now=now)

    async def _attempt_of(self, business_id: str, pay_code: str) -> str:
        snapshot = await self._snapshot(business_id, pay_code)
        if snapshot.attempt is None:
            raise errors.Conflict("this payment has no attempt yet; charge it first")
        return snapshot.attempt.reference

    async def _snapshot(self, business_id: str, pay_code: str) -> PaymentSnapshot:
        """With the newest attempt."""
        if not ids.looks_like_pay_code(pay_code):
            raise errors.NotFound(pay.NOT_FOUND)
        return await pay.view(self.deps.db, business_id, pay_code)
