"""Things that tests need, made in one call."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx

from tidegate.audit.model import OPERATOR
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode, new_secret_key
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.merchant.model import print_of

_numbers = itertools.count(1)

ORDER: dict[str, Any] = {
    "amount": 100,
    "currency": "NGN",
    "customer": {"name": "Ada Obi", "email": "ada@example.com"},
}


def order(**changes: Any) -> dict[str, Any]:
    """A body that is accepted, with changes; a change to `...` leaves the field out."""
    body = {**ORDER, "reference": f"ORD-{next(_numbers)}", **changes}
    return {name: value for name, value in body.items() if value is not ...}


@dataclass(frozen=True)
class Shop:
    """A business and a client that calls the API with its keys."""

    client: httpx.AsyncClient
    business_id: str
    secret_key: str
    public_key: str

    @property
    def create_headers(self) -> dict[str, str]:
        return {"api-key": self.secret_key, "x-pub-key": self.public_key}

    @property
    def verify_headers(self) -> dict[str, str]:
        return {"api-key": self.secret_key, "x-business-id": self.business_id}

    async def create(self, body: Any = None, headers: dict[str, str] | None = None) -> httpx.Response:
        return await self.client.post(
            "/checkout/payments",
            json=order() if body is None else body,
            headers={**self.create_headers, **(headers or {})},
        )

    async def create_raw(self, body: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
        """For bodies that no JSON library would write."""
        all_headers = {**self.create_headers, "content-type": "application/json", **(headers or {})}
        return await self.client.post("/checkout/payments", content=body, headers=all_headers)

    async def verify(self, reference: str) -> httpx.Response:
        return await self.client.get(f"/checkout/payments/merchant-reference/{reference}", headers=self.verify_headers)


async def make_shop(db: Database, client: httpx.AsyncClient, **settings: Any) -> Shop:
    now = SystemClock().now()
    new = await merchants.create(db, name="Test Shop", email="shop@example.com", mode=Mode.SANDBOX, now=now)
    if settings:
        await merchants.change(db, new.business.id, settings, now=now)
    return Shop(client, new.business.id, new.secret_key, new.public_key)


async def roll_secret_key(db: Database, business_id: str, *, overlap: timedelta, now: datetime) -> str:
    """A new secret key with all rights. The older ones work for the overlap."""
    secret_key = new_secret_key(Mode.SANDBOX)
    async with db.transaction() as tx:
        await merchants.replace_main_key(tx, business_id, print_of(secret_key), overlap=overlap, by=OPERATOR, now=now)
    return secret_key


@dataclass(frozen=True)
class Checkout:
    """A payment as its payer meets it, over HTTP; and the background work, one round at a time."""

    shop: Shop
    pay_code: str
    reference: str
    tick: Callable[[], Awaitable[None]]

    @property
    def _path(self) -> str:
        return f"/checkout/payments/{self.pay_code}"

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.shop.client.post(path, json=body, headers=headers)

    async def view(self) -> dict[str, Any]:
        answer = await self.shop.client.get(self._path)
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    async def charge(self, body: dict[str, Any]) -> httpx.Response:
        return await self.post(f"{self._path}/charge", body)

    async def authorize(self, body: dict[str, Any]) -> httpx.Response:
        return await self.post(f"{self._path}/charge/authorize", body)

    async def cancel(self) -> httpx.Response:
        return await self.post(f"{self._path}/cancel")

    async def extend(self) -> httpx.Response:
        return await self.post(f"{self._path}/charge/extend")

    async def sandbox(self, path: str, body: Any = None) -> httpx.Response:
        return await self.post(f"/sandbox/{path}", body, **{"api-key": self.shop.secret_key})

    async def account(self) -> str:
        """Begins a bank transfer and gives the account to pay into."""
        answer = await self.charge({"type": "bank_transfer"})
        assert answer.status_code == 200, answer.text
        number: str = answer.json()["data"]["action"]["virtualAccount"]["accountNumber"]
        return number

    async def transfer(self, account: str, amount: str, **changes: Any) -> httpx.Response:
        """The bank's side, and the word of it carried to us. The amount is text, so that no float is made of it."""
        currency = changes.pop("currency", "NGN")
        fields = {"accountNumber": account, "currency": currency, "payer": {"name": "Ada Obi"}, **changes}
        body = json.dumps(fields)[:-1] + f', "amount": {amount}}}'
        answer = await self.shop.client.post(
            "/sandbox/transfers",
            content=body,
            headers={"api-key": self.shop.secret_key, "content-type": "application/json"},
        )
        assert answer.status_code == 201, answer.text
        await self.tick()
        return answer

    async def let_pass(self, duration: str) -> None:
        answer = await self.sandbox("clock", {"advance": duration})
        assert answer.status_code == 200, answer.text
        await self.tick()

    async def wallet(self) -> dict[str, Any]:
        """The merchant's, of the only currency there is."""
        answer = await self.shop.client.get("/wallets", headers={"api-key": self.shop.secret_key})
        [record] = answer.json()["data"]
        return dict(record)

    async def record(self) -> dict[str, Any]:
        """What the merchant sees."""
        data: dict[str, Any] = (await self.shop.verify(self.reference)).json()["data"]
        return data
