"""The sandbox's rail. Every time is an argument, so that the sandbox's clock applies to all of it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

from tidegate.core.bank_number import normal_account_number
from tidegate.core.clock import Clock
from tidegate.core.errors import Conflict, NotFound
from tidegate.core.finding import Finding
from tidegate.core.money import ACCOUNT_OFFERS, Currency, Money
from tidegate.infra import leased_work
from tidegate.infra.db import Database, Row, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.rail.action import FailureReason
from tidegate.rail.capability import Capabilities, MethodTerms
from tidegate.rail.event import (
    AttemptOutcome,
    CreditReversed,
    DisputeChanged,
    DisputeStatus,
    MoneyArrived,
    Notification,
    RailEvent,
    RawNotification,
    ReturnConfirmed,
)
from tidegate.rail.instrument import Authorization
from tidegate.rail.interface import (
    AccountDetails,
    OpenAccount,
    RailTimeout,
    RailTransaction,
    RefundMoney,
    ReturnMoney,
    StartAttempt,
)
from tidegate.rail.sandbox import account, model, signed_notification, store
from tidegate.rail.sandbox.begin import begin, needs_serial, resend
from tidegate.rail.sandbox.model import BankTransfer, Payout, PayoutKind, SandboxAttempt
from tidegate.rail.state import AttemptState, PayoutState, Running, Succeeded

SECRET_BYTES_MIN = 16
# One at a time, so that notifications mostly keep the order of events.
SEND_NOTIFICATIONS = WorkKind(store.SEND_NOTIFICATIONS, store.list_due_notifications, at_once_max=1)
DISPUTED_BECAUSE = "chargeback"
DISPUTE_ANSWERED_WITHIN = timedelta(days=7)
REVERSED_BECAUSE = "the payer's bank reversed the transfer"

N = TypeVar("N", bound=RailEvent)

SendNotice = Callable[[Lease, RawNotification], Awaitable[None]]


class SandboxRail:
    """The Rail interface, actions of payers and banks (`transfer`, `reverse`, `approve`, …), and due notifications."""

    def __init__(self, db: Database, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES_MIN:
            raise ValueError(f"the secret of the sandbox's rail must have at least {SECRET_BYTES_MIN} bytes")
        self._db = db
        self._secret = secret
        self._capabilities = Capabilities(
            methods={currency: dict.fromkeys(currency.spec.methods, MethodTerms()) for currency in Currency},
            account_currencies=frozenset(ACCOUNT_OFFERS),
            resends=model.RESENDS,
            extends_accounts=True,
        )

    @property
    def name(self) -> str:
        return "sandbox"

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def open(self) -> None:
        """It is in the database."""

    async def close(self) -> None:
        """Nothing is held."""

    async def check(self, *, now: datetime) -> list[Finding]:
        return [Finding("rail sandbox", True, "simulates every method; no real money moves")]

    async def start(self, attempt: StartAttempt, *, now: datetime) -> AttemptState:
        async with self._db.transaction() as tx:
            serial = await store.next_serial(tx) if needs_serial(attempt.instrument) else 0
            begun = begin(attempt, transaction_id=_new_transaction_id(), serial=serial, now=now)
            if not await store.insert_attempt(tx, begun):
                begun = await _get(tx, attempt.business_id, attempt.reference)
            elif begun.ends_at is not None and model.SCRIPTS[begun.behaviour].is_notified:
                await _notify_outcome(tx, begun, due_at=begun.ends_at, now=now)
        # After the commit: a rail that does not answer has still done the work.
        return model.answer_to_start(begun, now=now)

    async def authorize(self, business_id: str, reference: str, given: Authorization, *, now: datetime) -> AttemptState:
        async with self._db.transaction() as tx:
            before = await _lock(tx, business_id, reference)
            after = model.authorize(before, given, now=now)
            if after != before:
                await store.update_attempt(tx, after, now=now)
                if isinstance(after.state(now), Succeeded):
                    await _notify_outcome(tx, after, due_at=now, now=now)
        return after.state(now)

    async def resend(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        async with self._db.transaction() as tx:
            before = await _lock(tx, business_id, reference)
            after = resend(before, serial=await store.next_serial(tx), now=now)
            await store.update_attempt(tx, after, now=now)
        return after.state(now)

    async def poll(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        async with self._db.connection() as tx:
            return (await _get(tx, business_id, reference)).state(now)

    async def read(self, raw: RawNotification, *, now: datetime) -> list[Notification]:
        signed_notification.check(raw, self._secret, now=now)
        return [signed_notification.read(raw.body)]

    async def send_back(self, money: ReturnMoney, *, now: datetime) -> PayoutState:
        payout = _payout(PayoutKind.RETURN, money, reason=money.reason, failure=None, now=now)
        confirmed = ReturnConfirmed(
            business_id=payout.business_id, reference=payout.reference, transaction_id=payout.transaction_id
        )
        async with self._db.transaction() as tx:
            if await store.insert_payout(tx, payout):
                notification = Notification(id=f"return-{payout.transaction_id}", event=confirmed)
                await _schedule(tx, payout.business_id, notification, due_at=payout.ends_at, now=now)
        # Confirmed by the notification only.
        return Running()

    async def open_account(self, order: OpenAccount, *, now: datetime) -> AccountDetails:
        async with self._db.transaction() as tx:
            serial = await store.next_serial(tx)
            fresh = account.details_of(order.currency, serial=serial, reference=f"sbx_account_{secrets.token_hex(12)}")
            await store.insert_account(tx, order, fresh, now=now)
            currency, details = await store.get_account(tx, order.business_id, order.reference)
        if currency is not order.currency:
            raise Conflict(f"this reference already has an account in {currency}; use another reference")
        return details

    async def refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        payout = _payout(PayoutKind.REFUND, money, reason=None, failure=model.refund_failure(money.amount), now=now)
        async with self._db.connection() as tx:
            await store.insert_payout(tx, payout)
        if model.is_unanswered(payout, now=now):
            raise RailTimeout("the bank did not answer")
        return await self.poll_refund(money, now=now)

    async def poll_refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        async with self._db.connection() as tx:
            payout = await store.find_payout(tx, money.business_id, PayoutKind.REFUND, money.reference)
        if payout is None:
            raise NotFound("the sandbox's rail has no refund with this reference")
        return payout.state(now)

    def list_transactions(self, begin: datetime, end: datetime) -> AsyncIterator[RailTransaction]:
        raise Conflict("the sandbox's rail has no list of its transactions")

    # Actions of payers and their banks. In the caller's transaction, so that an idempotent answer commits with them.

    async def transfer(self, tx: Tx, business_id: str, sent: BankTransfer, *, now: datetime) -> str:
        """Sends money to any account number, known or not. The notification follows at once unless delayed.

        A repeated transaction identifier repeats the notification; with another amount, it contradicts the first one.
        """
        if sent.amount.minor <= 0:
            raise ValueError("the amount of a transfer must be positive")
        chosen = sent.transaction_id or _new_transaction_id()
        notification_id = _credit_id(business_id, chosen)
        await store.lock_notification(tx, business_id, notification_id)
        before = await store.find_first_notification(tx, business_id, notification_id)
        arrived = MoneyArrived(
            account_number=normal_account_number(sent.account_number),
            transaction_id=chosen,
            amount=sent.amount,
            payer=sent.payer,
            payee_name=sent.payee_name,
            scheme=sent.travels_by,
            remittance=sent.remittance,
            valued_at=sent.valued_at or (before["created_at"] if before else now),
        )
        await _schedule(
            tx, business_id, Notification(id=notification_id, event=arrived), due_at=now + sent.delay, now=now
        )
        return chosen

    async def reverse(
        self, tx: Tx, business_id: str, transaction_id: str, reason: str | None, *, now: datetime
    ) -> CreditReversed:
        """The bank reverses a credit and notifies it at once, even before a delayed notification of the credit.

        A credit is reversed once; a repeat sends the first notification again, unchanged.
        """
        notification_id = f"reversal-{business_id}-{transaction_id}"
        await store.lock_notification(tx, business_id, notification_id)
        before = await store.find_first_notification(tx, business_id, notification_id)
        if before is None:
            credit = await _get_credit(tx, business_id, transaction_id)
            reversed_credit = CreditReversed(
                account_number=credit.account_number,
                transaction_id=transaction_id,
                reversal_id=_new_transaction_id(),
                amount=credit.amount,
                reason=reason or REVERSED_BECAUSE,
            )
        else:
            reversed_credit = _event_of(before, CreditReversed)
        await _schedule(tx, business_id, Notification(id=notification_id, event=reversed_credit), due_at=now, now=now)
        return reversed_credit

    async def dispute(
        self, tx: Tx, business_id: str, transaction_id: str, amount: Money, status: DisputeStatus, *, now: datetime
    ) -> str:
        """The payer disputes a payment, or the bank has decided. A lost one takes the money back. The dispute's id."""
        changed = DisputeChanged(
            dispute_id=f"dispute_{transaction_id}",
            transaction_id=transaction_id,
            amount=amount,
            status=status,
            due_at=now + DISPUTE_ANSWERED_WITHIN,
            reason=DISPUTED_BECAUSE,
        )
        notification = Notification(id=f"dispute-{business_id}-{transaction_id}-{status}", event=changed)
        await _schedule(tx, business_id, notification, due_at=now, now=now)
        if status is DisputeStatus.LOST:
            reversed_credit = CreditReversed(
                account_number=None,
                transaction_id=transaction_id,
                reversal_id=_new_transaction_id(),
                amount=amount,
                reason=DISPUTED_BECAUSE,
            )
            notification = Notification(id=f"reversal-{business_id}-{transaction_id}", event=reversed_credit)
            await _schedule(tx, business_id, notification, due_at=now, now=now)
        return changed.dispute_id

    async def approve(self, business_id: str, reference: str, *, now: datetime) -> None:
        await self._on_the_phone(business_id, reference, None, now)

    async def decline(self, business_id: str, reference: str, reason: str | None, *, now: datetime) -> None:
        await self._on_the_phone(business_id, reference, model.reason_to_decline(reason), now)

    async def _on_the_phone(
        self, business_id: str, reference: str, failure: FailureReason | None, now: datetime
    ) -> None:
        async with self._db.transaction() as tx:
            ended = model.on_the_phone(await _lock(tx, business_id, reference), failure, now=now)
            await store.update_attempt(tx, ended, now=now)
            await _notify_outcome(tx, ended, due_at=now, now=now)

    # Notifications.

    async def send_notifications(self, deliver: SendNotice, clock: Clock) -> RoundResult:
        """One round of sending: every due notification, signed when it is sent."""

        async def send(lease: Lease, now: datetime) -> bool:
            async with self._db.connection() as tx:
                body = await store.find_notification_to_send(tx, lease.business_id, int(lease.id))
            if body is None:
                return False
            await deliver(lease, signed_notification.sign(body, self._secret, now=clock.now()))
            async with self._db.connection() as tx:
                await store.mark_sent(tx, lease.business_id, int(lease.id), now=now)
            return True

        return await leased_work.run_round(self._db, SEND_NOTIFICATIONS, send, clock)

    async def forget(self, business_id: str) -> None:
        """Deletes the attempts, payouts and notifications of a business when its sandbox is reset. Accounts stay."""
        async with self._db.transaction() as tx:
            await store.delete_all(tx, business_id)


