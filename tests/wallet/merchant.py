"""A merchant with money that was booked by hand, and its wallets and statements over HTTP."""

from __future__ import annotations

import csv
import io
import itertools
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pypdf

from build import Shop
from tidegate.core.fee import Fee
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.ledger import postings, store
from tidegate.ledger.model import Journal

MIDNIGHT = datetime(2026, 11, 2, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

_numbers = itertools.count(1)


def sale(minor: int, currency: Currency = Currency.NGN, *, fee: int = 0, vat: int = 0, cause: str = "") -> Journal:
    """So much for the wallet, after the fee."""
    charged = Fee(Money(fee, currency), Money(vat, currency))
    return postings.checkout_settled(
        cause=cause or f"test/{next(_numbers)}",
        received=Money(minor + fee + vat, currency),
        fee=charged,
        event_at=MIDNIGHT - timedelta(days=1),
    )


def refund(minor: int, currency: Currency = Currency.NGN) -> Journal:
    return postings.refund_started(
        cause=f"test/{next(_numbers)}", refunded=Money(minor, currency), event_at=MIDNIGHT - timedelta(days=1)
    )


def exactly(answer: httpx.Response) -> Any:
    """The data, without a binary float in it."""
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text, parse_float=Decimal)["data"]


@dataclass(frozen=True)
class Merchant:
    db: Database
    shop: Shop

    async def book(self, *journals: Journal, at: datetime = MIDNIGHT, business_id: str | None = None) -> list[int]:
        numbers = []
        for journal in journals:
            async with self.db.transaction() as tx:
                number = await store.post(tx, business_id or self.shop.business_id, journal, at)
            assert number is not None
            numbers.append(number)
        return numbers

    async def ask(self, path: str, *, accept: str = "", **query: Any) -> httpx.Response:
        headers = {"api-key": self.shop.secret_key, **({"accept": accept} if accept else {})}
        return await self.shop.client.get(path, params=query or None, headers=headers)

    async def wallets(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = exactly(await self.ask("/wallets"))
        return found

    async def statement(self, currency: str = "NGN", **query: Any) -> dict[str, Any]:
        page: dict[str, Any] = exactly(await self.ask(f"/wallets/{currency}/statement", **query))
        return page

    async def lines(self, currency: str = "NGN", **query: Any) -> list[dict[str, Any]]:
        """All of them, walked by the cursor."""
        query = {"perPage": 100, **query}
        page = await self.statement(currency, **query)
        lines: list[dict[str, Any]] = page["results"]
        while page["nextCursor"]:
            page = await self.statement(currency, **query, cursor=page["nextCursor"])
            lines += page["results"]
        return lines

    async def csv(self, currency: str = "NGN", **query: Any) -> list[dict[str, str]]:
        answer = await self.ask(f"/wallets/{currency}/statement", accept="text/csv", **query)
        assert answer.status_code == 200, answer.text
        return list(csv.DictReader(io.StringIO(answer.text, newline="")))

    async def pdf(self, currency: str = "NGN", **query: Any) -> pypdf.PdfReader:
        answer = await self.ask(f"/wallets/{currency}/statement", accept="application/pdf", **query)
        assert answer.status_code == 200, answer.text
        return pypdf.PdfReader(io.BytesIO(answer.content), strict=True)
