"""Sending money back by the rail it came by."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

import structlog

from tidegate.money_return import store
from tidegate.rail.interface import RailTimeout, ReturnMoney
from tidegate.rail.till import Till

BATCH = 50
LEASE = timedelta(seconds=60)
# A return that the rail has not confirmed is asked for again; rails know a repeated reference.
CONFIRM_WITHIN = timedelta(minutes=10)

log = structlog.get_logger("returns")


async def send(till: Till, now: datetime) -> int:
    token = secrets.token_hex(8)
    async with till.db.connection() as tx:
        claimed = await store.claim(tx, now, lease_until=now + LEASE, token=token, limit=BATCH)
    for rail_name, money in claimed:
        await _send(till, rail_name, money, token, now)
    return len(claimed)


async def _send(till: Till, rail_name: str, money: ReturnMoney, token: str, now: datetime) -> None:
    try:
        await till.rails[rail_name].send_back(money, now=now)
    except RailTimeout:
        log.warning("a rail did not take a return in time", rail=rail_name, reference=money.reference)
    async with till.db.connection() as tx:
        await store.mark_sent(tx, money, token=token, next_try_at=now + CONFIRM_WITHIN)
