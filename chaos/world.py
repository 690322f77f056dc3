"""The businesses of a run: keys, a webhook endpoint, virtual accounts, a member of the team who is signed in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import inflow
from chaos.client import Caller, Shop
from chaos.service import Service
from receiver import Receiver
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.member import session_store, store, team_store
from tidegate.member.model import hash_of_token, new_token
from tidegate.member.permission import Role
from tidegate.merchant import commands as merchants
from tidegate.webhook.model import EVENTS

SHOPS = 3
RATE = 100_000
ENDPOINT_RATE = 1_000
CURRENCIES = ("EUR", "USD")


async def open_shops(service: Service, by: Caller, receiver: Receiver) -> list[Shop]:
    db = Database(service.url, connections_max=2)
    await db.open()
    try:
        shops = [await _open_shop(db, number, SystemClock().now()) for number in range(1, SHOPS + 1)]
    finally:
        await db.close()
    for shop in shops:
        endpoint = {"url": receiver.url(), "ratePerSecond": ENDPOINT_RATE, "events": sorted(EVENTS)}
        await _made(by, shop, "/webhooks/endpoints", endpoint)
        for currency in CURRENCIES:
            shop.accounts[currency] = await _open_account(by, shop, currency)
    return shops


async def _open_shop(db: Database, number: int, now: datetime) -> Shop:
    new = await merchants.create(db, name=f"Shop {number}", email="s@example.com", mode=Mode.SANDBOX, now=now)
    await merchants.change(db, new.business.id, {"rate_per_second": RATE, "rate_burst": RATE}, now=now)
    token = new_token()
    token_hash = hash_of_token(token)
    async with db.transaction() as tx:
        person = await store.insert_person(
            tx, person_id=ids.new_person_id(), email=f"owner-{number}@example.com", name="Ada", password_hash=None,
            now=now,
        )  # fmt: skip
        assert person is not None
        assert token_hash is not None
        await team_store.put(tx, new.business.id, person.id, Role.OWNER, now=now)
        await session_store.insert(tx, token_hash, person, is_complete=True, browser="", address="127.0.0.1", now=now)
    return Shop(new.business.id, new.business.code, new.secret_key, new.public_key, token)


async def _open_account(by: Caller, shop: Shop, currency: str) -> str:
    asked = await _made(by, shop, "/profile/virtual-accounts/requests", inflow.request(currency=currency))
    account = await _made(by, shop, f"/sandbox/virtual-accounts/{asked['_id']}/approve")
    number: str = account["accountNumber"]
    return number


async def _made(by: Caller, shop: Shop, path: str, body: Any = None) -> Any:
    answer = await by.definite("POST", path, body, **shop.headers)
    if not answer.is_success:
        raise SystemExit(f"{path} was answered with {answer.status_code}: {answer.text}")
    return answer.json()["data"]
