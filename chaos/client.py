"""A merchant's program and a payer's browser: they ask until the answer is definite."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from chaos.model import Model

# Longer than any fault lasts.
DEFINITE_WITHIN_S = 180.0
TRANSIENT = (httpx.TransportError, json.JSONDecodeError)
BUSY = (429, 503)
# With it also 409: the first of two requests with one idempotency key is still running, and may yet succeed.
AGAIN = "retry-after"
_PAYERS: Iterator[int] = itertools.count(1)


class NeverDefinite(Exception):
    """The same request was refused or lost for minutes."""


@dataclass(frozen=True)
class Shop:
    business_id: str
    code: str
    secret_key: str
    public_key: str
    cookie: str
    # The number and the holder's currency of its virtual accounts.
    accounts: dict[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> dict[str, str]:
        return {"api-key": self.secret_key, "x-pub-key": self.public_key, "x-business-id": self.business_id}


@dataclass(frozen=True)
class Caller:
    http: httpx.AsyncClient
    model: Model
    chance: random.Random

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response | None:
        """Once; None when the answer is lost or says to try again: then the outcome is unknown."""
        try:
            answer = await self.http.request(method, path, json=body, headers=headers)
            if answer.status_code in BUSY or AGAIN in answer.headers:
                self.model.unknown[f"answered {answer.status_code}"] += 1
                return None
            if answer.status_code >= 500:
                self.model.find(f"{method} {path} was answered with {answer.status_code}: {answer.text[:300]}")
                return None
            answer.read()
        except TRANSIENT:
            self.model.unknown["answers lost"] += 1
            return None
        return answer

    async def definite(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        try:
            async with asyncio.timeout(DEFINITE_WITHIN_S):
                while (answer := await self.ask(method, path, body, **headers)) is None:  # noqa: ASYNC110
                    await asyncio.sleep(self.chance.uniform(0.05, 0.5))
        except TimeoutError:
            raise NeverDefinite(f"{method} {path} had no definite answer within {DEFINITE_WITHIN_S:.0f} s") from None
        return answer


def payer_headers() -> dict[str, str]:
    """Each payer has an address of its own: payers are limited by address."""
    number = next(_PAYERS)
    return {"x-forwarded-for": f"10.{number // 62_500 % 250}.{number // 250 % 250}.{number % 250 + 1}"}
