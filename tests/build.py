"""Things that tests need, made in one call."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import httpx

from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants

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
