"""Receives notifications: reads them, finds the owner, and records the effect."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
import structlog

from tidegate.account.model import CURRENCIES as ACCOUNT_CURRENCIES
from tidegate.account.model import AccountStatus
from tidegate.collection import reversal
from tidegate.collection import settle as inflow
from tidegate.collection import store as collection_store
from tidegate.collection.model import Place
from tidegate.core.clock import Clock
from tidegate.core.errors import Invalid, NotFound, Problem, Unauthenticated
from tidegate.core.money import Currency, Money
from tidegate.infra.db import naming
from tidegate.intake import store
from tidegate.intake.store import Recorded
from tidegate.ledger import recipes
from tidegate.ledger.model import HOUSE_BUSINESS_ID
from tidegate.money_return import store as money_return_store
from tidegate.payment import settle
from tidegate.payment.change import Receipt, Situation
from tidegate.payment.decide import Arrival, WrongCurrency
from tidegate.payment.destination_store import Destination
from tidegate.rail.interface import (
    AttemptTold,
    CreditReversed,
    MoneyArrived,
    News,
    NotificationRefused,
    NotificationUnreadable,
    RawNotification,
    ReturnTold,
    Succeeded,
    Told,
)
from tidegate.rail.till import Till
from tidegate.rail.told import AlreadyReceived, ToldBefore, ToldBy

log = structlog.get_logger("intake")


async def receive(till: Till, rail_name: str, raw: RawNotification, clock: Clock) -> int:
    """Returns how many events the notification held. Everything acknowledged here is recorded.

    A rail signs in real time; its events happen at the time of their business.
    """
    now = clock.now()
    rail = till.rails.get(rail_name)
    if rail is None:
        raise NotFound("no rail has this name")
    try:
        told = rail.read(raw, now=now)
    except NotificationRefused as refused:
        raise Unauthenticated("the notification's signature is not the rail's") from refused
    except NotificationUnreadable as unreadable:
        await _quarantine(till, ToldBy(rail=rail_name, id=unreadable.id, body=raw.body), str(unreadable), now)
        raise Invalid(Problem("body", str(unreadable))) from unreadable
    for news in told:
        await _route(till, news, ToldBy(rail=rail_name, id=news.id, body=raw.body), clock)
    return len(told)


async def _route(till: Till, told: Told, told_by: ToldBy, clock: Clock) -> None:
    news = told.news
    try:
        if isinstance(news, AttemptTold):
            await _attempt_told(till, news, told_by, clock.now_of(news.business_id))
        elif isinstance(news, MoneyArrived):
            await _money_arrived(till, news, told_by, clock)
        elif isinstance(news, CreditReversed):
            await reversal.record(till, news, told_by=told_by, clock=clock)
        else:
            await _return_told(till, news, told_by, clock.now_of(news.business_id))
    except AlreadyReceived:
        await _same_money_again(till, news, told_by, clock.now())
    except ToldBefore:
        await _same_notification_again(till, told_by, clock.now())


async def _attempt_told(till: Till, news: AttemptTold, told_by: ToldBy, now: datetime) -> None:
    try:
        situation = await settle.record_state(
            till,
            news.business_id,
            news.reference,
            news.state,
            told_by=told_by,
            now=now,
            # An event that changes nothing is recorded too.
            unchanged=partial(_note, till, told_by, "done", None, now),
        )
    except WrongCurrency as wrong:
        assert isinstance(news.state, Succeeded)
        receipt = _unclaimed(told_by, news.state.transaction_id, news.state.amount, {}, str(wrong))
        await _suspend(till, news.business_id, receipt, told_by, account_number=None, now=now)
        return
    if situation is not None:
        return
    if isinstance(news.state, Succeeded):
        receipt = _unclaimed(
            told_by, news.state.transaction_id, news.state.amount, {}, f"no attempt has the reference {news.reference}"
        )
        await _suspend(till, HOUSE_BUSINESS_ID, receipt, told_by, account_number=None, now=now)
    else:
        await _note(till, told_by, "suspense", f"no attempt has the reference {news.reference}", now)


async def _money_arrived(till: Till, news: MoneyArrived, told_by: ToldBy, clock: Clock) -> None:
    owner = await _owner_of(till, news, told_by.rail)
    now = clock.now_of(owner.business.id if owner else HOUSE_BUSINESS_ID)
    if isinstance(owner, Situation):
        await _for_a_checkout(till, owner, news, told_by, now)
    elif isinstance(owner, Place):
        await _for_an_account(till, owner, news, told_by, now)
    else:
        receipt = _unclaimed(told_by, news.transaction_id, news.amount, _payer(news), "no account has this number")
        await _suspend(till, HOUSE_BUSINESS_ID, receipt, told_by, account_number=news.account_number, now=now)


async def _owner_of(till: Till, news: MoneyArrived, rail: str) -> Situation | Place | None:
    """The account of a checkout, or a permanent one. The likelier kind is searched first, and the other too unless
    the first is open: the rail may have reused the number.
    """
    destination = Destination(rail, news.account_number, news.transaction_id)
    finders: list[Callable[[Till, Destination], Awaitable[Situation | Place | None]]] = [
        settle.find_by_destination,
        _find_place,
    ]
    if news.amount.currency in ACCOUNT_CURRENCIES:
        finders.reverse()
    found = None
    for find in finders:
        owner = await find(till, destination)
        if owner is not None and _is_open(owner):
            return owner
        found = found or owner
    return found


def _is_open(owner: Situation | Place) -> bool:
    if isinstance(owner, Place):
        return owner.account.status is AccountStatus.APPROVED
    return owner.attempt is not None and owner.attempt.is_open


async def _find_place(till: Till, destination: Destination) -> Place | None:
    async with till.db.connection() as tx:
        return await collection_store.find_place(tx, *destination)


async def _for_a_checkout(till: Till, situation: Situation, news: MoneyArrived, told_by: ToldBy, now: datetime) -> None:
    expected = situation.payment.expected.currency
    if news.amount.currency is not expected:
        receipt = _in_wrong_currency(told_by, news, expected)
        await _suspend(
            till, situation.business.id, receipt, told_by, account_number=news.account_number, now=now,
            payment_id=situation.payment.id,
        )  # fmt: skip
        return
    arrival = Arrival(
        rail=told_by.rail,
        transaction_id=news.transaction_id,
        amount=news.amount,
        payer=_payer(news),
        valued_at=news.valued_at,
    )
    await settle.record_arrival(till, news.account_number, arrival, told_by=told_by, now=now, known=situation)


async def _for_an_account(till: Till, place: Place, news: MoneyArrived, told_by: ToldBy, now: datetime) -> None:
    expected = place.account.currency
    if news.amount.currency is expected:
        await inflow.record_arrival(till, place, news, told_by=told_by, now=now)
        return
    receipt = _in_wrong_currency(told_by, news, expected)
    await _suspend(till, place.business.id, receipt, told_by, account_number=news.account_number, now=now)


def _in_wrong_currency(told_by: ToldBy, news: MoneyArrived, expected: Currency) -> Receipt:
    reason = f"the account takes {expected}, not {news.amount.currency}"
    return _unclaimed(told_by, news.transaction_id, news.amount, _payer(news), reason)


def _payer(news: MoneyArrived) -> dict[str, Any]:
    payer: dict[str, Any] = msgspec.to_builtins(news.payer)
    return payer


async def _return_told(till: Till, news: ReturnTold, told_by: ToldBy, now: datetime) -> None:
    async with till.db.connection() as tx:
        known = await money_return_store.find(tx, news.business_id, news.reference, rail=told_by.rail)
        collection = None
        if known is not None and known.collection_id is not None:
            collection = await collection_store.find_by_id(tx, news.business_id, known.collection_id)
    if known is None:
        await _note(till, told_by, "suspense", "no return has this reference", now)
        return
    if collection is not None:
        await inflow.confirm_return(till, collection, sent_as=news.transaction_id, now=now)
    else:
        journal = recipes.return_done(cause=news.reference, returned=known.amount, event_at=now)
        async with till.db.connection() as tx:
            await money_return_store.confirm(
                tx, news.business_id, news.reference, journal, sent_as=news.transaction_id, now=now
            )
    await _note(till, told_by, "done", None, now)


async def _same_notification_again(till: Till, told_by: ToldBy, now: datetime) -> None:
    """A repeat has no effect. A different body under the same identifier is quarantined for an operator."""
    async with till.db.connection() as tx:
        before = await store.get_body(tx, told_by.rail, told_by.id)
    if before == told_by.body:
        return
    log.error("a rail contradicts itself", rail=told_by.rail, what=told_by.id)
    digest = hashlib.sha256(told_by.body).hexdigest()[:16]
    other = ToldBy(rail=told_by.rail, id=f"{told_by.id}#{digest}", body=told_by.body)
    await _quarantine(till, other, f"{told_by.id} was notified before with another body", now)


async def _same_money_again(till: Till, news: News, told_by: ToldBy, now: datetime) -> None:
    """One transaction under two identifiers. With another amount or account it is quarantined for an operator."""
    transaction_id, told, business_id = await _known(till, news, told_by.rail)
    async with till.db.connection() as tx:
        recorded = await store.find_recorded(tx, business_id, told_by.rail, transaction_id)
    if recorded is not None and recorded.is_same_as(told):
        await _note(till, told_by, "done", "this transaction was notified before", now)
        return
    contradiction = f"{transaction_id} was recorded as {recorded} and is now notified as {told}"
    log.error("a rail contradicts itself", rail=told_by.rail, what=contradiction)
    await _quarantine(till, told_by, contradiction, now)


async def _known(till: Till, news: News, rail: str) -> tuple[str, Recorded, str]:
    if isinstance(news, AttemptTold) and isinstance(news.state, Succeeded):
        return news.state.transaction_id, Recorded(news.state.amount, None), news.business_id
    assert isinstance(news, MoneyArrived)
    owner = await _owner_of(till, news, rail)
    told = Recorded(news.amount, news.account_number)
    return news.transaction_id, told, owner.business.id if owner else HOUSE_BUSINESS_ID


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
    log.error("money without an owner", rail=receipt.rail, transaction_id=receipt.transaction_id, why=receipt.reason)
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
