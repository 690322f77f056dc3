"""The rail itself. Every time is an argument, so that the sandbox's clock moves all of it together."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from tidegate.core.errors import NotFound
from tidegate.core.method import METHODS_OF
from tidegate.core.money import Money
from tidegate.infra.db import Database, Tx
from tidegate.rail.interface import (
    AttemptState,
    AttemptTold,
    Authorization,
    Capabilities,
    FailureReason,
    MoneyArrived,
    Party,
    RawNotification,
    RefundMoney,
    ReturnMoney,
    ReturnTold,
    StartAttempt,
    Succeeded,
    Told,
)
from tidegate.rail.sandbox import model, notice, store
from tidegate.rail.sandbox.begin import begin, needs_serial
from tidegate.rail.sandbox.model import Attempt, Payout, PayoutKind
from tidegate.rail.sandbox.notice import Notice

SECRET_BYTES_MIN = 16
# How long a worker may take to send what it took, before another one may.
NOTICE_LEASE = timedelta(seconds=30)
SCHEME = "sandbox"


class SandboxRail:
    """The Rail interface, what payers do (`transfer`, `approve`, `decline`), and what is due to be told (`due`)."""

    def __init__(self, db: Database, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES_MIN:
            raise ValueError(f"the secret of the sandbox's rail has at least {SECRET_BYTES_MIN} bytes")
        self._db = db
        self._secret = secret
        self._capabilities = Capabilities(
            methods={currency: frozenset(methods) for currency, methods in METHODS_OF.items()},
            minor_min=1,
            minor_max=10**12,
        )

    @property
    def name(self) -> str:
        return "sandbox"

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def start(self, attempt: StartAttempt, *, now: datetime) -> AttemptState:
        async with self._db.transaction() as tx:
            serial = await store.next_serial(tx) if needs_serial(attempt.means) else 0
            begun = begin(attempt, transaction_id=_new_transaction_id(), serial=serial, now=now)
            if not await store.insert_attempt(tx, begun):
                begun = await _get(tx, attempt.business_id, attempt.reference)
            elif begun.ends_at is not None and model.SCRIPTS[begun.behaviour].is_told:
                await _tell_outcome(tx, begun, due_at=begun.ends_at, now=now)
        # After the commit: a rail that does not answer has done its work all the same.
        return model.answer_to_start(begun, now=now)

    async def authorize(self, business_id: str, reference: str, given: Authorization, *, now: datetime) -> AttemptState:
        async with self._db.transaction() as tx:
            before = await _lock(tx, business_id, reference)
            after = model.authorize(before, given, now=now)
            if after != before:
                await store.update_attempt(tx, after, now=now)
                if isinstance(after.state(now), Succeeded):
                    await _tell_outcome(tx, after, due_at=now, now=now)
        return after.state(now)

    async def ask(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        async with self._db.connection() as tx:
            return (await _get(tx, business_id, reference)).state(now)

    def read(self, raw: RawNotification, *, now: datetime) -> list[Told]:
        notice.check(raw, self._secret, now=now)
        return [notice.read(raw.body)]

    async def send_back(self, money: ReturnMoney, *, now: datetime) -> None:
        payout = _payout(PayoutKind.RETURN, money, reason=money.reason, failure=None, now=now)
        news = ReturnTold(
            business_id=payout.business_id, reference=payout.reference, transaction_id=payout.transaction_id
        )
        async with self._db.transaction() as tx:
            if await store.insert_payout(tx, payout):
                told = Told(id=f"return-{payout.transaction_id}", news=news)
                await _schedule(tx, payout.business_id, told, due_at=payout.ends_at, now=now)

    async def refund(self, money: RefundMoney, *, now: datetime) -> AttemptState:
        payout = _payout(PayoutKind.REFUND, money, reason=None, failure=model.refund_failure(money.amount), now=now)
        async with self._db.connection() as tx:
            await store.insert_payout(tx, payout)
        return await self.ask_refund(money.business_id, money.reference, now=now)

    async def ask_refund(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        async with self._db.connection() as tx:
            payout = await store.find_payout(tx, business_id, PayoutKind.REFUND, reference)
        if payout is None:
            raise NotFound("the sandbox's rail was never asked for this refund")
        return payout.state(now)

    # What payers do.

    async def transfer(
        self,
        business_id: str,
        account_number: str,
        amount: Money,
        *,
        payer: Party,
        payee_name: str | None,
        remittance: str | None,
        transaction_id: str | None,
        now: datetime,
    ) -> str:
        """Money is on its way to any account number, known or not, and the bank tells of it at once.

        A transaction identifier given again is the same news told again; with another amount, a contradiction.
        """
        if amount.minor <= 0:
            raise ValueError("a transfer moves money")
        chosen = transaction_id or _new_transaction_id()
        # Chosen by a caller, it is unique among its own business's only.
        told_id = f"credit-{business_id}-{chosen}"
        async with self._db.transaction() as tx:
            told_at = await store.find_first_told_at(tx, business_id, told_id)
            news = MoneyArrived(
                account_number=account_number,
                transaction_id=chosen,
                amount=amount,
                payer=payer,
                payee_name=payee_name,
                scheme=SCHEME,
                remittance=remittance,
                valued_at=told_at or now,
            )
            await _schedule(tx, business_id, Told(id=told_id, news=news), due_at=now, now=now)
        return chosen

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
            await _tell_outcome(tx, ended, due_at=now, now=now)

    # What the rail tells.

    async def due(self, *, now: datetime, limit: int) -> list[Notice]:
        """What is to be sent now, signed now. What is not reported as `sent` is due again after the lease."""
        async with self._db.connection() as tx:
            rows = await store.take_due_notices(tx, now=now, until=now + NOTICE_LEASE, limit=limit)
        return [Notice(row["business_id"], row["id"], notice.sign(row["body"], self._secret, now=now)) for row in rows]

    async def sent(self, notices: Iterable[Notice], *, now: datetime) -> None:
        async with self._db.connection() as tx:
            await store.mark_sent(tx, [(one.business_id, one.id) for one in notices], now=now)

    async def forget(self, business_id: str) -> None:
        """Everything about the business, for when its sandbox is emptied."""
        async with self._db.transaction() as tx:
            await store.delete_all(tx, business_id)


async def _get(tx: Tx, business_id: str, reference: str) -> Attempt:
    return await store.find_attempt(tx, business_id, reference) or _unknown()


async def _lock(tx: Tx, business_id: str, reference: str) -> Attempt:
    return await store.lock_attempt(tx, business_id, reference) or _unknown()


def _unknown() -> Attempt:
    raise NotFound("the sandbox's rail knows no such attempt")


async def _tell_outcome(tx: Tx, attempt: Attempt, *, due_at: datetime, now: datetime) -> None:
    news = AttemptTold(business_id=attempt.business_id, reference=attempt.reference, state=attempt.outcome())
    # An attempt ends once, so its transaction names the news too.
    told = Told(id=f"attempt-{attempt.transaction_id}", news=news)
    await _schedule(tx, attempt.business_id, told, due_at=due_at, now=now)


async def _schedule(tx: Tx, business_id: str, told: Told, *, due_at: datetime, now: datetime) -> None:
    await store.insert_notice(tx, business_id, told_id=told.id, body=notice.write(told), due_at=due_at, now=now)


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
