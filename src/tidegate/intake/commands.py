"""From raw bytes to what they mean, and to whom."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import msgspec
import structlog

from tidegate.core.errors import Invalid, NotFound, Problem, Unauthenticated
from tidegate.core.money import Money
from tidegate.infra.db import naming
from tidegate.intake import store
from tidegate.ledger import recipes
from tidegate.ledger.model import HOUSE_BUSINESS_ID
from tidegate.payment import attempt_store, settle, sweep_store
from tidegate.payment.attempt_store import AlreadyReceived
from tidegate.payment.change import Receipt, ToldBy
from tidegate.payment.decide import Arrival, WrongCurrency
from tidegate.payment.settle import Till, ToldBefore
from tidegate.rail.interface import (
    AttemptTold,
    MoneyArrived,
    News,
    NotificationRefused,
    NotificationUnreadable,
    RawNotification,
    ReturnTold,
    Succeeded,
    Told,
)

log = structlog.get_logger("intake")


async def receive(till: Till, rail_name: str, raw: RawNotification, *, now: datetime) -> int:
    """How many pieces of news it held. Whatever is acknowledged here is recorded."""
    rail = till.rails.get(rail_name)
    if rail is None:
        raise NotFound("there is no such rail")
    try:
        told = rail.read(raw, now=now)
    except NotificationRefused as refused:
        log.warning("a notification was refused", rail=rail_name, why=str(refused))
        raise Unauthenticated("the notification is not the rail's own") from None
    except NotificationUnreadable as unreadable:
        log.error("a notification makes no sense", rail=rail_name, why=str(unreadable))
        await _quarantine(till, ToldBy(rail=rail_name, id=unreadable.id, body=raw.body), str(unreadable), now)
        raise Invalid(Problem("body", str(unreadable))) from None
    for news in told:
        await _route(till, news, ToldBy(rail=rail_name, id=news.id, body=raw.body), now)
    return len(told)


async def _route(till: Till, told: Told, told_by: ToldBy, now: datetime) -> None:
    news = told.news
    try:
        if isinstance(news, AttemptTold):
            await _attempt_told(till, news, told_by, now)
        elif isinstance(news, MoneyArrived):
            await _money_arrived(till, news, told_by, now)
        else:
            await _return_told(till, news, told_by, now)
    except AlreadyReceived:
        await _same_money_again(till, news, told_by, now)
    except ToldBefore:
        await _same_notification_again(till, told_by, now)


async def _attempt_told(till: Till, news: AttemptTold, told_by: ToldBy, now: datetime) -> None:
    try:
        situation = await settle.record_state(
            till, news.business_id, news.reference, news.state, told_by=told_by, now=now
        )
    except WrongCurrency as wrong:
        assert isinstance(news.state, Succeeded)
        receipt = _unclaimed(told_by, news.state.transaction_id, news.state.amount, {}, str(wrong))
        await _suspend(till, news.business_id, receipt, told_by, account_number=None, now=now)
        return
    if situation is not None:
        await _note(till, told_by, "done", None, now)  # News that changed nothing is recorded all the same.
    elif isinstance(news.state, Succeeded):
        receipt = _unclaimed(
            told_by, news.state.transaction_id, news.state.amount, {}, f"no attempt has the reference {news.reference}"
        )
        await _suspend(till, HOUSE_BUSINESS_ID, receipt, told_by, account_number=None, now=now)
    else:
        await _note(till, told_by, "suspense", f"no attempt has the reference {news.reference}", now)


async def _money_arrived(till: Till, news: MoneyArrived, told_by: ToldBy, now: datetime) -> None:
    payer = msgspec.to_builtins(news.payer)
    async with till.db.connection() as tx:
        situation = await attempt_store.find_by_account_number(tx, news.account_number)
    if situation is None:
        receipt = _unclaimed(told_by, news.transaction_id, news.amount, payer, "no account has this number")
        await _suspend(till, HOUSE_BUSINESS_ID, receipt, told_by, account_number=news.account_number, now=now)
        return
    expected = situation.payment.expected.currency
    if news.amount.currency is not expected:
        reason = f"the account takes {expected}, not {news.amount.currency}"
        receipt = _unclaimed(told_by, news.transaction_id, news.amount, payer, reason)
        await _suspend(
            till, situation.business.id, receipt, told_by, account_number=news.account_number, now=now,
            payment_id=situation.payment.id,
        )  # fmt: skip
        return
    arrival = Arrival(
        rail=told_by.rail,
        transaction_id=news.transaction_id,
        amount=news.amount,
        payer=payer,
        valued_at=news.valued_at,
    )
    await settle.record_arrival(till, news.account_number, arrival, told_by=told_by, now=now, known=situation)


async def _return_told(till: Till, news: ReturnTold, told_by: ToldBy, now: datetime) -> None:
    async with till.db.connection() as tx:
        amount = await sweep_store.find_return(tx, news.business_id, news.reference)
        if amount is None:
            await store.note(tx, told_by, state="suspense", note="no return has this reference", now=now)
            return
        journal = recipes.return_done(cause=news.reference, returned=amount, event_at=now)
        await sweep_store.confirm_return(tx, news.business_id, news.reference, journal, now=now)
        await store.note(tx, told_by, state="done", note=None, now=now)


async def _same_notification_again(till: Till, told_by: ToldBy, now: datetime) -> None:
    """A repeat has no effect. Other words under the same identifier are no repeat: somebody must look."""
    async with till.db.connection() as tx:
        before = await store.get_body(tx, told_by.rail, told_by.id)
    if before == told_by.body:
        return
    log.error("a rail contradicts itself", rail=told_by.rail, what=told_by.id)
    digest = hashlib.sha256(told_by.body).hexdigest()[:16]
    other = ToldBy(rail=told_by.rail, id=f"{told_by.id}#{digest}", body=told_by.body)
    await _quarantine(till, other, f"{told_by.id} was told before in other words", now)


async def _same_money_again(till: Till, news: News, told_by: ToldBy, now: datetime) -> None:
    """The rail tells twice, under two identifiers. When it tells two amounts, somebody must look."""
    transaction_id, amount, business_id = await _known(till, news)
    async with till.db.connection() as tx:
        recorded = await attempt_store.find_receipt(tx, business_id, told_by.rail, transaction_id)
    if recorded == amount:
        await _note(till, told_by, "done", "the same money was told before", now)
        return
    contradiction = f"{transaction_id} was recorded as {recorded} and is now told as {amount}"
    log.error("a rail contradicts itself", rail=told_by.rail, what=contradiction)
    await _quarantine(till, told_by, contradiction, now)


async def _known(till: Till, news: News) -> tuple[str, Money, str]:
    if isinstance(news, AttemptTold) and isinstance(news.state, Succeeded):
        return news.state.transaction_id, news.state.amount, news.business_id
    assert isinstance(news, MoneyArrived)
    async with till.db.connection() as tx:
        situation = await attempt_store.find_by_account_number(tx, news.account_number)
    return news.transaction_id, news.amount, situation.business.id if situation else HOUSE_BUSINESS_ID


def _unclaimed(told_by: ToldBy, transaction_id: str, amount: Money, payer: dict[str, Any], reason: str) -> Receipt:
    return Receipt(
        rail=told_by.rail,
        transaction_id=transaction_id,
        amount=amount,
        taken="suspense",
        reason=reason,
        payer=payer,
    )


async def _suspend(
    till: Till, business_id: str, receipt: Receipt, told_by: ToldBy, *, account_number: str | None, now: datetime,
    payment_id: int | None = None,
) -> None:  # fmt: skip
    log.error("money for nobody", rail=receipt.rail, transaction_id=receipt.transaction_id, why=receipt.reason)
    cause = f"{receipt.rail}/{receipt.transaction_id}"
    journal = recipes.receipt_unclaimed(cause=cause, received=receipt.amount, event_at=now)
    async with till.db.connection() as tx:
        with naming({"receipt_one_per_transaction": AlreadyReceived}):
            is_news = await store.put_into_suspense(
                tx,
                business_id,
                receipt,
                journal,
                told_by,
                account_number=account_number,
                payment_id=payment_id,
                now=now,
            )
    if not is_news:
        raise ToldBefore


async def _quarantine(till: Till, told_by: ToldBy, why: str, now: datetime) -> None:
    await _note(till, told_by, "quarantined", why, now)


async def _note(till: Till, told_by: ToldBy, state: str, note: str | None, now: datetime) -> None:
    async with till.db.connection() as tx:
        await store.note(tx, told_by, state=state, note=note, now=now)
