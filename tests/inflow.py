"""A merchant with virtual accounts, a bank that notifies of money, an operator, and the merchant's view over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx

from build import Shop
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OPERATOR, OURSELVES
from tidegate.collection import review_store
from tidegate.collection.rate import Rate
from tidegate.core import ids
from tidegate.core.money import Currency
from tidegate.infra.egress import Egress
from tidegate.infra.telemetry import Meter
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.rail.sandbox import signed_notification
from tidegate.runtime import Runtime
from tidegate.webhook.deliver import Sender

HOLDER = "Ada Obi"
CLOSE = "Ada Obii"
DIFFERENT = "Chidi Eze"

# As a reversal of a credit that nobody remembers would be booked.
SPEND = """
    SELECT post_journal($1, 'credit_reversed', 'spent/' || $4, '{wallet,rail}', ARRAY[$2, $2],
                        ARRAY[-$3::bigint, $3::bigint], now(), now())
"""


def request(**changes: Any) -> dict[str, Any]:
    """A request for an account that is accepted, with changes; a change to `...` leaves the field out."""
    body = {
        "currency": "EUR",
        "accountType": "individual",
        "KYCInformation": {"firstName": "Ada", "lastName": "Obi", "nationality": "NG"},
        **changes,
    }
    return {name: value for name, value in body.items() if value is not ...}


def credit(account_number: str, minor: Any = 100_00, **changes: Any) -> dict[str, Any]:
    """What a bank says of an inflow, in the words of the sandbox's rail."""
    return {
        "type": "account.credited",
        "id": ids.new_event_id(),
        "accountNumber": account_number,
        "transactionId": ids.new_event_id(),
        "amount": str(minor) if isinstance(minor, int) else minor,
        "currency": "EUR",
        "payer": {
            "name": "Bola Ade",
            "accountNumber": "GB29NWBK60161331926819",
            "bankName": "Sample",
            "bankCode": None,
        },
        "payeeName": HOLDER,
        "scheme": "sepa",
        "remittance": "Invoice 7",
        "valuedAt": "2026-11-15T09:30:00Z",
        **changes,
    }


def reversal_of(credited: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "type": "credit.reversed",
        "id": ids.new_event_id(),
        "accountNumber": credited["accountNumber"],
        "transactionId": credited["transactionId"],
        "reversalId": ids.new_event_id(),
        "amount": credited["amount"],
        "currency": credited["currency"],
        "reason": "sent twice",
        **changes,
    }


