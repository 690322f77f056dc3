"""Commands on virtual accounts: merchants request them, operators decide."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import NoReturn

import msgspec

from tidegate.account import model, store
from tidegate.account.event import event_of
from tidegate.account.model import Account, AccountAction, AccountStatus
from tidegate.audit import store as audit
from tidegate.audit.model import OURSELVES, Actor
from tidegate.core.clock import Clock
from tidegate.core.errors import Conflict, NotFound, Unavailable
from tidegate.core.money import Currency
from tidegate.infra import leased_work
from tidegate.infra.db import Database, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.merchant import store as merchant_store
from tidegate.merchant.model import Business
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.interface import AccountDetails, OpenAccount, Rail, RailTimeout
from tidegate.webhook import outbox_store
from tidegate.webhook.model import EVENT_CHANNEL

ACCOUNTS_MAX = 1_000
EXPIRE = WorkKind(store.EXPIRE, store.list_to_expire)
NO_ACCOUNT = "no virtual account has this id"

Move = Callable[[Account], Account]


async def request(db: Database, account: Account, *, by: Actor, now: datetime) -> Account:
    async with db.transaction() as tx:
        return await request_in(tx, account, by=by, now=now)


async def request_in(tx: Tx, account: Account, *, by: Actor, now: datetime) -> Account:
    await merchant_store.lock(tx, account.business_id)
    _, total = await store.list_page(tx, account.business_id, offset=0, limit=1)
    if total >= ACCOUNTS_MAX:
        raise Conflict(f"a business has at most {ACCOUNTS_MAX} virtual accounts; ask the operator")
    await store.insert(tx, account)
    details = {"currency": account.currency, "holder": account.holder}
    await audit.insert(
        tx, account.business_id, by, action="account.requested", subject=account.id, details=details, now=now
    )
    return account


async def get(db: Database, business_id: str, account_id: str) -> Account:
    _refuse_no_id(account_id)
    async with db.connection() as tx:
        return await store.find(tx, business_id, account_id) or _not_found()


async def list_active(db: Database, business_id: str, *, now: datetime) -> dict[Currency, Account]:
    """The newest active account in each currency."""
    async with db.connection() as tx:
        approved, _ = await store.list_page(
            tx, business_id, statuses=[AccountStatus.APPROVED], offset=0, limit=ACCOUNTS_MAX
        )
    return {account.currency: account for account in reversed(approved) if account.is_active(now)}


async def get_unscoped(db: Database, account_id: str) -> Account:
    """For operators."""
    _refuse_no_id(account_id)
    async with db.connection() as tx:
        return await store.find_unscoped(tx, account_id) or _not_found()


async def approve(
    deps: PaymentDeps, account_id: str, *, by: Actor, now: datetime, expires_at: datetime | None = None,
    also: InSameTransaction = nothing_else,
) -> Account:  # fmt: skip
    """The rail opens the account first. After a crash, a repeat gets the same account from the rail."""
    account = await get_unscoped(deps.db, account_id)
    model.refuse_unless_allowed(account, AccountAction.APPROVE)
    rail = _rail_for(deps, account.currency)
    details = await _open(rail, account, now)

    def move(found: Account) -> Account:
        return model.approve(found, details, rail=rail.name, expires_at=expires_at)

    try:
        return await _act(deps.db, account_id, AccountAction.APPROVE, move, by=by, now=now, also=also)
    except store.NumberTaken:
        number = details.account_number
        raise Conflict(
            f"{rail.name} gave the number {number}, which another open account has; contact the rail"
        ) from None


async def decline(db: Database, account_id: str, reason: str, *, by: Actor, now: datetime) -> Account:
    return await _act(db, account_id, AccountAction.DECLINE, lambda found: model.decline(found, reason), by=by, now=now)


async def suspend(db: Database, account_id: str, reason: str, *, by: Actor, now: datetime) -> Account:
    return await _act(db, account_id, AccountAction.SUSPEND, lambda found: model.suspend(found, reason), by=by, now=now)


async def reinstate(
    db: Database, account_id: str, *, by: Actor, now: datetime, also: InSameTransaction = nothing_else
) -> Account:
    return await _act(db, account_id, AccountAction.REINSTATE, model.reinstate, by=by, now=now, also=also)


async def close(db: Database, account_id: str, reason: str, *, by: Actor, now: datetime) -> Account:
    return await _act(db, account_id, AccountAction.CLOSE, lambda found: model.close(found, reason), by=by, now=now)


async def expire_due(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker."""
    return await leased_work.run_round(deps.db, EXPIRE, partial(_expire, deps.db), clock)


async def _expire(db: Database, lease: Lease, now: datetime) -> bool:
    await _act(db, lease.id, AccountAction.EXPIRE, model.expire, by=OURSELVES, now=now)
    return True


async def _act(
    db: Database, account_id: str, action: AccountAction, move: Move, *, by: Actor, now: datetime,
    also: InSameTransaction = nothing_else,
) -> Account:  # fmt: skip
    """The change, its event and its audit row, in one transaction."""
    _refuse_no_id(account_id)
    async with db.transaction() as tx:
        await also(tx)
        before = await store.find_unscoped(tx, account_id) or _not_found()
        business = await merchant_store.find_business(tx, before.business_id) or _not_found()
        moved = move(before)
        if not await store.update(tx, moved, now=now):
            raise Conflict("this account was changed at the same time; read it again, then repeat")
        after = msgspec.structs.replace(moved, version=before.version + 1, updated_at=now)
        await _note(tx, after, business, action, by=by, now=now)
    db.notify(EVENT_CHANNEL)
    return after


async def _note(
    tx: Tx, account: Account, business: Business, action: AccountAction, *, by: Actor, now: datetime
) -> None:
    event = event_of(action, account, business, now=now)
    if event is not None:
        await outbox_store.insert(tx, account.business_id, event, now=now)
    await audit.insert(
        tx, account.business_id, by, action=f"account.{action.value}", subject=account.id,
        details={"reason": account.reason} if account.reason else {}, now=now,
    )  # fmt: skip


def _rail_for(deps: PaymentDeps, currency: Currency) -> Rail:
    for rail in deps.open_rails.values():
        if currency in rail.capabilities.account_currencies:
            return rail
    raise Conflict(f"no rail in use opens accounts in {currency}; configure one, or resume it if it is paused")


async def _open(rail: Rail, account: Account, now: datetime) -> AccountDetails:
    order = OpenAccount(
        business_id=account.business_id, reference=account.id, currency=account.currency, holder=account.holder
    )
    try:
        return await rail.open_account(order, now=now)
    except RailTimeout:
        raise Unavailable(f"{rail.name} did not answer; approve again: the rail opens one account only") from None


def _refuse_no_id(text: str) -> None:
    """Refused before the query: PostgreSQL cannot store every text, such as one with a NUL."""
    if not model.ID.fullmatch(text):
        _not_found()


def _not_found() -> NoReturn:
    raise NotFound(NO_ACCOUNT)
