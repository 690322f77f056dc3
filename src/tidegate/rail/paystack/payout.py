"""Refunds and returns: Paystack knows one kind, and has no idempotency key.

What was requested without an answer is looked for in Paystack's list. What is not there after a while is requested
again only where Paystack itself refuses a second one, which is the refund of a whole transaction: it would pay a part
twice. An operator who has looked there lets a part be requested again, or says that it was paid.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import structlog

from tidegate.core.errors import NotFound
from tidegate.infra.db import Database
from tidegate.infra.timestamp import to_iso
from tidegate.rail import notification_store
from tidegate.rail.action import FailureReason
from tidegate.rail.interface import RailBusy, RailRefused, RailTimeout, RailTransaction, RefundMoney, ReturnMoney
from tidegate.rail.paystack import state, store, wire
from tidegate.rail.paystack.client import PaystackClient, PaystackRejected
from tidegate.rail.paystack.store import PayoutOrder
from tidegate.rail.paystack.wire import PaystackRefund, RefundedTransaction
from tidegate.rail.state import Failed, PayoutState

# A refund whose answer was lost is listed by then; before, its absence proves nothing.
LISTED_WITHIN = timedelta(minutes=10)
# The clocks of both sides may differ.
LISTED_FROM = timedelta(hours=1)
# How far back a rejected refund is looked for: an earlier request of it may have been paid.
REJECTED_FROM = timedelta(days=30)
NOTE = "tidegate "
_NO_BALANCE = "insufficient balance"
_REVERSED = "reversed"

log = structlog.get_logger("paystack")


class Payouts:
    def __init__(self, rail_name: str, client: PaystackClient, db: Database) -> None:
        self._rail_name = rail_name
        self._client = client
        self._db = db

    async def request(self, kind: str, money: RefundMoney | ReturnMoney, *, now: datetime) -> PayoutState:
        """The order is written first, so that a lost answer is looked for and not requested again."""
        async with self._db.connection() as tx:
            is_new = await store.insert_payout(tx, kind, money, now=now)
        if is_new:
            return await self._send(money, now, is_repeat=False)
        try:
            return await self.poll(money, now=now)
        except NotFound:
            await self._begin_again(money, now)
        return await self._send(money, now, is_repeat=True)

    async def _begin_again(self, money: RefundMoney | ReturnMoney, now: datetime) -> None:
        async with self._db.transaction() as tx:
            order = await store.find_payout(tx, money.business_id, money.reference)
            if order is None or not await store.begin_again(tx, order, now=now):
                raise RailTimeout("the refund is being requested by another worker")

    async def _send(self, money: RefundMoney | ReturnMoney, now: datetime, *, is_repeat: bool) -> PayoutState:
        body = {
            "transaction": money.transaction_id,
            "amount": money.amount.minor,
            "merchant_note": NOTE + money.reference,
        }
        try:
            refund = await self._client.post("/refund", body, PaystackRefund)
        except (RailBusy, RailRefused):
            await self._not_taken(money, is_repeat=is_repeat)
            raise
        except PaystackRejected as rejected:
            return await self._rejected(money, str(rejected), now, is_repeat=is_repeat)
        return await self._found(money, refund)

    async def poll(self, money: RefundMoney | ReturnMoney, *, now: datetime) -> PayoutState:
        async with self._db.connection() as tx:
            order = await store.find_payout(tx, money.business_id, money.reference)
        if order is None:
            raise NotFound("no refund with this reference was requested from Paystack")
        if order.refund_id is not None:
            try:
                return state.of_refund(await self._client.get(f"/refund/{order.refund_id}", PaystackRefund))
            except (NotFound, wire.PaystackUnreadable) as error:
                raise RailTimeout(f"Paystack does not tell of the refund {order.refund_id}: {error}") from error
        return await self._look_for(money, order, now)

    async def _look_for(self, money: RefundMoney | ReturnMoney, order: PayoutOrder, now: datetime) -> PayoutState:
        before = REJECTED_FROM if order.tries > 1 else LISTED_FROM
        for refund in await self._list_of(money, order.tried_at - before):
            if refund.merchant_note == NOTE + money.reference:
                return await self._found(money, refund)
            if not _is_named(refund) and not order.may_repeat:
                raise await self._doubt(money, f"refund {refund.id} of the transaction has no note of ours", now)
        if order.may_repeat:
            raise NotFound("Paystack has no refund with this reference")
        if now < order.tried_at + LISTED_WITHIN:
            raise RailTimeout("whether Paystack has the refund is not known yet")
        if await self._is_whole(money):
            raise NotFound("Paystack has no refund with this reference, and would refuse a second one")
        why = f"Paystack did not answer at {to_iso(order.tried_at)}, and lists none since"
        raise await self._doubt(money, f"{why}; look there, then end it, or let it be requested again", now)

    async def _is_whole(self, money: RefundMoney | ReturnMoney) -> bool:
        """Of the whole transaction: Paystack refunds that once, however often it is requested."""
        try:
            found = await self._client.get(f"/transaction/{money.transaction_id}", wire.PaystackTransaction)
            return wire.money(found.amount, found.currency) == money.amount
        except (NotFound, wire.PaystackUnreadable):
            return False

    async def _list_of(self, money: RefundMoney | ReturnMoney, begin: datetime) -> list[PaystackRefund]:
        """Refunds of the same transaction: our own first, then those with no note of ours."""
        own = NOTE + money.reference
        listed = self._client.list("/refund", PaystackRefund, {"from": to_iso(begin)})
        found = [
            one async for one in listed if one.merchant_note == own or _transaction_in(one) == money.transaction_id
        ]
        return sorted(found, key=lambda one: (one.merchant_note != own, _is_named(one)))

    async def _doubt(self, money: RefundMoney | ReturnMoney, why: str, now: datetime) -> RailTimeout:
        """It may have been paid, or not: it is not requested again, has not failed, and an operator asks Paystack."""
        text = f"whether {money.amount} was paid for {money.reference} is not known: {why}"
        log.error("a refund at Paystack is in doubt", reference=money.reference, why=why)
        is_refund = isinstance(money, RefundMoney)
        id_of = notification_store.refund_in_doubt if is_refund else notification_store.return_in_doubt
        async with self._db.connection() as tx:
            await notification_store.quarantine(tx, self._rail_name, id_of(money.reference), why=text, now=now)
        return RailTimeout(text)

    async def _found(self, money: RefundMoney | ReturnMoney, refund: PaystackRefund) -> PayoutState:
        async with self._db.connection() as tx:
            await store.set_refund_id(
                tx, money.business_id, money.reference, refund_id=str(refund.id),
                transaction_reference=_reference_in(refund),
            )  # fmt: skip
        return state.of_refund(refund)

    async def _rejected(
        self, money: RefundMoney | ReturnMoney, why: str, now: datetime, *, is_repeat: bool
    ) -> PayoutState:
        log.error("Paystack rejects a refund", reference=money.reference, why=why)
        if _NO_BALANCE in why.lower():
            await self._not_taken(money, is_repeat=is_repeat)
            raise RailBusy(f"the balance at Paystack does not cover the refund: {why}", retry_after_s=3600)
        listed = await self._list_of(money, now - REJECTED_FROM)
        if listed and listed[0].merchant_note == NOTE + money.reference:
            return await self._found(money, listed[0])
        is_paid_otherwise = not listed and _REVERSED in why.lower()
        if is_repeat or is_paid_otherwise or not all(map(_is_named, listed)):
            raise await self._doubt(money, f"Paystack rejects it, and may have paid it before: {why}", now)
        return Failed(FailureReason.DECLINED)

    async def _not_taken(self, money: RefundMoney | ReturnMoney, *, is_repeat: bool) -> None:
        """The next request is the first again, or the same repeat."""
        undo = store.let_repeat if is_repeat else store.delete_untaken
        async with self._db.connection() as tx:
            await undo(tx, money.business_id, money.reference)

    async def list_lines(self, begin: datetime, end: datetime) -> AsyncIterator[RailTransaction]:
        """Refunds that were paid out in the period."""
        query = {"from": to_iso(begin - timedelta(days=30)), "to": to_iso(end)}
        async for refund in self._client.list("/refund", PaystackRefund, query):
            paid_at = wire.moment(refund.refunded_at) or wire.moment(refund.created_at)
            if refund.status == "processed" and paid_at is not None and begin <= paid_at < end:
                note = refund.merchant_note or ""
                yield RailTransaction(
                    transaction_id=str(refund.id),
                    is_incoming=False,
                    amount=wire.money(refund.amount, refund.currency),
                    booked_at=paid_at,
                    reference=note.removeprefix(NOTE) if note.startswith(NOTE) else None,
                )


def _is_named(refund: PaystackRefund) -> bool:
    """Whether the note says of which of our orders it is."""
    return (refund.merchant_note or "").startswith(NOTE)


def _transaction_in(refund: PaystackRefund) -> str | None:
    inner = refund.transaction.id if isinstance(refund.transaction, RefundedTransaction) else refund.transaction
    return str(inner) if inner is not None else None


def _reference_in(refund: PaystackRefund) -> str | None:
    inner = refund.transaction.reference if isinstance(refund.transaction, RefundedTransaction) else None
    return inner or refund.transaction_reference