@dataclass(frozen=True)
class Inflows:
    shop: Shop
    runtime: Runtime
    admin: Any
    tick: Callable[[], Awaitable[None]]

    @property
    def now(self) -> datetime:
        """The merchant's."""
        return self.runtime.clock.now_of(self.shop.business_id)

    async def call(self, method: str, path: str, body: Any = None, **query: Any) -> httpx.Response:
        headers = {"api-key": self.shop.secret_key}
        return await self.shop.client.request(method, path, json=body, params=query or None, headers=headers)

    async def ask_for(self, body: Any = None, **headers: str) -> httpx.Response:
        return await self.shop.client.post(
            "/profile/virtual-accounts/requests",
            json=request() if body is None else body,
            headers={"api-key": self.shop.secret_key, **headers},
        )

    async def account(
        self, currency: Currency = Currency.EUR, into: Currency | None = None, *, expires_at: datetime | None = None,
        **fields: Any,
    ) -> Account:  # fmt: skip
        """Approved, without the API: for tests of what arrives there."""
        draft = Account(
            business_id=self.shop.business_id,
            id=ids.new_account_id(),
            currency=currency,
            settlement_currency=into or currency,
            account_type=AccountType.INDIVIDUAL,
            created_at=self.now,
            updated_at=self.now,
            **{"holder": HOLDER, **fields},
        )
        await accounts.request(self.runtime.db, draft, by=OURSELVES, now=self.now)
        return await accounts.approve(self.runtime.deps, draft.id, by=OPERATOR, now=self.now, expires_at=expires_at)

    async def number(self, currency: Currency = Currency.EUR, into: Currency | None = None, **fields: Any) -> str:
        details = (await self.account(currency, into, **fields)).details
        assert details is not None
        return details.account_number

    async def notify(self, body: bytes | dict[str, Any], **headers: str) -> httpx.Response:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        signed = signed_notification.sign(raw, self.runtime.secret, now=self.runtime.clock.now())
        return await self.shop.client.post("/intake/sandbox", content=raw, headers={**signed.headers, **headers})

    async def notified(self, body: dict[str, Any]) -> dict[str, Any]:
        """Sends the notification; returns the inflow as the merchant sees it."""
        answer = await self.notify(body)
        assert answer.status_code == 200, answer.text
        return await self.inflow(body["transactionId"])

    async def inflow(self, transaction_id: str) -> dict[str, Any]:
        reference = await self.admin.fetchval(
            "SELECT reference FROM collection WHERE business_id = $1 AND transaction_id = $2",
            self.shop.business_id, transaction_id,
        )  # fmt: skip
        return await self.get(reference)

    async def get(self, reference: str) -> dict[str, Any]:
        answer = await self.call("GET", f"/collections/reference/{reference}")
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = json.loads(answer.text, parse_float=Decimal)["data"]
        return data

    async def list(self, **query: Any) -> httpx.Response:
        return await self.call("GET", "/collections", business=self.shop.business_id, **query)

    async def page(self, **query: Any) -> dict[str, Any]:
        answer = await self.list(**query)
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    async def let_pass(self, duration: str) -> None:
        answer = await self.call("POST", "/sandbox/clock", {"advance": duration})
        assert answer.status_code == 200, answer.text
        await self.tick()

    async def deliver(self) -> int:
        """Sends what is due; returns how many webhooks were sent."""
        webhook_deps = self.runtime.webhook_deps
        way_out = Egress(webhook_deps.guard)
        sender = Sender(self.runtime.db, way_out, webhook_deps.vault, self.runtime.clock, Meter())
        async with way_out.open():
            await sender.fan_out()
            results = list(await asyncio.gather(*map(sender.send, await sender.take())))
            if results:
                await sender.finish(results)
        return len(results)

    async def set_rate(self, base: Currency, quote: Currency, rate: str, *, spread: int = 0, **changes: Any) -> Rate:
        """The operator's, whose time is the real one."""
        now = self.runtime.clock.now()
        made = Rate(
            base=base, quote=quote, rate=Decimal(rate), spread_basis_points=spread,
            **{"source": "desk", "quoted_at": now, **changes},
        )  # fmt: skip
        async with self.runtime.db.connection() as tx:
            await review_store.insert_rate(tx, made, business_id=PLATFORM_BUSINESS_ID, now=now)
        return made

    async def wallet(self, currency: str) -> int:
        """What it holds, in minor units."""
        balance = await self.admin.fetchval(
            "SELECT balance_minor FROM wallet WHERE business_id = $1 AND currency = $2", self.shop.business_id, currency
        )
        return int(balance or 0)

    async def spend(self, currency: str, minor: int) -> None:
        """Out of the wallet, so that what a bank takes back afterwards may be more than there is."""
        await self.admin.execute(SPEND, self.shop.business_id, currency, minor, ids.new_event_id())

    async def entries(self, kind: str) -> set[tuple[str, str, int]]:
        """All lines of the journals of that kind."""
        rows = await self.admin.fetch(
            """
            SELECT account, currency, amount_minor FROM journal
              JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
             WHERE journal.business_id = $1 AND kind = $2
            """,
            self.shop.business_id, kind,
        )  # fmt: skip
        return {(row["account"], row["currency"], row["amount_minor"]) for row in rows}

    async def journals(self) -> dict[str, int]:
        rows = await self.admin.fetch(
            "SELECT kind, count(*) FROM journal WHERE business_id = $1 GROUP BY kind", self.shop.business_id
        )
        return {row["kind"]: row["count"] for row in rows}

    async def events(self) -> dict[str, int]:
        rows = await self.admin.fetch(
            "SELECT type, count(*) FROM event WHERE business_id = $1 GROUP BY type", self.shop.business_id
        )
        return {row["type"]: row["count"] for row in rows}

    async def event(self, event_type: str) -> dict[str, Any]:
        """The data of the only one of that type."""
        [row] = await self.admin.fetch(
            "SELECT payload FROM event WHERE business_id = $1 AND type = $2", self.shop.business_id, event_type
        )
        payload = json.loads(row["payload"], parse_float=Decimal)
        assert set(payload) == {"event", "data"}
        assert payload["event"] == event_type
        data: dict[str, Any] = payload["data"]
        return data