async def _get(tx: Tx, business_id: str, reference: str) -> SandboxAttempt:
    return await store.find_attempt(tx, business_id, reference) or _unknown()


async def _lock(tx: Tx, business_id: str, reference: str) -> SandboxAttempt:
    return await store.lock_attempt(tx, business_id, reference) or _unknown()


def _unknown() -> SandboxAttempt:
    raise NotFound("the sandbox's rail has no attempt with this reference")


def _credit_id(business_id: str, transaction_id: str) -> str:
    # A transaction identifier chosen by the caller is unique only within the business.
    return f"credit-{business_id}-{transaction_id}"


async def _get_credit(tx: Tx, business_id: str, transaction_id: str) -> MoneyArrived:
    row = await store.find_first_notification(tx, business_id, _credit_id(business_id, transaction_id))
    if row is None:
        raise NotFound("no transfer has this reference")
    return _event_of(row, MoneyArrived)


def _event_of(row: Row, kind: type[N]) -> N:
    event = signed_notification.read(row["body"]).event
    assert isinstance(event, kind)
    return event


async def _notify_outcome(tx: Tx, attempt: SandboxAttempt, *, due_at: datetime, now: datetime) -> None:
    outcome = AttemptOutcome(business_id=attempt.business_id, reference=attempt.reference, state=attempt.outcome())
    # An attempt ends once, so its transaction id also identifies the notification.
    notification = Notification(id=f"attempt-{attempt.transaction_id}", event=outcome)
    await _schedule(tx, attempt.business_id, notification, due_at=due_at, now=now)


async def _schedule(tx: Tx, business_id: str, notification: Notification, *, due_at: datetime, now: datetime) -> None:
    await store.insert_notification(
        tx,
        business_id,
        notification_id=notification.id,
        body=signed_notification.write(notification),
        due_at=due_at,
        now=now,
    )


def _payout(
    kind: PayoutKind,
    money: ReturnMoney | RefundMoney,
    *,
    reason: str | None,
    failure: FailureReason | None,
    now: datetime,
) -> Payout:
    return Payout(
        business_id=money.business_id,
        kind=kind,
        reference=money.reference,
        paid_transaction_id=money.transaction_id,
        transaction_id=_new_transaction_id(),
        amount=money.amount,
        reason=reason,
        failure=failure,
        created_at=now,
        ends_at=now + model.PAYOUT_TAKES,
    )


def _new_transaction_id() -> str:
    return f"sbx_{secrets.token_hex(12)}"
